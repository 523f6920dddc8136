/*
 * What the files of this folder share. Nobody else includes this.
 */
#ifndef ABIDE_LAND_OWN_H
#define ABIDE_LAND_OWN_H

#include "git/ff.h"
#include "land/land.h"

#define LAND_QUEUE "landing"

/* --- Checks (check.c) ----------------------------------------------------------- */

/* What a landing stands on, read under its place in the queue. */
struct land_view {
	struct gate_look look;
	struct git_checkout checkout;
	struct strv submodules; /* in the trunk's checkout, that the landing changes */
};
void land_view_release(struct land_view *v);
#define AUTOVIEW CLEANUP(land_view_release) struct land_view
/* Reads trunk and policy anew, and refuses what cannot land. Changes nothing. */
int land_check(struct project *p, const struct task *t, struct land_view *ret, struct err *err);
/* The part of it about the trunk's checkout: again after a gate ran. */
int land_check_checkout(
        struct project *p, const struct oid *tip, struct land_view *v, struct err *err);
/* TICKET_LOST or BEHIND_TRUNK when branch or trunk moved since V was read. */
int land_check_refs(
        struct project *p, const struct task *t, const struct land_view *v, struct err *err);

/* --- The receipt (receipt.c) ------------------------------------------------------- */

/* The receipt of T's landing at what V holds. A new reference. */
json_t *land_receipt(const struct project *p, const struct task *t, const struct land_view *v,
        const struct run *proof, const char *surface);
/* Adds it to the note of its commit. What else the note says stays. */
int land_receipt_write(struct project *p, const json_t *receipt, struct err *err);
/* Takes exactly that receipt out of the note again. */
int land_receipt_remove(struct project *p, const json_t *receipt, struct err *err);

/* --- The end (finish.c) ------------------------------------------------------------- */

/* Journals that STEP begins. */
int land_step(struct project *p, struct landing *l, enum land_step step, struct err *err);
/* The move that L's journal tells of, with what it borrows from. */
struct land_move {
	struct git_ff ff;
	char *ref, *message, *lock, *git_dir;
};
void land_move_release(struct land_move *m);
#define AUTOMOVE CLEANUP(land_move_release) struct land_move
void land_move_of(const struct project *p, const struct landing *l, struct land_move *ret);
/*
 * The trunk holds the work: removes worktree and branch of T (NULL: there is no
 * such task any more) unless they are kept, and closes the journal. What cannot
 * be done is a warning: the landing stands.
 */
void land_finish(struct project *p, const struct task *t, struct landing *l,
        struct task_removed *ret, struct strv *warnings);
/* Nothing landed: takes the receipt back and closes the journal in STATE for WHY. */
void land_undo(
        struct project *p, struct landing *l, enum landing_state state, const struct err *why);

/* As land_recover, by who has the first place in the queue. */
int land_recover_held(struct project *p, struct err *err);

#endif
