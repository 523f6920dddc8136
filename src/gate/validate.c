#include <errno.h>
#include <string.h>
#include <time.h>

#include "gate/own.h"
#include "wake/wake.h"

enum {
	TICK_MS = 250,   /* how often the runner's life is looked at: its death rings no bell */
	MAX_BEGINS = 32, /* after runs of others that came to nothing */
	ENDING_MS =
	        8000, /* in which a run that was asked to end has ended, or something is wrong */
	LOOK_AGAIN_US = 5000,
};

/* One call that watches one run after another until there is a verdict. */
struct session {
	struct project *p;
	const struct task *t;
	const struct gate_look *look;
	const struct gate_options *o;
	struct gate_outcome out;
	int64_t begun_mono_ms;
	int64_t id;
	int begins;
	int owner; /* the write end of the owner pipe, -1: the run is not this call's */
};

static void session_release(struct session *s)
{
	gate_outcome_release(&s->out);
	if (s->owner >= 0)
		close(s->owner);
}

/* --- Begin, or join ----------------------------------------------------------------- */

static json_t *jobs_before(const struct config *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->gate_n; i++) {
		json_t *job = json_object();
		json_put_text(job, "name", c->gate[i].name);
		json_put_text(job, "state", gate_job_state_text(GATE_JOB_WAITING));
		json_array_append_new(list, job);
	}
	return list;
}

static int start_runner(struct session *s, int alive, struct err *err)
{
	AUTOFREE char *dir = xasprintf("%s/logs/%lld", store_dir(s->p->store), (long long)s->id);
	AUTOFREE char *log = path_join(dir, "runner.txt");
	int pair[2] = {-1, -1};
	int rc;

	if (fs_mkdirs(dir, 0700, err) < 0)
		return -1;
	if (s->o->detach_after_ms < 0 && launch_pipe(pair, err) < 0)
		return -1;
	rc = launch_runner(s->p->git.common, s->id, pair[0], alive, log, err);
	if (pair[0] >= 0)
		close(pair[0]);
	s->owner = pair[1];
	return rc;
}

/* The runner never came to be: the run ends here. */
static int fail_run(struct session *s, struct err *err)
{
	AUTOJSON json_t *detail = json_object();
	AUTOJSON json_t *jobs = jobs_before(&s->look->config);

	json_put_text(detail, "reason", err->message);
	run_finish(s->p->store, s->id, RUN_INFRASTRUCTURE, jobs, detail, NULL);
	return -1;
}

/* Waits until run ID has ended or is dead. False: not within MS. */
static bool wait_dead(struct session *s, int64_t id, int64_t ms)
{
	int64_t end = clock_mono_ms() + ms;

	for (;;) {
		AUTORUN run = {0};
		if (run_by_id(s->p->store, id, &run, NULL) != 0 || run.state != RUN_RUNNING)
			return true;
		if (clock_mono_ms() >= end)
			return false;
		random_pause_us(LOOK_AGAIN_US, 2 * LOOK_AGAIN_US);
	}
}

/* A run of an older commit goes on in the same worktree: its tree is not what it was. */
static int end_older(struct session *s, int64_t id, struct err *err)
{
	if (run_ask_cancel(s->p->store, id, "the task has a newer commit, which is judged instead",
	            err) < 0)
		return -1;
	if (wait_dead(s, id, ENDING_MS))
		return 0;
	err_set(err, ERR_BUSY,
	        "Run %lld, of another commit in the same worktree, was asked to end and still goes "
	        "on.",
	        (long long)id);
	err_hint(err, "Look at what its jobs do, and try again when it has ended.");
	return -1;
}

/* Whether this call is made by a job of the run that it would wait for. */
static bool is_own_job(const struct session *s)
{
	static pid_t below[4096];
	AUTORUN run = {0};
	size_t n;

	if (run_by_id(s->p->store, s->id, &run, NULL) != 0 || run.pid <= 0)
		return false;
	n = platform_descendants(run.pid, below, NELEMS(below));
	for (size_t i = 0; i < n; i++)
		if (below[i] == getpid())
			return true;
	return false;
}

static int own_job(const struct session *s, struct err *err)
{
	err_set(err, ERR_BUSY,
	        "This call is made by a job of the gate of %.10s itself, and would wait for "
	        "itself.",
	        s->look->commit.hex);
	err_hint(err, "Take the call of `abide done` out of the gate in %s.", CONFIG_FILE);
	return -1;
}

static int begin_or_join(struct session *s, struct err *err)
{
	AUTOJSON json_t *jobs = jobs_before(&s->look->config);
	const struct run row = {
	        .branch = s->t->branch,
	        .commit = s->look->commit,
	        .tree = s->look->tree,
	        .gate_digest = s->look->digest,
	        .worktree = s->t->worktree,
	        .detached = s->o->detach_after_ms >= 0,
	        .jobs = jobs,
	};

	seam_point("gate:looked");
	for (;;) {
		AUTOCLOSE int alive = -1;
		enum run_made made;

		if (run_create(s->p->store, &row, s->o->rerun, &made, &s->id, &alive, err) < 0)
			return -1;
		s->out.joined = made == RUN_JOIN;
		s->out.gate_ran = made != RUN_PROVEN;
		switch (made) {
		case RUN_PROVEN:
			return 0;
		case RUN_MADE:
			seam_point("gate:created");
			return start_runner(s, alive, err) < 0 ? fail_run(s, err) : 0;
		case RUN_JOIN:
			if (is_own_job(s))
				return own_job(s, err);
			/* What this call answers when it lets go has to be true. */
			if (s->o->detach_after_ms >= 0 && run_detach(s->p->store, s->id, err) < 0)
				return -1;
			return 0;
		case RUN_OTHER:
			if (end_older(s, s->id, err) < 0)
				return -1;
			break;
		}
	}
}

/* --- Watching -------------------------------------------------------------------------- */

enum watched { SAW_END, LET_GO, STOPPED };

static int read_run(struct session *s, struct err *err)
{
	AUTORUN now = {0};
	int rc = run_by_id(s->p->store, s->id, &now, err);

	if (rc == 1)
		return err_set(err, ERR_INTERRUPTED, "Run %lld was removed from the store.",
		        (long long)s->id);
	if (rc < 0)
		return -1;
	run_release(&s->out.run);
	s->out.run = now;
	now = (struct run){0};
	return 0;
}

static void note(const struct session *s)
{
	if (s->o->note)
		s->o->note(s->o->ctx, &s->out.run, s->out.joined);
}

static int watch(struct session *s, enum watched *ret, struct err *err)
{
	const struct wake_spec spec = {
	        .common = s->p->git.common,
	        .store_dir = store_dir(s->p->store),
	        .bell = true,
	        .watch_stdin = s->o->watch_stdin,
	};
	int64_t deadline =
	        s->o->detach_after_ms < 0 ? INT64_MAX : s->begun_mono_ms + s->o->detach_after_ms;
	AUTOWAKE *w = NULL;

	if (wake_open(&spec, &w, err) < 0)
		return -1;
	for (;;) {
		enum wake_reason why;

		if (read_run(s, err) < 0)
			return -1;
		note(s);
		*ret = SAW_END;
		if (s->out.run.state != RUN_RUNNING)
			break;
		do {
			if (wake_hold(w, deadline, TICK_MS, &why, err) < 0)
				return -1;
			if (why == WAKE_TICK && s->o->ticks)
				note(s);
		} while (why == WAKE_TICK && store_alive(s->p->store, ALIVE_RUN, s->id));
		*ret = why == WAKE_BOUND ? LET_GO : STOPPED;
		if (why != WAKE_HINT && why != WAKE_TICK)
			break;
	}
	wake_disarm(w);
	return 0;
}

/* --- Telling --------------------------------------------------------------------------- */

/* The run's facts become those of the error. */
static int told(const struct session *s, struct err *err)
{
	json_t *data;

	if (!err)
		return -1;
	if (!err->data)
		err->data = json_object();
	data = err->data;
	gate_run_data(&s->out.run, data);
	json_put_bool(data, "gate_ran", true);
	json_put_bool(data, "joined", s->out.joined);
	json_put_bool(data, "gate_changed", s->look->gate_changed);
	return -1;
}

static bool in_state(const json_t *job, enum gate_job_state state)
{
	const char *text = json_text(job, "state");

	return text && strcmp(text, gate_job_state_text(state)) == 0;
}

static int red(const struct session *s, struct err *err)
{
	AUTOFREE char *done = gate_call(s->p, s->t, "done", NULL);
	AUTOBUF what = {0};
	const char *log = NULL;
	json_t *job;
	size_t i;

	json_array_foreach (s->out.run.jobs, i, job) {
		AUTOFREE char *took = text_ago(json_int(job, "ms", 0));
		bool late = in_state(job, GATE_JOB_TIMED_OUT);

		if (!late && !in_state(job, GATE_JOB_FAILED))
			continue;
		buf_printf(&what, "%s`%s` ", what.len ? ", " : "", json_text(job, "name"));
		if (late)
			buf_printf(&what, "ran out of time after %s", took);
		else
			buf_printf(&what, "failed with exit status %lld after %s",
			        (long long)json_int(job, "exit", 0), took);
		if (!log)
			log = json_text(job, "log");
	}
	err_set(err, ERR_GATE_RED, "The gate of %.10s is red: %s.", s->out.run.commit.hex,
	        buf_str(&what));
	if (json_int(s->out.run.detail, "dirtied_total", 0))
		err_hint(err, "Look at what also changed in %s while it ran: `git status`.",
		        s->out.run.worktree);
	err_hint(
	        err, "Read the whole output in %s, mend the cause, commit, and run `%s`.", log, done);
	return told(s, err);
}

static int dirtied(const struct session *s, struct err *err)
{
	const json_t *jobs = json_object_get(s->out.run.detail, "dirtied_by");
	const json_t *paths = json_object_get(s->out.run.detail, "dirtied");
	const char *moved = json_text(s->out.run.detail, "reason");
	int64_t total = json_int(s->out.run.detail, "dirtied_total", 0);
	AUTOFREE char *done = gate_call(s->p, s->t, "done", NULL);
	AUTOBUF by = {0};
	AUTOBUF what = {0};
	size_t i;
	json_t *v;

	json_array_foreach (jobs, i, v)
		buf_printf(&by, "%s`%s`", i ? " or " : "", json_string_value(v));
	if (total)
		buf_printf(&what, "%lld file%s (%s%s)", (long long)total, total == 1 ? "" : "s",
		        json_string_value(json_array_get(paths, 0)), total > 1 ? ", …" : "");
	if (moved)
		buf_printf(&what, "%s%s", what.len ? "; " : "", moved);
	err_set(err, ERR_GATE_DIRTIED,
	        "No proof of %.10s: while job %s ran, this changed in %s: %s. What was judged is "
	        "no "
	        "longer what the commit holds.",
	        s->out.run.commit.hex, buf_str(&by), s->out.run.worktree, buf_str(&what));
	err_hint(err,
	        "Commit those files, let .gitignore name them, or have the job leave them alone; "
	        "leave the worktree alone while the gate runs; then run `%s`.",
	        done);
	return told(s, err);
}

static int infrastructure(const struct session *s, struct err *err)
{
	const char *reason = json_text(s->out.run.detail, "reason");
	AUTOFREE char *done = gate_call(s->p, s->t, "done", NULL);

	err_set(err, ERR_GATE_INFRASTRUCTURE,
	        "The gate of %.10s could not do its work, which is no verdict on the commit: %s",
	        s->out.run.commit.hex, reason ? reason : "a job could not be started.");
	err_hint(err, "Put that right, then run `%s` again.", done);
	return told(s, err);
}

static int interrupted(const struct session *s, struct err *err)
{
	AUTOFREE char *done = gate_call(s->p, s->t, "done", NULL);

	err_set(err, ERR_INTERRUPTED,
	        "The runner of the gate of %.10s died before there was a verdict.",
	        s->out.run.commit.hex);
	err_hint(err, "Run `%s` again; it starts over. What it said, if anything, is in %s.", done,
	        s->out.run.log_dir);
	return told(s, err);
}

static int cancelled(const struct session *s, struct err *err)
{
	const char *reason = json_text(s->out.run.detail, "reason");
	AUTOFREE char *done = gate_call(s->p, s->t, "done", NULL);

	err_set(err, ERR_CANCELLED, "The gate of %.10s was ended before there was a verdict: %s.",
	        s->out.run.commit.hex, reason ? reason : "somebody ended it");
	err_hint(err, "Run `%s` when a verdict is wanted; it starts over.", done);
	return told(s, err);
}

static int judge(struct session *s, struct err *err)
{
	switch (s->out.run.state) {
	case RUN_PASSED:
		return 0;
	case RUN_RED:
		return red(s, err);
	case RUN_INFRASTRUCTURE:
		return infrastructure(s, err);
	case RUN_DIRTIED:
		return dirtied(s, err);
	case RUN_INTERRUPTED:
		return interrupted(s, err);
	case RUN_CANCELLED:
		return cancelled(s, err);
	case RUN_RUNNING:
		break;
	}
	return err_set(err, ERR_INTERNAL, "Run %lld has no end.", (long long)s->id);
}

/* A signal to this call. What is its own ends with it; what is not goes on. */
static int stopped(struct session *s, struct err *err)
{
	AUTOFREE char *cancel = NULL;

	if (s->owner >= 0) {
		close(s->owner);
		s->owner = -1;
		wait_dead(s, s->id, ENDING_MS);
		if (read_run(s, err) < 0)
			return -1;
		note(s);
		if (s->out.run.state != RUN_RUNNING)
			return judge(s, err);
	}
	cancel = gate_call(s->p, s->t, "done", "cancel");
	err_set(err, ERR_CANCELLED,
	        "This call was ended; the gate of %.10s goes on, since it is not this call's "
	        "alone.",
	        s->out.run.commit.hex);
	err_hint(err, "End the gate itself with `%s`.", cancel);
	return told(s, err);
}

/* --- All of it ---------------------------------------------------------------------------- */

/* A run that was joined and died of somebody else's death says nothing: this call runs it. */
static bool must_start_over(struct session *s)
{
	const struct run *run = &s->out.run;

	return s->out.joined && s->begins++ < MAX_BEGINS &&
	        (run->state == RUN_INTERRUPTED ||
	                (run->state == RUN_CANCELLED && json_flag(run->detail, "orphaned")));
}

static int run_to_verdict(struct session *s, struct err *err)
{
	enum watched saw;

	do {
		int64_t joined_at = clock_mono_ms();

		if (stop_check(err) < 0 || begin_or_join(s, err) < 0)
			return -1;
		if (!s->out.gate_ran)
			return read_run(s, err);
		if (watch(s, &saw, err) < 0)
			return -1;
		if (s->out.joined)
			s->out.waited_ms += clock_mono_ms() - joined_at;
		if (saw == STOPPED)
			return stopped(s, err);
	} while (saw == SAW_END && must_start_over(s));
	if (!s->out.joined)
		s->out.waited_ms += json_int(s->out.run.detail, "queued_ms", 0);
	s->out.running = saw == LET_GO;
	return saw == LET_GO ? 0 : judge(s, err);
}

static int take_proof(struct session *s, struct err *err)
{
	return run_by_id(s->p->store, s->look->proof.id, &s->out.run, err) == 0
	        ? 0
	        : err_set(err, ERR_INTERRUPTED, "The proof was removed from the store just now.");
}

int gate_validate(struct project *p, const struct task *t, const struct gate_look *look,
        const struct gate_options *o, struct gate_outcome *ret, struct err *err)
{
	CLEANUP(session_release)
	struct session s = {.p = p,
	        .t = t,
	        .look = look,
	        .o = o,
	        .begun_mono_ms = clock_mono_ms(),
	        .owner = -1};
	int rc;

	if (look->proven && !o->rerun)
		rc = take_proof(&s, err);
	else if (project_store(p, STORE_WRITE, err) < 0)
		rc = -1;
	else
		rc = run_to_verdict(&s, err);
	*ret = s.out;
	s.out = (struct gate_outcome){0};
	return rc;
}

/* --- Ending a run by name ---------------------------------------------------------------- */

int gate_cancel(struct project *p, const struct task *t, struct run *ret, struct err *err)
{
	struct session s = {.p = p, .t = t, .owner = -1};
	int64_t ended = 0;

	if (project_store(p, STORE_READ, err) < 0)
		return -1;
	for (;;) {
		AUTORUN run = {0};
		int rc = run_live(p->store, &t->tip, &run, err);

		if (rc == 1)
			rc = run_live_on(p->store, t->branch, &run, err);
		if (rc < 0)
			return -1;
		if (rc == 1)
			break;
		if (project_store(p, STORE_WRITE, err) < 0 ||
		        run_ask_cancel(p->store, run.id, "`done --cancel` was called", err) < 0)
			return -1;
		if (!wait_dead(&s, run.id, ENDING_MS)) {
			err_set(err, ERR_BUSY, "Run %lld was asked to end and still goes on.",
			        (long long)run.id);
			err_hint(err, "Look at what its jobs do (process %d), and try again.",
			        (int)run.pid);
			return -1;
		}
		if (!ended)
			ended = run.id;
	}
	if (!ended)
		return 1;
	return ret && run_by_id(p->store, ended, ret, err) != 0 ? -1 : 0;
}
