#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "gate/own.h"

/* Beyond every number that a runner gets its descriptors by. */
enum { ASIDE = 16, TROUBLE_FD = 5 };

int launch_pipe(int ret[2], struct err *err)
{
	if (pipe(ret) != 0) {
		err_set(err, ERR_GATE_INFRASTRUCTURE, "No pipe is to be had: %s.", strerror(errno));
		err_hint(err, "Close what holds many files open (`ulimit -n`), and try again.");
		return -1;
	}
	for (int i = 0; i < 2; i++)
		fcntl(ret[i], F_SETFD, FD_CLOEXEC);
	return 0;
}

/* In a child, before exec: FDS become 0, 1, 2 … in order, and nothing else stays open. */
static int arrange(const int *fds, int n)
{
	int aside[TROUBLE_FD + 1];

	for (int i = 0; i < n; i++)
		if ((aside[i] = fcntl(fds[i], F_DUPFD, ASIDE)) < 0)
			return -1;
	for (int i = 0; i < n; i++)
		if (dup2(aside[i], i) < 0)
			return -1;
	platform_close_from(n);
	return 0;
}

static void say_trouble(int fd)
{
	int trouble = errno;

	if (write(fd, &trouble, sizeof(trouble)) < 0)
		_exit(126);
	_exit(127);
}

/* The grandchild: its own session, then the program anew. */
static void become_runner(char *const *argv, char *const *env, const int *fds, int trouble)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* A runner outlives the terminal that it was started from. */
	signal(SIGHUP, SIG_IGN);
	if (arrange(fds, TROUBLE_FD + 1) < 0)
		say_trouble(trouble);
	fcntl(TROUBLE_FD, F_SETFD, FD_CLOEXEC);
	if (chdir("/") < 0)
		say_trouble(TROUBLE_FD);
	execve(argv[0], argv, env);
	say_trouble(TROUBLE_FD);
}

/* 0 when the program was begun, else why not. */
static int read_trouble(int fd)
{
	int trouble = 0;
	ssize_t n;

	do
		n = read(fd, &trouble, sizeof(trouble));
	while (n < 0 && errno == EINTR);
	return n == sizeof(trouble) ? trouble : 0;
}

static int fork_twice(char *const *argv, char *const *env, const int *fds, int trouble)
{
	pid_t child = fork();
	pid_t rc;

	if (child < 0)
		return -1;
	if (child == 0) {
		/* The session's leader goes at once: the runner is nobody's child, and can never
		   get a terminal. */
		if (setsid() < 0)
			say_trouble(trouble);
		child = fork();
		if (child < 0)
			say_trouble(trouble);
		if (child > 0)
			_exit(0);
		become_runner(argv, env, fds, trouble);
	}
	do
		rc = waitpid(child, NULL, 0);
	while (rc < 0 && errno == EINTR);
	return 0;
}

int launch_runner(
        const char *common, int64_t id, int owner, int alive, const char *log, struct err *err)
{
	AUTOFREE char *program = platform_program();
	AUTOFREE char *number = xasprintf("%lld", (long long)id);
	char *argv[] = {program, (char *)"-C", (char *)common, (char *)"__gate", number, NULL};
	AUTOCLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	AUTOCLOSE int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	AUTOCLOSE int hear = -1;
	int pair[2], trouble;

	if (launch_pipe(pair, err) < 0)
		return -1;
	hear = pair[0];
	{
		const int fds[] = {null, out < 0 ? null : out, out < 0 ? null : out,
		        owner < 0 ? null : owner, alive, pair[1]};
		_Static_assert(NELEMS(fds) == TROUBLE_FD + 1, "one number each");
		trouble = null < 0 || fork_twice(argv, env_for_children(false), fds, pair[1]) < 0
		        ? errno
		        : 0;
	}
	close(pair[1]); /* so that its end is seen */
	if (!trouble)
		trouble = read_trouble(hear);
	if (!trouble)
		return 0;
	err_set(err, ERR_GATE_INFRASTRUCTURE,
	        "The gate's runner (%s) could not be started: %s. That is no verdict on the "
	        "commit.",
	        program, strerror(trouble));
	err_hint(err, "See that the machine has processes and memory to spare, and try again.");
	return -1;
}
