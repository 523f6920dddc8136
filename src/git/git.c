#include "git/git.h"

#include <string.h>

bool oid_is_set(const struct oid *o)
{
	return o->hex[0] != '\0';
}

bool oid_equal(const struct oid *a, const struct oid *b)
{
	return strcmp(a->hex, b->hex) == 0;
}

bool oid_parse(struct oid *ret, const char *hex)
{
	size_t n = strlen(hex);

	if ((n != 40 && n != 64) || !text_is_hex(hex, n))
		return false;
	memcpy(ret->hex, hex, n + 1);
	return true;
}

void git_release(struct git *g)
{
	if (!g)
		return;
	free(g->common);
	free(g->git_dir);
	free(g->worktree);
	free(g->main_worktree);
	strv_release(&g->config);
	*g = (struct git){0};
}

struct git_at git_at_common(const struct git *g)
{
	return (struct git_at){.git_dir = g->common};
}

struct git_at git_at_recorded(const char *git_dir, const char *worktree)
{
	return (struct git_at){.git_dir = git_dir, .worktree = worktree};
}

/*
 * What every call gets. Lock time-outs: git's own defaults give up after
 * 100 ms. No gc in the background of a call that abide made.
 */
static const char *const pins[] = {
        "-c",
        "core.filesRefLockTimeout=5000",
        "-c",
        "reftable.lockTimeout=5000",
        "-c",
        "gc.auto=0",
        "-c",
        "maintenance.auto=false",
};

/*
 * Where git is, looked for once: each spawn would otherwise try every folder of
 * PATH anew. "git" when it is in none, so that the spawn says so.
 */
static const char *git_program(void)
{
	static char *found;
	const char *path = env_text(ENV_PATH);

	while (!found && path && *path) {
		size_t n = strcspn(path, ":");
		AUTOFREE char *dir = xstrndup(path, n);
		AUTOFREE char *file = path_join(dir, "git");
		if (*dir == '/' && !fs_is_dir(file) && access(file, X_OK) == 0)
			found = STEAL(file);
		path += n + (path[n] == ':');
	}
	if (!found)
		found = xstrdup("git");
	return found;
}

void git_argv(struct git_at at, const char *const *words, struct strv *argv)
{
	strv_push(argv, git_program());
	for (size_t i = 0; i < NELEMS(pins); i++)
		strv_push(argv, pins[i]);
	if (at.git_dir)
		strv_printf(argv, "--git-dir=%s", at.git_dir);
	if (at.git_dir && at.worktree)
		strv_printf(argv, "--work-tree=%s", at.worktree);
	for (; *words; words++)
		strv_push(argv, *words);
}

int git_run_pool(struct git_job *jobs, size_t n, size_t at_once, struct err *err)
{
	AUTOFREE struct strv *argv = xcalloc(n, sizeof(*argv));
	AUTOFREE struct proc **procs = xcalloc(n, sizeof(*procs));
	int rc;

	for (size_t i = 0; i < n; i++) {
		git_argv(jobs[i].at, jobs[i].words, &argv[i]);
		jobs[i].p.argv = (const char *const *)argv[i].v;
		/* The common directory stands even where the caller's folder is gone. */
		if (!jobs[i].p.cwd)
			jobs[i].p.cwd =
			        jobs[i].at.worktree ? jobs[i].at.worktree : jobs[i].at.git_dir;
		procs[i] = &jobs[i].p;
	}
	rc = proc_run_pool(procs, n, at_once, err);
	for (size_t i = 0; i < n; i++) {
		strv_release(&argv[i]);
		jobs[i].p.argv = NULL;
	}
	return rc;
}

int git_run_all(struct git_job *jobs, size_t n, struct err *err)
{
	return git_run_pool(jobs, n, n, err);
}

int git_run(struct git_at at, struct proc *p, const char *const *words, struct err *err)
{
	struct git_job job = {.at = at, .words = words, .p = *p};
	int rc = git_run_all(&job, 1, err);

	*p = job.p;
	return rc;
}

int git_complain(const struct proc *p, const char *what, struct err *err)
{
	AUTOFREE char *said = proc_complaint(p);

	err_set(err, ERR_GIT_FAILED, "%s: git said: %s", what, said);
	err_hint(err, "Put right what git complains about, then run the same command again.");
	return -1;
}

/* --- Opening ------------------------------------------------------------- */

static const char config_keys[] =
        "^(abide\\.|core\\.(bare|worktree)$|init\\.defaultbranch$|"
        "extensions\\.|user\\.|commit\\.gpgsign$|notes\\.|remote\\..*\\.promisor$)";

/* "scope NUL key LF value NUL"... into scope, key, value. */
static void read_config(const struct buf *out, struct strv *ret)
{
	AUTOSTRV fields = {0};

	strv_split_nul(&fields, buf_str(out), out->len);
	for (size_t i = 0; i + 1 < fields.n; i += 2) {
		char *key = fields.v[i + 1];
		char *value = strchr(key, '\n');

		strv_push(ret, fields.v[i]);
		strv_take(ret, value ? xstrndup(key, (size_t)(value - key)) : xstrdup(key));
		/* A key without a value means true. */
		strv_push(ret, value ? value + 1 : "true");
	}
}

const char *git_config(const struct git *g, const char *key, bool local)
{
	const char *found = NULL;

	for (size_t i = 0; i + 2 < g->config.n; i += 3) {
		const char *scope = g->config.v[i];
		if (strcasecmp(g->config.v[i + 1], key) == 0 &&
		        (!local || strcmp(scope, "local") == 0 || strcmp(scope, "worktree") == 0))
			found = g->config.v[i + 2];
	}
	return found;
}

static bool truthy(const char *s)
{
	static const char *const yes[] = {"true", "yes", "on", "1"};

	for (size_t i = 0; i < NELEMS(yes); i++)
		if (strcasecmp(s, yes[i]) == 0)
			return true;
	return false;
}

/* The main checkout's folder, told from the common directory as git does. */
static char *main_worktree(const struct git *g)
{
	const char *bare = git_config(g, "core.bare", true);
	const char *worktree = git_config(g, "core.worktree", true);

	if (g->worktree && strcmp(g->git_dir, g->common) == 0)
		return xstrdup(g->worktree);
	if (bare && truthy(bare))
		return NULL;
	if (worktree) {
		AUTOFREE char *joined =
		        *worktree == '/' ? xstrdup(worktree) : path_join(g->common, worktree);
		return path_real(joined);
	}
	return text_ends(g->common, "/.git") ? path_dir(g->common) : NULL;
}

static int no_repository(const char *dir, const struct proc *p, struct err *err)
{
	AUTOFREE char *cwd = path_cwd();
	const char *where = dir ? dir : cwd ? cwd : "the working directory (which is gone)";
	AUTOFREE char *said = proc_complaint(p);

	if (strstr(buf_str(&p->err), "not a git repository")) {
		err_set(err, ERR_NO_REPOSITORY, "%s is in no git repository.", where);
		err_hint(err,
		        "Run the command inside a repository, or name one with `abide -C DIR …`.");
	} else {
		err_set(err, ERR_NO_REPOSITORY, "git does not open the repository at %s: %s", where,
		        said);
		err_hint(err,
		        "Put right what git complains about, then run the same command again.");
	}
	return -1;
}

/*
 * The lines of rev-parse, in this order. A folder's name may hold newlines;
 * then there are more lines than questions, and each is asked on its own.
 */
static const char *const questions[] = {"--git-common-dir", "--git-dir", "--show-object-format",
        "--is-inside-work-tree", "--show-toplevel"};
enum { Q_COMMON, Q_GIT_DIR, Q_FORMAT, Q_INSIDE, Q_TOP, Q_COUNT };

static int ask_singly(const char *dir, char **answers, struct err *err)
{
	for (int i = 0; i < Q_COUNT; i++) {
		AUTOPROC p = {.cwd = dir};
		if (git_run((struct git_at){0}, &p,
		            GIT_WORDS("rev-parse", "--path-format=absolute", questions[i]),
		            err) < 0)
			return -1;
		if (p.status != 0 && i != Q_TOP)
			return no_repository(dir, &p, err);
		mem_set(&answers[i],
		        p.status == 0 && p.out.len ? xstrndup(buf_str(&p.out), p.out.len - 1)
		                                   : NULL);
	}
	return 0;
}

/* One spawn: 0, 1 when the answer cannot be told apart, -1. */
static int split_answers(const struct buf *out, char **answers)
{
	const char *p = buf_str(out);
	int n = 0;

	for (; *p && n < Q_COUNT; n++) {
		size_t len = strcspn(p, "\n");
		answers[n] = xstrndup(p, len);
		p += len + (p[len] == '\n');
	}
	if (*p || n < Q_TOP)
		return 1;
	/* Without a working tree git stops before the last answer. */
	return strcmp(answers[Q_INSIDE], "true") == 0 ? n != Q_COUNT : n == Q_COUNT;
}

int git_open(const char *dir, struct git *ret, struct err *err)
{
	struct git_job jobs[2] = {
	        {.words = GIT_WORDS("rev-parse", "--path-format=absolute", "--git-common-dir",
	                 "--git-dir", "--show-object-format", "--is-inside-work-tree",
	                 "--show-toplevel"),
	                .p = {.cwd = dir}},
	        {.words = GIT_WORDS("config", "-z", "--show-scope", "--get-regexp", config_keys),
	                .p = {.cwd = dir}},
	};
	char *answers[Q_COUNT] = {0};
	AUTOGIT g = {0};
	const char *format;
	int rc;

	if (dir && !fs_is_dir(dir)) {
		err_set(err, ERR_NO_REPOSITORY, "%s is no folder.", dir);
		err_hint(err, "Give -C an existing folder inside a git repository.");
		return -1;
	}
	rc = git_run_all(jobs, 2, err);
	if (rc == 0 && jobs[0].p.out.len == 0)
		rc = no_repository(dir, &jobs[0].p, err);
	if (rc == 0) {
		read_config(&jobs[1].p.out, &g.config);
		if (split_answers(&jobs[0].p.out, answers) != 0)
			rc = ask_singly(dir, answers, err);
	}
	proc_release(&jobs[0].p);
	proc_release(&jobs[1].p);
	if (rc == 0) {
		g.common = path_real(answers[Q_COMMON]);
		g.git_dir = path_real(answers[Q_GIT_DIR]);
		/* Inside .git itself there is no working tree to speak of. */
		g.worktree = answers[Q_TOP] && *answers[Q_TOP] ? path_real(answers[Q_TOP]) : NULL;
		g.hex = strcmp(answers[Q_FORMAT], "sha256") == 0 ? 64 : 40;
		format = git_config(&g, "extensions.refstorage", true);
		g.reftable = format && strcmp(format, "reftable") == 0;
		g.main_worktree = main_worktree(&g);
	}
	for (int i = 0; i < Q_COUNT; i++)
		free(answers[i]);
	if (rc < 0)
		return -1;
	*ret = g;
	g = (struct git){0};
	return 0;
}
