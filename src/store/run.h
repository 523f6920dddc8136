/*
 * Gate runs. A run that passed is a proof; it is honoured while its commit is
 * the branch's live tip, which only the caller can know.
 */
#ifndef ABIDE_STORE_RUN_H
#define ABIDE_STORE_RUN_H

#include "git/git.h"
#include "store/store.h"

/* X(name, text in the store, finished with a verdict on the commit) */
#define RUN_STATES(X)                                                                              \
	X(RUNNING, "running", false)                                                               \
	X(PASSED, "passed", true)                                                                  \
	X(RED, "red", true)                                                                        \
	X(INFRASTRUCTURE, "infrastructure", false)                                                 \
	X(DIRTIED, "dirtied", false)                                                               \
	X(INTERRUPTED, "interrupted", false)                                                       \
	X(CANCELLED, "cancelled", false)

enum run_state {
#define X(name, text, verdict) RUN_##name,
	RUN_STATES(X)
#undef X
};
const char *run_state_text(enum run_state state);

struct run {
	int64_t id;
	char *branch; /* full ref */
	struct oid commit, tree;
	char *gate_digest;
	char *worktree;
	enum run_state state;
	bool detached;
	pid_t pid;      /* of the runner, for display and signals */
	char *started;  /* start time and boot of that pid */
	json_t *jobs;   /* [{name, state, exit?, ms?, begun_at?, log? (absolute), tail?}] */
	json_t *detail; /* {dirtied_by?, dirtied?, reason?, queued_ms?, cancel?} */
	char *log_dir;  /* absolute; one NAME.log a job */
	int64_t begun_at, ended_at; /* 0: not ended */
};
void run_release(struct run *r);
#define AUTORUN CLEANUP(run_release) struct run

/*
 * A run whose process died is INTERRUPTED in what these return, whatever its
 * row says (the row is put right by the next writer). Return 1 when there is
 * none, 0 when found, -1 on error.
 */
/* The proof of COMMIT: its newest run with a verdict, when that passed. */
int run_proof(struct store *s, const struct oid *commit, struct run *ret, struct err *err);
/* The newest run of COMMIT in any state. */
int run_newest(struct store *s, const struct oid *commit, struct run *ret, struct err *err);
/* The newest run with a verdict (passed, red) for COMMIT. */
int run_newest_verdict(struct store *s, const struct oid *commit, struct run *ret, struct err *err);
/* The newest proof of BRANCH for whichever commit: to call a proof stale. */
int run_branch_proof(struct store *s, const char *branch, struct run *ret, struct err *err);
int run_by_id(struct store *s, int64_t id, struct run *ret, struct err *err);
/* The run of COMMIT that is going on in a living process. */
int run_live(struct store *s, const struct oid *commit, struct run *ret, struct err *err);
/* The newest run of BRANCH (full ref) that is going on, for whichever commit. */
int run_live_on(struct store *s, const char *branch, struct run *ret, struct err *err);

/* --- Writers ------------------------------------------------------------------ */

enum run_made {
	RUN_MADE,   /* *RET_ID is new */
	RUN_PROVEN, /* *RET_ID has passed already: the proof of the same commit and gate */
	RUN_JOIN,   /* *RET_ID is going on for the same commit */
	RUN_OTHER,  /* *RET_ID is going on in the same worktree for another commit */
};
/*
 * Makes the row of a run that is about to begin, RUNNING, from branch, commit,
 * tree, gate_digest, worktree, detached and jobs of R; AGAIN: also where there is
 * a proof. There is at most one
 * living run of a commit and one in a worktree. Runs whose process died are
 * marked INTERRUPTED on the way. RET_ALIVE: a descriptor that holds the run's
 * byte; the run lives while that (or a copy that a child got) is open.
 */
int run_create(struct store *s, const struct run *r, bool again, enum run_made *ret,
        int64_t *ret_id, int *ret_alive, struct err *err);
/* The runner tells who it is. */
int run_claim(struct store *s, int64_t id, struct err *err);
/* The jobs as they stand; wakes who waits. `log` is the name in the log folder. */
int run_set_jobs(struct store *s, int64_t id, const json_t *jobs, struct err *err);
/* The end, whatever it is; wakes who waits. */
int run_finish(struct store *s, int64_t id, enum run_state state, const json_t *jobs,
        const json_t *detail, struct err *err);
/* From now on the run does not end with its caller. 1: it is not going on. */
int run_detach(struct store *s, int64_t id, struct err *err);
/* Asks the runner to end; REASON is told to those who watch. 1: it is not going on. */
int run_ask_cancel(struct store *s, int64_t id, const char *reason, struct err *err);

/* --- Keeping ------------------------------------------------------------------- */

/* Every commit that has a run. */
int run_commits(struct store *s, struct strv *ret, struct err *err);
/*
 * Forgets runs that have ended, with their log folders: those of COMMITS (which
 * are gone from the repository; NULL: none), and all but the 10 newest of each
 * branch.
 */
int run_forget(struct store *s, const struct strv *gone, struct err *err);

#endif
