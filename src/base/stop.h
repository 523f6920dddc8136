/*
 * SIGINT and SIGTERM. The handlers only note the signal; whatever waits looks
 * at `stop_signal`, ends its work cleanly and answers CANCELLED. System calls
 * come back with EINTR (no SA_RESTART).
 */
#ifndef ABIDE_BASE_STOP_H
#define ABIDE_BASE_STOP_H

#include "base/err.h"

extern volatile int stop_signal; /* 0, SIGINT or SIGTERM */

void stop_install(void);
/*
 * Becomes (and stays) readable when a signal came, for loops that wait by poll:
 * libuv waits on after EINTR. Never read from it. -1 before stop_install().
 */
int stop_fd(void);
/* -1 with CANCELLED when a signal came, else 0. For the gaps between two steps. */
int stop_check(struct err *err);

#endif
