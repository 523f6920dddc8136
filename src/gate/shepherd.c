/*
 * A shepherd keeps one job: it is the parent that every orphan of the job comes
 * back to (Linux), so it can end them all. Plain waitpid, no event loop: a loop
 * that reaps children of its own would lose those that it never started.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>

#include "gate/own.h"

enum {
	GRACE_MS = 300,    /* between being asked to end and being made to */
	GIVE_UP_MS = 1800, /* of what cannot be killed (another user's, stuck in the kernel) */
	ROUND_MS = 10,
	MAX_HERD = 4096,
};

static void on_child(int signo)
{
	(void)signo; /* it wakes pselect, that is all */
}

/* --- The job's own process ---------------------------------------------------- */

static void be_the_job(const char *folder, const char *script, int trouble)
{
	struct shepherd_report why = {.step = STEP_FOLDER};
	struct sigaction usual = {.sa_handler = SIG_DFL};
	sigset_t none;
	/* A script that begins with a dash is no option of the shell. */
	AUTOFREE char *safe = *script == '-' || *script == '+' ? xasprintf(" %s", script) : NULL;
	const char *argv[] = {"sh", "-c", safe ? safe : script, NULL};

	setsid();
	for (int signo = 1; signo < NSIG; signo++)
		sigaction(signo, &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir(folder) == 0) {
		why.step = STEP_SHELL;
		dup2(trouble, STDERR_FILENO + 1);
		fcntl(STDERR_FILENO + 1, F_SETFD, FD_CLOEXEC);
		trouble = STDERR_FILENO + 1;
		platform_close_from(trouble + 1);
		execvp(argv[0], (char *const *)argv);
	}
	why.trouble = errno;
	_exit(write(trouble, &why, sizeof(why)) == sizeof(why) ? 127 : 126);
}

/* Starts it. -1 with the reason in *WHY when it could not be. */
static pid_t begin(const char *folder, const char *script, struct shepherd_report *why)
{
	int pair[2];
	ssize_t n;
	pid_t pid;

	*why = (struct shepherd_report){.step = STEP_FORK};
	if (launch_pipe(pair, NULL) < 0 || (pid = fork()) < 0) {
		why->trouble = errno;
		return -1;
	}
	if (pid == 0)
		be_the_job(folder, script, pair[1]);
	close(pair[1]);
	do
		n = read(pair[0], why, sizeof(*why));
	while (n < 0 && errno == EINTR);
	close(pair[0]);
	if (n != sizeof(*why))
		return pid;
	waitpid(pid, NULL, 0);
	return -1;
}

/* --- The herd -------------------------------------------------------------------- */

struct herd {
	pid_t job;
	bool ended; /* the job itself */
	int status; /* of it, as waitpid says */
	bool empty; /* no child is left */
};

/* Collects who has died. */
static void reap(struct herd *h)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid == h->job) {
			h->ended = true;
			h->status = status;
		}
		if (pid < 0 && errno == EINTR)
			continue;
		h->empty = pid < 0;
		if (pid <= 0)
			return;
	}
}

static void signal_all(const struct herd *h, int signo)
{
	static pid_t herd[MAX_HERD];
	size_t n = platform_descendants(getpid(), herd, NELEMS(herd));

	/* The group reaches its members also where orphans cannot be seen. */
	kill(-h->job, signo);
	for (size_t i = 0; i < n; i++)
		kill(herd[i], signo);
}

/* Sleeps until a child dies or MS have passed. */
static void pause_ms(int ms, const sigset_t *open_mask)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	pselect(0, NULL, NULL, NULL, &t, open_mask);
}

/*
 * Ends every descendant: asks, waits a little, then stops all of them (so that
 * none can fork itself away between two looks) and kills them.
 */
static void end_all(struct herd *h, const sigset_t *open_mask)
{
	int64_t begun = clock_mono_ms();

	reap(h);
	if (h->empty)
		return;
	signal_all(h, SIGTERM);
	/* What is stopped hears nothing else. */
	signal_all(h, SIGCONT);
	while (!h->empty && clock_mono_ms() - begun < GRACE_MS) {
		pause_ms(GRACE_MS / 6, open_mask);
		reap(h);
	}
	while (!h->empty && clock_mono_ms() - begun < GIVE_UP_MS) {
		signal_all(h, SIGSTOP);
		signal_all(h, SIGKILL);
		pause_ms(ROUND_MS, open_mask);
		reap(h);
	}
}

/* Waits for the job's end, or for the owner's. */
static void watch(struct herd *h, int owner, const sigset_t *open_mask)
{
	for (;;) {
		fd_set fds;

		reap(h);
		if (h->ended || stop_signal)
			return;
		FD_ZERO(&fds);
		FD_SET(owner, &fds);
		/* The runner writes nothing: readable means that it let go, or is dead. */
		if (pselect(owner + 1, &fds, NULL, NULL, NULL, open_mask) > 0 || errno != EINTR)
			return;
	}
}

static int exit_status(const struct herd *h)
{
	if (!h->ended) /* it could not even be killed */
		return 128 + SIGKILL;
	return WIFSIGNALED(h->status) ? 128 + WTERMSIG(h->status) : WEXITSTATUS(h->status);
}

int gate_shepherd(const char *folder, const char *script, int owner, int report)
{
	struct sigaction wake = {.sa_handler = on_child};
	struct shepherd_report r;
	struct herd h = {0};
	sigset_t closed, open_mask;
	int64_t begun;

	platform_become_subreaper();
	fcntl(owner, F_SETFD, FD_CLOEXEC);
	fcntl(report, F_SETFD, FD_CLOEXEC);
	/* These come only while it sleeps, so that none is missed. */
	sigaction(SIGCHLD, &wake, NULL);
	sigemptyset(&closed);
	sigaddset(&closed, SIGCHLD);
	sigaddset(&closed, SIGINT);
	sigaddset(&closed, SIGTERM);
	sigprocmask(SIG_BLOCK, &closed, &open_mask);
	begun = clock_mono_ms();
	h.job = begin(folder, script, &r);
	if (h.job > 0) {
		watch(&h, owner, &open_mask);
		r.ms = clock_mono_ms() - begun;
		end_all(&h, &open_mask);
		r.status = exit_status(&h);
	}
	if (write(report, &r, sizeof(r)) != sizeof(r))
		return 70;
	return 0;
}
