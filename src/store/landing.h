/*
 * Landings: the journal of each `accept`, and how the newest one of a branch
 * ended.
 */
#ifndef ABIDE_STORE_LANDING_H
#define ABIDE_STORE_LANDING_H

#include "git/git.h"
#include "store/store.h"

enum landing_state { LANDING_GOING, LANDING_LANDED, LANDING_REFUSED, LANDING_UNDONE };

struct landing {
	int64_t id;
	char *task;   /* id, "" for a worktree that start did not make */
	char *branch; /* full ref */
	char *worktree, *git_dir;
	char *trunk;    /* short name */
	struct oid tip; /* what is to land */
	struct oid old; /* the trunk before, "" until known */
	char *checkout; /* where the trunk is checked out, "" nowhere */
	char *step;     /* the step that was begun last; land/land.h */
	enum landing_state state;
	char *slug;     /* why it was refused, "" otherwise */
	json_t *detail; /* {files?, …} */
	bool keep;
	char *surface;
	int64_t begun_at, ended_at;
};
void landing_release(struct landing *l);
#define AUTOLANDING CLEANUP(landing_release) struct landing

/*
 * The newest landing of BRANCH (full ref) that has ended; *RET_GOING says
 * whether one is in flight in a living process. 1: none ended.
 */
int landing_newest(
        struct store *s, const char *branch, struct landing *ret, bool *ret_going, struct err *err);
/* The newest landing of BRANCH that landed. 1: none. */
int landing_landed(struct store *s, const char *branch, struct landing *ret, struct err *err);

#endif
