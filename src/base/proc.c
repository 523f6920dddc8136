#include "base/proc.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/env.h"
#include "base/spawn.h"
#include "base/fs.h"
#include "base/stop.h"
#include "base/text.h"

enum { ERR_CAP = 16384, LEFT_OPEN_MS = 30, STOP_LOOK_MS = 20, STOP_GRACE_LOOKS = 15 };
static const size_t DEFAULT_CAP = 64u << 20;

/* Children of one call; the next one starts when one ends. */
struct pool {
	struct child *v;
	size_t n, next;
	size_t running;
	uv_signal_t ended; /* while any runs */
	struct err *err;
	int rc;
};

/* One running child and its pipes. */
struct child {
	struct proc *p;
	struct pool *pool;
	pid_t pid; /* 0: not started, or ended */
	uv_pipe_t in, out, err;
	uv_timer_t timer;
	uv_write_t write;
	uv_buf_t chunk;
	char room[65536];
	uv_timer_t stop; /* looks for a signal to this process */
	int stop_looks;  /* since it came */
	int patience_ms; /* that was had with it before */
	bool exited, overflow;
};

void proc_release(struct proc *p)
{
	if (!p)
		return;
	buf_release(&p->out);
	buf_release(&p->err);
}

/* The loop of this process's short children; made at the first use. */
static uv_loop_t *children_loop(void)
{
	static uv_loop_t loop;
	static bool made;

	if (!made) {
		if (uv_loop_init(&loop) != 0)
			abort();
		made = true;
	}
	return &loop;
}

static void start_next(struct pool *pool);

static bool pipes_open(const struct child *c)
{
	return !c->p->out_to_stderr &&
	        (!uv_is_closing((const uv_handle_t *)&c->out) ||
	                !uv_is_closing((const uv_handle_t *)&c->err));
}

static void pipe_ended(uv_stream_t *stream)
{
	struct child *c = stream->data;

	uv_close((uv_handle_t *)stream, NULL);
	if (c->exited && !pipes_open(c) && !uv_is_closing((uv_handle_t *)&c->timer))
		uv_close((uv_handle_t *)&c->timer, NULL);
}

/*
 * The child is gone, but a process that it left behind (a hook's server, gc in
 * the background) still holds its pipes: what the child wrote has been read.
 */
static void on_left_open(uv_timer_t *timer)
{
	struct child *c = timer->data;

	if (!uv_is_closing((uv_handle_t *)&c->out))
		uv_close((uv_handle_t *)&c->out, NULL);
	if (!uv_is_closing((uv_handle_t *)&c->err))
		uv_close((uv_handle_t *)&c->err, NULL);
	uv_close((uv_handle_t *)timer, NULL);
}

static void child_ended(struct child *c, int status)
{
	c->p->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	c->exited = true;
	c->pid = 0;
	uv_close((uv_handle_t *)&c->stop, NULL);
	/* What it left behind may hold its stdin open and never read it. */
	if (c->p->in && !uv_is_closing((uv_handle_t *)&c->in))
		uv_close((uv_handle_t *)&c->in, NULL);
	if (pipes_open(c))
		uv_timer_start(&c->timer, on_left_open, LEFT_OPEN_MS, 0);
	else
		uv_close((uv_handle_t *)&c->timer, NULL);
	c->pool->running--;
	start_next(c->pool);
}

/* One signal may stand for several ends. Only this pool's own children are asked for. */
static void on_ended(uv_signal_t *signal, int signo)
{
	struct pool *pool = signal->data;
	int status;

	(void)signo;
	for (size_t i = 0; i < pool->n; i++) {
		struct child *c = &pool->v[i];
		if (c->pid && waitpid(c->pid, &status, WNOHANG) == c->pid)
			child_ended(c, status);
	}
	if (!pool->running && !uv_is_closing((uv_handle_t *)signal))
		uv_close((uv_handle_t *)signal, NULL);
}

/* The group when it has one of its own, else the child alone. */
static void signal_child(struct child *c, int signo)
{
	if (c->pid && (!c->p->apart || kill(-c->pid, signo) != 0))
		kill(c->pid, signo);
}

/* Politely first; the child gets 300 ms to end by itself. */
static void on_stop_look(uv_timer_t *timer)
{
	struct child *c = timer->data;

	if (!stop_signal || c->exited)
		return;
	if (c->patience_ms < c->p->stop_after_ms) {
		c->patience_ms += STOP_LOOK_MS;
		return;
	}
	c->p->stopped = true;
	if (c->stop_looks++ == 0)
		signal_child(c, SIGTERM);
	else if (c->stop_looks > STOP_GRACE_LOOKS)
		signal_child(c, SIGKILL);
}

static void on_timeout(uv_timer_t *timer)
{
	struct child *c = timer->data;

	c->p->timed_out = true;
	signal_child(c, SIGKILL);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	struct child *c = handle->data;

	(void)suggested;
	*ret = uv_buf_init(c->room, sizeof(c->room));
}

static void on_out(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
	struct child *c = stream->data;
	size_t cap = c->p->out_cap ? c->p->out_cap : DEFAULT_CAP;

	if (n < 0) {
		pipe_ended(stream);
		return;
	}
	if (c->overflow)
		return;
	if (c->p->out.len + (size_t)n > cap) {
		c->overflow = true;
		signal_child(c, SIGKILL);
		return;
	}
	buf_add(&c->p->out, b->base, (size_t)n);
}

static void on_err(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
	struct child *c = stream->data;

	if (n < 0) {
		pipe_ended(stream);
		return;
	}
	if (c->p->err.len + (size_t)n > ERR_CAP)
		n = ERR_CAP - (ssize_t)c->p->err.len;
	buf_add(&c->p->err, b->base, (size_t)n);
}

static void on_written(uv_write_t *write, int status)
{
	struct child *c = write->data;

	/* A child that stops reading early says so by its exit status. */
	(void)status;
	if (!uv_is_closing((uv_handle_t *)&c->in))
		uv_close((uv_handle_t *)&c->in, NULL);
}

static int cannot_start(const struct proc *p, int rc, struct err *err)
{
	AUTOFREE char *name = text_visible(p->argv[0]);
	bool git = strcmp(path_base(p->argv[0]), "git") == 0;

	if (p->cwd && !fs_is_dir(p->cwd)) {
		err_set(err, ERR_READ_FAILED,
		        "`%s` could not be started in %s: the folder is not there.", name, p->cwd);
		err_hint(err, "Make sure that %s exists, and run the same command again.", p->cwd);
		return -1;
	}
	err_set(err, git && rc == UV_ENOENT ? ERR_GIT_UNSUPPORTED : ERR_READ_FAILED,
	        "`%s` could not be started: %s.", name, uv_strerror(rc));
	err_hint(err,
	        git ? "Install git 2.39 or newer and see that it is on PATH."
	            : "See that the program is installed and on PATH, and try again.");
	return -1;
}

/*
 * A pipe to the child: the end of abide is PIPE, the child's end is *RET. Both
 * are close-on-exec, so that no other child gets them.
 */
static int pipe_to_child(uv_pipe_t *pipe, bool child_reads, int *ret)
{
	int fd[2], mine = child_reads ? 1 : 0;
	int rc =
	        uv_pipe(fd, child_reads ? 0 : UV_NONBLOCK_PIPE, child_reads ? UV_NONBLOCK_PIPE : 0);

	if (rc < 0)
		return rc;
	*ret = fd[1 - mine];
	rc = uv_pipe_open(pipe, fd[mine]);
	if (rc < 0)
		close(fd[mine]);
	return rc;
}

/* Pipes as P wants them, and the program. 0 or libuv's error. */
static int start_program(struct child *c)
{
	struct proc *p = c->p;
	struct spawn s = {
	        .argv = p->argv,
	        .env = p->env ? p->env : env_for_children(true),
	        .cwd = p->cwd,
	        .fd = {-1, p->out_to_stderr ? 2 : -1, p->out_to_stderr ? 2 : -1},
	        .apart = p->apart,
	};
	int rc = 0;

	if (p->in)
		rc = pipe_to_child(&c->in, true, &s.fd[0]);
	if (rc == 0 && !p->out_to_stderr)
		rc = pipe_to_child(&c->out, false, &s.fd[1]);
	if (rc == 0 && !p->out_to_stderr)
		rc = pipe_to_child(&c->err, false, &s.fd[2]);
	if (rc == 0)
		rc = spawn_start(&s, &c->pid);
	for (int i = 0; i < 3; i++)
		if (s.fd[i] > 2)
			close(s.fd[i]);
	return rc;
}

static int start(uv_loop_t *loop, struct child *c, struct err *err)
{
	struct proc *p = c->p;
	int rc;

	c->in.data = c->out.data = c->err.data = c->timer.data = c->stop.data = c->write.data = c;
	uv_timer_init(loop, &c->timer);
	uv_timer_init(loop, &c->stop);
	if (p->in)
		uv_pipe_init(loop, &c->in, 0);
	if (!p->out_to_stderr) {
		uv_pipe_init(loop, &c->out, 0);
		uv_pipe_init(loop, &c->err, 0);
	}
	rc = start_program(c);
	if (rc != 0) {
		if (p->in)
			uv_close((uv_handle_t *)&c->in, NULL);
		if (!p->out_to_stderr) {
			uv_close((uv_handle_t *)&c->out, NULL);
			uv_close((uv_handle_t *)&c->err, NULL);
		}
		uv_close((uv_handle_t *)&c->timer, NULL);
		uv_close((uv_handle_t *)&c->stop, NULL);
		return cannot_start(p, rc, err);
	}
	c->pool->running++;
	p->pid = c->pid;
	if (!p->out_to_stderr) {
		uv_read_start((uv_stream_t *)&c->out, on_room, on_out);
		uv_read_start((uv_stream_t *)&c->err, on_room, on_err);
	}
	if (p->in) {
		c->chunk = uv_buf_init((char *)p->in, (unsigned)p->in_len);
		uv_write(&c->write, (uv_stream_t *)&c->in, &c->chunk, 1, on_written);
	}
	if (p->stoppable)
		uv_timer_start(&c->stop, on_stop_look, 0, STOP_LOOK_MS);
	if (p->timeout_ms)
		uv_timer_start(&c->timer, on_timeout, (uint64_t)p->timeout_ms, 0);
	return 0;
}

/* One that cannot be started makes room for the one after it. */
static void start_next(struct pool *pool)
{
	while (pool->next < pool->n) {
		struct child *c = &pool->v[pool->next++];
		if (start(children_loop(), c, pool->rc == 0 ? pool->err : NULL) == 0)
			return;
		pool->rc = -1;
	}
}

int proc_run_pool(struct proc *const *p, size_t n, size_t at_once, struct err *err)
{
	AUTOFREE struct child *c = xcalloc(n, sizeof(*c));
	struct pool pool = {.v = c, .n = n, .err = err};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;

	/* A child that closes its stdin early must not end abide. */
	sigaction(SIGPIPE, &ignore, &before);
	for (size_t i = 0; i < n; i++) {
		c[i].p = p[i];
		c[i].pool = &pool;
		buf_reset(&p[i]->out);
		buf_reset(&p[i]->err);
		p[i]->status = -1;
		p[i]->pid = 0;
		p[i]->timed_out = p[i]->stopped = false;
	}
	uv_signal_init(children_loop(), &pool.ended);
	pool.ended.data = &pool;
	uv_signal_start(&pool.ended, on_ended, SIGCHLD);
	for (size_t i = 0; i < n && i < at_once; i++)
		start_next(&pool);
	if (!pool.running)
		uv_close((uv_handle_t *)&pool.ended, NULL);
	uv_run(children_loop(), UV_RUN_DEFAULT);
	sigaction(SIGPIPE, &before, NULL);
	for (size_t i = 0; i < n && pool.rc == 0; i++) {
		if (c[i].overflow) {
			err_set(err, ERR_READ_FAILED, "`%s` printed more than abide accepts.",
			        p[i]->argv[0]);
			err_hint(err,
			        "Run the command by hand to see what makes its output so large.");
			pool.rc = -1;
		}
	}
	return pool.rc;
}

int proc_run_all(struct proc *const *p, size_t n, struct err *err)
{
	return proc_run_pool(p, n, n, err);
}

size_t proc_cores(void)
{
	unsigned n = uv_available_parallelism();

	return n ? n : 1;
}

int proc_run(struct proc *p, struct err *err)
{
	return proc_run_all(&p, 1, err);
}

char *proc_complaint(const struct proc *p)
{
	const char *s = buf_str(&p->err);
	size_t len = p->err.len;
	AUTOFREE char *cut = NULL;
	char *shown;

	while (len && (s[len - 1] == '\n' || s[len - 1] == ' '))
		len--;
	if (len > 400) {
		s += len - 400;
		len = 400;
		/* Not in the middle of a character. */
		for (; len && (*s & 0xc0) == 0x80; len--)
			s++;
	}
	cut = xstrndup(s, len);
	for (char *c = cut; *c; c++)
		if (*c == '\n')
			*c = ' ';
	shown = text_visible(cut);
	if (!*shown) {
		free(shown);
		shown = xasprintf("exit status %d, and it said nothing", p->status);
	}
	return shown;
}
