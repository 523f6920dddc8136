/*
 * The runner: one process in a session of its own that takes a run's jobs
 * through their order and the repository's job budget, and records what came of
 * it. It tells through its row in the store, and hears through that row (asks to
 * end), the owner pipe and signals.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "gate/job.h"

#define BUDGET "jobs"

/* A place that died gives no sign, and where there are no file events, nothing does. */
enum { LOOK_AGAIN_MS = 250, STORE_TRIES = 20, ORPHAN_ROUNDS = 200, ORPHAN_PAUSE_US = 10000 };

struct runner {
	struct project *p;
	struct store *store;
	struct run run;
	struct task task;
	struct config config;
	struct strv env;
	struct tree *tree;
	struct job *jobs;
	size_t n, running, budget;
	bool changed;       /* the row does not say what is so */
	char *tree_trouble; /* why git could not look last time, or NULL */
	char *cancel;       /* why no job may begin any more */
	bool orphaned;      /* it is that the caller went away */
	int64_t idle_since; /* all jobs stand in the queue since then; 0: not so */
	int64_t queued_ms;
	int store_trouble; /* failures to get a place, in a row */

	uv_loop_t loop;
	uv_poll_t owner, stop;
	uv_fs_event_t bell;
	uv_timer_t look;
	bool has_owner, has_bell, closing;
};

static void step(struct runner *r);
static void stop_listening(struct runner *r);

/* --- What others see ------------------------------------------------------------ */

static json_t *jobs_json(const struct runner *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(list, job_json(&r->jobs[i]));
	return list;
}

static void record(struct runner *r)
{
	AUTOJSON json_t *jobs = r->changed ? jobs_json(r) : NULL;

	/* A failure here is made good by the next change, or by the end. */
	if (jobs)
		run_set_jobs(r->store, r->run.id, jobs, NULL);
	r->changed = false;
}

/* --- Ending early --------------------------------------------------------------- */

static void cancel(struct runner *r, const char *why, bool orphaned)
{
	if (r->cancel)
		return;
	r->cancel = xstrdup(why);
	r->orphaned = orphaned;
	for (size_t i = 0; i < r->n; i++)
		job_end(&r->jobs[i]);
	step(r);
}

static void on_stop(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	uv_poll_stop(poll);
	cancel(poll->data, "a signal ended its runner", false);
}

/* The caller went away, or let the run go before that. */
static void on_owner(uv_poll_t *poll, int status, int events)
{
	struct runner *r = poll->data;
	AUTORUN now = {0};

	(void)status;
	(void)events;
	uv_poll_stop(poll);
	if (run_by_id(r->store, r->run.id, &now, NULL) == 0 && now.detached)
		return;
	cancel(r, "the call that had started it ended", true);
}

static void hear(struct runner *r)
{
	AUTORUN now = {0};
	const char *why;

	if (r->cancel || run_by_id(r->store, r->run.id, &now, NULL) != 0)
		return;
	why = json_text(now.detail, "cancel");
	if (why)
		cancel(r, why, false);
}

static void set_state(struct runner *r, struct job *j, enum gate_job_state state)
{
	j->state = state;
	r->changed = true;
}

/* --- The job budget ---------------------------------------------------------------- */

static void leave_place(struct runner *r, struct job *j)
{
	if (j->place)
		place_leave(r->store, j->place);
	j->place = 0;
}

static int ask_for_place(struct runner *r, struct job *j, bool *ret, struct err *err)
{
	AUTOFREE char *what = xasprintf("%s: %s", git_branch_short(r->run.branch), j->spec->name);
	size_t ahead;

	if (seam_fails("gate:place"))
		return err_set(err, ERR_WRITE_DENIED, "A test lets the store fail.");
	if (!j->place && place_join(r->store, BUDGET, what, &j->place, err) < 0) {
		j->place = 0;
		return -1;
	}
	if (place_ahead(r->store, BUDGET, j->place, &ahead, err) < 0)
		return -1;
	*ret = ahead < r->budget;
	return 0;
}

/* A store that fails just now is asked again, but not for ever. */
static bool has_place(struct runner *r, struct job *j)
{
	AUTOERR err = {0};
	bool has = false;

	if (ask_for_place(r, j, &has, &err) == 0) {
		r->store_trouble = 0;
		return has;
	}
	if (++r->store_trouble > STORE_TRIES) {
		mem_set(&j->trouble, xstrdup(err.message));
		set_state(r, j, GATE_JOB_INFRASTRUCTURE);
	}
	return false;
}

/* How long nothing of this run runs, because others have the places. */
static void count_queue(struct runner *r)
{
	bool queued = false;

	for (size_t i = 0; i < r->n; i++)
		queued |= r->jobs[i].state == GATE_JOB_WAITING && r->jobs[i].place;
	queued = queued && !r->running;
	if (r->idle_since && !queued) {
		r->queued_ms += clock_mono_ms() - r->idle_since;
		r->idle_since = 0;
	} else if (!r->idle_since && queued) {
		r->idle_since = clock_mono_ms();
	}
}

/* --- The order of the jobs ------------------------------------------------------- */

static const struct job *job_named(const struct runner *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->jobs[i].spec->name, name) == 0)
			return &r->jobs[i];
	return NULL;
}

enum readiness { NOT_YET, READY, NEVER };

static enum readiness readiness(const struct runner *r, const struct job *j)
{
	enum readiness all = READY;

	for (size_t i = 0; i < j->spec->needs.n; i++) {
		const struct job *need = job_named(r, j->spec->needs.v[i]);
		if (!need || (job_over(need) && need->state != GATE_JOB_PASSED))
			return NEVER;
		if (!job_over(need))
			all = NOT_YET;
	}
	return all;
}

/* When no job runs the tree is looked at, so that what changed has few authors. */
static void look_at_tree(struct runner *r)
{
	AUTOERR err = {0};

	mem_set(&r->tree_trouble, tree_look(r->tree, &err) < 0 ? xstrdup(err.message) : NULL);
}

static void on_over(struct job *j)
{
	struct runner *r = j->ctx;

	r->running--;
	r->changed = true;
	leave_place(r, j);
	if (!r->running && !r->cancel)
		look_at_tree(r);
	step(r);
}

/* Whoever is below this process and below no living shepherd. */
static size_t find_orphans(const struct runner *r, pid_t *ret, size_t max)
{
	static pid_t kept[4096];
	size_t n = platform_descendants(getpid(), ret, max), n_kept = 0, left = 0;

	for (size_t i = 0; i < r->n && n_kept < NELEMS(kept); i++) {
		const struct job *j = &r->jobs[i];
		if (!j->started || j->exited)
			continue;
		kept[n_kept++] = j->process.pid;
		n_kept +=
		        platform_descendants(j->process.pid, kept + n_kept, NELEMS(kept) - n_kept);
	}
	for (size_t i = 0; i < n; i++) {
		bool has_keeper = false;
		for (size_t k = 0; k < n_kept && !has_keeper; k++)
			has_keeper = kept[k] == ret[i];
		if (!has_keeper)
			ret[left++] = ret[i];
	}
	return left;
}

/* A shepherd was killed; its herd came to this process, which ends it likewise. */
static void on_lost(struct job *j)
{
	static pid_t pids[4096];
	struct runner *r = j->ctx;

	j->exited = true;
	for (int round = 0; round < ORPHAN_ROUNDS; round++) {
		size_t n = find_orphans(r, pids, NELEMS(pids));
		if (!n)
			return;
		for (size_t i = 0; i < n; i++)
			kill(pids[i], SIGSTOP);
		for (size_t i = 0; i < n; i++)
			kill(pids[i], SIGKILL);
		random_pause_us(ORPHAN_PAUSE_US, ORPHAN_PAUSE_US);
		for (size_t i = 0; i < n; i++)
			waitpid(pids[i], NULL, WNOHANG);
	}
}

static void begin(struct runner *r, struct job *j)
{
	AUTOFREE char *log = xasprintf("%s/%s.log", r->run.log_dir, j->spec->name);

	j->over = on_over;
	j->lost = on_lost;
	j->ctx = r;
	tree_job(r->tree, j->spec->name);
	job_start(j, &r->loop, r->run.worktree, r->env.v, log);
	r->changed = true;
	if (j->started)
		r->running++;
	else
		leave_place(r, j);
}

/* One job that waits: skipped, begun, or left waiting. Whether it changed. */
static bool move(struct runner *r, struct job *j)
{
	if (r->cancel) {
		leave_place(r, j);
		set_state(r, j, GATE_JOB_ENDED);
		return true;
	}
	switch (readiness(r, j)) {
	case NEVER:
		set_state(r, j, GATE_JOB_SKIPPED);
		return true;
	case READY:
		if (has_place(r, j))
			begin(r, j);
		return j->state != GATE_JOB_WAITING;
	case NOT_YET:
		return false;
	}
	return false;
}

/* Moves on whatever can be moved on; the only place where jobs begin. */
static void step(struct runner *r)
{
	bool moved = true, waiting = false, over = true;

	while (moved) {
		moved = false;
		for (size_t i = 0; i < r->n; i++)
			if (r->jobs[i].state == GATE_JOB_WAITING)
				moved |= move(r, &r->jobs[i]);
	}
	for (size_t i = 0; i < r->n; i++) {
		over &= job_over(&r->jobs[i]);
		waiting |= r->jobs[i].state == GATE_JOB_WAITING;
	}
	count_queue(r);
	if (over) {
		stop_listening(r);
		return;
	}
	record(r);
	if (r->has_bell && !waiting)
		uv_timer_stop(&r->look);
	else if (!uv_is_active((uv_handle_t *)&r->look))
		uv_timer_start(&r->look, r->look.timer_cb, LOOK_AGAIN_MS, LOOK_AGAIN_MS);
}

/* --- Listening ------------------------------------------------------------------- */

static void on_bell(uv_fs_event_t *bell, const char *name, int events, int status)
{
	struct runner *r = bell->data;

	(void)name;
	(void)events;
	(void)status;
	hear(r);
	step(r);
}

static void on_look(uv_timer_t *timer)
{
	struct runner *r = timer->data;

	hear(r);
	step(r);
}

static void start_listening(struct runner *r, int owner)
{
	AUTOFREE char *bell = path_join(store_dir(r->store), "bell");

	uv_poll_init(&r->loop, &r->stop, stop_fd());
	uv_poll_start(&r->stop, UV_READABLE, on_stop);
	r->has_owner = !r->run.detached;
	if (r->has_owner) {
		uv_poll_init(&r->loop, &r->owner, owner);
		uv_poll_start(&r->owner, UV_READABLE | UV_DISCONNECT, on_owner);
	}
	uv_fs_event_init(&r->loop, &r->bell);
	r->has_bell = !seam_polling() && uv_fs_event_start(&r->bell, on_bell, bell, 0) == 0;
	uv_timer_init(&r->loop, &r->look);
	uv_timer_start(&r->look, on_look, LOOK_AGAIN_MS, LOOK_AGAIN_MS);
	r->owner.data = r->stop.data = r->bell.data = r->look.data = r;
}

static void stop_listening(struct runner *r)
{
	if (r->closing)
		return;
	r->closing = true;
	uv_close((uv_handle_t *)&r->stop, NULL);
	if (r->has_owner)
		uv_close((uv_handle_t *)&r->owner, NULL);
	uv_close((uv_handle_t *)&r->bell, NULL);
	uv_close((uv_handle_t *)&r->look, NULL);
}

/* --- The verdict ------------------------------------------------------------------- */

static const struct job *first_job(const struct runner *r, bool (*is)(const struct job *j))
{
	for (size_t i = 0; i < r->n; i++)
		if (is(&r->jobs[i]))
			return &r->jobs[i];
	return NULL;
}

static bool in_trouble(const struct job *j)
{
	return j->state == GATE_JOB_INFRASTRUCTURE;
}

/*
 * A failure counts though the tree changed (what a failing test leaves lying
 * there is told beside it); passing counts only on a tree that stayed the commit's.
 */
static enum run_state judge(struct runner *r)
{
	const struct job *trouble = first_job(r, in_trouble);

	if (r->cancel) {
		json_put_text(r->run.detail, "reason", r->cancel);
		json_put_bool(r->run.detail, "orphaned", r->orphaned);
		return RUN_CANCELLED;
	}
	if (!r->tree_trouble && tree_dirty(r->tree))
		tree_tell(r->tree, r->run.detail);
	if (first_job(r, job_failed))
		return RUN_RED;
	if (trouble || r->tree_trouble) {
		AUTOFREE char *why = trouble
		        ? xasprintf("job `%s`: %s", trouble->spec->name, trouble->trouble)
		        : xstrdup(r->tree_trouble);
		json_put_text(r->run.detail, "reason", why);
		return RUN_INFRASTRUCTURE;
	}
	return tree_dirty(r->tree) ? RUN_DIRTIED : RUN_PASSED;
}

static int conclude(struct runner *r, struct err *err)
{
	AUTOJSON json_t *jobs = jobs_json(r);
	enum run_state state = judge(r);

	if (r->queued_ms)
		json_put_int(r->run.detail, "queued_ms", r->queued_ms);
	seam_point("gate:verdict");
	if (run_finish(r->store, r->run.id, state, jobs, r->run.detail, err) < 0)
		return -1;
	seam_point("gate:recorded");
	return 0;
}

/* --- From begin to end ------------------------------------------------------------- */

static int prepare(struct runner *r, struct err *err)
{
	const struct config *policy;
	struct git_at at;

	if (task_resolve(r->p, r->run.branch, &r->task, err) < 0 ||
	        task_at(r->p, &r->task, &at, err) < 0 ||
	        config_at(&r->p->git, &r->run.commit, &r->config, err) < 0)
		return -1;
	/* Whoever is judged does not say how much of the machine it may take. */
	if (project_policy(r->p, &policy, NULL) == 0)
		r->budget = (size_t)policy->gate_parallel;
	if (!r->budget)
		r->budget = uv_available_parallelism();
	gate_environment(r->p, &r->task, &r->env);
	r->tree = tree_watch(at, &r->run.commit, r->run.branch);
	r->n = r->config.gate_n;
	r->jobs = xcalloc(r->n, sizeof(*r->jobs));
	for (size_t i = 0; i < r->n; i++)
		r->jobs[i] = (struct job){.spec = &r->config.gate[i], .owner = -1};
	return fs_mkdirs(r->run.log_dir, 0700, err);
}

static void runner_release(struct runner *r)
{
	for (size_t i = 0; i < r->n; i++)
		job_release(&r->jobs[i]);
	free(r->jobs);
	free(r->cancel);
	free(r->tree_trouble);
	tree_free(r->tree);
	strv_release(&r->env);
	config_release(&r->config);
	task_release(&r->task);
	run_release(&r->run);
}

/* Nothing could be begun: that is recorded like everything else. */
static int give_up(struct runner *r, struct err *err)
{
	json_put_text(r->run.detail, "reason", err->message);
	return run_finish(
	        r->store, r->run.id, RUN_INFRASTRUCTURE, r->run.jobs, r->run.detail, NULL);
}

static int not_mine(int64_t id, struct err *err)
{
	AUTOFREE char *done = call_text("done", NULL);

	err_clear(err);
	err_set(err, ERR_INVALID_ARGUMENTS, "Run %lld was not given to this process.",
	        (long long)id);
	err_hint(err, "A gate is run by `%s` alone.", done);
	return -1;
}

int gate_runner(struct project *p, int64_t id, int owner, int alive, struct err *err)
{
	CLEANUP(runner_release) struct runner r = {.p = p};

	fcntl(owner, F_SETFD, FD_CLOEXEC);
	fcntl(alive, F_SETFD, FD_CLOEXEC);
	platform_become_subreaper();
	if (project_store(p, STORE_WRITE, err) < 0)
		return -1;
	r.store = p->store;
	if (!store_alive_lent(r.store, alive, ALIVE_RUN, id) ||
	        run_by_id(r.store, id, &r.run, err) != 0 || r.run.state != RUN_RUNNING)
		return not_mine(id, err);
	run_claim(r.store, id, NULL);
	seam_point("gate:claimed");
	if (prepare(&r, err) < 0)
		return give_up(&r, err) < 0 ? -1 : 0;
	if (uv_loop_init(&r.loop) != 0)
		return err_set(err, ERR_INTERNAL, "No event loop is to be had.");
	start_listening(&r, owner);
	hear(&r);
	step(&r);
	uv_run(&r.loop, UV_RUN_DEFAULT);
	uv_loop_close(&r.loop);
	if (conclude(&r, err) < 0)
		return -1;
	keep_house(r.p, r.store, &r.run);
	return 0;
}
