/*
 * A child that is never killed: git while it moves the trunk, with the user's
 * hooks. It runs in a session of its own, and who waits for it may go away.
 */
#ifndef ABIDE_GIT_PATIENT_H
#define ABIDE_GIT_PATIENT_H

#include "base/base.h"

struct patient {
	const char *const *argv;
	char *const *env;
	const char *cwd;
	int keep_fd;    /* the child keeps this open as its descriptor 3; -1: none */
	bool no_stderr; /* only stdout is heard */
	size_t cap;     /* of what is heard; 0: 16 KiB */
	/* Asked ten times a second with the time since the start: true lets go of
	   the child, which runs on. Or NULL. */
	bool (*let_go)(void *ctx, int64_t ms);
	void *ctx;

	int status; /* exit status, or 128 + signal; -1 when it was let go */
	pid_t pid;
	struct buf said; /* stdout and stderr, as far as CAP */
};
void patient_release(struct patient *p);
#define AUTOPATIENT CLEANUP(patient_release) struct patient
/* 0 whatever its status; -1 when it could not be started. */
int patient_run(struct patient *p, struct err *err);

#endif
