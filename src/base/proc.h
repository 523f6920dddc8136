/*
 * Short-lived child processes whose output is read whole (libuv). Long-lived
 * children (jobs, runners) are the gate's own.
 */
#ifndef ABIDE_BASE_PROC_H
#define ABIDE_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct proc {
	/* What to run. */
	const char *const *argv; /* NULL-terminated; argv[0] is searched in PATH */
	const char *cwd;         /* NULL: this process's */
	char *const *env;        /* NULL: env_for_children(true) */
	const void *in;          /* bytes for stdin; NULL: /dev/null */
	size_t in_len;
	size_t out_cap; /* bytes of stdout accepted; 0: 64 MiB. More is READ_FAILED. */
	int timeout_ms; /* 0: none. Past it the child is killed: `timed_out`. */
	/* Its own session: a Ctrl-C on the terminal does not reach it, and what
	   kills it (time-out, cap, stop) kills its whole group. */
	bool apart;
	bool stoppable;     /* SIGINT or SIGTERM to this process ends the child (TERM, then KILL) */
	int stop_after_ms;  /* so long it may go on after the signal, to come to its own end */
	bool out_to_stderr; /* stdout and stderr go to this process's stderr, unread */

	/* What came of it. */
	struct buf out; /* whole stdout */
	struct buf err; /* first 16 KiB of stderr */
	int status;     /* exit status, or 128 + signal */
	pid_t pid;      /* it had; 0 when it could not be started */
	bool timed_out;
	bool stopped; /* ended by a signal to this process; see stop_check() */
};

void proc_release(struct proc *p);
#define AUTOPROC CLEANUP(proc_release) struct proc

/*
 * Runs the child to its end. 0 whatever its exit status; -1 when it could not
 * be started (GIT_UNSUPPORTED when argv[0] is "git" and missing, else
 * READ_FAILED) or printed more than the cap. A process that the child leaves
 * behind with its pipes open is not waited for.
 */
int proc_run(struct proc *p, struct err *err);
/* Runs N of them side by side; -1 with the first error when any failed. */
int proc_run_all(struct proc *const *p, size_t n, struct err *err);
/* As proc_run_all, at most AT_ONCE at a time. One that could not be started has
   status -1; the others ran to their end. */
int proc_run_pool(struct proc *const *p, size_t n, size_t at_once, struct err *err);
/* Processors that this process may use; at least 1. */
size_t proc_cores(void);

/* The child's stderr as one line fit to be shown: last 400 bytes. To be freed. */
char *proc_complaint(const struct proc *p);

#endif
