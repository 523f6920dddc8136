#include "git/patient.h"

#include <stdio.h>
#include <uv.h>

enum { LOOK_MS = 100, SAID_CAP = 16384 };

/* The child and the clock beside it. */
struct running {
	struct patient *p;
	uv_process_t process;
	uv_timer_t timer;
	int64_t begun;
};

void patient_release(struct patient *p)
{
	if (p)
		buf_release(&p->said);
}

static void on_end(uv_process_t *process, int64_t status, int signal)
{
	struct running *r = process->data;

	r->p->status = signal ? 128 + signal : (int)status;
	uv_close((uv_handle_t *)process, NULL);
	uv_close((uv_handle_t *)&r->timer, NULL);
}

static void on_look(uv_timer_t *timer)
{
	struct running *r = timer->data;

	if (!r->p->let_go(r->p->ctx, clock_mono_ms() - r->begun))
		return;
	uv_close((uv_handle_t *)&r->process, NULL);
	uv_close((uv_handle_t *)timer, NULL);
}

static int start(uv_loop_t *loop, struct running *r, int out, struct err *err)
{
	struct patient *p = r->p;
	uv_stdio_container_t both = {UV_INHERIT_FD, {.fd = out}};
	uv_stdio_container_t none = {UV_IGNORE, {.fd = -1}};
	uv_stdio_container_t io[4] = {none, out < 0 ? none : both,
	        out < 0 || p->no_stderr ? none : both, {UV_INHERIT_FD, {.fd = p->keep_fd}}};
	uv_process_options_t o = {
	        .exit_cb = on_end,
	        .file = p->argv[0],
	        .args = (char **)p->argv,
	        .env = (char **)p->env,
	        .cwd = p->cwd,
	        .flags = UV_PROCESS_DETACHED,
	        .stdio_count = p->keep_fd < 0 ? 3 : 4,
	        .stdio = io,
	};
	int rc;

	r->process.data = r->timer.data = r;
	uv_timer_init(loop, &r->timer);
	rc = uv_spawn(loop, &r->process, &o);
	if (rc != 0) {
		uv_close((uv_handle_t *)&r->process, NULL);
		uv_close((uv_handle_t *)&r->timer, NULL);
		err_set(err, ERR_READ_FAILED, "`%s` could not be started: %s.", p->argv[0],
		        uv_strerror(rc));
		err_hint(err, "See that the program is installed and on PATH, and try again.");
		return -1;
	}
	p->pid = r->process.pid;
	seam_point("ff:merging");
	if (p->let_go)
		uv_timer_start(&r->timer, on_look, LOOK_MS, LOOK_MS);
	return 0;
}

static void hear(FILE *said, size_t cap, struct buf *ret)
{
	char room[8192];
	size_t n;

	rewind(said);
	while (ret->len < cap && (n = fread(room, 1, sizeof(room), said)) > 0)
		buf_add(ret, room, n < cap - ret->len ? n : cap - ret->len);
}

int patient_run(struct patient *p, struct err *err)
{
	struct running r = {.p = p, .begun = clock_mono_ms()};
	/* A file, not a pipe: whoever is let go can go on writing. */
	FILE *said = tmpfile();
	uv_loop_t loop;
	int rc;

	buf_reset(&p->said);
	p->status = -1;
	if (uv_loop_init(&loop) != 0)
		abort();
	rc = start(&loop, &r, said ? fileno(said) : -1, err);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	if (said) {
		hear(said, p->cap ? p->cap : SAID_CAP, &p->said);
		fclose(said);
	}
	return rc;
}
