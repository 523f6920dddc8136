/*
 * What the files of this folder share. Nobody else includes this.
 */
#ifndef ABIDE_GATE_OWN_H
#define ABIDE_GATE_OWN_H

#include "gate/gate.h"

/* --- keep.c ------------------------------------------------------------------- */

/*
 * After a verdict, so that nobody waits for it: forgets runs that are not kept any
 * longer, and RUN's empty log of the runner. Failing costs nothing but room.
 */
void keep_house(const struct project *p, struct store *s, const struct run *run);

/* --- launch.c ---------------------------------------------------------------- */

/*
 * Starts the runner of run ID in a session of its own, no child of this
 * process. It gets OWNER (-1: none), ALIVE, and LOG for what it may have to
 * say. GATE_INFRASTRUCTURE when it cannot be started.
 */
int launch_runner(
        const char *common, int64_t id, int owner, int alive, const char *log, struct err *err);
/* A pipe whose ends are closed by exec. */
int launch_pipe(int ret[2], struct err *err);

/* --- gate.c ------------------------------------------------------------------ */

/* What a job finds in its environment: the task's, without a word of git's. */
void gate_environment(const struct project *p, const struct task *t, struct strv *ret);

/* --- log.c --------------------------------------------------------------------- */

/*
 * The output of one job: the first and the last MiB go to the file, and what is
 * between is counted. A disk that takes no more loses the file, not the job.
 */
struct log;
struct log *log_open(const char *path);
void log_add(struct log *l, const char *data, size_t len);
/* Ends the file. RET_TAIL: the last lines, valid UTF-8, to be freed. Frees L. */
void log_close(struct log *l, char **ret_tail);

/* --- shepherd.c ---------------------------------------------------------------- */

/* What a shepherd writes to its report pipe, once. */
struct shepherd_report {
	int32_t trouble; /* errno of a job that could not be started, else 0 */
	int32_t step;    /* what failed then: enum shepherd_step */
	int32_t status;  /* exit status, or 128 + signal */
	int64_t ms;
};
enum shepherd_step { STEP_FORK, STEP_FOLDER, STEP_SHELL };

/* --- tree.c -------------------------------------------------------------------- */

/*
 * Watches what the jobs do to the worktree: it is looked at whenever no job
 * runs, so that most often one job alone can have done it.
 */
struct tree;
struct tree *tree_watch(struct git_at at, const struct oid *commit, const char *branch);
void tree_free(struct tree *t);
/* JOB begins. */
void tree_job(struct tree *t, const char *job);
/* No job runs: look. -1: git failed. */
int tree_look(struct tree *t, struct err *err);
/* Whether the last look saw something else than the commit. */
bool tree_dirty(const struct tree *t);
/* DETAIL gets dirtied_by, dirtied, dirtied_total and reason. */
void tree_tell(const struct tree *t, json_t *detail);

#endif
