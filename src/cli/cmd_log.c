#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/output.h"
#include "cli/table.h"
#include "store/logbook.h"
#include "task/task.h"

enum { LIMIT = 50, LIMIT_FOLLOWED = 10, BATCH = 500 };

/* --- Whose events ------------------------------------------------------------------ */

static int unknown(const char *word, struct err *err)
{
	AUTOFREE char *log = call_text("log", NULL);
	AUTOFREE char *shown = text_visible(word);

	err_set(err, ERR_UNKNOWN_TARGET,
	        "`%s` is no task and no branch, and the logbook has nothing of one.", shown);
	err_hint(err, "See what the logbook has with `%s`.", log);
	return -1;
}

/* Whether REF is a branch now, or was one when something was recorded. */
static int was_branch(struct call *c, const char *ref, bool *ret, struct err *err)
{
	AUTOLOGBOOK seen = {0};
	struct oid tip = {0};

	if (!git_branch_name_ok(git_branch_short(ref))) {
		*ret = false;
		return 0;
	}
	if (git_refs(&c->project.git, (const char *const[]){ref, NULL}, &tip, err) < 0 ||
	        logbook_newest(c->project.store, ref, 1, &seen, err) < 0)
		return -1;
	*ret = oid_is_set(&tip) || seen.n;
	return 0;
}

/* A name whose task is gone: its branch, or its id below the prefix. */
static int past_branch(struct call *c, const char *word, char **ret_ref, struct err *err)
{
	const struct config *policy;
	AUTOFREE char *ref = git_branch_ref(word);
	AUTOFREE char *prefixed = NULL;
	bool found;

	if (was_branch(c, ref, &found, err) < 0)
		return -1;
	if (!found && project_policy(&c->project, &policy, NULL) == 0) {
		prefixed = xasprintf("refs/heads/%s%s", policy->branch_prefix, word);
		if (was_branch(c, prefixed, &found, err) < 0)
			return -1;
	}
	if (!found)
		return unknown(word, err);
	*ret_ref = prefixed ? STEAL(prefixed) : STEAL(ref);
	return 0;
}

/* The branch that was asked about, NULL for all. */
static int find_branch(struct call *c, char **ret_ref, struct err *err)
{
	const char *word = c->words.n ? c->words.v[0] : NULL, *branch = opt_text(c, "branch");
	AUTOTASK task = {0};
	AUTOERR why = {0};

	*ret_ref = NULL;
	if (word && branch) {
		err_set(err, ERR_INVALID_ARGUMENTS, "A task and --branch were both given.");
		err_hint(err, "Name the task, or its branch, not both.");
		return -1;
	}
	if (branch) {
		AUTOFREE char *ref = git_branch_ref(branch);
		bool found;
		if (was_branch(c, ref, &found, err) < 0)
			return -1;
		if (!found)
			return unknown(branch, err);
		*ret_ref = STEAL(ref);
		return 0;
	}
	if (!word)
		return 0;
	if (task_resolve(&c->project, word, &task, &why) == 0) {
		*ret_ref = STEAL(task.branch);
		return 0;
	}
	if (why.code == ERR_AMBIGUOUS_TARGET)
		return err_move(err, &why);
	return past_branch(c, word, ret_ref, err);
}

/* --- One event ---------------------------------------------------------------------- */

static const char *state_of(const struct logbook_event *e)
{
	return !*e->outcome                                              ? "running"
	        : strcmp(e->outcome, "interrupted") == 0 && !e->ended_at ? "interrupted"
	                                                                 : "ended";
}

static json_t *event_json(const struct logbook_event *e)
{
	json_t *o = json_object();

	json_put_int(o, "id", e->id);
	json_put_text(o, "verb", e->verb);
	json_put_text(o, "state", state_of(e));
	json_put_text(o, "surface", e->surface);
	if (*e->branch)
		json_put_text(o, "branch", git_branch_short(e->branch));
	if (oid_is_set(&e->head))
		json_put_text(o, "head", e->head.hex);
	if (*e->about)
		json_put_text(o, "about", e->about);
	json_put_int(o, "begun_at", e->begun_at);
	if (e->ended_at) {
		json_put_int(o, "ended_at", e->ended_at);
		json_put_text(o, "outcome", e->outcome);
		json_put_int(o, "duration_ms", e->duration_ms);
		json_put_int(o, "waited_ms", e->waited_ms);
	}
	if (*e->gate_digest)
		json_put_text(o, "gate_digest", e->gate_digest);
	json_put_int(o, "pid", e->pid);
	return o;
}

/* Local time, as people read it. */
static void put_when(struct table *t, int64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm = {0};
	char text[32];

	localtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	table_put(t, STYLE_DIM, text);
}

static void put_outcome(struct table *t, const json_t *e)
{
	const char *outcome = json_text(e, "outcome");
	AUTOFREE char *took = text_ago(json_int(e, "duration_ms", 0));
	bool ok = outcome && strcmp(outcome, "ok") == 0;

	if (!outcome)
		table_put(t, STYLE_YELLOW, json_text(e, "state"));
	else if (ok)
		table_put(t, STYLE_GREEN, "ok");
	else
		table_put(t, STYLE_RED, outcome);
	table_put(t, STYLE_PLAIN, outcome ? took : "");
}

static void put_event(struct table *t, const json_t *e)
{
	const char *branch = json_text(e, "branch"), *about = json_text(e, "about");

	put_when(t, json_int(e, "begun_at", 0));
	table_put(t, STYLE_BOLD, json_text(e, "verb"));
	table_put(t, STYLE_PLAIN, branch ? branch : "-");
	put_outcome(t, e);
	table_put(t, STYLE_DIM, about ? about : "");
}

enum { EVENT_COLUMNS = 6 };

/* --- Following ------------------------------------------------------------------------- */

struct told {
	const char *branch;
	int64_t limit; /* of the past, at first */
	int64_t last;  /* newest id that was told */
	bool begun;
	int64_t *open; /* ids whose end was not told yet */
	size_t open_n;
};

/* Columns of one width, since nothing is known of what comes. */
static void one_line(const struct call *c, const json_t *e, struct buf *out)
{
	AUTOTABLE t = {.columns = EVENT_COLUMNS};
	static const char *const widths[EVENT_COLUMNS] = {"                   ", "        ",
	        "                        ", "               ", "          ", ""};
	AUTOBUF both = {0};

	for (int i = 0; i < EVENT_COLUMNS; i++)
		table_put(&t, STYLE_PLAIN, widths[i]);
	put_event(&t, e);
	table_print(c, &t, "", &both);
	buf_puts(out, strchr(buf_str(&both), '\n') + 1);
}

static bool tell_event(struct call *c, const struct logbook_event *e)
{
	AUTOJSON json_t *o = event_json(e);
	AUTOBUF out = {0};

	if (c->json) {
		AUTOFREE char *line = json_line(o);
		buf_printf(&out, "%s\n", line);
	} else {
		one_line(c, o, &out);
	}
	return output_write(buf_str(&out), out.len);
}

static void remember(struct told *t, const struct logbook_event *e)
{
	if (e->id > t->last)
		t->last = e->id;
	if (*e->outcome)
		return;
	t->open = xreallocarray(t->open, t->open_n + 1, sizeof(*t->open));
	t->open[t->open_n++] = e->id;
}

/* Ends of what was told as running. */
static int tell_ends(struct call *c, struct told *t, bool *ret_written, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < t->open_n; i++) {
		AUTOLOGBOOK l = {0};
		int rc = logbook_event_by_id(c->project.store, t->open[i], &l, err);

		if (rc < 0)
			return -1;
		if (rc == 0 && !*l.v[0].outcome)
			t->open[n++] = t->open[i];
		else if (rc == 0)
			*ret_written = *ret_written && tell_event(c, &l.v[0]);
	}
	t->open_n = n;
	return 0;
}

static int tell(struct call *c, void *ctx, struct strv *ret_refs, struct strv *ret_files,
        bool *ret_written, struct err *err)
{
	struct told *t = ctx;
	size_t n;

	(void)ret_refs;
	(void)ret_files;
	/* There may be no store until some verb works here. */
	if (project_store(&c->project, STORE_READ, err) < 0 ||
	        tell_ends(c, t, ret_written, err) < 0)
		return -1;
	do {
		AUTOLOGBOOK l = {0};
		if ((t->begun ? logbook_after(c->project.store, t->branch, t->last, BATCH, &l, err)
		              : logbook_newest(c->project.store, t->branch, (size_t)t->limit, &l,
		                        err)) < 0)
			return -1;
		for (size_t i = 0; i < l.n; i++) {
			*ret_written = *ret_written && tell_event(c, &l.v[i]);
			remember(t, &l.v[i]);
		}
		n = t->begun ? l.n : 0;
		t->begun = true;
	} while (n == BATCH && *ret_written);
	return 0;
}

static int follow_log(struct call *c, const char *branch, struct result *res, struct err *err)
{
	struct told told = {.branch = branch, .limit = opt_int(c, "limit", LIMIT_FOLLOWED)};
	struct follow f = {.tell = tell, .ctx = &told};
	int rc = follow_run(c, &f, res, err);

	free(told.open);
	return rc;
}

/* --- Once ------------------------------------------------------------------------------ */

static void warn_when_off(struct call *c, struct result *res)
{
	const struct config *policy;

	if (project_policy(&c->project, &policy, NULL) == 0 && !policy->logbook)
		result_warn(res,
		        "The logbook is turned off by `logbook: false` in abide.yaml: "
		        "nothing new is recorded.");
}

static int run(struct call *c, struct result *res, struct err *err)
{
	AUTOLOGBOOK l = {0};
	AUTOFREE char *branch = NULL;
	json_t *events = json_array();

	json_put(result_data(res), "events", events);
	if (project_store(&c->project, STORE_READ, err) < 0 || find_branch(c, &branch, err) < 0)
		return -1;
	if (opt_flag(c, "follow"))
		return follow_log(c, branch, res, err);
	if (logbook_newest(c->project.store, branch, (size_t)opt_int(c, "limit", LIMIT), &l, err) <
	        0)
		return -1;
	for (size_t i = 0; i < l.n; i++)
		json_array_append_new(events, event_json(&l.v[i]));
	if (branch)
		json_put_text(res->data, "branch", git_branch_short(branch));
	warn_when_off(c, res);
	return 0;
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	static const char *const heads[EVENT_COLUMNS] = {
	        "BEGUN", "VERB", "BRANCH", "OUTCOME", "TOOK", ""};
	const json_t *events = json_object_get(res->data, "events"), *e;
	AUTOTABLE t = {.columns = EVENT_COLUMNS};
	size_t i;

	if (!json_array_size(events)) {
		buf_puts(out, "Nothing recorded.\n");
		return;
	}
	for (i = 0; i < EVENT_COLUMNS; i++)
		table_put(&t, STYLE_DIM, heads[i]);
	json_array_foreach (events, i, e) {
		put_event(&t, e);
	}
	table_print(c, &t, "", out);
}

static const char *const states[] = {"running", "ended", "interrupted", NULL};
static const struct field event_fields[] = {
        {"id", "integer", true, "its number; later ones are greater"},
        {"verb", "string", true, "what was called"},
        {"state", "string", true, "interrupted: its process died before its end", .only = states},
        {"surface", "string", true, "who called: cli or mcp"},
        {"branch", "string", false, "the branch that it worked on"},
        {"head", "oid", false, "and that branch's commit at the begin"},
        {"about", "string", false, "what an await waited for"},
        {"begun_at", "time", true, "when it began"},
        {"ended_at", "time", false, "when it ended"},
        {"outcome", "string", false, "ok, or the error's slug"},
        {"duration_ms", "integer", false, "how long it took, waiting included"},
        {"waited_ms", "integer", false, "how long of that it waited for others"},
        {"gate_digest", "string", false, "the gate it ran under"},
        {"pid", "integer", true, "its process, for display"},
        {0},
};

const struct command cmd_log = {
        .name = "log",
        .summary = "show which verbs ran here, when, and what came of them",
        .usage = "log [TASK | --branch BRANCH] [--limit N] [--follow]",
        .details = "The logbook, the newest last. It holds metadata only: no output, no code, no "
                   "values of arguments. Events are kept for 24 months, at most 200,000 of them. A "
                   "verb whose process died is told as interrupted.\n\n"
                   "With --follow each verb is told when it begins and again when it ends; with "
                   "--json that is one object a line.",
        .examples = "abide log --limit 10            # the last ten verbs\n"
                    "abide log fix-login             # what was done on one task\n"
                    "abide log --follow --json       # a stream for scripts\n",
        .options = (const struct option[]){{"branch", OPT_TEXT, "BRANCH",
                                                   "only what worked on this branch",
                                                   .complete = COMPLETE_BRANCH},
                {"limit", OPT_INT, "N", "at most so many, the newest (50; with --follow 10)",
                        .max = LOGBOOK_ROWS},
                {"follow", OPT_FLAG, NULL, "go on telling what begins and ends"}, {0}},
        .data = (const struct field[]){{"events", "array", true, "oldest first",
                                               .of = event_fields},
                {"branch", "string", false, "the branch that was asked about"}, {0}},
        .word = "TASK",
        .complete = COMPLETE_TASK,
        .max_words = 1,
        .streams = true,
        .run = run,
        .render = render,
};
