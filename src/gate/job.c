#include "gate/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

enum {
	DRAIN_MS = 200, /* for output that somebody whom the shepherd could not end holds open */
	PATIENCE_MS = 2500, /* with a shepherd that was told to end */
};

static const struct {
	bool over, failed;
} kinds[] = {
#define X(name, text, is_over)                                                                     \
	[GATE_JOB_##name] = {is_over,                                                              \
	        GATE_JOB_##name == GATE_JOB_FAILED || GATE_JOB_##name == GATE_JOB_TIMED_OUT},
        GATE_JOB_STATES(X)
#undef X
};

bool job_over(const struct job *j)
{
	return kinds[j->state].over;
}

bool job_failed(const struct job *j)
{
	return kinds[j->state].failed;
}

void job_release(struct job *j)
{
	if (!j)
		return;
	free(j->tail);
	free(j->trouble);
}

json_t *job_json(const struct job *j)
{
	json_t *v = json_object();
	bool ran = j->started && job_over(j);

	json_put_text(v, "name", j->spec->name);
	json_put_text(v, "state", gate_job_state_text(j->state));
	if (ran && j->state != GATE_JOB_INFRASTRUCTURE)
		json_put_int(v, "exit", j->exit);
	if (ran)
		json_put_int(v, "ms", j->ms);
	if (j->begun_at)
		json_put_int(v, "begun_at", j->begun_at);
	if (j->started) {
		AUTOFREE char *log = xasprintf("%s.log", j->spec->name);
		json_put_text(v, "log", log);
	}
	json_put_text(v, "tail", j->tail);
	json_put_text(v, "trouble", j->trouble);
	return v;
}

/* --- Its end ------------------------------------------------------------------ */

static void judge(struct job *j, const struct shepherd_report *r)
{
	static const char *const steps[] = {[STEP_FORK] = "a process",
	        [STEP_FOLDER] = "the worktree's folder",
	        [STEP_SHELL] = "the shell `sh`"};

	j->ms = r->ms;
	j->exit = r->status;
	if (r->trouble) {
		j->state = GATE_JOB_INFRASTRUCTURE;
		mem_set(&j->trouble, xasprintf("%s: %s", steps[r->step], strerror(r->trouble)));
	} else if (j->cancelled) {
		j->state = GATE_JOB_ENDED;
	} else if (j->timed_out) {
		j->state = GATE_JOB_TIMED_OUT;
	} else {
		j->state = r->status ? GATE_JOB_FAILED : GATE_JOB_PASSED;
	}
}

static void finish_if_over(struct job *j)
{
	AUTOFREE char *tail = NULL;

	if (!j->exited || !j->drained)
		return;
	log_close(STEAL(j->log), &tail);
	if (job_failed(j) || j->state == GATE_JOB_INFRASTRUCTURE)
		j->tail = STEAL(tail);
	uv_close((uv_handle_t *)&j->timer, NULL);
	j->over(j);
}

static void stop_reading(struct job *j)
{
	if (j->drained)
		return;
	j->drained = true;
	uv_close((uv_handle_t *)&j->out, NULL);
	finish_if_over(j);
}

static void on_drain_time(uv_timer_t *timer)
{
	stop_reading(timer->data);
}

static void let_go(struct job *j)
{
	if (j->owner >= 0)
		close(j->owner);
	j->owner = -1;
}

static void on_exit_cb(uv_process_t *process, int64_t status, int signal)
{
	struct job *j = process->data;
	struct shepherd_report r;
	bool told = read(j->report, &r, sizeof(r)) == sizeof(r);

	close(j->report);
	let_go(j);
	uv_close((uv_handle_t *)process, NULL);
	if (told) {
		judge(j, &r);
	} else {
		j->state = j->cancelled ? GATE_JOB_ENDED
		        : j->timed_out  ? GATE_JOB_TIMED_OUT
		                        : GATE_JOB_INFRASTRUCTURE;
		j->ms = clock_wall_ms() - j->begun_at;
		j->exit = signal ? 128 + signal : (int)status;
		mem_set(&j->trouble,
		        xasprintf("its shepherd ended early (%s %d)", signal ? "signal" : "exit",
		                signal ? signal : (int)status));
		j->lost(j);
	}
	j->exited = true;
	uv_update_time(j->timer.loop);
	uv_timer_start(&j->timer, on_drain_time, DRAIN_MS, 0);
	finish_if_over(j);
}

static void on_patience(uv_timer_t *timer)
{
	struct job *j = timer->data;

	uv_process_kill(&j->process, SIGKILL);
}

static void end(struct job *j)
{
	let_go(j);
	uv_update_time(j->timer.loop);
	uv_timer_start(&j->timer, on_patience, PATIENCE_MS, 0);
}

void job_end(struct job *j)
{
	if (!j->started || j->exited || j->cancelled)
		return;
	j->cancelled = true;
	end(j);
}

static void on_timeout(uv_timer_t *timer)
{
	struct job *j = timer->data;

	j->timed_out = true;
	end(j);
}

/* --- Its output --------------------------------------------------------------- */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	static char room[65536]; /* used up before the next is asked for */

	(void)handle;
	(void)suggested;
	*ret = uv_buf_init(room, sizeof(room));
}

static void on_out(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
	struct job *j = stream->data;

	if (n < 0)
		stop_reading(j);
	else
		log_add(j->log, b->base, (size_t)n);
}

/* --- Its begin ---------------------------------------------------------------- */

static void not_started(struct job *j, const char *what, const char *why)
{
	j->state = GATE_JOB_INFRASTRUCTURE;
	mem_set(&j->trouble, xasprintf("%s: %s", what, why));
}

/* Three pipes: OUT and REPORT are read here, OWNER is written (closed) here. */
struct pipes {
	int out[2], owner[2], report[2];
};

static void close_pair(int pair[2])
{
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
}

static int open_pipes(struct pipes *ret)
{
	int *const all[] = {ret->out, ret->owner, ret->report};

	for (size_t i = 0; i < NELEMS(all); i++)
		all[i][0] = all[i][1] = -1;
	for (size_t i = 0; i < NELEMS(all); i++) {
		if (launch_pipe(all[i], NULL) == 0)
			continue;
		for (size_t k = 0; k < i; k++)
			close_pair(all[k]);
		return -1;
	}
	fcntl(ret->report[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static int spawn(
        struct job *j, uv_loop_t *loop, const char *folder, char *const *env, const struct pipes *p)
{
	AUTOFREE char *program = platform_program();
	char *argv[] = {
	        program, (char *)"__shepherd", (char *)"--", (char *)folder, j->spec->run, NULL};
	uv_stdio_container_t io[] = {
	        {.flags = UV_IGNORE},
	        {.flags = UV_INHERIT_FD, .data.fd = p->out[1]},
	        {.flags = UV_INHERIT_FD, .data.fd = p->out[1]},
	        [SHEPHERD_OWNER_FD] = {.flags = UV_INHERIT_FD, .data.fd = p->owner[0]},
	        [SHEPHERD_REPORT_FD] = {.flags = UV_INHERIT_FD, .data.fd = p->report[1]},
	};
	uv_process_options_t o = {
	        .exit_cb = on_exit_cb,
	        .file = program,
	        .args = argv,
	        .env = (char **)env,
	        .cwd = "/",
	        .flags = UV_PROCESS_DETACHED,
	        .stdio_count = NELEMS(io),
	        .stdio = io,
	};
	int rc;

	j->process.data = j;
	rc = uv_spawn(loop, &j->process, &o);
	if (rc != 0)
		uv_close((uv_handle_t *)&j->process, NULL);
	return rc;
}

void job_start(
        struct job *j, uv_loop_t *loop, const char *folder, char *const *env, const char *log_path)
{
	struct pipes p;
	int rc;

	j->begun_at = clock_wall_ms();
	if (open_pipes(&p) < 0) {
		not_started(j, "a pipe", strerror(errno));
		return;
	}
	rc = seam_fails("gate:spawn") ? UV_EAGAIN : spawn(j, loop, folder, env, &p);
	close(p.out[1]);
	close(p.owner[0]);
	close(p.report[1]);
	if (rc != 0) {
		close(p.out[0]);
		close(p.owner[1]);
		close(p.report[0]);
		not_started(j, "a process", uv_strerror(rc));
		return;
	}
	j->started = true;
	j->state = GATE_JOB_RUNNING;
	j->owner = p.owner[1];
	j->report = p.report[0];
	j->log = log_open(log_path);
	j->out.data = j->timer.data = j;
	uv_pipe_init(loop, &j->out, 0);
	uv_pipe_open(&j->out, p.out[0]);
	uv_read_start((uv_stream_t *)&j->out, on_room, on_out);
	uv_timer_init(loop, &j->timer);
	/* The loop's clock stands still while the runner looks at the tree. */
	uv_update_time(loop);
	if (j->spec->timeout_ms)
		uv_timer_start(&j->timer, on_timeout, (uint64_t)j->spec->timeout_ms, 0);
}
