#include "cli/command.h"
#include "cli/gate_view.h"
#include "gate/gate.h"

/* --- The verb -------------------------------------------------------------------- */

static void put_task(const struct task *t, json_t *data)
{
	json_put_text(data, "task", t->id);
	json_put_text(data, "branch", git_branch_short(t->branch));
}

static int cancel(struct call *c, const struct task *t, struct result *res, struct err *err)
{
	AUTORUN run = {0};
	int rc;

	call_begin(c, false, t->branch, &t->tip, NULL, NULL, NULL);
	rc = gate_cancel(&c->project, t, &run, err);
	if (rc < 0)
		return -1;
	if (rc == 0)
		gate_run_data(&run, result_data(res));
	put_task(t, result_data(res));
	json_put_bool(res->data, "cancelled", rc == 0);
	if (rc == 0) {
		AUTOFREE char *again = gate_call(&c->project, t, "done", NULL);
		result_hint(res, "Start over with `%s` when a verdict is wanted.", again);
	}
	return 0;
}

static void tell_running(const struct call *c, const struct task *t, struct result *res)
{
	const char *branch = git_branch_short(t->branch);
	AUTOFREE char *wait = call_text("await", "green", branch, NULL);
	AUTOFREE char *end = gate_call(&c->project, t, "done", "cancel");

	result_hint(res, "Wait for the verdict with `%s`.", wait);
	result_hint(res, "End the gate with `%s`.", end);
}

static void tell_changed(const struct call *c, struct result *res)
{
	result_warn(res,
	        "The gate in this commit is another one than the gate of `%s`; landing it may need "
	        "consent.",
	        c->project.trunk);
}

static int judge(struct call *c, const struct task *t, struct result *res, struct err *err)
{
	CLEANUP(gate_view_release) struct gate_view view = {.call = c};
	const struct gate_options o = {
	        .rerun = opt_flag(c, "rerun"),
	        .detach_after_ms =
	                opt_given(c, "detach-after") ? opt_int(c, "detach-after", 0) * 1000 : -1,
	        .watch_stdin = c->watch_stdin,
	        .note = gate_view_note,
	        .ctx = &view,
	        .ticks = c->live,
	};
	AUTOLOOK look = {0};
	AUTOOUTCOME out = {0};
	int rc;

	if (gate_look(&c->project, t, &look, err) < 0)
		return -1;
	if (look.gate_changed)
		tell_changed(c, res);
	call_begin(c, false, t->branch, &look.commit, NULL, look.digest, NULL);
	rc = gate_validate(&c->project, t, &look, &o, &out, err);
	c->waited_ms += out.waited_ms;
	gate_view_end(&view, &out.run, rc < 0);
	if (rc < 0)
		return -1;
	gate_run_data(&out.run, result_data(res));
	put_task(t, res->data);
	json_put_bool(res->data, "gate_ran", out.gate_ran);
	json_put_bool(res->data, "joined", out.joined);
	json_put_bool(res->data, "running", out.running);
	json_put_bool(res->data, "gate_changed", look.gate_changed);
	json_put_int(res->data, "ahead", look.ahead);
	if (out.running) {
		tell_running(c, t, res);
	} else {
		AUTOFREE char *accept = gate_call(&c->project, t, "accept", NULL);
		result_hint(res, "Land it with `%s`.", accept);
	}
	return 0;
}

static int run(struct call *c, struct result *res, struct err *err)
{
	const char *word = c->words.n ? c->words.v[0] : NULL;
	AUTOTASK task = {0};

	if (opt_flag(c, "cancel") && (opt_flag(c, "rerun") || opt_given(c, "detach-after"))) {
		err_set(err, ERR_INVALID_ARGUMENTS,
		        "`--cancel` ends a gate; it does not go with what runs one.");
		err_hint(err, "Use `abide done --cancel` alone.");
		return -1;
	}
	if (project_need_trunk(&c->project, err) < 0)
		return -1;
	call_recover(c);
	if (task_resolve(&c->project, word, &task, err) < 0)
		return -1;
	return opt_flag(c, "cancel") ? cancel(c, &task, res, err) : judge(c, &task, res, err);
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *d = res->data;
	const char *verdict = json_text(d, "verdict");
	int64_t ms = json_int(d, "ended_at", 0) - json_int(d, "begun_at", 0);
	AUTOFREE char *took = text_ago(ms > 0 ? ms : 0);

	if (json_object_get(d, "cancelled") && !json_flag(d, "cancelled")) {
		out_printf(
		        c, out, STYLE_PLAIN, "No gate of %s was running.", json_text(d, "branch"));
		buf_putc(out, '\n');
		return;
	}
	out_text(c, out, strcmp(verdict, "passed") == 0 ? STYLE_GREEN : STYLE_YELLOW, verdict);
	buf_puts(out, "  ");
	out_text(c, out, STYLE_BOLD, json_text(d, "branch"));
	buf_puts(out, "  ");
	out_oid(c, out, json_text(d, "commit"));
	if (json_flag(d, "running"))
		buf_puts(out, "  goes on in its own session");
	else if (json_object_get(d, "gate_ran") && !json_flag(d, "gate_ran"))
		buf_puts(out, "  proven before; the gate was not run again");
	else
		out_printf(c, out, STYLE_DIM, "  %s", took);
	buf_putc(out, '\n');
}

static const char *const verdicts[] = {
#define X(name, text, verdict) text,
        RUN_STATES(X)
#undef X
                NULL,
};
static const struct field candidate_fields[] = {
        {"branch", "string", true, "its branch"},
        {"id", "string", true, "its id"},
        {"path", "string", true, "its worktree"},
        {0},
};

const struct command cmd_done = {
        .name = "done",
        .summary = "run the gate on this exact commit and record the proof",
        .usage = "done [TASK] [--rerun | --cancel] [--detach-after SECONDS]",
        .details =
                "Runs the jobs of the project's gate on the tip of the task, and records a proof "
                "when all of them passed: this commit, this tree, this gate. Only for a clean "
                "worktree with work beyond the trunk that contains the trunk's tip. A proof that "
                "is there already is returned at once; a gate of the same commit that is running "
                "already is joined.\n\n"
                "The gate runs in a session of its own. It ends with this call (Ctrl-C, or any "
                "death), unless `--detach-after` was given: then it belongs to nobody, the call "
                "answers `running` when it takes longer, and `await --green` waits for the "
                "verdict.\n\n"
                "Jobs get no input, see none of git's variables, and leave no process behind.",
        .examples = "abide done   # judge the task that the working directory is in\n"
                    "abide done fix-login --rerun   # again, though it is green\n"
                    "abide done --cancel   # end the gate that is running\n",
        .options =
                (const struct option[]){
                        {"rerun", OPT_FLAG, NULL, "run the gate though there is a proof"},
                        {"cancel", OPT_FLAG, NULL, "end the gate that is running"},
                        {"detach-after", OPT_INT, "SECONDS",
                                "let the gate go on by itself when it takes longer",
                                .max = 366 * 24 * 3600},
                        {0},
                },
        .data =
                (const struct field[]){
                        {"task", "string", true, "the task's id"},
                        {"branch", "string", true, "its branch"},
                        {"commit", "oid", false, "what was judged"},
                        {"tree", "oid", false, "its tree"},
                        {"verdict", "string", false, "what came of the run", .only = verdicts},
                        {"gate_ran", "boolean", false, "false: the proof was there before"},
                        {"joined", "boolean", false, "the run was begun by another call"},
                        {"running", "boolean", false, "it goes on; there is no verdict yet"},
                        {"cancelled", "boolean", false, "--cancel: whether a run was ended"},
                        {"run", "integer", false, "number of the run"},
                        {"jobs", "array", false, "the gate's jobs", .of = gate_job_fields},
                        {"gate_digest", "string", false, "names the gate as this commit has it"},
                        {"gate_changed", "boolean", false, "the trunk's gate is another one"},
                        {"ahead", "integer", false, "commits beyond the trunk"},
                        {"begun_at", "time", false, "when the run began"},
                        {"ended_at", "time", false, "when it ended"},
                        {"log_dir", "string", false, "folder of the jobs' output"},
                        {"dirtied_by", "array", false, "jobs that ran while the worktree changed"},
                        {"dirtied", "array", false, "paths that changed, at most 50"},
                        {"dirtied_total", "integer", false, "how many changed"},
                        {"reason", "string", false, "why there is no verdict"},
                        {"behind", "integer", false, "commits of the trunk that the task lacks"},
                        {"trunk_tip", "oid", false, "the trunk's tip then"},
                        {"files", "array", false, "uncommitted files, at most 50"},
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
