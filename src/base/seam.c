#include "base/seam.h"

#if ABIDE_SEAMS

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the variable names this seam. */
static bool named(const char *variable, const char *name)
{
	const char *want = getenv(variable);

	return want && strcmp(want, name) == 0;
}

void seam_point(const char *name)
{
	if (named("ABIDE_TEST_KILL_AT", name))
		kill(getpid(), SIGKILL);
	if (named("ABIDE_TEST_STOP_AT", name))
		raise(SIGSTOP);
}

bool seam_fails(const char *name)
{
	return named("ABIDE_TEST_FAIL_AT", name);
}

bool seam_polling(void)
{
	return named("ABIDE_TEST_POLLING", "1");
}

#endif
