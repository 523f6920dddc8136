#include "base/stop.h"

#include <signal.h>

volatile int stop_signal;

static void on_signal(int signo)
{
	stop_signal = signo;
}

void stop_install(void)
{
	struct sigaction a = {.sa_handler = on_signal};

	sigemptyset(&a.sa_mask);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}

int stop_check(struct err *err)
{
	if (!stop_signal)
		return 0;
	err_set(err, ERR_CANCELLED, "Ended by SIG%s.", stop_signal == SIGINT ? "INT" : "TERM");
	err_hint(err, "Run the same command again when you want to go on.");
	return -1;
}
