/*
 * Runs commands and tells how long they took, in microseconds, without the
 * weight of a big runtime around fork and wait.
 *
 *	measure run COMMAND…
 *		time from spawning to the end
 *	measure wake REF GAP_US WAIT_MS FILE… -- COMMAND…
 *		starts COMMAND, waits until it and its descendants sleep, and WAIT_MS
 *		more, then renames each FILE over REF, GAP_US apart; time from the
 *		last rename to the end of COMMAND
 *
 *	measure poll FILE…
 *		looks at the files by stat four times a second, for ever
 *
 * Prints "MICROSECONDS STATUS". A command still there after 120 s is killed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { QUIET_MS = 60, GIVE_UP_S = 120, MOST = 4096 };

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void pause_us(int64_t us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	while (us > 0 && nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

static void fail(const char *what)
{
	perror(what);
	exit(125);
}

static pid_t start(char **argv)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	errno = posix_spawnp(&pid, argv[0], &files, &attr, argv, environ);
	if (errno)
		fail(argv[0]);
	return pid;
}

struct task {
	pid_t pid, parent;
	char state;
	unsigned long long ticks;
};

static int tasks_read(struct task *all)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d && n < MOST && (e = readdir(d))) {
		char path[300], line[1024], *p;
		unsigned long long user, kernel;
		int fd;
		ssize_t len;
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		fd = open(path, O_RDONLY);
		len = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
		if (fd >= 0)
			close(fd);
		if (len <= 0)
			continue;
		line[len] = '\0';
		p = strrchr(line, ')');
		if (!p ||
		        sscanf(p + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
		                &all[n].state, &all[n].parent, &user, &kernel) != 4)
			continue;
		all[n].pid = (pid_t)atoi(e->d_name);
		all[n++].ticks = user + kernel;
	}
	if (d)
		closedir(d);
	return n;
}

/* A number for the tree below ROOT that changes when anything ran in it; 0: something runs. */
static uint64_t tree_state(pid_t root)
{
	static struct task all[MOST];
	static bool in[MOST];
	int n = tasks_read(all);
	uint64_t sum = 1;
	bool more = true;

	for (int i = 0; i < n; i++)
		in[i] = all[i].pid == root;
	while (more) {
		more = false;
		for (int i = 0; i < n; i++)
			for (int k = 0; k < n && !in[i]; k++)
				if (in[k] && all[i].parent == all[k].pid)
					in[i] = more = true;
	}
	for (int i = 0; i < n; i++) {
		if (!in[i])
			continue;
		if (all[i].state != 'S')
			return 0;
		sum = sum * 1000003 + (uint64_t)all[i].pid * 31 + all[i].ticks;
	}
	return sum;
}

/* Until the whole tree has slept for QUIET_MS, or its root ended. */
static void until_quiet(pid_t root)
{
	uint64_t last = 0;
	int64_t since = now_us(), give_up = since + GIVE_UP_S * 1000000LL;

	while (now_us() < give_up) {
		uint64_t state = tree_state(root);
		siginfo_t ended = {0};
		if (waitid(P_PID, (id_t)root, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		        ended.si_pid)
			return;
		if (!state || state != last)
			since = now_us();
		else if (now_us() - since >= QUIET_MS * 1000)
			return;
		last = state;
		pause_us(5000);
	}
}

static pid_t running;

static void give_up(int signo)
{
	(void)signo;
	kill(-running, SIGKILL);
}

static void finish(pid_t pid, int64_t from)
{
	int status;
	int64_t took;

	running = pid;
	signal(SIGALRM, give_up);
	alarm(GIVE_UP_S);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid");
	took = now_us() - from;
	kill(-pid, SIGKILL); /* what a script left behind */
	printf("%lld %d\n", (long long)took,
	        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "run") == 0) {
		int64_t from = now_us();
		finish(start(argv + 2), from);
		return 0;
	}
	if (argc > 6 && strcmp(argv[1], "wake") == 0) {
		const char *ref = argv[2];
		int64_t gap = atoll(argv[3]), wait_ms = atoll(argv[4]), from = 0;
		int at = 5, first = 5;
		pid_t pid;
		while (at < argc && strcmp(argv[at], "--") != 0)
			at++;
		if (at + 1 >= argc)
			return 2;
		pid = start(argv + at + 1);
		until_quiet(pid);
		pause_us(wait_ms * 1000);
		for (int i = first; i < at; i++) {
			if (i > first)
				pause_us(gap);
			from = now_us();
			if (rename(argv[i], ref) != 0)
				fail(argv[i]);
		}
		finish(pid, from);
		return 0;
	}
	if (argc > 2 && strcmp(argv[1], "poll") == 0) {
		for (;;) {
			struct stat s;
			for (int i = 2; i < argc; i++)
				(void)!stat(argv[i], &s);
			pause_us(250000);
		}
	}
	fprintf(stderr,
	        "usage: measure run COMMAND… | measure poll FILE… |\n"
	        "       measure wake REF GAP_US WAIT_MS FILE… -- COMMAND…\n");
	return 2;
}
