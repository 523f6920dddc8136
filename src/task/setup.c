/*
 * `setup`: the project's own commands that make a fresh worktree ready.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "task/own.h"

enum { DESCENDANTS_MAX = 256 };

/* What a failed or interrupted command left running would work in a folder that goes. */
static void end_descendants(void)
{
	pid_t pids[DESCENDANTS_MAX];

	for (int round = 0; round < 20; round++) {
		size_t n = platform_descendants(getpid(), pids, DESCENDANTS_MAX);
		if (!n)
			return;
		for (size_t i = 0; i < n; i++)
			kill(pids[i], SIGKILL);
		random_pause_us(2000, 5000);
		/* Orphans have become children of this process; nothing else is running. */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

int own_setup(const struct project *p, const struct task *t, const struct strv *commands,
        const struct task_progress *progress, struct err *err)
{
	AUTOSTRV env = {0};

	if (!commands->n)
		return 0;
	task_environment(p, t, &env);
	platform_become_subreaper();
	for (size_t i = 0; i < commands->n; i++) {
		const char *const argv[] = {"sh", "-c", commands->v[i], NULL};
		AUTOPROC run = {
		        .argv = argv,
		        .cwd = t->worktree,
		        .env = env.v,
		        .apart = true,
		        .stoppable = true,
		        .out_to_stderr = true,
		};

		if (progress && progress->tell)
			progress->tell(progress->ctx, "setup", commands->v[i]);
		if (stop_check(err) < 0 || proc_run(&run, err) < 0)
			return -1;
		if (run.status == 0 && !run.stopped)
			continue;
		end_descendants();
		if (run.stopped && stop_check(err) < 0)
			return -1;
		err_set(err, ERR_INTERRUPTED,
		        "The setup command `%s` failed with exit status %d; what it said stands "
		        "above.",
		        commands->v[i], run.status);
		err_hint(err, "Run it by hand in %s to see why, or mend `setup` in %s.",
		        p->git.main_worktree ? p->git.main_worktree : "a worktree", CONFIG_FILE);
		err_data(err, "command", json_string(commands->v[i]));
		err_data(err, "exit", json_integer(run.status));
		return -1;
	}
	return 0;
}
