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
	json_t *jobs;   /* [{name, state, exit?, ms?, log?, tail?}] */
	json_t *detail; /* {dirtied_by?, paths?, reason?} */
	char *log_dir;
	int64_t begun_at, ended_at; /* 0: not ended */
};
void run_release(struct run *r);
#define AUTORUN CLEANUP(run_release) struct run

/*
 * A run whose process died is INTERRUPTED in what these return, whatever its
 * row says (the row is put right by the next writer). Return 1 when there is
 * none, 0 when found, -1 on error.
 */
/* The newest run that passed for COMMIT; the proof of that commit. */
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

#endif
