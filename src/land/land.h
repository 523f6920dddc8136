/*
 * land: moving the trunk to a task's validated tip, journalled, with a receipt.
 *
 * Order of a landing: the journal is opened, the place in the queue is waited
 * for, everything is checked under it, the gate runs where there is no proof,
 * the receipt is written, the trunk moves, the worktree goes. Each step is in
 * the journal before it begins; whoever finds a landing whose process died
 * finishes it when the trunk has moved, and undoes it when it has not.
 */
#ifndef ABIDE_LAND_LAND_H
#define ABIDE_LAND_LAND_H

#include "gate/gate.h"
#include "store/landing.h"
#include "task/task.h"

/* X(name, text in the journal, what a dead landing there may have left) */
#define LAND_STEPS(X)                                                                              \
	X(QUEUED, "queued", "nothing")                                                             \
	X(CHECKING, "checking", "nothing")                                                         \
	X(GATING, "gating", "nothing; the gate ends with it")                                      \
	X(RECEIPT, "receipt", "a note on a commit that is not on the trunk")                       \
	X(MOVING, "moving", "the trunk's checkout half-way")                                       \
	X(REMOVING, "removing", "a task whose work has landed")

enum land_step {
#define X(name, text, left) LAND_##name,
	LAND_STEPS(X)
#undef X
};
const char *land_step_text(enum land_step step);

struct land_options {
	bool dry_run;        /* only says what would happen */
	bool keep;           /* worktree and branch stay */
	bool watch_stdin;    /* the end of stdin ends the wait in the queue, as a signal does */
	const char *surface; /* for the receipt */
	/* Told when the number of landings before this one changes. Or NULL. */
	void (*queued)(void *ctx, size_t ahead);
	void *ctx;
	struct gate_options gate; /* how to show a gate that has to run */
};

struct landed {
	struct oid commit, tree, trunk_before;
	bool already;      /* it had landed before this call got its turn */
	json_t *receipt;   /* as written; NULL when it could not be */
	bool gate_changed; /* the trunk's gate was another one */
	bool gate_ran;
	bool gate_needed; /* dry run: there is no proof yet */
	bool would_keep;  /* dry run: worktree and branch would stay */
	size_t ahead;     /* dry run: landings in the queue */
	int64_t queued_ms, waited_ms;
	struct run run; /* the gate's run: the proof, or on an error what it came to */
	struct task_removed removed;
	struct strv warnings;
};
void landed_release(struct landed *l);
#define AUTOLANDED CLEANUP(landed_release) struct landed

/*
 * Lands T. -1: nothing has landed, and what was refused is in the journal with
 * its reason:
 *   WRITE_DENIED        no journal can be kept
 *   WORKTREE_LOCKED, and what gate_look() refuses
 *   APPROVAL_REQUIRED   accept.require, accept.gate_changes: ask (data: reason)
 *   GATE_CHANGED        accept.gate_changes: refuse
 *   TRUNK_PARKED        (data: checkout, parked)
 *   WOULD_LOSE          files in the trunk's checkout are in the way (data: files)
 *   TICKET_LOST         the branch moved meanwhile
 *   BEHIND_TRUNK        the trunk did
 *   what gate_validate() and git_fast_forward() refuse
 * Warnings may be filled then, too, and `run`.
 */
int land_accept(struct project *p, const struct task *t, const struct land_options *o,
        struct landed *ret, struct err *err);

/*
 * Puts right what landings left whose process died. For every verb that looks;
 * one small query when there is nothing. Needs no store and makes none. While
 * another landing is at it, that one does it.
 */
int land_recover(struct project *p, struct err *err);

/*
 * Adds those of FETCHED (receipt_all() of a remote's notes) that hold and are
 * not there yet to the receipts of this repository. The store is open for
 * writing.
 */
int land_receipts_union(struct project *p, const char *remote, const struct receipt_rows *fetched,
        size_t *ret_added, struct err *err);

#endif
