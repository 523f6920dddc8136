#include "wait/engine.h"

#include <signal.h>
#include <string.h>

#include "wait/handle.h"
#include "wake/wake.h"

/* A watch that is held tells so this often: for whoever asks when it was last seen. */
#define SEEN_EVERY_MS INT64_C(300000)
enum { ATTEMPTS = 5 };

void call_of_wait_release(struct call_of_wait *w)
{
	scene_release(&w->scene);
	watch_release(&w->watch);
	json_decref(w->continued);
}

/* --- What may be asked ---------------------------------------------------------- */

static int refuse(struct err *err, const char *why, const char *next)
{
	err_set(err, ERR_INVALID_ARGUMENTS, "%s", why);
	err_hint(err, "%s", next);
	return -1;
}

static int check_ask(const struct wait_ask *a, struct err *err)
{
	if (a->resume && (a->n || a->any || a->all || a->may_start))
		return refuse(err,
		        "A handle continues its own question; it goes with no condition.",
		        "Give either --resume HANDLE or conditions.");
	if (a->resume && a->fresh)
		return refuse(err,
		        "--fresh asks anew, --resume continues: the two exclude each other.",
		        "Leave out one of them.");
	if (a->any && a->all)
		return refuse(err, "--any and --all exclude each other.", "Leave out one of them.");
	if (!a->resume && !a->n)
		return refuse(err, "There is nothing to wait for.",
		        "Give a condition: --landed BRANCH, --green BRANCH or --trunk-moved.");
	if (a->n > 256)
		return refuse(
		        err, "That are too many conditions for one call.", "Give at most 256.");
	if (a->n > 1 && !a->any && !a->all)
		return refuse(err,
		        "With several conditions it must be said which of them end the wait.",
		        "Add --any (the first that holds) or --all (each must have held).");
	return 0;
}

/* --- The store -------------------------------------------------------------------- */

/* Git conditions need no store: a repository that cannot be written is waited on all the same. */
static int open_store(struct call_of_wait *w, struct err *err)
{
	AUTOERR denied = {0};

	if (project_store(w->p, STORE_WRITE, &denied) == 0)
		return 0;
	if (denied.code != ERR_WRITE_DENIED)
		return err_move(err, &denied);
	strv_printf(&w->scene.warnings,
	        "The watch cannot be kept (%s): this answer carries no handle, and what happens "
	        "between "
	        "this call and the next one can be missed.",
	        denied.message);
	return project_store(w->p, STORE_READ, err);
}

static bool durable(const struct call_of_wait *w)
{
	return w->p->store && !store_is_read_only(w->p->store);
}

static void fill_handle(char *ret)
{
	struct handle h;

	handle_make('w', &h);
	memcpy(ret, h.symbols, sizeof(h.symbols));
}

/* Writes what the watch remembers; a store that fails is a warning, not the end of the wait. */
static void remember(struct call_of_wait *w)
{
	AUTOERR trouble = {0};
	struct watch *k = &w->watch;
	bool met = k->state == WATCH_MET;
	int rc;

	if (!durable(w))
		return;
	json_decref(k->record);
	k->record = record_write(&w->scene);
	if (k->id)
		rc = watch_save(w->p->store, k, &trouble);
	else
		rc = watch_create(w->p->store, k, fill_handle, &trouble);
	w->scene.changed = rc < 0;
	if (rc < 0) {
		strv_printf(&w->scene.warnings,
		        "What the watch saw could not be written (%s): if this call is lost, it is "
		        "lost, too.",
		        trouble.message);
	} else if (k->state == WATCH_STOPPED) {
		w->ending = END_STOPPED;
	} else if (k->state == WATCH_MET && !met) {
		w->ending = END_REPLAYED;
	}
}

/* --- One evaluation ------------------------------------------------------------------ */

static bool all_hold(const struct scene *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->c[i].verdict != HOLDS)
			return false;
	return true;
}

static bool one_has(const struct scene *s, enum verdict verdict)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->c[i].verdict == verdict)
			return true;
	return false;
}

/* Sets w->ending and returns true when the wait is over. */
static bool is_over(struct call_of_wait *w)
{
	const struct scene *s = &w->scene;

	if (s->mode == WAIT_ANY ? one_has(s, HOLDS) : all_hold(s)) {
		w->ending = END_MET;
		return true;
	}
	if (one_has(s, SETTLED)) {
		w->ending = END_SETTLED;
		return true;
	}
	return false;
}

/*
 * REFS_TOO false: nothing but the store can have changed, no git is needed.
 * Another git may be half-way through rewriting what this one reads; that is no
 * reason to end a wait of an hour.
 */
static int evaluate(struct call_of_wait *w, bool refs_too, bool *ret_over, struct err *err)
{
	struct scene *s = &w->scene;

	for (int attempt = 1;; attempt++) {
		AUTOERR trouble = {0};

		if ((!refs_too || scene_look(s, &trouble) == 0) && scene_judge(s, &trouble) == 0)
			break;
		if (trouble.code != ERR_GIT_FAILED || attempt == ATTEMPTS)
			return err_move(err, &trouble);
		random_pause_us(10000, 30000);
	}
	seam_point("wait:evaluated");
	*ret_over = is_over(w);
	return 0;
}

/* The first evaluation of a fresh question may refuse it, or find that it was asked before. */
static int evaluate_first(struct call_of_wait *w, bool *ret_over, struct err *err)
{
	struct scene *s = &w->scene;
	int rc;

	if (!s->fresh)
		return evaluate(w, true, ret_over, err);
	if (scene_look(s, err) < 0)
		return -1;
	rc = begin_earlier(w, err);
	if (rc < 0)
		return -1;
	if (rc == 1) {
		*ret_over = w->ending == END_REPLAYED;
		return *ret_over ? 0 : evaluate(w, true, ret_over, err);
	}
	if (scene_judge(s, err) < 0)
		return -1;
	/* It is judged once more below: what settles it has to be told then, not now. */
	for (size_t i = 0; i < s->n; i++)
		s->c[i].told_run = s->c[i].told_landing = 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->c[i].f.refs_n && !s->c[i].held &&
		        follow_begin(s, &s->c[i], condition_branch(&s->c[i]), err) < 0)
			return -1;
	s->fresh = false;
	s->changed = true;
	/* A receipt of old may have been found. */
	return evaluate(w, false, ret_over, err);
}

/* --- Holding ---------------------------------------------------------------------------- */

/* File-event instances are few per user: abide's waits take turns over a share of them. */
static size_t instances_held(void *arg)
{
	struct call_of_wait *w = arg;
	size_t share = wake_instance_share();

	for (size_t i = 1; i <= share; i++)
		if (store_alive_take(w->p->store, ALIVE_INSTANCE, (int64_t)i))
			return 0;
	return share;
}

static int arm(struct call_of_wait *w, struct wake **ret, struct err *err)
{
	const struct scene *s = &w->scene;
	AUTOFREE const char **refs = xcalloc(s->n * NELEMS(s->c->f.refs) + 2, sizeof(*refs));
	AUTOFREE char *dir = store_dir_of(w->p->git.common);
	size_t n = 0;
	struct wake_spec spec = {
	        .common = w->p->git.common,
	        .store_dir = dir,
	        .reftable = w->p->git.reftable,
	        .refs = refs,
	        .notes = true,
	        .bell = true,
	        .watch_stdin = w->ask->watch_stdin,
	        .instance_share = wake_instance_share(),
	        .instances_held = durable(w) ? instances_held : NULL,
	        .arg = w,
	};

	refs[n++] = w->p->trunk_ref;
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->c[i].f.refs_n; k++)
			refs[n++] = s->c[i].f.refs[k];
	if (wake_open(&spec, ret, err) < 0)
		return -1;
	seam_point("wait:armed");
	return 0;
}

static int64_t deadline_of(const struct call_of_wait *w)
{
	return w->begun_mono_ms + w->bound.timeout_s * 1000;
}

static void show(const struct call_of_wait *w, const char *what)
{
	struct handle h = {.kind = 'w'};
	AUTOFREE char *handle = NULL;
	const struct scene *s = &w->scene;
	struct wait_view view = {.what = what,
	        .branch = s->n == 1 && s->c[0].f.refs_n ? s->c[0].f.refs[0] : NULL,
	        .elapsed_ms = clock_mono_ms() - w->begun_mono_ms,
	        .timeout_s = w->bound.timeout_s};

	if (w->watch.id) {
		memcpy(h.symbols, w->watch.handle, sizeof(h.symbols));
		view.handle = handle = handle_text(&h);
	}
	w->hooks->show(w->hooks->ctx, &view);
}

/* Holds until something may have changed. False: the call ends, w->ending says why. */
static int hold(struct call_of_wait *w, struct wake *wake, int64_t *seen_ms, bool *ret_go_on,
        struct err *err)
{
	int64_t deadline = deadline_of(w);
	AUTOFREE char *what = answer_what(&w->scene);
	enum wake_reason why;

	for (;;) {
		int64_t until =
		        *seen_ms + SEEN_EVERY_MS < deadline ? *seen_ms + SEEN_EVERY_MS : deadline;

		if (wake_hold(wake, until, w->hooks->tick_ms, &why, err) < 0)
			return -1;
		switch (why) {
		case WAKE_HINT:
			*ret_go_on = true;
			return 0;
		case WAKE_TICK:
			show(w, what);
			continue;
		case WAKE_BOUND:
			if (until < deadline) {
				*seen_ms = clock_mono_ms();
				if (durable(w) && w->watch.id)
					watch_use(w->p->store, w->watch.id, NULL);
				continue;
			}
			w->ending = END_BOUND;
			break;
		case WAKE_SIGNAL:
			w->ending = END_SIGNAL;
			break;
		case WAKE_ORPHANED:
			w->ending = END_ORPHANED;
			break;
		}
		*ret_go_on = false;
		return 0;
	}
}

/* Another caller may have ended the same watch. */
static bool ended_elsewhere(struct call_of_wait *w)
{
	enum watch_state now;

	if (!w->watch.id)
		return false;
	now = watch_state_now(w->p->store, w->watch.id);
	if (now == WATCH_OPEN)
		return false;
	w->ending = now == WATCH_STOPPED ? END_STOPPED : END_REPLAYED;
	if (now == WATCH_MET)
		remember(w);
	return true;
}

static int wait_until_over(struct call_of_wait *w, struct err *err)
{
	AUTOWAKE *wake = NULL;
	int64_t seen = w->begun_mono_ms;
	bool over = false, go_on = true;

	if (w->bound.timeout_s > 0 && arm(w, &wake, err) < 0)
		return -1;
	if (evaluate_first(w, &over, err) < 0)
		return -1;
	w->ending = over ? w->ending : END_BOUND;
	if (w->watch.id && durable(w) && w->ending != END_REPLAYED)
		watch_use(w->p->store, w->watch.id, NULL);
	while (!over && wake) {
		if (w->scene.changed || (!w->watch.id && durable(w)))
			remember(w);
		if (w->ending == END_STOPPED || w->ending == END_REPLAYED)
			break;
		wake_found(wake, w->scene.found);
		if (hold(w, wake, &seen, &go_on, err) < 0)
			return -1;
		if (!go_on || ended_elsewhere(w))
			break;
		w->scene.found = false;
		if (evaluate(w, !wake_bell_only(wake), &over, err) < 0)
			return -1;
	}
	w->wake = !wake ? "none" : wake_by_events(wake, NULL) ? "events" : "polling";
	/* Live watches keep an ending process in the kernel for 8 to 20 ms. */
	if (wake)
		wake_disarm(wake);
	return 0;
}

/* --- The call ------------------------------------------------------------------------------ */

/* Persisted before it is answered: a reply may be lost. */
static int settle_watch(struct call_of_wait *w, struct err *err)
{
	if (w->ending == END_REPLAYED || w->ending == END_STOPPED)
		return 0;
	if (w->ending == END_MET) {
		json_t *answer = NULL;
		if (answer_met(w, &answer, err) < 0)
			return -1;
		json_decref(w->watch.answer);
		w->watch.answer = answer;
		w->watch.state = WATCH_MET;
		remember(w);
	} else if (w->scene.changed || !w->watch.id) {
		remember(w);
	}
	seam_point("wait:persisted");
	return 0;
}

static int begin(struct call_of_wait *w, struct err *err)
{
	w->bound = bound_of(&w->ask->caller, w->ask->timeout_s);
	if (open_store(w, err) < 0)
		return -1;
	return w->ask->resume ? begin_resumed(w, err) : begin_fresh(w, err);
}

int wait_run(struct project *p, const struct wait_ask *ask, const struct wait_hooks *hooks,
        struct result *res, struct wait_end *ret_end, struct err *err)
{
	CLEANUP(call_of_wait_release)
	struct call_of_wait w = {
	        .p = p,
	        .ask = ask,
	        .hooks = hooks,
	        .begun_mono_ms = clock_mono_ms(),
	        .wake = "none",
	        .ending = END_BOUND,
	};

	*ret_end = (struct wait_end){0};
	if (check_ask(ask, err) < 0 || begin(&w, err) < 0)
		return -1;
	if (w.ending != END_REPLAYED && wait_until_over(&w, err) < 0)
		return -1;
	if (settle_watch(&w, err) < 0 || answer_compose(&w, res, err) < 0)
		return -1;
	ret_end->watch = w.watch.id;
	ret_end->end = w.ending == END_SIGNAL && stop_signal == SIGINT ? WATCH_END_INTERRUPTED
	        : w.ending == END_SIGNAL || w.ending == END_ORPHANED   ? WATCH_END_CANCELLED
	                                                               : WATCH_END_ANSWERED;
	return 0;
}

void wait_delivered(struct project *p, const struct wait_end *end, bool written)
{
	if (p->store && !store_is_read_only(p->store))
		watch_set_end(p->store, end->watch, written ? end->end : WATCH_END_UNDELIVERED);
}
