#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "fleet/fleet.h"
#include "wait/wait.h"

enum { LIVE_MS = 1000 };

/* --- The call ----------------------------------------------------------------- */

struct state {
	struct wait_end end;
	bool waited;
};

static void gather(const struct call *c, struct wait_ask *ask, struct strv *names)
{
	for (int id = 0; id < CONDITION_COUNT; id++) {
		const char *option = condition_text((enum condition_id)id);
		for (size_t i = 0; i < c->given_n; i++) {
			if (strcmp(c->given[i].option->name, option) != 0)
				continue;
			ask->conditions = xreallocarray(
			        ask->conditions, ask->n + 1, sizeof(*ask->conditions));
			ask->conditions[ask->n].id = (enum condition_id)id;
			ask->conditions[ask->n].name = c->given[i].value;
			ask->n++;
			strv_printf(names, "%s%s%s", option, c->given[i].value ? " " : "",
			        c->given[i].value ? c->given[i].value : "");
		}
	}
}

static json_t *running(void *ctx, const char *branch)
{
	struct call *c = ctx;
	json_t *block = NULL;

	fleet_running(&c->project, branch, &block);
	return block;
}

/* One line that says what is waited for, since when, and until when at most. */
static void show(void *ctx, const struct wait_view *v)
{
	struct call *c = ctx;
	AUTOFREE char *elapsed = text_ago(v->elapsed_ms);
	AUTOFREE char *bound = text_ago(v->timeout_s * 1000);
	AUTOJSON json_t *block = running(c, v->branch);
	const json_t *lead = json_object_get(block, "lead");
	AUTOFREE char *since = text_ago(json_int(lead, "elapsed_ms", 0));
	AUTOFREE char *doing = lead
	        ? xasprintf(" (%s runs since %s)", json_text(lead, "verb"), since)
	        : xstrdup("");

	say_live(c, "waiting for %s%s: %s of at most %s%s%s", v->what, doing, elapsed, bound,
	        v->handle ? ", " : "", v->handle ? v->handle : "");
}

static char *joined(const struct strv *l)
{
	AUTOBUF b = {0};

	for (size_t i = 0; i < l->n; i++)
		buf_printf(&b, "%s%s", i ? ", " : "", l->v[i]);
	return buf_take(&b);
}

static int hold(struct call *c, struct result *res, struct err *err)
{
	struct state *st = c->state;
	AUTOSTRV names = {0};
	AUTOFREE char *about = NULL;
	AUTOFREE char *waiting = git_head_hint(&c->project.git); /* the branch that waits */
	struct wait_ask ask = {
	        .any = opt_flag(c, "any"),
	        .all = opt_flag(c, "all"),
	        .fresh = opt_flag(c, "fresh"),
	        .may_start = opt_flag(c, "may-start"),
	        .resume = opt_text(c, "resume"),
	        .timeout_s = opt_int(c, "timeout", -1),
	        .caller = {.surface = result_surface,
	                .tool_timeout_s = c->tool_timeout_s,
	                .cap_s = env_experiment(ENV_EXP_AWAIT_CALL_SECONDS)},
	        .watch_stdin = c->watch_stdin,
	};
	struct wait_hooks hooks = {.ctx = c,
	        .running = running,
	        .tick_ms = c->live && !c->json ? LIVE_MS : 0,
	        .show = show};
	int rc;

	gather(c, &ask, &names);
	about = ask.resume ? xasprintf("resume %s", ask.resume) : joined(&names);
	call_begin(c, false, waiting, NULL, about, NULL, NULL);
	rc = wait_run(&c->project, &ask, &hooks, res, &st->end, err);
	say_live(c, "%s", "");
	c->waited_ms = clock_mono_ms() - c->begun_mono_ms;
	st->waited = rc == 0;
	free(ask.conditions);
	return rc;
}

static int run(struct call *c, struct result *res, struct err *err)
{
	c->state = xcalloc(1, sizeof(struct state));
	if (opt_flag(c, "list") || opt_given(c, "stop")) {
		if (c->given_n > 1) {
			err_set(err, ERR_INVALID_ARGUMENTS,
			        "--list and --stop go with nothing else.");
			err_hint(err,
			        "Call `abide await --list` or `abide await --stop HANDLE` alone.");
			return -1;
		}
		return opt_flag(c, "list") ? wait_list(&c->project, res, err)
		                           : wait_stop(&c->project, opt_text(c, "stop"), res, err);
	}
	return hold(c, res, err);
}

static void delivered(struct call *c, bool written)
{
	struct state *st = c->state;

	if (st && st->waited)
		wait_delivered(&c->project, &st->end, written);
}

static void release(struct call *c)
{
	free(c->state);
}

/* --- Text for people ------------------------------------------------------------ */

static void render_list(struct call *c, const json_t *list, struct buf *out)
{
	size_t i;
	const json_t *row;

	if (!json_array_size(list))
		buf_puts(out, "no open watches\n");
	json_array_foreach (list, i, row) {
		AUTOFREE char *ago = text_ago(clock_wall_ms() - json_int(row, "used_at", 0));
		out_text(c, out, STYLE_BOLD, json_text(row, "resume"));
		buf_puts(out,
		        json_flag(row, "held") ? "  waiting now  for " : "  not held now  for ");
		out_text(c, out, STYLE_PLAIN, json_text(row, "waits_for"));
		out_printf(c, out, STYLE_DIM, "  (used %s ago, asked in %s)", ago,
		        json_text(row, "worktree"));
		buf_putc(out, '\n');
	}
}

static void render_condition(struct call *c, const json_t *o, struct buf *out)
{
	const json_t *seen = json_object_get(o, "observed");
	const char *branch = json_text(o, "branch");
	const char *via = json_text(seen, "via");
	const char *commit = json_text(seen, "landed_commit");
	const char *settled = json_text(o, "settled");
	bool met = json_flag(o, "met");

	if (!commit)
		commit = json_text(seen, branch ? "tip" : "trunk_head");
	out_text(c, out, met ? STYLE_GREEN : STYLE_YELLOW,
	        met               ? "yes"
	                : settled ? settled
	                          : "not yet");
	out_printf(c, out, STYLE_PLAIN, "  %s%s%s", json_text(o, "condition"), branch ? " " : "",
	        branch ? branch : "");
	if (met && commit) {
		buf_puts(out, "  ");
		out_oid(c, out, commit);
	}
	if (met && via)
		out_printf(c, out, STYLE_DIM, "  (by %s)", via);
	buf_putc(out, '\n');
}

static void render_overlap(struct call *c, const json_t *seen, struct buf *out)
{
	const json_t *files = json_object_get(seen, "incoming_overlap");
	int64_t behind = json_int(seen, "behind", -1);
	size_t i;
	const json_t *f;

	if (behind > 0)
		buf_printf(out, "this worktree is %lld commit%s behind it\n", (long long)behind,
		        behind == 1 ? "" : "s");
	if (!json_array_size(files))
		return;
	buf_printf(out, "%lld of its changed files come in changed, too:\n",
	        (long long)json_int(seen, "overlap_total", 0));
	json_array_foreach (files, i, f) {
		buf_puts(out, "  ");
		out_text(c, out, STYLE_PLAIN, json_string_value(f));
		buf_putc(out, '\n');
	}
}

static void render_wait(struct call *c, const json_t *d, struct buf *out)
{
	const json_t *list = json_object_get(d, "conditions");
	const char *handle = json_text(d, "resume");
	AUTOFREE char *took = text_ago(json_int(d, "elapsed_ms", 0));
	size_t i;
	const json_t *one;

	if (!list)
		render_condition(c, d, out);
	json_array_foreach (list, i, one) {
		render_condition(c, one, out);
	}
	render_overlap(c, json_object_get(d, "observed"), out);
	if (json_flag(d, "replayed"))
		buf_puts(out, "this was answered before\n");
	else
		buf_printf(out, "waited %s\n", took);
	if (handle) {
		buf_puts(out, "handle ");
		out_text(c, out, STYLE_BOLD, handle);
		buf_putc(out, '\n');
	}
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *list = json_object_get(res->data, "watches");
	const char *stopped = json_text(res->data, "stopped");

	if (list) {
		render_list(c, list, out);
	} else if (stopped) {
		buf_printf(out, "stopped %s\n", stopped);
	} else {
		render_wait(c, res->data, out);
	}
}

/* --- The tables --------------------------------------------------------------------- */

static const struct option options[] = {
        {"green", OPT_LIST, "BRANCH",
                "until BRANCH's live tip has passed the gate, or its work landed", COMPLETE_BRANCH},
        {"landed", OPT_LIST, "BRANCH", "until BRANCH's work has reached the trunk",
                COMPLETE_BRANCH},
        {"trunk-moved", OPT_FLAG, NULL,
                "until the trunk is at another commit than when the watch began"},
        {"any", OPT_FLAG, NULL, "of several conditions the first that holds ends the wait"},
        {"all", OPT_FLAG, NULL, "of several conditions each must have held"},
        {"may-start", OPT_FLAG, NULL, "a branch that is not there yet may appear later"},
        {"timeout", OPT_INT, "SECONDS", "hold this call at most so long; 0 looks once", .min = 0,
                .max = 3155760000},
        {"fresh", OPT_FLAG, NULL, "ask anew even if the same question was asked here before"},
        {"resume", OPT_TEXT, "HANDLE", "continue a watch: the same question, losing nothing",
                COMPLETE_HANDLE},
        {"list", OPT_FLAG, NULL, "show the open watches"},
        {"stop", OPT_TEXT, "HANDLE", "end a watch for good", COMPLETE_HANDLE},
        {0},
};

static const char *const conditions[] = {"green", "landed", "trunk-moved", "any", "all", NULL};
static const char *const vias[] = {"proof", "ancestry", "receipt", "trunk", NULL};
static const char *const proofs[] = {"honoured", "missing", "stale", "red", "no-worktree", NULL};
static const char *const settleds[] = {"red", "refused", NULL};
static const char *const endeds[] = {"cancelled", "stopped", NULL};
static const char *const wakes[] = {"events", "polling", "none", NULL};

static const struct field proof_fields[] = {
        {"status", "string", true, "what the store holds for the live tip", .only = proofs},
        {"commit", "oid", false, "the commit that was judged"},
        {"finished_at", "time", false, "when"},
        {"failing", "array", false, "names of the jobs that failed"},
        {0},
};
static const struct field observed_fields[] = {
        {"tip", "oid", false, "the branch's latest tip that was seen"},
        {"armed", "boolean", false, "the branch's work was seen outside the trunk"},
        {"landed", "boolean", false, "the work is on the trunk"},
        {"via", "string", false, "what proves it", .only = vias},
        {"proof", "object", false, "the gate's verdict on the live tip", .of = proof_fields},
        {"worktree", "string", false, "the worktree that holds the branch"},
        {"trunk_start", "oid", false, "the trunk when the watch began"},
        {"trunk_head", "oid", false, "the trunk now"},
        {"landed_commit", "oid", false, "the commit on the trunk that holds the work"},
        {"branch_missing", "boolean", false, "the branch is not there (any more)"},
        {"trunk_missing", "boolean", false, "the trunk is not there now"},
        {"behind", "integer", false, "commits that the caller's worktree lacks"},
        {"incoming_overlap", "array", false,
                "changed files of the caller's worktree that come in changed, too (at most 20)"},
        {"overlap_total", "integer", false, "how many there are of those"},
        {0},
};
static const struct field refused_fields[] = {
        {"error", "string", true, "slug of the refusal"},
        {"files", "array", false, "files that it names"},
        {0},
};
static const struct field condition_fields[] = {
        {"condition", "string", true, "which", .only = conditions},
        {"branch", "string", false, "of which branch"},
        {"met", "boolean", true, "it holds, or has held"},
        {"observed", "object", true, "what was seen", .of = observed_fields},
        {"settled", "string", false, "it will not hold until somebody mends something",
                .only = settleds},
        {"refused", "object", false, "why the landing was refused", .of = refused_fields},
        {0},
};
static const struct field continued_fields[] = {
        {"resume", "string", true, "the earlier watch that this call continues"},
        {"begun_at", "time", true, "when it began"},
        {"reason", "string", true, "how its last call ended"},
        {0},
};
static const struct field work_fields[] = {
        {"verb", "string", true, "what runs"},
        {"branch", "string", false, "on which branch"},
        {"task", "string", false, "the task's id"},
        {"elapsed_ms", "integer", true, "since when"},
        {"median_s", "number", false, "how long it usually takes"},
        {"p90_s", "number", false, "how long nine of ten take at most"},
        {"samples", "integer", false, "how many that is known from"},
        {0},
};
static const struct field running_fields[] = {
        {"in_flight", "array", true, "verbs in flight, oldest first", .of = work_fields},
        {"lead", "object", true, "the one that probably takes longest", .of = work_fields},
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

static const struct field fields[] = {
        {"condition", "string", false, "the condition, or the mode of several", .only = conditions},
        {"branch", "string", false, "of which branch"},
        {"trunk", "string", false, "the trunk's name"},
        {"met", "boolean", false, "the wait is over: it holds"},
        {"elapsed_ms", "integer", false, "how long this call held"},
        {"timeout_s", "integer", false, "how long it would have held at most"},
        {"timeout_basis", "string", false, "where that bound comes from", .only = basis_texts},
        {"requested_timeout_s", "integer", false,
                "what was asked for, when it was more than is safe"},
        {"observed", "object", false, "what was seen", .of = observed_fields},
        {"conditions", "array", false, "each of several conditions", .of = condition_fields},
        {"resume", "string", false, "the handle that continues the question; only when not met"},
        {"retry_after_s", "integer", false, "length of the next call (a length, not a delay)"},
        {"retry_basis", "string", false, "where that length comes from", .only = basis_texts},
        {"settled", "string", false, "it will not hold until somebody mends something",
                .only = settleds},
        {"refused", "object", false, "why the landing was refused", .of = refused_fields},
        {"ended", "string", false, "the call was ended from outside", .only = endeds},
        {"continued", "object", false, "an earlier lost call that this one continues",
                .of = continued_fields},
        {"replayed", "boolean", false, "this was answered before"},
        {"wake", "string", false, "how changes were noticed", .only = wakes},
        {"running", "object", false, "what is known of the work waited for", .of = running_fields},
        {"watches", "array", false, "--list: the open watches", .of = watch_fields},
        {"stopped", "string", false, "--stop: the handle"},
        {"was_open", "boolean", false, "--stop: it was open until now"},
        {0},
};

const struct command cmd_await = {
        .name = "await",
        .summary = "hold one call until a condition is true",
        .usage = "await (--green BRANCH | --landed BRANCH | --trunk-moved)... [--any | --all]\n"
                 "await --resume HANDLE [--timeout SECONDS]\n"
                 "await --list | --stop HANDLE",
        .details = "Returns the moment the condition holds. A call that reaches its bound answers "
                   "\"not yet\" "
                   "(exit 124) with a handle; `--resume` continues the same question with the same "
                   "baseline, "
                   "as often as it takes.\n\n"
                   "A branch's work has landed when it was seen outside the trunk and then on it, "
                   "or when a "
                   "receipt on the trunk says so; a branch that is deleted right after its landing "
                   "is told all "
                   "the same. Only local refs count; nothing is fetched.\n\n"
                   "BRANCH may also be a task's id. From a branch's own worktree, --green also "
                   "ends when its "
                   "gate went red, and --landed when its accept was refused.",
        .examples =
                "  abide await --landed fix-login            # until that task is on the trunk\n"
                "  abide await --landed parser --may-start   # a task that somebody will start "
                "later\n"
                "  abide await --green api --green ui --all --timeout 600\n"
                "  abide await --resume w-7K3Q-X2M9-5F",
        .options = options,
        .data = fields,
        .run = run,
        .render = render,
        .delivered = delivered,
        .release = release,
};
