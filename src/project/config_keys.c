#include "project/config_keys.h"

#include <ctype.h>

#include "git/git.h"

/* --- What values may be ----------------------------------------------------- */

static bool is_branch(const char *s)
{
	return git_branch_name_ok(git_branch_short(s));
}

static bool is_prefix(const char *s)
{
	AUTOFREE char *name = xasprintf("%sx", s);

	return git_branch_name_ok(name);
}

static bool is_job_name(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("._-", s[i]))
			return false;
	return n >= 1 && n <= 64 && strcmp(s, ".") != 0 && strcmp(s, "..") != 0;
}

static bool is_command(const char *s)
{
	return s[strspn(s, " \t\r\n")] != '\0';
}

static bool is_folder(const char *s)
{
	return *s && *s != '~' && *s != '-' && !strpbrk(s, "\r\n");
}

/* Relative, and no part of it leads out of the checkout or into git's folder. */
static bool is_below(const char *s)
{
	if (!*s || *s == '/' || *s == '-' || strpbrk(s, "\r\n"))
		return false;
	while (*s) {
		size_t n = strcspn(s, "/");
		if (n == 0 || (n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.') ||
		        (n == 4 && strncasecmp(s, ".git", 4) == 0))
			return false;
		s += n;
		if (*s == '/')
			s++;
	}
	return true;
}

static bool is_limit(const char *s)
{
	int64_t ms;

	return strcmp(s, "none") == 0 || (text_duration(s, &ms) && ms > 0);
}

/* --- The table --------------------------------------------------------------- */

static const char *const bools[] = {"false", "true", NULL};
const char *const config_requires[] = {"none", "human", NULL};
const char *const config_gate_changes[] = {"ask", "refuse", "allow", NULL};
const char *const config_integrates[] = {"refuse", NULL};

enum { MAX_TEXT = 4096, MAX_COMMAND = 64 * 1024, MAX_JOBS = 200, MAX_ITEMS = 200 };
#define AT(m) .at = offsetof(struct config_file, m)
#define AT_LIST(m) AT(m), .count_at = offsetof(struct config_file, m##_n)
#define AT_ACCEPT(m) .at = offsetof(struct config_file_accept, m)
#define AT_JOB(m) .at = offsetof(struct config_file_job, m)

static const struct config_key keys[] = {
        {
                .path = "trunk",
                .type = CONFIG_TEXT,
                .scope = CONFIG_POLICY,
                .help = "the branch that work lands on; without it origin/HEAD, "
                        "init.defaultBranch, main or master",
                .want = "a branch's name",
                .ok = is_branch,
                .min = 1,
                .max = MAX_TEXT,
                AT(trunk),
        },
        {
                .path = "branch_prefix",
                .type = CONFIG_TEXT,
                .scope = CONFIG_POLICY,
                .by_default = "agent/",
                .help = "what a new task's branch begins with; may be empty",
                .want = "the beginning of a branch's name, such as `agent/`",
                .ok = is_prefix,
                .max = 128,
                AT(branch_prefix),
        },
        {
                .path = "worktrees",
                .type = CONFIG_TEXT,
                .scope = CONFIG_POLICY,
                .by_default = "../{repo}.worktrees",
                .help = "the folder that new tasks' worktrees are made in, relative to the main "
                        "checkout; {repo} is that folder's name. Outside the folder that holds the "
                        "repository only with git config abide.trusted",
                .want = "a folder's path, without `~`",
                .pattern = "^[^~-]",
                .ok = is_folder,
                .min = 1,
                .max = MAX_TEXT,
                AT(worktrees),
        },
        {
                .path = "copy",
                .type = CONFIG_LIST,
                .scope = CONFIG_WORK,
                .help = "files and folders ignored by git that a new worktree gets copies of",
                .want = "a list of paths",
                .max = MAX_ITEMS,
                AT_LIST(copy),
        },
        {
                .path = "copy[]",
                .type = CONFIG_TEXT,
                .scope = CONFIG_WORK,
                .help = "a path relative to the root of the checkout",
                .want = "a path below the root of the checkout, without `..` and `.git`",
                .pattern = "^[^/-]",
                .ok = is_below,
                .min = 1,
                .max = MAX_TEXT,
        },
        {
                .path = "setup",
                .type = CONFIG_LIST,
                .scope = CONFIG_WORK,
                .help = "commands run in a new worktree, one after the other",
                .want = "a list of commands",
                .max = MAX_ITEMS,
                AT_LIST(setup),
        },
        {
                .path = "setup[]",
                .type = CONFIG_COMMAND,
                .scope = CONFIG_WORK,
                .help = "a command for the shell",
                .want = "a command of at most 64 KiB",
                .ok = is_command,
                .min = 1,
                .max = MAX_COMMAND,
        },
        {
                .path = "gate",
                .type = CONFIG_LIST,
                .scope = CONFIG_WORK,
                .help = "the jobs that have to pass before work lands",
                .want = "a list of jobs, each with `name` and `run`",
                .max = MAX_JOBS,
                .item_size = sizeof(struct config_file_job),
                AT_LIST(gate),
        },
        {
                .path = "gate[]",
                .type = CONFIG_MAP,
                .scope = CONFIG_WORK,
                .help = "one job",
                .want = "a job with `name` and `run`",
                .item_size = sizeof(struct config_file_job),
        },
        {
                .path = "gate[].name",
                .type = CONFIG_TEXT,
                .scope = CONFIG_WORK,
                .required = true,
                .help = "the job's name, which no other job has",
                .want = "1 to 64 letters, digits, dots, underscores and dashes",
                .pattern = "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,64}$",
                .ok = is_job_name,
                .min = 1,
                .max = 64,
                AT_JOB(name),
        },
        {
                .path = "gate[].run",
                .type = CONFIG_COMMAND,
                .scope = CONFIG_WORK,
                .required = true,
                .help = "the command, for the shell; exit status 0 is a pass",
                .want = "a command of at most 64 KiB",
                .ok = is_command,
                .min = 1,
                .max = MAX_COMMAND,
                AT_JOB(run),
        },
        {
                .path = "gate[].timeout",
                .type = CONFIG_DURATION,
                .scope = CONFIG_WORK,
                .by_default = "10m",
                .help = "how long the job may run; past it, it is ended and has failed",
                .want = "a duration with its unit (ms, s, m, h or d), such as `10m`, or `none`",
                .pattern = "^(none|0*[1-9][0-9]*(ms|s|m|h|d))$",
                .ok = is_limit,
                .min = 1,
                .max = 64,
                AT_JOB(timeout),
        },
        {
                .path = "gate[].needs",
                .type = CONFIG_LIST,
                .scope = CONFIG_WORK,
                .help = "jobs that have to pass before this one begins",
                .want = "a list of jobs' names",
                .max = MAX_JOBS,
                .at = offsetof(struct config_file_job, needs),
                .count_at = offsetof(struct config_file_job, needs_n),
        },
        {
                .path = "gate[].needs[]",
                .type = CONFIG_TEXT,
                .scope = CONFIG_WORK,
                .help = "another job's name",
                .want = "a job's name",
                .pattern = "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,64}$",
                .ok = is_job_name,
                .min = 1,
                .max = 64,
        },
        {
                .path = "gate_parallel",
                .type = CONFIG_INT,
                .scope = CONFIG_POLICY,
                .help = "how many jobs run at once in the whole repository, over all processes; "
                        "without it as many as there are cores",
                .want = "a whole number from 1 to 256",
                .min = 1,
                .max = 256,
                AT(gate_parallel),
        },
        {
                .path = "accept",
                .type = CONFIG_MAP,
                .scope = CONFIG_POLICY,
                .help = "how work lands",
                .want = "keys below it, such as `keep: true`",
                AT(accept),
                .item_size = sizeof(struct config_file_accept),
        },
        {
                .path = "accept.require",
                .type = CONFIG_CHOICE,
                .scope = CONFIG_POLICY,
                .by_default = "none",
                .help = "`human`: a person has to agree before work lands",
                .want = "`none` or `human`",
                .choices = config_requires,
                AT_ACCEPT(require),
        },
        {
                .path = "accept.gate_changes",
                .type = CONFIG_CHOICE,
                .scope = CONFIG_POLICY,
                .by_default = "ask",
                .help = "what happens to work that changes the gate itself: `ask` for consent, "
                        "`refuse` it, or `allow` it",
                .want = "`ask`, `refuse` or `allow`",
                .choices = config_gate_changes,
                AT_ACCEPT(gate_changes),
        },
        {
                .path = "accept.integrate",
                .type = CONFIG_CHOICE,
                .scope = CONFIG_POLICY,
                .by_default = "refuse",
                .help = "what happens to work that does not contain the trunk's tip: `refuse` it",
                .want = "`refuse`",
                .choices = config_integrates,
                AT_ACCEPT(integrate),
        },
        {
                .path = "accept.keep",
                .type = CONFIG_BOOL,
                .scope = CONFIG_POLICY,
                .by_default = "false",
                .help = "whether branch and worktree stay after the landing",
                .want = "`true` or `false`",
                .choices = bools,
                AT_ACCEPT(keep),
        },
        {
                .path = "logbook",
                .type = CONFIG_BOOL,
                .scope = CONFIG_POLICY,
                .by_default = "true",
                .help = "whether calls are recorded in the logbook, inside this repository's git "
                        "folder",
                .want = "`true` or `false`",
                .choices = bools,
                AT(logbook),
        },
};

const struct config_key *config_keys(size_t *ret_n)
{
	*ret_n = NELEMS(keys);
	return keys;
}

const struct config_key *config_key_find(const char *path)
{
	for (size_t i = 0; i < NELEMS(keys); i++)
		if (strcmp(keys[i].path, path) == 0)
			return &keys[i];
	return NULL;
}

const char *config_key_name(const struct config_key *key)
{
	const char *dot = strrchr(key->path, '.');

	return dot ? dot + 1 : key->path;
}

bool config_key_in(const struct config_key *key, const char *parent)
{
	size_t n = strlen(parent);
	const char *rest = key->path + n;

	if (strncmp(key->path, parent, n) != 0)
		return false;
	if (strcmp(rest, "[]") == 0)
		return n > 0;
	if (n && *rest++ != '.')
		return false;
	return *rest && !strpbrk(rest, ".[");
}
