#include "wake/wake.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/base.h"
#include "wake/internal.h"

enum {
	POLL_MS = 250,         /* looks where events do not work */
	RECHECK_MS = 30000,    /* looks where they do; attempts to arm where they did not */
	END_LOOK_MS = 1000,    /* for the parent and stdin where no descriptor tells of them */
	FRUITLESS_MAX = 5,     /* evaluations before shared hints are spaced */
	SPACING_MIN_MS = 20,   /* the first spacing */
	SPACING_MAX_MS = 1000, /* the last */
	QUIET_MS = 2000,       /* without shared events: spacing starts anew */
	FLOOD = 1000,          /* events in one go that make it likely that the queue overflowed */
};

struct wake {
	struct places places;
	uv_loop_t loop;
	bool loop_open;
	uv_timer_t alarm;

	/* Events. */
	bool armed;
	bool for_good; /* arming is not tried again */
	bool disarmed; /* by wake_disarm, with the instance still open */
	char *why;     /* why not armed */
	size_t share;
	size_t (*held)(void *arg);
	void *held_arg;
	bool rearm;       /* a level came, went or was replaced */
	size_t events_in; /* since the last attend() */
	int64_t next_look, next_arming;

	/* Hints not yet told. */
	struct hint hint;
	bool told_shared; /* the last told hint was about a shared file only */
	bool told_bell;   /* the last told hint was the bell alone */
	int fruitless, spacing_ms;
	int64_t last_shared, spaced_from;

	/* Ends. */
	uv_poll_t stop, hangup, parent;
	bool stop_open, hangup_open, parent_open;
	int hangup_fd, parent_fd;
	bool watch_end, orphaned;
	pid_t parent_pid;
	int64_t bound_hinted; /* the deadline past which a hint was told already */
	int64_t next_tick;
};

/* --- Hints ---------------------------------------------------------------- */

static void hint_add(struct wake *w, struct hint h)
{
	int64_t now = clock_mono_ms();

	w->hint.own = w->hint.own || h.own;
	w->hint.bell = w->hint.bell || h.bell;
	if (!h.shared)
		return;
	if (now - w->last_shared >= QUIET_MS)
		w->fruitless = w->spacing_ms = 0;
	w->last_shared = now;
	w->hint.shared = true;
}

/* When the pending hint may be told: 0 at once, INT64_MAX when there is none. */
static int64_t hint_due(const struct wake *w)
{
	if (w->hint.own || w->hint.bell)
		return 0;
	if (w->hint.shared)
		return w->spacing_ms ? w->spaced_from + w->spacing_ms : 0;
	return INT64_MAX;
}

bool wake_bell_only(const struct wake *w)
{
	return w->told_bell;
}

void wake_found(struct wake *w, bool found)
{
	w->spaced_from = clock_mono_ms();
	if (found) {
		w->fruitless = w->spacing_ms = 0;
	} else if (w->told_shared && ++w->fruitless >= FRUITLESS_MAX) {
		w->spacing_ms = w->spacing_ms ? w->spacing_ms * 2 : SPACING_MIN_MS;
		if (w->spacing_ms > SPACING_MAX_MS)
			w->spacing_ms = SPACING_MAX_MS;
	}
	w->told_shared = false;
}

void watch_seen(void *data, struct level *level, const char *name, bool moved)
{
	struct wake *w = data;
	struct places *p = &w->places;
	size_t at = (size_t)(level - p->levels);
	struct hint h = {0};

	w->events_in++;
	if (!name) {
		level->restart = w->rearm = true;
		return;
	}
	for (size_t i = 0; i < p->n_targets; i++) {
		struct target *t = &p->targets[i];
		if (t->level == at && strcmp(t->name, name) == 0) {
			hint_from(t, &h);
		}
	}
	for (size_t i = 0; moved && i < p->n_levels; i++) {
		struct level *l = &p->levels[i];
		if (l->parent == at && strcmp(l->name, name) == 0)
			l->restart = l->changed = w->rearm = true;
	}
	/* A deleted folder tells its own name, as a child of that name would. */
	if (moved && strcmp(level->name, name) == 0)
		level->restart = w->rearm = true;
	hint_add(w, h);
}

/* --- The loop ------------------------------------------------------------- */

static void on_alarm(uv_timer_t *timer)
{
	(void)timer;
}

/* stop_signal tells it; the loop only has to come back. */
static void on_stop(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	uv_poll_stop(poll);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
	struct wake *w = poll->data;

	(void)status;
	(void)events;
	w->orphaned = true;
	uv_poll_stop(poll);
}

static bool poll_open(struct wake *w, uv_poll_t *poll, int fd, uv_poll_cb cb)
{
	if (fd < 0 || uv_poll_init(&w->loop, poll, fd) != 0)
		return false;
	poll->data = w;
	uv_poll_start(poll, UV_READABLE, cb);
	return true;
}

static int loop_open(struct wake *w, struct err *err)
{
	int rc = uv_loop_init(&w->loop);

	if (rc < 0)
		return err_set(err, ERR_READ_FAILED,
		        "No event loop can be had (%s), so nothing can be waited for.",
		        uv_strerror(rc));
	w->loop_open = true;
	uv_timer_init(&w->loop, &w->alarm);
	watch_init(&w->places, &w->loop, w);
	w->stop_open = poll_open(w, &w->stop, stop_fd(), on_stop);
	w->hangup_open = poll_open(w, &w->hangup, w->hangup_fd, on_end);
	w->parent_open = poll_open(w, &w->parent, w->parent_fd, on_end);
	return 0;
}

static void loop_close(struct wake *w)
{
	if (!w->loop_open)
		return;
	watch_close(&w->places);
	uv_close((uv_handle_t *)&w->alarm, NULL);
	if (w->stop_open)
		uv_close((uv_handle_t *)&w->stop, NULL);
	if (w->hangup_open)
		uv_close((uv_handle_t *)&w->hangup, NULL);
	if (w->parent_open)
		uv_close((uv_handle_t *)&w->parent, NULL);
	uv_run(&w->loop, UV_RUN_DEFAULT); /* only the closing handles: ends at once */
	uv_loop_close(&w->loop);
	w->loop_open = w->stop_open = w->hangup_open = w->parent_open = false;
}

/* --- Arming --------------------------------------------------------------- */

/* A network or FUSE file system among the topmost folders; to be freed, or NULL. */
static char *untrusted_place(const struct wake *w)
{
	for (size_t i = 0; i < w->places.n_levels; i++) {
		const struct level *l = &w->places.levels[i];
		bool local = true;
		AUTOFREE char *type = NULL;
		if (l->parent != NO_LEVEL)
			continue;
		type = platform_fs_type(l->path, &local);
		if (!local)
			return xasprintf("%s lies on a file system (%s) that cannot be trusted to "
			                 "tell of changes.",
			        l->path, type);
	}
	return NULL;
}

static char *arming_failure(int rc)
{
	switch (rc) {
	case UV_EMFILE:
	case UV_ENFILE:
		return xstrdup("This user has no file-event instance to spare "
		               "(on Linux: fs.inotify.max_user_instances).");
	case UV_ENOSPC:
		return xstrdup("This user has no file-event watch to spare "
		               "(on Linux: fs.inotify.max_user_watches).");
	default:
		return xasprintf("The system refused to tell of changes: %s.", uv_strerror(rc));
	}
}

/*
 * Tries for events; without them w->why says why. An instance of which no use
 * can be made is given back, which takes a new loop.
 */
static int arm(struct wake *w, struct err *err)
{
	size_t held;
	int rc;

	w->next_arming = clock_mono_ms() + RECHECK_MS;
	if (w->share && w->held && (held = w->held(w->held_arg)) >= w->share) {
		mem_set(&w->why,
		        xasprintf("%zu waits hold file-event instances already; "
		                  "the others are left to the user's other programs.",
		                held));
		return 0;
	}
	rc = watch_arm(&w->places);
	if (rc == 0) {
		/* Until now stat alone told of changes, and goes on from what it saw. */
		for (size_t i = 0; !w->armed && i < w->places.n_levels; i++)
			w->places.levels[i].changed = false;
		w->armed = true;
		w->rearm = false;
		mem_set(&w->why, NULL);
		return 0;
	}
	w->armed = false;
	mem_set(&w->why, arming_failure(rc));
	loop_close(w);
	return loop_open(w, err);
}

/* The time of the next look by stat. */
static void look_later(struct wake *w)
{
	w->next_look = clock_mono_ms() + (w->armed ? RECHECK_MS : POLL_MS);
}

static void look(struct wake *w)
{
	struct hint h = {0};

	places_look(&w->places, !w->armed, &h);
	hint_add(w, h);
	look_later(w);
}

/* Does what events and the clock ask for before a reason is picked. */
static int attend(struct wake *w, struct err *err)
{
	int64_t now = clock_mono_ms();
	/* libuv drops the word that events were lost; their number gives it away. */
	bool due = now >= w->next_look || w->events_in >= FLOOD;

	w->events_in = 0;
	if (!w->armed && !w->for_good && now >= w->next_arming) {
		if (arm(w, err) < 0)
			return -1;
		due = true;
	} else if (w->armed && (due || w->rearm)) {
		/* A watch may have died without a word: at such a look all start anew. */
		for (size_t i = 0; due && i < w->places.n_levels; i++)
			w->places.levels[i].restart = true;
		if (arm(w, err) < 0)
			return -1;
		due = true;
	}
	if (due)
		look(w);
	return 0;
}

/* --- Ends ----------------------------------------------------------------- */

static bool end_came(struct wake *w)
{
	if (!w->watch_end || w->orphaned)
		return w->orphaned;
	if (getppid() != w->parent_pid)
		w->orphaned = true;
	if (!w->hangup_open) {
		struct pollfd p = {.fd = STDIN_FILENO};
		if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)))
			w->orphaned = true;
	}
	return w->orphaned;
}

static bool pick(struct wake *w, int64_t deadline, int tick_ms, enum wake_reason *ret)
{
	int64_t now = clock_mono_ms();
	bool bound = now >= deadline;

	if (stop_signal) {
		*ret = WAKE_SIGNAL;
		return true;
	}
	if (end_came(w)) {
		*ret = WAKE_ORPHANED;
		return true;
	}
	/* One last look and one last hint at the bound, then the bound. */
	if (bound && w->bound_hinted != deadline)
		look(w);
	if (bound ? hint_due(w) != INT64_MAX && w->bound_hinted != deadline : now >= hint_due(w)) {
		struct hint told = w->hint;
		if (bound)
			w->bound_hinted = deadline;
		w->hint = (struct hint){0};
		/* What comes after this moment differs from what is remembered. */
		places_look(&w->places, false, &told);
		w->told_shared = told.shared && !told.own && !told.bell;
		w->told_bell = told.bell && !told.own && !told.shared;
		look_later(w);
		*ret = WAKE_HINT;
		return true;
	}
	if (bound) {
		*ret = WAKE_BOUND;
		return true;
	}
	if (tick_ms > 0 && now >= w->next_tick) {
		w->next_tick = now - (now - w->next_tick) % tick_ms + tick_ms;
		*ret = WAKE_TICK;
		return true;
	}
	return false;
}

/* Sets the alarm to whatever is due first. */
static void set_alarm(struct wake *w, int64_t deadline, int tick_ms)
{
	int64_t now = clock_mono_ms(), at = deadline, due = hint_due(w);

	if (w->next_look < at)
		at = w->next_look;
	if (!w->armed && !w->for_good && w->next_arming < at)
		at = w->next_arming;
	if (due < at)
		at = due;
	if (tick_ms > 0 && w->next_tick < at)
		at = w->next_tick;
	if (w->watch_end && !(w->hangup_open && w->parent_open) && now + END_LOOK_MS < at)
		at = now + END_LOOK_MS;
	uv_update_time(&w->loop);
	uv_timer_start(&w->alarm, on_alarm, at > now ? (uint64_t)(at - now) : 0, 0);
}

int wake_hold(struct wake *w, int64_t deadline_mono_ms, int tick_ms, enum wake_reason *ret,
        struct err *err)
{
	if (tick_ms > 0 && !w->next_tick)
		w->next_tick = clock_mono_ms() + tick_ms;
	uv_run(&w->loop, UV_RUN_NOWAIT);
	for (;;) {
		if (attend(w, err) < 0)
			return -1;
		if (pick(w, deadline_mono_ms, tick_ms, ret)) {
			uv_timer_stop(&w->alarm);
			return 0;
		}
		set_alarm(w, deadline_mono_ms, tick_ms);
		uv_run(&w->loop, UV_RUN_ONCE);
	}
}

/* --- Face ----------------------------------------------------------------- */

size_t wake_instance_share(void)
{
	size_t max = platform_file_event_instances();

	return max / 4 ? max / 4 : 1;
}

bool wake_by_events(const struct wake *w, const char **ret_why)
{
	if (!w->armed && ret_why)
		*ret_why = w->why;
	return w->armed;
}

static void watch_end(struct wake *w)
{
	w->watch_end = true;
	w->parent_pid = getppid();
	w->hangup_fd = platform_hangup_fd(STDIN_FILENO);
	w->parent_fd = platform_exit_fd(w->parent_pid);
}

int wake_open(const struct wake_spec *spec, struct wake **ret, struct err *err)
{
	AUTOWAKE *w = xcalloc(1, sizeof(*w));
	struct hint ignored = {0};

	w->hangup_fd = w->parent_fd = -1;
	w->bound_hinted = INT64_MIN;
	w->last_shared = INT64_MIN / 2;
	w->share = spec->instance_share;
	w->held = spec->instances_held;
	w->held_arg = spec->arg;
	places_fill(&w->places, spec);
	if (spec->watch_stdin)
		watch_end(w);
	if (loop_open(w, err) < 0)
		return -1;
	w->why = seam_polling() ? xstrdup("A test asked for polling.") : untrusted_place(w);
	w->for_good = w->why;
	if (!w->for_good && arm(w, err) < 0)
		return -1;
	/* After arming: what changes from here on is told by an event, or differs. */
	places_look(&w->places, false, &ignored);
	look_later(w);
	*ret = STEAL(w);
	return 0;
}

void wake_disarm(struct wake *w)
{
	watch_disarm(&w->places);
	w->disarmed = w->disarmed || w->armed;
	w->armed = false;
	w->for_good = true;
	w->rearm = false;
	mem_set(&w->why, xstrdup("The watch was stopped."));
	look_later(w);
}

static void really_close(struct wake *w)
{
	if (!w)
		return;
	loop_close(w);
	places_release(&w->places);
	if (w->hangup_fd >= 0)
		close(w->hangup_fd);
	if (w->parent_fd >= 0)
		close(w->parent_fd);
	free(w->why);
	free(w);
}

/*
 * Closing a file-event instance waits in the kernel for what its watches left
 * behind. One that was disarmed is kept till the next one, or the end of the
 * process, comes: then the kernel is done, and the answer was not held up.
 */
void wake_close(struct wake *w)
{
	static struct wake *kept;

	if (!w)
		return;
	really_close(kept);
	kept = NULL;
	if (w->disarmed)
		kept = w;
	else
		really_close(w);
}
