/*
 * Places where a test may kill or stop this process, or make a call fail, so
 * that every half-way state can be seen. Test builds only (-Dseams=true): in a
 * release build these are nothing.
 */
#ifndef ABIDE_BASE_SEAM_H
#define ABIDE_BASE_SEAM_H

#include <stdbool.h>

#if ABIDE_SEAMS
/*
 * ABIDE_TEST_KILL_AT=NAME: SIGKILL here. ABIDE_TEST_STOP_AT=NAME: SIGSTOP here
 * (the test continues it). NAME may be "a:b", an exact seam name.
 */
void seam_point(const char *name);
/* ABIDE_TEST_FAIL_AT=NAME: true, and the caller behaves as if the call failed. */
bool seam_fails(const char *name);
/* ABIDE_TEST_POLLING=1: as if file events could not be had. */
bool seam_polling(void);
#else
static inline void seam_point(const char *name)
{
	(void)name;
}
static inline bool seam_fails(const char *name)
{
	(void)name;
	return false;
}
static inline bool seam_polling(void)
{
	return false;
}
#endif

#endif
