/*
 * One job of a run while its shepherd lives. Only the runner includes this.
 */
#ifndef ABIDE_GATE_JOB_H
#define ABIDE_GATE_JOB_H

#include <uv.h>

#include "gate/own.h"

struct job {
	const struct gate_job *spec;
	enum gate_job_state state;
	int64_t place; /* in the queue of the job budget, 0: none */
	int64_t begun_at, ms;
	int exit;
	char *tail;    /* last lines of a job that did not pass */
	char *trouble; /* why it could not be started, or was lost */

	/* Told once, when the shepherd and all output have ended. */
	void (*over)(struct job *j);
	/* Told before that when the shepherd was killed: its herd is on the loose. */
	void (*lost)(struct job *j);
	void *ctx;

	uv_process_t process;
	uv_pipe_t out;
	uv_timer_t timer; /* the job's time-out; after its end, the end of patience */
	int owner;        /* the write end that the shepherd watches; -1: let go */
	int report;
	struct log *log;
	bool started, exited, drained, timed_out, cancelled;
};

/*
 * Starts J in FOLDER with ENV; its output goes to LOG_PATH. J->state becomes
 * RUNNING, or INFRASTRUCTURE with `trouble` (then `over` is not called).
 */
void job_start(
        struct job *j, uv_loop_t *loop, const char *folder, char *const *env, const char *log_path);
/* Has the shepherd end everything; `over` comes within about two seconds. */
void job_end(struct job *j);
bool job_over(const struct job *j);
bool job_failed(const struct job *j);
/* Frees what J owns; it must not be running. */
void job_release(struct job *j);
/* As it is recorded: name, state, exit, ms, begun_at, log, tail, trouble. */
json_t *job_json(const struct job *j);

#endif
