/*
 * Starting a program without copying this process first. libuv forks, which on
 * Linux costs a quarter of what a short `git` takes altogether; posix_spawn
 * shares the memory until the program runs.
 */
#ifndef ABIDE_BASE_SPAWN_H
#define ABIDE_BASE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct spawn {
	const char *const *argv; /* argv[0] is searched in the child's PATH */
	char *const *env;
	const char *cwd; /* NULL: this process's */
	/* What the child gets as stdin, stdout and stderr; -1: /dev/null. Everything
	   else that it should not have must be close-on-exec. */
	int fd[3];
	bool apart; /* its own session */
};

/* 0, or errno negated (as libuv's errors are); signals are the child's as by default. */
int spawn_start(const struct spawn *s, pid_t *ret);

#endif
