#include "cli/command.h"
#include "gate/gate.h"

/* --- Progress for people ------------------------------------------------------- */

struct progress {
	struct call *call;
	int64_t run;      /* that was told of */
	struct strv told; /* jobs whose end was told */
	bool tails;       /* the last lines of what failed were shown */
};

/* JSON is read by programs; they get the same as data. */
static bool quiet(const struct call *c)
{
	return c->json && !c->live;
}

static bool is(const json_t *job, enum gate_job_state state)
{
	const char *text = json_text(job, "state");

	return text && strcmp(text, gate_job_state_text(state)) == 0;
}

static const struct {
	enum gate_job_state state;
	const char *word;
} ends[] = {
        {GATE_JOB_PASSED, "passed"},
        {GATE_JOB_FAILED, "failed"},
        {GATE_JOB_TIMED_OUT, "timed out"},
        {GATE_JOB_SKIPPED, "skipped"},
        {GATE_JOB_ENDED, "ended"},
        {GATE_JOB_INFRASTRUCTURE, "not run"},
};

static const char *end_word(const json_t *job)
{
	for (size_t i = 0; i < NELEMS(ends); i++)
		if (is(job, ends[i].state))
			return ends[i].word;
	return NULL;
}

static void say_end(const struct call *c, const json_t *job)
{
	const json_t *ms = json_object_get(job, "ms");
	AUTOFREE char *took = text_ago(json_integer_value(ms));
	AUTOFREE char *status = is(job, GATE_JOB_FAILED)
	        ? xasprintf(", exit status %lld", (long long)json_int(job, "exit", 0))
	        : xstrdup("");
	const char *trouble = json_text(job, "trouble");

	say(c, "  %-9s  %s%s%s%s%s%s", end_word(job), json_text(job, "name"), ms ? "  " : "",
	        ms ? took : "", status, trouble ? ": " : "", trouble ? trouble : "");
}

/* "test 12 s, lint 3 s, 2 waiting" on the line that is drawn again and again. */
static void draw(const struct call *c, const struct run *run)
{
	AUTOBUF line = {0};
	int64_t now = clock_wall_ms();
	size_t waiting = 0, i;
	json_t *job;

	json_array_foreach (run->jobs, i, job) {
		int64_t begun = json_int(job, "begun_at", now);
		AUTOFREE char *took = text_ago((now > begun ? now - begun : 0) / 1000 * 1000);
		if (is(job, GATE_JOB_RUNNING))
			buf_printf(&line, "%s%s %s", line.len ? ", " : "", json_text(job, "name"),
			        took);
		waiting += is(job, GATE_JOB_WAITING);
	}
	if (waiting)
		buf_printf(&line, "%s%zu waiting", line.len ? ", " : "", waiting);
	say_live(c, "%s", run->state == RUN_RUNNING ? buf_str(&line) : "");
}

static void say_begin(struct progress *p, const struct run *run, bool joined)
{
	AUTOFREE char *ago = text_ago(clock_wall_ms() - run->begun_at);

	p->run = run->id;
	strv_release(&p->told);
	p->told = (struct strv){0};
	if (joined)
		say(p->call, "gate of %.10s: run %lld goes on already, begun %s ago",
		        run->commit.hex, (long long)run->id, ago);
	else
		say(p->call, "gate of %.10s: %zu job%s", run->commit.hex,
		        json_array_size(run->jobs), json_array_size(run->jobs) == 1 ? "" : "s");
}

static void on_note(void *ctx, const struct run *run, bool joined)
{
	struct progress *p = ctx;
	json_t *job;
	size_t i;

	if (quiet(p->call))
		return;
	if (p->run != run->id)
		say_begin(p, run, joined);
	json_array_foreach (run->jobs, i, job) {
		const char *name = json_text(job, "name");
		if (!name || !end_word(job) || strv_has(&p->told, name))
			continue;
		strv_push(&p->told, name);
		say_end(p->call, job);
	}
	draw(p->call, run);
}

/* A line of output without what colours it and moves the cursor. */
static char *plain(const char *line, size_t len)
{
	AUTOBUF out = {0};

	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\033' && i + 1 < len && line[i + 1] == '[') {
			for (i += 2; i < len && (line[i] < '@' || line[i] > '~'); i++)
				;
		} else if (line[i] == '\t') {
			buf_puts(&out, "        ");
		} else if (line[i] != '\r' || i + 1 < len) {
			buf_putc(&out, line[i]);
		}
	}
	return buf_take(&out);
}

static void say_tail(const struct call *c, const json_t *job)
{
	const char *tail = json_text(job, "tail");
	const char *log = json_text(job, "log");

	if (!tail || (!is(job, GATE_JOB_FAILED) && !is(job, GATE_JOB_TIMED_OUT)))
		return;
	say(c, "%s", "");
	say(c, "last lines of %s (all of it: %s)", json_text(job, "name"), log ? log : "no log");
	while (*tail) {
		size_t len = strcspn(tail, "\n");
		AUTOFREE char *line = plain(tail, len);
		say(c, "    %s", line ? line : "");
		tail += len + (tail[len] == '\n');
	}
	say(c, "%s", "");
}

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
		AUTOFREE char *again = call_text("done", NULL);
		result_hint(res, "Start over with %s when a verdict is wanted.", again);
	}
	return 0;
}

static void tell_running(const struct task *t, struct result *res)
{
	const char *branch = git_branch_short(t->branch);
	AUTOFREE char *wait = call_text("await", "green", branch, NULL);
	AUTOFREE char *end = call_text("done", "cancel", NULL, NULL);

	result_hint(res, "Wait for the verdict with %s.", wait);
	result_hint(res, "End the gate with %s.", end);
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
	struct progress p = {.call = c};
	const struct gate_options o = {
	        .rerun = opt_flag(c, "rerun"),
	        .detach_after_ms =
	                opt_given(c, "detach-after") ? opt_int(c, "detach-after", 0) * 1000 : -1,
	        .watch_stdin = c->watch_stdin,
	        .note = on_note,
	        .ctx = &p,
	        .ticks = c->live,
	};
	AUTOLOOK look = {0};
	AUTOOUTCOME out = {0};
	json_t *job;
	size_t i;
	int rc;

	if (gate_look(&c->project, t, &look, err) < 0)
		return -1;
	if (look.gate_changed)
		tell_changed(c, res);
	call_begin(c, false, t->branch, &look.commit, NULL, look.digest, NULL);
	rc = gate_validate(&c->project, t, &look, &o, &out, err);
	c->waited_ms += out.waited_ms;
	say_live(c, "%s", "");
	strv_release(&p.told);
	if (rc < 0) {
		json_array_foreach (out.run.jobs, i, job)
			if (!quiet(c))
				say_tail(c, job);
		return -1;
	}
	gate_run_data(&out.run, result_data(res));
	put_task(t, res->data);
	json_put_bool(res->data, "gate_ran", out.gate_ran);
	json_put_bool(res->data, "joined", out.joined);
	json_put_bool(res->data, "running", out.running);
	json_put_bool(res->data, "gate_changed", look.gate_changed);
	json_put_int(res->data, "ahead", look.ahead);
	if (out.running) {
		tell_running(t, res);
	} else {
		AUTOFREE char *accept = call_text("accept", NULL);
		result_hint(res, "Land it with %s.", accept);
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
	if (project_need_trunk(&c->project, err) < 0 ||
	        task_resolve(&c->project, word, &task, err) < 0)
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
static const char *const job_states[] = {
#define X(name, text, over) text,
        GATE_JOB_STATES(X)
#undef X
                NULL,
};

static const struct field job_fields[] = {
        {"name", "string", true, "as in abide.yaml"},
        {"state", "string", true, "what became of it", .only = job_states},
        {"exit", "integer", false, "exit status; 128 and more: a signal"},
        {"ms", "integer", false, "how long it ran"},
        {"begun_at", "time", false, "when it began"},
        {"log", "string", false, "file with its output (head and tail where it is long)"},
        {"tail", "string", false, "last 40 lines of a job that did not pass"},
        {"trouble", "string", false, "why it could not be started, or was lost"},
        {0},
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
                        {"jobs", "array", false, "the gate's jobs", .of = job_fields},
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
