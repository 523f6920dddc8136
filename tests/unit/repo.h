/* A repository of its own for each test: `repo_dir`, and the shell in it. */
#ifndef ABIDE_TESTS_REPO_H
#define ABIDE_TESTS_REPO_H

#include "cmocka_all.h"

#include <stdio.h>

#include "git/git.h"

static char repo_dir[64];

/* Runs a script there; its stdout without the final newline. To be freed. */
PRINTF(1, 2) static UNUSED char *sh(const char *fmt, ...)
{
	AUTOFREE char *script = NULL;
	AUTOFREE char *whole = NULL;
	AUTOERR err = {0};
	AUTOPROC p = {.cwd = repo_dir, .env = env_for_children(false)};
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&script, fmt, ap) < 0)
		abort();
	va_end(ap);
	whole = xasprintf("set -e; %s", script);
	p.argv = (const char *const[]){"sh", "-c", whole, NULL};
	assert_int_equal(proc_run(&p, &err), 0);
	if (p.status)
		fail_msg("%s: %s", whole, buf_str(&p.err));
	return xstrndup(buf_str(&p.out), p.out.len ? p.out.len - 1 : 0);
}

#define RUN(...) free(sh(__VA_ARGS__))

static UNUSED struct oid oid_of(const char *rev)
{
	AUTOFREE char *hex = sh("git rev-parse %s", rev);
	struct oid o;

	assert_true(oid_parse(&o, hex));
	return o;
}

static UNUSED int repo_make(const char *options)
{
	snprintf(repo_dir, sizeof(repo_dir), "/tmp/abide-unit-XXXXXX");
	if (!mkdtemp(repo_dir))
		return -1;
	RUN("git init -q -b main %s . && git config user.name T && git config user.email t@e",
	        options);
	return 0;
}

static UNUSED int repo_remove(void **state)
{
	(void)state;
	return fs_remove_tree(repo_dir, NULL);
}

#endif
