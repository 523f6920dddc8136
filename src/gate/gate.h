/*
 * gate: the project's own jobs, run on one exact commit of a task, and the
 * proof that they passed.
 *
 * The jobs run in a runner, a process of its own session; whoever calls
 * gate_validate() watches it through the store. So starting, joining,
 * detaching, cancelling and crashing are one path: the runner's row says what
 * is going on, and its byte of the alive lock whether that is still true.
 */
#ifndef ABIDE_GATE_GATE_H
#define ABIDE_GATE_GATE_H

#include "project/project.h"
#include "store/run.h"
#include "task/task.h"

/* --- Before anything runs --------------------------------------------------- */

/* A task's tip as a gate sees it. */
struct gate_look {
	struct oid commit, tree; /* the tip; it is what the worktree stands on */
	struct config config;    /* abide.yaml of that commit */
	char *digest;            /* of its gate */
	bool gate_changed;       /* the trunk's gate is another one */
	int64_t ahead;           /* commits beyond the trunk */
	bool proven;             /* there is an honoured proof: */
	struct run proof;
};
void gate_look_release(struct gate_look *l);
#define AUTOLOOK CLEANUP(gate_look_release) struct gate_look

/*
 * Checks that the gate could speak about T, and changes nothing. In this order:
 * NO_TRUNK, NOT_ON_TASK or WORKTREE_MISSING (no worktree to run in),
 * BEHIND_TRUNK (data: behind, trunk_tip), DIRTY_WORKTREE (data: files,
 * files_total), NO_COMMITS (no work beyond the trunk), CONFIG_INVALID,
 * GATE_UNDEFINED. The proof is looked up in the store where there is one.
 */
int gate_look(struct project *p, const struct task *t, struct gate_look *ret, struct err *err);

/* --- The verdict ------------------------------------------------------------- */

struct gate_options {
	bool rerun; /* run though there is a proof */
	/*
	 * >= 0: the run belongs to nobody from its begin (the caller's transport is
	 * short), and this call lets go of it when it takes longer. -1: the run ends
	 * with this call.
	 */
	int64_t detach_after_ms;
	bool watch_stdin; /* the end of stdin ends the call, as a signal does */
	/* Told when a run began or was joined, at each change of its jobs, and with
	   TICKS four times a second; or NULL. */
	void (*note)(void *ctx, const struct run *run, bool joined);
	void *ctx;
	bool ticks;
};

struct gate_outcome {
	struct run run; /* what passed: the proof. With `running`: what goes on */
	bool gate_ran;  /* false: the proof was there before */
	bool joined;    /* the run was somebody else's */
	bool running;   /* detached: no verdict yet; `await --green` waits for it */
	/* Of this call: watching somebody else's run, or waiting for a job's place. */
	int64_t waited_ms;
};
void gate_outcome_release(struct gate_outcome *o);
#define AUTOOUTCOME CLEANUP(gate_outcome_release) struct gate_outcome

/*
 * Sees to it that what LOOK saw of T has a proof: returns the one that is
 * there, joins the run of that commit that is going on, or runs the gate.
 * 0: passed, or detached (`running`). -1:
 *   GATE_RED             a job failed or ran out of time
 *   GATE_INFRASTRUCTURE  a job (or the runner) could not be started: no verdict
 *   GATE_DIRTIED         HEAD, index or tree changed meanwhile: no verdict
 *   INTERRUPTED          the runner died
 *   CANCELLED            `done --cancel`, or a signal to this process, which ends
 *                        the run when it belongs to this call
 * each with the run in err->data as gate_run_data() puts it. Opens the store
 * for writing when the gate has to run. *RET is filled (its waited_ms at
 * least) on errors, too.
 */
int gate_validate(struct project *p, const struct task *t, const struct gate_look *look,
        const struct gate_options *o, struct gate_outcome *ret, struct err *err);

/*
 * Ends the runs of T's tip and of its branch that are going on, and waits until
 * they have ended. 1: none was going on. RET (or NULL) gets the newest of them.
 */
int gate_cancel(struct project *p, const struct task *t, struct run *ret, struct err *err);

/*
 * Puts a run into DATA: run, branch, commit, tree, verdict, gate_digest,
 * begun_at, ended_at, log_dir, jobs [{name, state, exit, ms, begun_at, log,
 * tail}], and dirtied_by, dirtied, reason where there are such.
 */
void gate_run_data(const struct run *run, json_t *data);

/*
 * The call of VERB on T as this caller would write it: it names the task unless
 * the caller stands in it. OPTION (a flag) or NULL. To be freed.
 */
char *gate_call(
        const struct project *p, const struct task *t, const char *verb, const char *option);

/* X(name, text in the store and in answers, the job has ended) */
#define GATE_JOB_STATES(X)                                                                         \
	X(WAITING, "waiting", false) /* for what it needs, or for its place */                     \
	X(RUNNING, "running", false)                                                               \
	X(PASSED, "passed", true)                                                                  \
	X(FAILED, "failed", true)                                                                  \
	X(TIMED_OUT, "timed_out", true)                                                            \
	X(SKIPPED, "skipped", true)               /* something that it needs did not pass */       \
	X(ENDED, "ended", true)                   /* the run was cancelled */                      \
	X(INFRASTRUCTURE, "infrastructure", true) /* it could not be started, or was lost */

enum gate_job_state {
#define X(name, text, over) GATE_JOB_##name,
	GATE_JOB_STATES(X)
#undef X
};
const char *gate_job_state_text(enum gate_job_state state);

/* --- The runner (the command __gate) and its shepherds (__shepherd) ------------ */

/* Where they find the descriptors that they were given. */
enum { RUNNER_OWNER_FD = 3, RUNNER_ALIVE_FD = 4, SHEPHERD_OWNER_FD = 3, SHEPHERD_REPORT_FD = 4 };

/*
 * Runs the jobs of run ID to their end and records what came of it. OWNER is
 * the read end of the owner pipe (its end cancels, unless the run was detached
 * before), ALIVE the descriptor that holds the run's byte.
 */
int gate_runner(struct project *p, int64_t id, int owner, int alive, struct err *err);

/*
 * One job: `sh -c SCRIPT` in FOLDER; ends every descendant when it has ended,
 * or when the descriptor OWNER does. Reports on REPORT. Returns the exit status.
 */
int gate_shepherd(const char *folder, const char *script, int owner, int report);

#endif
