#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/gate_view.h"
#include "git/patient.h"
#include "land/land.h"

/* --- Progress for people ------------------------------------------------------------- */

static void on_queued(void *ctx, size_t ahead)
{
	struct call *c = ctx;

	if (c->json && !c->live)
		return;
	if (!ahead)
		say_live(c, "%s", "");
	else if (c->live)
		say_live(c, "waiting for %zu landing%s", ahead, ahead == 1 ? "" : "s");
	else
		say(c, "waiting for %zu landing%s", ahead, ahead == 1 ? "" : "s");
}

/* --- The answer ------------------------------------------------------------------------ */

static void put_task(const struct project *p, const struct task *t, json_t *data)
{
	json_put_text(data, "task", t->id);
	json_put_text(data, "branch", git_branch_short(t->branch));
	json_put_text(data, "trunk", p->trunk);
	json_put_text(data, "path", t->worktree);
}

static void put_dry(const struct landed *l, json_t *data)
{
	json_put_bool(data, "dry_run", true);
	json_put_text(data, "commit", l->commit.hex);
	json_put_text(data, "tree", l->tree.hex);
	json_put_text(data, "trunk_before", l->trunk_before.hex);
	json_put_bool(data, "gate_needed", l->gate_needed);
	json_put_bool(data, "gate_changed", l->gate_changed);
	json_put_bool(data, "would_remove", !l->would_keep);
	json_put_int(data, "ahead", (int64_t)l->ahead);
}

static void put_landed(const struct landed *l, json_t *data)
{
	const struct task_removed *r = &l->removed;

	json_put_text(data, "commit", l->commit.hex);
	json_put_text(data, "tree", l->tree.hex);
	json_put_text(data, "trunk_before", l->trunk_before.hex);
	json_put(data, "receipt", json_incref(l->receipt));
	json_put_bool(data, "already", l->already);
	json_put_bool(data, "gate_ran", l->gate_ran);
	json_put_bool(data, "gate_changed", l->gate_changed);
	json_put_bool(data, "removed", r->worktree);
	json_put_bool(data, "branch_deleted", r->branch);
	json_put_bool(data, "leaving", r->leaving);
	json_put(data, "kept", json_text_list(&r->kept, 0));
	json_put_text(data, "kept_dir", r->kept_dir);
	json_put_text(data, "stays", r->stays);
	if (r->inside.n)
		json_put(data, "inside", json_text_list(&r->inside, 20));
	json_put_int(data, "queued_ms", l->queued_ms);
}

/* Whether the caller's own folder is among what was removed. */
static bool is_gone(const char *dir)
{
	AUTOFREE char *cwd = path_cwd();

	return !cwd || !fs_is_dir(cwd) || (!fs_is_dir(dir) && path_inside(cwd, dir));
}

static void hint_landed(
        const struct call *c, const struct task *t, const struct landed *l, struct result *res)
{
	const struct task_removed *r = &l->removed;
	const char *main =
	        c->project.git.main_worktree ? c->project.git.main_worktree : c->project.git.common;
	AUTOFREE char *quoted = text_shell_quote(main);

	if (r->leaving)
		result_hint(res,
		        "Leave %s (`cd %s`): the next abide command removes it when nobody is "
		        "inside any more.",
		        t->worktree, quoted);
	else if (r->worktree && is_gone(t->worktree))
		result_hint(res, "The folder that you were in is gone: `cd %s`.", quoted);
	if (r->stays && t->recorded)
		result_warn(res, "The worktree stays: %s", r->stays);
	if (r->kept.n)
		result_hint(
		        res, "Ignored files of the worktree are in %s for 7 days.", r->kept_dir);
}

static void on_dry_run(
        const struct task *t, const struct landed *l, const char *trunk, struct result *res)
{
	AUTOFREE char *accept = call_text("accept", "=task", git_branch_short(t->branch), NULL);

	result_hint(res, "Land `%s` on `%s` with `%s`.%s", git_branch_short(t->branch), trunk,
	        accept, l->gate_needed ? " The gate will run first: there is no proof yet." : "");
}

/* What a gate that did not pass tells is in the error's data already. */
static int land(struct call *c, const struct task *t, struct result *res, struct err *err)
{
	CLEANUP(gate_view_release) struct gate_view view = {.call = c};
	const struct land_options o = {
	        .dry_run = opt_flag(c, "dry-run"),
	        .keep = opt_flag(c, "keep"),
	        .watch_stdin = c->watch_stdin,
	        .surface = call_surface(),
	        .queued = on_queued,
	        .ctx = c,
	        .gate = {.note = gate_view_note, .ctx = &view, .ticks = c->live},
	};
	AUTOLANDED l = {0};
	int rc;

	if (!o.dry_run && call_begin(c, true, t->branch, &t->tip, NULL, NULL, err) < 0)
		return -1;
	rc = land_accept(&c->project, t, &o, &l, err);
	c->waited_ms += l.queued_ms + l.waited_ms;
	gate_view_end(&view, &l.run, rc < 0);
	strv_extend(&res->warnings, &l.warnings);
	if (rc < 0)
		return -1;
	put_task(&c->project, t, result_data(res));
	if (o.dry_run) {
		put_dry(&l, res->data);
		on_dry_run(t, &l, c->project.trunk, res);
	} else {
		put_landed(&l, res->data);
		hint_landed(c, t, &l, res);
	}
	return 0;
}

/* --- In a session of its own -------------------------------------------------------------- */

enum { ENVELOPE_CAP = 4 << 20 };

struct detach {
	const struct call *call;
	int64_t after_ms;
};

static bool stdin_ended(void)
{
	struct pollfd p = {.fd = STDIN_FILENO};

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static bool let_go(void *ctx, int64_t ms)
{
	const struct detach *d = ctx;

	return ms >= d->after_ms || stop_signal || (d->call->watch_stdin && stdin_ended());
}

static void take_list(const json_t *from, const char *key, struct strv *ret)
{
	const json_t *v;
	size_t i;

	json_array_foreach (json_object_get(from, key), i, v) {
		if (json_is_string(v))
			strv_push(ret, json_string_value(v));
	}
}

/* The envelope of the other process becomes this one's answer. */
static int take_envelope(
        const struct patient *p, const struct task *t, struct result *res, struct err *err)
{
	AUTOJSON json_t *e = json_read(buf_str(&p->said), p->said.len, NULL);
	const char *slug = json_text(e, "error"), *message = json_text(e, "message");
	json_t *data = json_object_get(e, "data"), *v;
	const char *key;

	take_list(e, "warnings", &res->warnings);
	if (json_flag(e, "ok")) {
		json_object_update(result_data(res), data);
		take_list(e, "hints", &res->hints);
		return 0;
	}
	if (!slug || !message || err_from_slug(slug) == ERR_NONE) {
		AUTOFREE char *status = call_text("status", NULL);
		err_set(err, ERR_INTERRUPTED,
		        "The process that was landing `%s` ended without an answer.",
		        git_branch_short(t->branch));
		err_hint(err, "See how it stands with `%s`, which also puts it right.", status);
		return -1;
	}
	err_set(err, err_from_slug(slug), "%s", message);
	take_list(e, "hints", &err->hints);
	json_object_foreach (data, key, v)
		err_data(err, key, json_incref(v));
	return -1;
}

static void on_running(const struct project *p, const struct task *t, struct result *res)
{
	const char *branch = git_branch_short(t->branch);
	AUTOFREE char *wait = call_text("await", "landed", branch, NULL);
	AUTOFREE char *status = call_text("status", NULL);

	put_task(p, t, result_data(res));
	json_put_text(res->data, "commit", t->tip.hex);
	json_put_bool(res->data, "running", true);
	result_hint(res, "Wait for the landing with `%s`.", wait);
	result_hint(res, "See how it stands with `%s`.", status);
}

/*
 * The landing as a process of its own session from the start: this call only
 * listens, so that neither its end nor a signal to it changes anything.
 */
static int land_apart(struct call *c, const struct task *t, struct result *res, struct err *err)
{
	struct detach d = {.call = c, .after_ms = opt_int(c, "detach-after", 0) * 1000};
	AUTOFREE char *program = platform_program();
	AUTOFREE char *surface = xasprintf("--surface=%s", call_surface());
	const char *common = c->project.git.common;
	const char *argv[] = {program, "-C", common, "--json", surface, "accept", "--apart", "--",
	        t->branch, NULL};
	const char *keeping[] = {program, "-C", common, "--json", surface, "accept", "--apart",
	        "--keep", "--", t->branch, NULL};
	AUTOPATIENT p = {
	        .argv = opt_flag(c, "keep") ? keeping : argv,
	        .env = env_for_children(false),
	        .cwd = common,
	        .keep_fd = -1,
	        .no_stderr = true,
	        .cap = ENVELOPE_CAP,
	        .let_go = let_go,
	        .ctx = &d,
	};

	/* Whoever stands in the worktree keeps it from being removed. */
	if (chdir(common) < 0)
		return err_set(err, ERR_READ_FAILED, "%s cannot be entered.", common);
	if (patient_run(&p, err) < 0)
		return -1;
	if (p.status == -1) {
		on_running(&c->project, t, res);
		return 0;
	}
	return take_envelope(&p, t, res, err);
}

/* --- The verb ------------------------------------------------------------------------------- */

static int run(struct call *c, struct result *res, struct err *err)
{
	const char *word = c->words.n ? c->words.v[0] : NULL;
	AUTOTASK task = {0};

	if (opt_flag(c, "dry-run") && opt_given(c, "detach-after")) {
		err_set(err, ERR_INVALID_ARGUMENTS,
		        "`--dry-run` only says what would happen; it takes no `--detach-after`.");
		err_hint(err, "Use one of them.");
		return -1;
	}
	if (task_place(&c->project, c->dir, c->dir != NULL, err) < 0 ||
	        project_need_trunk(&c->project, err) < 0)
		return -1;
	if (!opt_flag(c, "dry-run"))
		call_recover(c);
	if (task_resolve(&c->project, word, &task, err) < 0)
		return -1;
	return opt_given(c, "detach-after") ? land_apart(c, &task, res, err)
	                                    : land(c, &task, res, err);
}

static void render_kept(struct call *c, const json_t *d, struct buf *out)
{
	const json_t *kept = json_object_get(d, "kept"), *v;
	size_t i;

	json_array_foreach (kept, i, v)
		out_printf(c, out, STYLE_DIM, "%s%s", i ? ", " : "  kept: ", json_string_value(v));
	if (json_array_size(kept))
		buf_putc(out, '\n');
}

static const char *what_became(const json_t *d)
{
	if (json_flag(d, "leaving"))
		return "the worktree goes when nobody is inside any more";
	if (json_flag(d, "removed"))
		return json_flag(d, "branch_deleted") ? "worktree and branch removed"
		                                      : "worktree removed, branch kept";
	return "worktree and branch kept";
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *d = res->data;
	bool dry = json_flag(d, "dry_run"), running = json_flag(d, "running");

	out_text(c, out, dry || running ? STYLE_YELLOW : STYLE_GREEN,
	        dry                               ? "would land"
	                : running                 ? "landing"
	                : json_flag(d, "already") ? "landed before"
	                                          : "landed");
	buf_puts(out, "  ");
	out_text(c, out, STYLE_BOLD, json_text(d, "branch"));
	buf_puts(out, "  ");
	out_oid(c, out, json_text(d, "commit"));
	buf_puts(out, " on ");
	out_text(c, out, STYLE_BOLD, json_text(d, "trunk"));
	if (running)
		buf_puts(out, ", in its own session");
	buf_putc(out, '\n');
	if (dry) {
		out_printf(c, out, STYLE_DIM, "  %s; %s",
		        json_flag(d, "gate_needed") ? "the gate would run" : "the gate has passed",
		        json_flag(d, "would_remove") ? "worktree and branch would go"
		                                     : "worktree and branch would stay");
		buf_putc(out, '\n');
		return;
	}
	if (running)
		return;
	out_printf(c, out, STYLE_DIM, "  %s", what_became(d));
	buf_putc(out, '\n');
	render_kept(c, d, out);
}

static const struct option options[] = {
        {"dry-run", OPT_FLAG, NULL, "say what would happen, and change nothing"},
        {"keep", OPT_FLAG, NULL, "keep worktree and branch"},
        {"detach-after", OPT_INT, "SECONDS", "let the landing go on by itself when it takes longer",
                .max = 366 * 24 * 3600},
        {"apart", OPT_FLAG, NULL, "this is the process that lands by itself", .hidden = true},
        {0},
};

static const struct field candidate_fields[] = {
        {"branch", "string", true, "its branch"},
        {"id", "string", true, "its id"},
        {"path", "string", true, "its worktree"},
        {0},
};

const struct command cmd_accept = {
        .name = "accept",
        .summary = "land the task on the trunk with a receipt, then clean up",
        .usage = "accept [TASK] [--dry-run] [--keep] [--detach-after SECONDS]",
        .details =
                "Moves the trunk by fast-forward to the tip of the task: a commit that passed the "
                "gate, or passes it now. Landings take turns, first come, first served. A task "
                "that does not contain the trunk's tip is refused and told to update.\n\n"
                "A receipt is written first, as a note on refs/notes/abide, so that the landing "
                "can be proven when the branch is long gone. Where the trunk is checked out, its "
                "files follow; changes there that the landing would touch, and files in its way, "
                "are a refusal that names them.\n\n"
                "Then worktree and branch go, if `start` made them and `--keep` is not given. "
                "Single ignored files (an .env, a local database) are moved aside for 7 days. "
                "While somebody stands in the worktree it stays; the next abide command that finds "
                "nobody there removes it.\n\n"
                "A landing that is cut short is finished, or undone, by the next abide command. "
                "With `--detach-after` it belongs to no call from its begin: when it takes longer, "
                "the call answers `running`, and `await --landed` waits for it.",
        .examples = "abide accept   # land the task that the working directory is in\n"
                    "abide accept fix-login --dry-run   # say what would happen\n"
                    "abide accept fix-login --keep   # land it and go on working on it\n",
        .options = options,
        .data =
                (const struct field[]){
                        {"task", "string", true, "the task's id"},
                        {"branch", "string", true, "its branch"},
                        {"trunk", "string", true, "where it lands"},
                        {"path", "string", true, "its worktree"},
                        {"commit", "oid", true, "what landed, or is to land"},
                        {"tree", "oid", false, "its tree, which is the one that was tested"},
                        {"trunk_before", "oid", false, "where the trunk stood before"},
                        {"receipt", "object", false,
                                "the receipt as it was written; missing where it could not be"},
                        {"already", "boolean", false, "it had landed by another call"},
                        {"gate_ran", "boolean", false, "false: the proof was there before"},
                        {"gate_changed", "boolean", false, "the trunk's gate was another one"},
                        {"removed", "boolean", false, "the worktree is gone"},
                        {"branch_deleted", "boolean", false, "the branch is gone"},
                        {"leaving", "boolean", false,
                                "the worktree goes when nobody is inside any more"},
                        {"inside", "array", false, "who is: process id and name"},
                        {"kept", "array", false,
                                "ignored files that were moved aside, relative to the worktree"},
                        {"kept_dir", "string", false, "where to"},
                        {"stays", "string", false, "why the worktree stays for good"},
                        {"queued_ms", "integer", false, "how long it waited for its turn"},
                        {"running", "boolean", false, "it goes on in a session of its own"},
                        {"dry_run", "boolean", false, "nothing was changed"},
                        {"gate_needed", "boolean", false, "dry run: the gate would run"},
                        {"would_remove", "boolean", false, "dry run: the worktree would go"},
                        {"ahead", "integer", false, "dry run: landings that stand in the queue"},
                        {"checkout", "string", false, "the trunk's checkout that is in the way"},
                        {"parked", "string", false, "what it is in the middle of"},
                        {"unfinished", "boolean", false,
                                "the trunk's checkout is half-way; the next command settles it"},
                        {"verdict", "string", false, "what came of the gate"},
                        {"run", "integer", false, "number of the gate's run"},
                        {"jobs", "array", false, "the gate's jobs", .of = gate_job_fields},
                        {"gate_digest", "string", false, "names the gate as this commit has it"},
                        {"joined", "boolean", false, "the run was begun by another call"},
                        {"begun_at", "time", false, "when the gate began"},
                        {"ended_at", "time", false, "when it ended"},
                        {"log_dir", "string", false, "folder of the jobs' output"},
                        {"dirtied_by", "array", false, "jobs that ran while the worktree changed"},
                        {"dirtied", "array", false, "paths that changed, at most 50"},
                        {"dirtied_total", "integer", false, "how many changed"},
                        {"reason", "string", false,
                                "what wants a person, or why there is no verdict"},
                        {"behind", "integer", false, "commits of the trunk that the task lacks"},
                        {"trunk_tip", "oid", false, "the trunk's tip then"},
                        {"files", "array", false, "files that are in the way"},
                        {"files_total", "integer", false, "how many there are"},
                        {"example", "string", false, "a gate as it could stand in abide.yaml"},
                        {"file", "string", false, "the configuration that is wrong"},
                        {"line", "integer", false, "where in it"},
                        {"key", "string", false, "the key there"},
                        {"candidates", "array", false, "tasks that the word may mean",
                                .of = candidate_fields},
                        {0},
                },
        .word = "TASK",
        .complete = COMPLETE_TASK,
        .max_words = 1,
        .run = run,
        .render = render,
};
