#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

volatile int stop_signal;
static int bell[2] = {-1, -1};

static void on_signal(int signo)
{
	int saved = errno;
	ssize_t n;

	stop_signal = signo;
	n = write(bell[1], "!", 1); /* full: readable already */
	(void)n;
	errno = saved;
}

int stop_fd(void)
{
	return bell[0];
}

void stop_install(void)
{
	struct sigaction a = {.sa_handler = on_signal};

	if (bell[0] < 0 && pipe(bell) == 0) {
		for (int i = 0; i < 2; i++) {
			fcntl(bell[i], F_SETFD, FD_CLOEXEC);
			fcntl(bell[i], F_SETFL, O_NONBLOCK);
		}
	}
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
