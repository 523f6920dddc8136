/*
 * fleet: what is true now across all tasks, composed from git, the store and
 * the logbook for people and agents to read. Nothing here decides anything.
 */
#ifndef ABIDE_FLEET_FLEET_H
#define ABIDE_FLEET_FLEET_H

#include "project/project.h"
#include "store/logbook.h"
#include "task/task.h"

/* --- What runs (running.c) -------------------------------------------------- */

/* One verb in flight, with what is known of earlier runs of it. */
struct flight {
	const char *verb;
	int64_t elapsed_ms;
	struct prior prior;
};
/*
 * Which of N flights will last longest: the one with the longest estimated
 * remainder (p90 - elapsed) among those with samples; the first without
 * samples only when none has any. On a tie the older (lower) one. N when N is 0.
 */
size_t fleet_lead(const struct flight *v, size_t n);

/* E as a flight of now. */
void fleet_flight(struct store *s, const struct logbook_event *e, struct flight *ret);
/* {verb, branch?, about?, elapsed_ms, median_s?, p90_s?, samples?}. The caller's. */
json_t *fleet_flight_json(const struct logbook_event *e, const struct flight *f);
/* {elapsed_ms, median_s?, p90_s?, samples?}. The caller's. */
json_t *fleet_timed_json(int64_t elapsed_ms, const struct prior *prior);
/* Whether the logbook is there and not turned off. Opens the store for reading. */
bool fleet_logbook(struct project *p);

/*
 * The `running` block: {in_flight: [{verb, branch, task?, elapsed_ms,
 * median_s?, p90_s?, samples?}, …] oldest first, lead: one of them}, of BRANCH
 * (full ref) or of the whole fleet when NULL. `await` is never in it. *RET is
 * NULL when nothing runs, the logbook is off, or it could not be read: what
 * runs is told where it is known and never fails anything. Opens the store for
 * reading when it is not open. The reference is the caller's.
 */
void fleet_running(struct project *p, const char *branch, json_t **ret);

/* --- What the worktrees hold (trees.c) ---------------------------------------- */

/* X(name, text) */
#define FLEET_STATES(X)                                                                            \
	X(OK, "ok")                                                                                \
	X(UNBORN, "unborn")     /* on a branch without a commit */                                 \
	X(LEAVING, "leaving")   /* landed; to be removed when nobody is inside */                  \
	X(MISSING, "missing")   /* the folder is gone */                                           \
	X(TAMPERED, "tampered") /* its .git pointer is not the one that was recorded */            \
	X(BROKEN, "broken")     /* git cannot read it */

enum fleet_state {
#define X(name, text) FLEET_##name,
	FLEET_STATES(X)
#undef X
};
const char *fleet_state_text(enum fleet_state state);

struct fleet_tree {
	struct task task; /* branch "" when detached */
	bool is_task;
	bool here; /* the caller stands in it */
	enum fleet_state state;
	char *message;            /* what is wrong, NULL when nothing is */
	struct strv hints;        /* and what to do about it */
	bool read;                /* STATUS was read */
	struct git_status status; /* what it holds beyond its commit */
	const char *parked;       /* what it is in the middle of, or NULL */
	struct git_count count;   /* against the trunk */
};
struct fleet_trees {
	struct fleet_tree *v;
	size_t n;
};
void fleet_trees_release(struct fleet_trees *l);
#define AUTOTREES CLEANUP(fleet_trees_release) struct fleet_trees
/*
 * Every worktree (HERE: the caller's alone), tasks first, each sorted by id. A
 * worktree that cannot be read is one whose state says so. Read in parallel, as
 * many at a time as there are cores. Takes no locks; counts are not filled.
 */
int fleet_trees(struct project *p, bool here, struct fleet_trees *ret, struct err *err);

/* --- One row a worktree (row.c) ------------------------------------------------- */

/* What the store knows of all tasks, read once. */
struct fleet_memory {
	struct store *store; /* NULL: none */
	bool logbook;
	struct logbook_list in_flight;
	json_t *watches; /* the open ones, as `await --list` tells them; NULL: none */
};
/*
 * T as `status` tells it: id, branch, path, tip, state, ahead, behind, dirty,
 * proof, gate, in_flight, running, waiting, idle_since and what else is true of
 * it. The reference is the caller's.
 */
json_t *fleet_row(const struct fleet_memory *m, const struct fleet_tree *t);

/* --- All of it (status.c, next.c) -------------------------------------------------- */

/*
 * Fills RES with the state of the whole fleet (HERE: of the caller's worktree):
 * data, warnings for what could not be read, and hints with the caller's next
 * step. Works without a store, without a trunk and with a broken abide.yaml.
 */
int fleet_status(struct project *p, bool here, struct result *res, struct err *err);

/* Hints for the caller: T is the worktree it stands in or NULL, ROW that one's row. */
void fleet_next(const struct project *p, const struct fleet_tree *t, const json_t *data,
        struct result *res);

#endif
