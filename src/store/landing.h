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
	json_t *detail; /* {message?, files?, receipt?, warnings?, kept?, leaving?} */
	bool keep;
	char *surface;
	int64_t begun_at, ended_at;
};
void landing_release(struct landing *l);
#define AUTOLANDING CLEANUP(landing_release) struct landing

/* --- The journal, for land/ alone --------------------------------------------- */

/*
 * Opens the journal of a landing: fills L->id, begun_at and takes its byte of
 * the alive lock. Only task, branch, worktree, git_dir, trunk, tip, step, keep
 * and surface are read. WRITE_DENIED when it cannot be kept.
 */
int landing_begin(struct store *s, struct landing *l, struct err *err);
/* Writes tip, old, checkout, step, keep and detail of a landing that goes on. */
int landing_step(struct store *s, const struct landing *l, struct err *err);
/*
 * Ends it in STATE (slug and detail from L), rings the bell and frees the
 * byte. A landing that another process ended meanwhile stays as it is.
 */
int landing_end(struct store *s, struct landing *l, enum landing_state state, struct err *err);

struct landing_list {
	struct landing *v;
	size_t n;
};
void landing_list_release(struct landing_list *l);
#define AUTOLANDINGS CLEANUP(landing_list_release) struct landing_list
/* Landings that go on by their row though their process is dead, oldest first. */
int landing_dead(struct store *s, struct landing_list *ret, struct err *err);
/* Landings that go on in living processes, oldest first. */
int landing_live(struct store *s, struct landing_list *ret, struct err *err);
int landing_by_id(struct store *s, int64_t id, struct landing *ret, struct err *err);
/*
 * Takes the byte of a dead landing for putting it right; false when somebody
 * else holds it (it lives, or is being put right already).
 */
bool landing_adopt(struct store *s, const struct landing *l);

/* --- What others ask ------------------------------------------------------------ */

/*
 * The newest landing of BRANCH (full ref) that has ended; *RET_GOING says
 * whether one is in flight in a living process. 1: none ended.
 */
int landing_newest(
        struct store *s, const char *branch, struct landing *ret, bool *ret_going, struct err *err);
/* The newest landing of BRANCH that landed. 1: none. */
int landing_landed(struct store *s, const char *branch, struct landing *ret, struct err *err);

#endif
