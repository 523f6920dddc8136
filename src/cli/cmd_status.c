#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/output.h"
#include "cli/status_view.h"
#include "fleet/fleet.h"

/* What `--follow` told last. */
struct told {
	json_t *data; /* without what changes by itself; NULL: nothing yet */
};

static int look(struct call *c, struct result *res, struct err *err)
{
	call_recover(c);
	return fleet_status(&c->project, opt_flag(c, "here"), res, err);
}

/* --- Following ------------------------------------------------------------------ */

/* Takes out what grows while nothing happens. */
static void still(json_t *v)
{
	json_t *inner;
	const char *key;
	size_t i;

	json_object_del(v, "elapsed_ms");
	json_object_foreach (v, key, inner) {
		still(inner);
	}
	json_array_foreach (v, i, inner) {
		still(inner);
	}
}

/* Whether RES is what was told last. */
static bool told_already(struct told *told, const struct result *res)
{
	AUTOJSON json_t *data = json_deep_copy(res->data);

	still(data);
	if (told->data && json_equal(told->data, data))
		return true;
	json_decref(told->data);
	told->data = STEAL(data);
	return false;
}

static bool tell_json(struct call *c, const struct result *res)
{
	AUTOFREE char *line = output_envelope(c->cmd->name, res, NULL);

	return output_write(line, strlen(line));
}

static void lines(const struct call *c, struct buf *out, const char *label, const struct strv *l)
{
	for (size_t i = 0; i < l->n; i++) {
		buf_puts(out, label);
		out_text(c, out, STYLE_PLAIN, l->v[i]);
		buf_putc(out, '\n');
	}
}

/* Over what stood there, without a flicker: each line is cleared as it is written. */
static char *redrawn(const char *text, bool first)
{
	AUTOBUF out = {0};

	buf_puts(&out, first ? "\033[2J\033[H" : "\033[H");
	for (; *text; text++) {
		if (*text == '\n')
			buf_puts(&out, "\033[K");
		buf_putc(&out, *text);
	}
	buf_puts(&out, "\033[J");
	return buf_take(&out);
}

static bool tell_text(struct call *c, const struct result *res, bool terminal, bool first)
{
	AUTOFREE char *text = NULL;
	AUTOBUF out = {0};

	status_view(c, res->data, &out);
	lines(c, &out, "warning: ", &res->warnings);
	lines(c, &out, "next: ", &res->hints);
	if (terminal)
		text = redrawn(buf_str(&out), first);
	else
		text = xasprintf("%s%s", first ? "" : "\n", buf_str(&out));
	return output_write(text, strlen(text));
}

/* What a change of any of the worktrees shows in. */
static void watch_rows(
        const struct call *c, const json_t *data, struct strv *refs, struct strv *files)
{
	const struct project *p = &c->project;
	const json_t *row;
	AUTOWORKTREES w = {0};
	size_t i;

	if (p->trunk_ref)
		strv_push(refs, p->trunk_ref);
	json_array_foreach (json_object_get(data, "tasks"), i, row) {
		strv_printf(refs, "refs/heads/%s", json_text(row, "branch"));
	}
	if (git_worktrees(&p->git, &w, NULL) < 0)
		return;
	for (i = 0; i < w.n; i++) {
		if (!w.v[i].git_dir)
			continue;
		strv_take(files, path_join(w.v[i].git_dir, "HEAD"));
		strv_take(files, path_join(w.v[i].git_dir, "index"));
	}
}

static int tell(struct call *c, void *ctx, struct strv *ret_refs, struct strv *ret_files,
        bool *ret_written, struct err *err)
{
	struct told *told = ctx;
	AUTORESULT res = {0};
	bool first = !told->data, terminal = !c->json && isatty(STDOUT_FILENO) == 1;

	if (!first && project_refresh_trunk(&c->project, err) < 0)
		return -1;
	if (look(c, &res, err) < 0)
		return -1;
	/* On a terminal the times go on, too. */
	if (!told_already(told, &res) || terminal)
		*ret_written = c->json ? tell_json(c, &res) : tell_text(c, &res, terminal, first);
	watch_rows(c, res.data, ret_refs, ret_files);
	return 0;
}

static int run(struct call *c, struct result *res, struct err *err)
{
	struct told told = {0};
	struct follow f = {.tell = tell, .ctx = &told, .bell = true};
	int rc;

	if (!opt_flag(c, "follow"))
		return look(c, res, err);
	rc = follow_run(c, &f, res, err);
	json_decref(told.data);
	return rc;
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	status_view(c, res->data, out);
}

/* --- The table -------------------------------------------------------------------- */

#define X(name, text) text,
static const char *const states[] = {FLEET_STATES(X) NULL};
#undef X
static const char *const proofs[] = {"honoured", "missing", "stale", "red", NULL};

static const struct field trunk_fields[] = {
        {"name", "string", true, "its branch's name"},
        {"tip", "oid", false, "its commit"},
        {"upstream", "string", false, "what it follows, as last fetched"},
        {"ahead_of_upstream", "integer", false, "commits that are not there"},
        {"behind_upstream", "integer", false, "commits there that it lacks"},
        {"path", "string", false, "where it is checked out"},
        {"changed", "integer", false, "tracked files changed in that checkout"},
        {"parked", "string", false, "what that checkout is in the middle of"},
        {0},
};
static const struct field dirty_fields[] = {
        {"tracked", "integer", true, "tracked files that are changed"},
        {"untracked", "integer", true, "files and folders that git does not know"},
        {"conflicts", "integer", true, "files in conflict"},
        {"paths", "array", true, "the first 20 of all of them"},
        {0},
};
static const struct field proof_fields[] = {
        {"status", "string", true, "what is known of this commit", .only = proofs},
        {"commit", "oid", false, "the commit it is about"},
        {"finished_at", "time", false, "when the gate finished"},
        {"failing", "array", false, "jobs that failed"},
        {"log_dir", "string", false, "where their output is"},
        {0},
};
static const struct field gate_fields[] = {
        {"run", "integer", true, "the run's number"},
        {"commit", "oid", true, "the commit it runs on"},
        {"detached", "boolean", true, "nobody has to wait for it"},
        {"elapsed_ms", "integer", true, "since it began"},
        {"median_s", "number", false, "how long it typically takes"},
        {"p90_s", "number", false, "how long nine of ten take at most"},
        {"samples", "integer", false, "how many earlier runs that is known from"},
        {0},
};
static const struct field flight_fields[] = {
        {"verb", "string", true, "what runs"},
        {"branch", "string", false, "on which branch"},
        {"about", "string", false, "what an await waits for"},
        {"elapsed_ms", "integer", true, "since it began"},
        {"median_s", "number", false, "how long it typically takes"},
        {"p90_s", "number", false, "how long nine of ten take at most"},
        {"samples", "integer", false, "how many earlier runs that is known from"},
        {0},
};
static const struct field waiting_fields[] = {
        {"for", "string", true, "what is not true yet"},
        {"resume", "string", true, "the watch's handle"},
        {"begun_at", "time", true, "when the watch began"},
        {0},
};
static const struct field task_fields[] = {
        {"id", "string", true, "the task's id"},
        {"branch", "string", true, "its branch"},
        {"path", "string", true, "its worktree"},
        {"tip", "oid", false, "the branch's tip; not there while it is unborn"},
        {"state", "string", true, "what is the matter with the worktree", .only = states},
        {"message", "string", false, "what is wrong with it"},
        {"here", "boolean", false, "the caller stands in it"},
        {"main", "boolean", false, "it is the main checkout"},
        {"owned", "boolean", false, "`start` made it"},
        {"port", "integer", false, "its port"},
        {"locked", "string", false, "the reason of the worktree's lock"},
        {"parked", "string", false, "what it is in the middle of: merge, rebase, …"},
        {"ahead", "integer", false, "commits that the trunk lacks"},
        {"behind", "integer", false, "commits of the trunk that it lacks"},
        {"dirty", "object", false, "what is not committed", .of = dirty_fields},
        {"proof", "object", true, "what the gate said", .of = proof_fields},
        {"gate", "object", false, "the gate's run that is going on", .of = gate_fields},
        {"landed_at", "time", false, "when this very commit landed"},
        {"running", "object", false, "the newest verb in flight", .of = flight_fields},
        {"in_flight", "array", true, "all verbs in flight, oldest first", .of = flight_fields},
        {"waiting", "array", true, "what calls made there wait for now", .of = waiting_fields},
        {"idle_since", "time", false, "when something last happened there"},
        {0},
};
static const struct field other_fields[] = {
        {"path", "string", true, "the worktree"},
        {"branch", "string", false, "its branch; not there when HEAD is detached"},
        {"head", "oid", false, "its commit"},
        {"state", "string", true, "what is the matter with it", .only = states},
        {"message", "string", false, "what is wrong with it"},
        {"locked", "string", false, "the reason of its lock"},
        {"parked", "string", false, "what it is in the middle of"},
        {"main", "boolean", false, "it is the main checkout"},
        {"here", "boolean", false, "the caller stands in it"},
        {"changed", "integer", false, "tracked files that are changed"},
        {"untracked", "integer", false, "files and folders that git does not know"},
        {0},
};
static const struct field branch_fields[] = {
        {"branch", "string", true, "its name"},
        {"tip", "oid", true, "its commit"},
        {"ahead", "integer", false, "commits that the trunk lacks"},
        {"behind", "integer", false, "commits of the trunk that it lacks"},
        {"committed_at", "time", true, "when its last commit was made"},
        {0},
};
static const struct field watch_fields[] = {
        {"resume", "string", true, "the handle"},
        {"waits_for", "string", true, "what is not true yet"},
        {"trunk", "string", true, "the trunk it was asked about"},
        {"worktree", "string", true, "where it was asked"},
        {"held", "boolean", true, "a call holds it now"},
        {"begun_at", "time", true, "when it began"},
        {"used_at", "time", true, "when it was used last"},
        {0},
};
static const struct field queue_fields[] = {
        {"branch", "string", true, "what wants to land"},
        {"since", "time", true, "since when it queues"},
        {0},
};

static const struct field fields[] = {
        {"trunk", "object", false, "the branch that work lands on", .of = trunk_fields},
        {"tasks", "array", true, "one row a task, sorted by id", .of = task_fields},
        {"worktrees", "array", true, "worktrees that are no tasks: on the trunk, or detached",
                .of = other_fields},
        {"branches", "array", true, "unlanded work without a worktree, newest first, at most 20",
                .of = branch_fields},
        {"branches_total", "integer", true, "how many such branches there are"},
        {"watches", "array", true, "open watches", .of = watch_fields},
        {"landing_queue", "array", true, "who wants to land, the first first", .of = queue_fields},
        {0},
};

const struct command cmd_status = {
        .name = "status",
        .summary = "show what every task does and waits for, and what to do next",
        .usage = "status [--here] [--follow]",
        .details =
                "One row a task, from wherever it is called: how far its branch is ahead of the "
                "trunk and behind it, what is not committed, what the gate said of its commit, "
                "what runs there or is waited for there, and since when nothing happened. Below "
                "stand open watches, the landing queue, unlanded branches without a worktree, and "
                "worktrees that something is wrong with.\n\n"
                "It changes nothing of yours and takes no locks of git's. A typical duration is "
                "the median of earlier runs; it is never used to decide anything.",
        .examples = "abide status              # the whole fleet\n"
                    "abide status --here       # the caller's worktree alone\n"
                    "abide status --follow     # keep it on the screen\n"
                    "abide status --json       # for scripts\n",
        .options = (const struct option[]){{"here", OPT_FLAG, NULL,
                                                   "only the worktree that the caller stands in"},
                {"follow", OPT_FLAG, NULL,
                        "keep telling: redrawn at each change; with --json one object a "
                        "line"},
                {0}},
        .data = fields,
        .streams = true,
        .run = run,
        .render = render,
};
