/*
 * What obstacles.c, ff.c and settle.c share.
 */
#ifndef ABIDE_GIT_MOVE_H
#define ABIDE_GIT_MOVE_H

#include "git/ff.h"

enum { MODE_SUBMODULE = 0160000 };

struct move {
	char *path;
	char status; /* A, M, D, T */
	unsigned old_mode, new_mode;
	struct oid old, new_value; /* blobs; all zeros where there is none */
};
struct moves {
	struct move *v;
	size_t n;
};
void moves_release(struct moves *m);
#define AUTOMOVES CLEANUP(moves_release) struct moves
int moves_between(const struct git *g, const struct oid *from, const struct oid *to,
        struct moves *ret, struct err *err);
/* Whether the moves touch PATH, something in it, or a folder above it. */
bool moves_touch(const struct moves *m, const char *path);

/* --- What holds in the trunk's checkout (settle.c) --------------------------------- */

/* Where the ref stands, and whether that contains the new value. */
int ff_read_ref(const struct git *g, const struct git_ff *ff, struct oid *ret_now, bool *ret_moved,
        struct err *err);

/* HEAD of the checkout, and whether git finds the git folder there that is registered. */
struct ff_head {
	char *ref; /* full, "" when detached */
	struct oid commit;
	bool expected;
};
void ff_head_release(struct ff_head *h);
#define AUTOHEAD CLEANUP(ff_head_release) struct ff_head
int ff_read_head(const struct git_ff *ff, struct ff_head *ret, struct err *err);

/* Whether the checkout's index is locked; fills *err (BUSY) when it is. */
bool ff_locked(const struct git_ff *ff, struct err *err);
/*
 * The ref stands where it was though git was at it. Either another HEAD moved
 * (detached or another branch, switched to in that moment), or git stopped
 * between its index and its ref; both are taken back. INTERRUPTED (data:
 * unfinished) when that does not work.
 */
int ff_undo(const struct git *g, const struct git_ff *ff, const struct ff_head *before,
        struct err *err);

/*
 * git was killed while it took index and files of the checkout from the old
 * value to the new one (here a tree will do), and the ref did not move: both are
 * put back. Files that cannot be explained by the move are left, with a warning.
 */
int ff_restore(const struct git *g, struct git_ff *ff, struct err *err);

#endif
