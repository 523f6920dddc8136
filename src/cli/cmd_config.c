#include "cli/commands.h"

#include <string.h>

#include "cli/config_view.h"
#include "project/config_keys.h"

static void warn_pending(const json_t *list, struct result *res)
{
	static const struct {
		const char *until, *says;
	} kinds[] = {
	        {"landed", "here, but policy counts only once it has landed on the trunk"},
	        {"committed", "in the working tree, but counts only once it is committed"},
	};
	size_t i;
	json_t *o;

	for (size_t k = 0; k < NELEMS(kinds); k++) {
		AUTOBUF keys = {0};
		size_t n = 0;
		json_array_foreach (list, i, o) {
			AUTOFREE char *word = xasprintf("`%s`", json_text(o, "key"));
			if (strcmp(json_text(o, "until"), kinds[k].until) != 0 ||
			        (keys.len && strstr(buf_str(&keys), word)))
				continue;
			buf_printf(&keys, "%s%s", n++ ? ", " : "", word);
		}
		if (n)
			result_warn(res, "%s %s otherwise %s.", buf_str(&keys),
			        n == 1 ? "reads" : "read", kinds[k].says);
	}
}

static void warn_gate(const struct config_view *v, json_t *data, struct result *res)
{
	AUTOFREE char *here = config_gate_digest(&v->work);
	AUTOFREE char *trunk = config_gate_digest(v->policy);
	AUTOJSON json_t *whole = config_json(v->policy, &v->work);
	bool changed = oid_is_set(&v->head) && strcmp(here, trunk) != 0;

	if (*here)
		json_put_text(data, "gate_digest", here);
	json_put_bool(data, "gate_changed", changed);
	if (changed)
		result_warn(res,
		        "The gate here is not the trunk's; work that changes it lands by "
		        "`accept.gate_changes: %s`.",
		        json_text(json_object_get(whole, "accept"), "gate_changes"));
}

/* --- Showing ------------------------------------------------------------------------ */

static void put_experiments(json_t *data)
{
	json_t *list = json_array();

#define X(name, variable, older, rule, what)                                                       \
	if (env_experiment(ENV_EXP_##name)) {                                                      \
		json_t *o = json_object();                                                         \
		json_put_text(o, "variable", variable);                                            \
		json_put_int(o, "value", env_experiment(ENV_EXP_##name));                          \
		json_put_text(o, "does", what);                                                    \
		json_array_append_new(list, o);                                                    \
	}
	ENV_EXPERIMENT_TABLE(X)
#undef X
	json_put(data, "experiments", list);
}

static void put_worktrees(
        const struct config_view *v, const struct git *g, json_t *data, struct result *res)
{
	const char *main = g->main_worktree ? g->main_worktree : g->common;
	AUTOFREE char *dir = config_worktrees_dir(v->policy, main);
	AUTOERR wrong = {0};

	json_put_text(data, "worktrees_dir", dir);
	if (config_worktrees_check(g, main, dir, &wrong) == 0)
		return;
	result_warn(res, "%s", wrong.message);
	strv_extend(&res->hints, &wrong.hints);
}

static int show(struct call *c, struct result *res, struct err *err)
{
	struct project *p = &c->project;
	AUTOVIEW v = {0};
	json_t *data = result_data(res);
	json_t *whole, *pending;

	if (config_view_read(p, &v, err) < 0)
		return -1;
	whole = config_json(v.policy, &v.work);
	if (p->trunk)
		json_put_text(whole, "trunk", p->trunk);
	json_put(data, "config", whole);
	json_put(data, "keys", config_view_keys(&v, p, whole));
	if (oid_is_set(&p->trunk_tip))
		json_put_text(data, "trunk_commit", p->trunk_tip.hex);
	if (oid_is_set(&v.head))
		json_put_text(data, "commit", v.head.hex);
	put_worktrees(&v, &p->git, data, res);
	put_experiments(data);
	pending = config_view_pending(&v, p);
	json_put(data, "pending", pending);
	warn_pending(pending, res);
	warn_gate(&v, data, res);
	if (v.file_wrong.code)
		result_warn(res,
		        "The file in the working tree is wrong, which does not count "
		        "until it is committed: %s",
		        v.file_wrong.message);
	return 0;
}

/* --- Checking ----------------------------------------------------------------------- */

/* Adds one file's outcome to LIST; the first that is wrong goes to *ERR. */
static void put_check(json_t *list, const char *what, const struct oid *commit, const char *path,
        int rc, const struct config *c, struct err *wrong, struct result *res, struct err *err)
{
	json_t *o = json_object();

	json_put_text(o, "what", what);
	if (commit)
		json_put_text(o, "commit", commit->hex);
	json_put_text(o, "path", path);
	json_put_bool(o, "present", rc < 0 || c->present);
	json_put_bool(o, "ok", rc >= 0);
	if (rc < 0) {
		json_put_text(o, "message", wrong->message);
		json_put(o, "line", json_incref(json_object_get(wrong->data, "line")));
		json_put(o, "key", json_incref(json_object_get(wrong->data, "key")));
	} else {
		json_put_int(o, "jobs", (int64_t)c->gate_n);
	}
	json_array_append_new(list, o);
	if (rc < 0 && err->code == ERR_NONE)
		err_move(err, wrong);
	else if (rc < 0)
		result_warn(res, "%s", wrong->message);
}

static void check_commit(struct call *c, const char *what, const struct oid *commit, json_t *list,
        struct result *res, struct err *err)
{
	AUTOCONFIG config = {0};
	AUTOERR wrong = {0};
	int rc;

	if (!oid_is_set(commit))
		return;
	rc = config_at(&c->project.git, commit, &config, &wrong);
	put_check(list, what, commit, CONFIG_FILE, rc, &config, &wrong, res, err);
}

static void check_file(
        const char *path, bool must, json_t *list, struct result *res, struct err *err)
{
	AUTOCONFIG config = {0};
	AUTOERR wrong = {0};
	int rc = config_read_file(path, path, &config, &wrong);

	if (rc == 1 && must) {
		err_set(&wrong, ERR_READ_FAILED, "There is no file %s.", path);
		err_hint(&wrong, "Name a file that is there, or none for this project's own.");
		rc = -1;
	}
	put_check(list, "file", NULL, path, rc, &config, &wrong, res, err);
}

/* WORD as the caller means it: relative to the folder of -C. To be freed. */
static char *named_file(const struct call *c, const char *word)
{
	return c->dir && *word != '/' ? path_join(c->dir, word) : xstrdup(word);
}

static int check(struct call *c, struct result *res, struct err *err)
{
	struct project *p = &c->project;
	AUTOVIEW v = {0};
	json_t *list = json_array();

	json_put(result_data(res), "checks", list);
	for (size_t i = 0; i < c->words.n; i++) {
		AUTOFREE char *path = named_file(c, c->words.v[i]);
		check_file(path, true, list, res, err);
	}
	if (!c->words.n) {
		if (config_view_head(p, &v, err) < 0)
			return -1;
		check_commit(c, "trunk", &p->trunk_tip, list, res, err);
		if (!oid_equal(&v.head, &p->trunk_tip))
			check_commit(c, "commit", &v.head, list, res, err);
		if (v.path)
			check_file(v.path, false, list, res, err);
	}
	if (err->code == ERR_NONE)
		return 0;
	err_data(err, "checks", json_incref(list));
	return -1;
}

static int run(struct call *c, struct result *res, struct err *err)
{
	if (opt_flag(c, "check"))
		return check(c, res, err);
	if (c->words.n) {
		err_set(err, ERR_INVALID_ARGUMENTS, "A file is taken with --check only.");
		err_hint(err, "Check it: `abide config --check FILE`.");
		return -1;
	}
	return show(c, res, err);
}

/* --- For people ----------------------------------------------------------------------- */

static void pad(struct buf *out, const char *text, size_t width)
{
	AUTOFREE char *shown = text_visible(text);

	for (size_t n = text_width(shown); n < width; n++)
		buf_putc(out, ' ');
}

static void row(
        const struct call *c, struct buf *out, const char *key, const char *value, const char *from)
{
	enum { KEY = 20, VALUE = 40 };

	out_text(c, out, *key == ' ' ? STYLE_PLAIN : STYLE_BOLD, key);
	pad(out, key, KEY);
	buf_puts(out, "  ");
	out_text(c, out, STYLE_PLAIN, value);
	pad(out, value, VALUE);
	buf_puts(out, "  ");
	out_text(c, out, STYLE_DIM, from);
	buf_putc(out, '\n');
}

static void render_jobs(const struct call *c, const json_t *gate, struct buf *out)
{
	size_t i;
	json_t *job;

	json_array_foreach (gate, i, job) {
		const char *run = json_text(job, "run");
		size_t line = strcspn(run, "\n");
		bool more = run[line] && run[line + 1];
		AUTOFREE char *name = xasprintf("  %s", json_text(job, "name"));
		AUTOFREE char *command = xasprintf("%.*s%s", (int)line, run, more ? " …" : "");
		int64_t ms = json_int(job, "timeout_ms", 0);
		AUTOFREE char *limit = ms ? text_ago(ms) : xstrdup("no time-out");
		AUTOFREE char *needs = config_items(json_object_get(job, "needs"));
		AUTOFREE char *more_text =
		        xasprintf("%s%s%s", limit, *needs ? ", after " : "", needs);
		row(c, out, name, command, more_text);
	}
}

/* What stands for a value that is empty. */
static const char *empty_text(const char *key)
{
	if (strcmp(key, "gate_parallel") == 0)
		return "as many as there are cores";
	return strcmp(key, "branch_prefix") == 0 ? "nothing" : "none";
}

static void render_keys(const struct call *c, const json_t *data, struct buf *out)
{
	size_t i;
	json_t *o;

	json_array_foreach (json_object_get(data, "keys"), i, o) {
		const char *key = json_text(o, "key");
		const char *value = json_text(o, "value");
		const char *from = json_text(o, "from");
		const char *commit = json_text(o, "commit");
		AUTOFREE char *where = commit ? xasprintf(CONFIG_FILE " at %.10s", commit)
		                              : xstrdup(from ? from : json_text(o, "source"));
		row(c, out, key, *value ? value : empty_text(key), where);
		if (strcmp(key, "gate") == 0)
			render_jobs(
			        c, json_object_get(json_object_get(data, "config"), "gate"), out);
	}
}

static void render_checks(const struct call *c, const json_t *checks, struct buf *out)
{
	size_t i;
	json_t *o;

	json_array_foreach (checks, i, o) {
		const char *commit = json_text(o, "commit");
		AUTOFREE char *where = commit ? xasprintf("%s of the %s at %.10s", CONFIG_FILE,
		                                        json_text(o, "what"), commit)
		                              : xstrdup(json_text(o, "path"));
		int64_t jobs = json_int(o, "jobs", 0);
		out_text(c, out, STYLE_GREEN, "ok");
		buf_puts(out, "  ");
		out_text(c, out, STYLE_PLAIN, where);
		if (!json_flag(o, "present"))
			buf_puts(out, ": there is none, the defaults hold\n");
		else
			buf_printf(out, ": %lld job%s\n", (long long)jobs, jobs == 1 ? "" : "s");
	}
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *checks = json_object_get(res->data, "checks");
	size_t i;
	json_t *o;

	if (checks) {
		render_checks(c, checks, out);
		return;
	}
	render_keys(c, res->data, out);
	json_array_foreach (json_object_get(res->data, "experiments"), i, o) {
		row(c, out, json_text(o, "variable"), json_text(o, "does"), "environment");
	}
	buf_puts(out, "\nWorktrees go to ");
	out_text(c, out, STYLE_PLAIN, json_text(res->data, "worktrees_dir"));
	buf_puts(out, "\n");
}

/* --- The table's row --------------------------------------------------------------------- */

static const char *const scopes[] = {"policy", "work", NULL};
static const char *const sources[] = {
        "default", CONFIG_FILE, "git config", "environment", "repository", NULL};
static const char *const untils[] = {"committed", "landed", NULL};
static const char *const whats[] = {"trunk", "commit", "file", NULL};

static const struct field job_fields[] = {
        {"name", "string", true, "the job's name"},
        {"run", "string", true, "its command, for the shell"},
        {"timeout_ms", "integer", false, "its time-out in milliseconds; absent: none"},
        {"needs", "array", true, "names of the jobs that have to pass before"},
        {0},
};
static const struct field accept_fields[] = {
        {"require", "string", true, "who has to agree before work lands", .only = config_requires},
        {"gate_changes", "string", true, "what happens to work that changes the gate",
                .only = config_gate_changes},
        {"integrate", "string", true, "what happens to work behind the trunk",
                .only = config_integrates},
        {"keep", "boolean", true, "whether branch and worktree stay after the landing"},
        {0},
};
static const struct field config_fields[] = {
        {"trunk", "string", false, "the trunk's branch; absent when there is none"},
        {"branch_prefix", "string", true, "what a new task's branch begins with"},
        {"worktrees", "string", true, "where worktrees go, as written"},
        {"copy", "array", true, "paths that a new worktree gets copies of"},
        {"setup", "array", true, "commands run in a new worktree"},
        {"gate", "array", true, "the jobs", .of = job_fields},
        {"gate_parallel", "integer", false, "jobs at once; absent: as many as cores"},
        {"accept", "object", true, "how work lands", .of = accept_fields},
        {"logbook", "boolean", true, "whether calls are recorded"},
        {0},
};
static const struct field key_fields[] = {
        {"key", "string", true, "the key's path, such as accept.keep"},
        {"value", "string", true, "its value as text; a list by its items, the gate by its jobs"},
        {"scope", "string", true,
                "policy: read from the trunk's tip; work: from the commit at hand", .only = scopes},
        {"source", "string", true, "where the value comes from", .only = sources},
        {"from", "string", false, "the source of the trunk's name in words"},
        {"commit", "oid", false, "the commit whose abide.yaml holds the value"},
        {0},
};
static const struct field pending_fields[] = {
        {"key", "string", true, "the key's path"},
        {"value", "string", true, "the value that does not count yet, as text"},
        {"until", "string", true, "when it will count", .only = untils},
        {0},
};
static const struct field experiment_fields[] = {
        {"variable", "string", true, "the environment variable"},
        {"value", "integer", true, "1 for a switch, else the number"},
        {"does", "string", true, "what it does"},
        {0},
};
static const struct field check_fields[] = {
        {"what", "string", true, "the trunk's file, that of the commit at hand, or a file on disk",
                .only = whats},
        {"commit", "oid", false, "the commit that holds it"},
        {"path", "string", true, "the file's path; of a commit, from its root"},
        {"present", "boolean", true, "false: there is none, and the defaults hold"},
        {"ok", "boolean", true, "whether it is right"},
        {"jobs", "integer", false, "how many jobs its gate has"},
        {"message", "string", false, "what is wrong"},
        {"line", "integer", false, "the line that is wrong"},
        {"key", "string", false, "the key that is wrong"},
        {0},
};

const struct command cmd_config = {
        .name = "config",
        .summary = "show every effective value and where it comes from, or check the file",
        .usage = "config\nconfig --check [FILE…]",
        .details =
                "Policy keys are read from the trunk's tip, so that no task can change its own "
                "rules; work keys (gate, setup, copy) from the commit at hand. What the checkout's "
                "file says otherwise is told as not counting yet.\n\n"
                "--check reads the trunk's file, that of the commit at hand and the one in the "
                "working tree, and names line and key of what is wrong. With FILE only that file "
                "is read.",
        .examples = "  abide config                      # every value, its scope and source\n"
                    "  abide config --check              # before committing a change of it\n"
                    "  abide config --check draft.yaml   # any file",
        .options =
                (const struct option[]){
                        {"check", OPT_FLAG, NULL, "tell whether the files are right"}, {0}},
        .data =
                (const struct field[]){
                        {"config", "object", false, "all values, shaped as the file",
                                .of = config_fields},
                        {"keys", "array", false, "every key with value, scope and source",
                                .of = key_fields},
                        {"trunk_commit", "oid", false,
                                "the trunk's tip, which policy is read from"},
                        {"commit", "oid", false,
                                "the commit at hand, which work keys are read from"},
                        {"worktrees_dir", "string", false, "the folder for worktrees, absolute"},
                        {"gate_digest", "string", false, "digest of the gate at hand"},
                        {"gate_changed", "boolean", false,
                                "whether the gate at hand differs from the trunk's"},
                        {"pending", "array", false, "values in this checkout that do not count yet",
                                .of = pending_fields},
                        {"experiments", "array", false, "experiments that are on",
                                .of = experiment_fields},
                        {"checks", "array", false, "with --check: each file that was read",
                                .of = check_fields},
                        {0},
                },
        .word = "FILE",
        .complete = COMPLETE_FILE,
        .max_words = 256,
        .run = run,
        .render = render,
};
