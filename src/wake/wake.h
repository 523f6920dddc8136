/*
 * wake: what may have changed. File events where they work, stat polling where
 * they do not, the store's bell, and a slow re-check under both.
 *
 * A wake is a hint, never a verdict: after one, look at git and decide. The
 * order that loses nothing: wake_open (arms everything), evaluate, and while
 * the condition does not hold: wake_found, wake_hold, evaluate. What happens
 * during an evaluation is remembered, and the next wake_hold returns at once.
 *
 *	if (wake_open(&spec, &w, err) < 0)
 *		return -1;
 *	for (;;) {
 *		evaluate(&met, &changed);
 *		if (met)
 *			break;
 *		wake_found(w, changed);
 *		if (wake_hold(w, deadline, 0, &why, err) < 0)
 *			return -1;
 *		if (why != WAKE_HINT)
 *			break;
 *	}
 *	wake_disarm(w);         -- before persisting and printing
 *
 * One struct wake is one libuv loop: one file-event instance of the user's
 * scarce ones, and only while it is armed. No thread is ever made. Nothing here
 * runs git or opens the store.
 */
#ifndef ABIDE_WAKE_H
#define ABIDE_WAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct wake;

/* Everything is copied by wake_open; nothing here has to outlive it. */
struct wake_spec {
	const char *common;    /* common git directory, absolute */
	const char *store_dir; /* <common>/abide, whether it exists or not: the bell; NULL: none */
	bool reftable;         /* every ref's change is a hint then, spaced (see wake_found) */
	/* Full names ("refs/heads/agent/fix") of the refs asked about, whether they
	   exist or not; NULL-terminated; NULL: none. With the files backend other
	   refs' changes give no hint. */
	const char *const *refs;
	bool notes; /* refs/notes/abide matters too */
	bool bell;  /* the store's bell (<store_dir>/bell/b) matters */
	/* Further single files, absolute, present or not (HEAD of a worktree, a
	   run's log); NULL-terminated; NULL: none. */
	const char *const *files;
	bool watch_stdin; /* WAKE_ORPHANED when stdin closes or the parent is gone; nothing is read
	                   */
	/* An instance is taken only while abide's live waits hold fewer than
	   instance_share (wake_instance_share() is the usual value; 0: no bound).
	   instances_held counts them, itself not included; it is called when
	   arming and again when a poller tries to arm (at most every 30 s). NULL: none are held. */
	size_t instance_share;
	size_t (*instances_held)(void *arg);
	void *arg;
};

enum wake_reason {
	WAKE_HINT,     /* something may have changed: evaluate */
	WAKE_BOUND,    /* the deadline came */
	WAKE_SIGNAL,   /* stop_signal is set */
	WAKE_ORPHANED, /* stdin closed, or the parent is gone */
	WAKE_TICK,     /* tick_ms passed: redraw a live line; no reason to evaluate */
};

/* A quarter of the file-event instances that one user may have; at least 1. */
size_t wake_instance_share(void);

/*
 * Arms everything. Never fails for want of events: then it polls by stat every
 * 250 ms (network and FUSE file systems, no instance or watch to spare) and
 * tries to arm again every 30 s. -1 (INTERNAL) only when no loop can be had.
 * Freed with wake_close().
 */
int wake_open(const struct wake_spec *spec, struct wake **ret, struct err *err);

/* True: by events. False: by polling, and *RET_WHY (NULL is fine; points into
   W, till the next hold) is a sentence that says why. May change at a hold. */
bool wake_by_events(const struct wake *w, const char **ret_why);

/*
 * Holds until a reason. Of several that are there at once the first of this
 * order is told: SIGNAL, ORPHANED, HINT, BOUND, TICK (so a hint that comes with
 * the bound is still evaluated; the bound is told by the next call). A hint
 * that came since the last hold returned is told at once, except that with
 * reftable it may be held back by the spacing (never beyond the deadline).
 * DEADLINE_MONO_MS is in clock_mono_ms(), INT64_MAX: none. TICK_MS 0: no ticks;
 * else the ticks of successive holds keep their rhythm. Every 30 s the same
 * paths are looked at by stat, and a difference is a hint, so that lost events
 * cost at most that. May be called after wake_disarm(): it polls then.
 */
int wake_hold(struct wake *w, int64_t deadline_mono_ms, int tick_ms, enum wake_reason *ret,
        struct err *err);

/*
 * Tells whether the evaluation after the last hint found anything changed. With
 * reftable, where hints cannot be told apart, five in a row that found nothing
 * make hints come spaced: 20 ms, doubling to at most 1 s, until one finds
 * something or 2 s pass without any such event. With the files backend this
 * goes for packed-refs alone, which all refs share.
 */
void wake_found(struct wake *w, bool found);

/* Whether the last hint was the store's bell alone: then no ref that was asked
   about has changed, and only what the store holds is to be looked at. */
bool wake_bell_only(const struct wake *w);

/* Stops the watchers now: a process that exits with live watches stays 8 to
   20 ms longer in the kernel. Call it as soon as the answer is known. */
void wake_disarm(struct wake *w);

/* NULL is fine. After wake_disarm() the loop is kept until the next close or the
   end of the process: closing a file-event instance waits in the kernel. */
void wake_close(struct wake *w);

static inline void wake_closep(struct wake **w)
{
	wake_close(*w);
}
#define AUTOWAKE CLEANUP(wake_closep) struct wake

#endif
