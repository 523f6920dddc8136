/*
 * Moving the trunk by fast-forward, wherever it is checked out, so that nothing
 * in that checkout is lost and every half-way state can be told and put right.
 */
#ifndef ABIDE_GIT_FF_H
#define ABIDE_GIT_FF_H

#include "git/git.h"

/* --- Where a branch is checked out ------------------------------------------- */

struct git_checkout {
	struct strv paths;  /* every worktree that holds the branch; mostly none or one */
	char *path;         /* the first, NULL when there is none */
	char *git_dir;      /* its own git folder */
	const char *parked; /* what it is in the middle of ("merge", …), or NULL */
	bool detached;      /* a rebase or a bisect of the branch holds it: HEAD is detached */
};
void git_checkout_release(struct git_checkout *c);
#define AUTOCHECKOUT CLEANUP(git_checkout_release) struct git_checkout
/*
 * The worktrees that hold REF (full), also those that rebase or bisect it,
 * which git lists as detached. A registered worktree whose folder is gone does
 * not count. One process.
 */
int git_checkout_of(
        const struct git *g, const char *ref, struct git_checkout *ret, struct err *err);

/* --- What would be in the way --------------------------------------------------- */

struct git_obstacles {
	struct strv changed;    /* tracked files with changes that the move would touch */
	struct strv untracked;  /* untracked or ignored files where the move brings one */
	struct strv submodules; /* that the move changes: no obstacle, but nobody moves them */
};
void git_obstacles_release(struct git_obstacles *o);
#define AUTOOBSTACLES CLEANUP(git_obstacles_release) struct git_obstacles
/* What stands in the way of going from OLD to NEW_VALUE in the checkout C. */
int git_obstacles(const struct git *g, const struct git_checkout *c, const struct oid *old,
        const struct oid *new_value, struct git_obstacles *ret, struct err *err);

/* --- The move --------------------------------------------------------------------- */

struct git_ff {
	const char *ref; /* full */
	struct oid old, new_value;
	const char *path, *git_dir; /* where it is checked out, NULL nowhere */
	const char *message;        /* for the reflog */
	/* A file of which git holds byte LOCK_ID while it moves the checkout, so that it is
	   known even when the caller dies. NULL: none. */
	const char *lock;
	int64_t lock_id;
	struct strv warnings; /* sentences: what is different now from what one would expect */
};
/*
 * Moves REF from OLD to NEW_VALUE. 0: it holds NEW_VALUE, or contains it by
 * now. -1: it does not, and everything is as it was:
 *   BUSY            the ref moved meanwhile, or git's lock on the index was held
 *   WOULD_LOSE      files are in the way (data: files)
 *   GIT_FAILED      git or a hook refused
 *   INTERRUPTED     (data: unfinished true) git still works on it, or what it
 *                   left could not be put right: git_ff_settle() has to
 */
int git_fast_forward(const struct git *g, struct git_ff *ff, struct err *err);
/* WOULD_LOSE that names what is in the way in the checkout PATH. Always -1. */
int git_ff_in_the_way(const char *path, const struct git_obstacles *o, struct err *err);
/*
 * After a crash in git_fast_forward: finds out whether the move happened, and
 * where it stopped half-way puts index and files back as they were. Files that
 * it cannot explain by the move are left and named in the warnings. -1 (BUSY)
 * while git is still at it.
 */
int git_ff_settle(const struct git *g, struct git_ff *ff, bool *ret_moved, struct err *err);

#endif
