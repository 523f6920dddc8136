#include "repo.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "git/ff.h"

/* main (checked out) at `old`, one commit behind `new`: a changes, b is new, c
   goes, d stays. */
static int repository(void **state)
{
	(void)state;
	if (repo_make("") < 0)
		return -1;
	RUN("mkdir sub; for f in a c d e; do echo $f >$f; done; echo /ignored >.gitignore;"
	    "echo s >sub/s; git add .; git commit -q -m old; git tag old;"
	    "git checkout -q -b feature; echo a2 >a; echo b >b; git rm -q c; mkdir n; echo n >n/n;"
	    "git add .; git commit -q -m new; git tag new; git checkout -q main");
	return 0;
}

/* Fast-forwards main from `old` to `new`, as `accept` does. */
static int forward(struct strv *warnings, struct err *err)
{
	AUTOGIT g = {0};
	AUTOCHECKOUT c = {0};
	AUTOFREE char *lock = NULL;
	struct git_ff ff = {.ref = "refs/heads/main", .message = "abide: land x"};
	int rc;

	if (git_open(repo_dir, &g, err) < 0 || git_checkout_of(&g, ff.ref, &c, err) < 0)
		return -1;
	ff.old = oid_of("old");
	ff.new_value = oid_of("new");
	ff.path = c.path;
	ff.git_dir = c.git_dir;
	ff.lock = lock = path_join(g.common, "moving.lck");
	ff.lock_id = 7;
	rc = git_fast_forward(&g, &ff, err);
	if (warnings)
		strv_extend(warnings, &ff.warnings);
	strv_release(&ff.warnings);
	return rc;
}

static bool settle(struct strv *warnings)
{
	AUTOGIT g = {0};
	AUTOERR err = {0};
	struct git_ff ff = {.ref = "refs/heads/main", .message = "abide: land x"};
	AUTOFREE char *lock = path_join(repo_dir, ".git/moving.lck");
	AUTOFREE char *git_dir = path_join(repo_dir, ".git");
	bool moved = false;

	assert_int_equal(git_open(repo_dir, &g, &err), 0);
	ff.old = oid_of("old");
	ff.new_value = oid_of("new");
	ff.path = g.main_worktree;
	ff.git_dir = git_dir;
	ff.lock = lock;
	ff.lock_id = 7;
	if (git_ff_settle(&g, &ff, &moved, &err) < 0)
		fail_msg("%s", err.message);
	if (warnings)
		strv_extend(warnings, &ff.warnings);
	strv_release(&ff.warnings);
	return moved;
}

/* What `git status` says, one line. */
static void status_is(const char *want)
{
	AUTOFREE char *is = sh("git status --porcelain --untracked-files=all | tr '\\n' ';'");

	/* The last newline went with the others, so it is cut here. */
	if (strncmp(is, want, strlen(want)) != 0 || strlen(is) > strlen(want) + 1)
		fail_msg("status: %s, wanted %s", is, want);
}

static void main_is(const char *rev)
{
	AUTOFREE char *is = sh("git rev-parse refs/heads/main");

	assert_string_equal(is, oid_of(rev).hex);
}

/* Refused with CODE; ref, index and files are as they were. */
static void refuses(enum err_code code, const char *part)
{
	AUTOERR err = {0};
	AUTOFREE char *before = sh("git status --porcelain; git ls-files -s; ls -R; cat a");
	AUTOFREE char *after = NULL;

	assert_int_equal(forward(NULL, &err), -1);
	if (err.code != code || !strstr(err.message, part))
		fail_msg("%s: %s", err_slug(err.code), err.message);
	main_is("old");
	after = sh("git status --porcelain; git ls-files -s; ls -R; cat a");
	assert_string_equal(after, before);
}

static void lands(void)
{
	AUTOERR err = {0};

	if (forward(NULL, &err) < 0)
		fail_msg("%s", err.message);
	main_is("new");
}

static void hook(const char *name, const char *body)
{
	RUN("printf '#!/bin/sh\\n%%s\\n' %s >.git/hooks/%s; chmod +x .git/hooks/%s", body, name,
	        name);
}

static void a_checkout_follows(void **state)
{
	(void)state;
	lands();
	status_is("");
	{
		AUTOFREE char *log = sh("git log -g -1 --format=%%gs main");
		assert_true(text_starts(log, "abide: land x"));
	}
}

static void a_branch_checked_out_nowhere_moves_by_its_ref(void **state)
{
	AUTOERR err = {0};

	(void)state;
	RUN("git checkout -q --detach");
	lands();
	RUN("git update-ref refs/heads/main old; git commit -q --allow-empty -m x;"
	    "git update-ref refs/heads/main HEAD");
	assert_int_equal(forward(NULL, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	main_is("HEAD");
}

static void other_work_in_the_checkout_is_kept(void **state)
{
	(void)state;
	RUN("echo mine >d; echo staged >e; git add e; echo u >untracked");
	lands();
	status_is(" M d;M  e;?? untracked");
}

static void changes_that_overlap_are_named(void **state)
{
	(void)state;
	RUN("echo mine >a; echo mine >d");
	refuses(ERR_WOULD_LOSE, "holds changes that the landing would overwrite: a.");
	RUN("git checkout -q a; git rm -q --cached c");
	refuses(ERR_WOULD_LOSE, "overwrite: c.");
}

static void untracked_and_ignored_files_are_not_overwritten(void **state)
{
	(void)state;
	RUN("echo mine >b");
	refuses(ERR_WOULD_LOSE, "git does not track that the landing would overwrite: b.");
	RUN("rm b; echo b >>.git/info/exclude; echo secret >b");
	refuses(ERR_WOULD_LOSE, "overwrite: b.");
	RUN("rm b; echo mine >n");
	refuses(ERR_WOULD_LOSE, "overwrite: n.");
	RUN("rm n; mkdir b; echo mine >b/x");
	refuses(ERR_WOULD_LOSE, "overwrite: b.");
	RUN("rm -r b; mkdir b");
	lands();
}

static void settings_of_the_branch_do_not_count(void **state)
{
	static const char *const options[] = {"--squash", "--no-commit", "-s ours", "--no-ff"};

	(void)state;
	for (size_t i = 0; i < NELEMS(options); i++) {
		RUN("git reset -q --hard old; git config branch.main.mergeOptions '%s';"
		    "git config merge.ff false; git config merge.autoStash true",
		        options[i]);
		lands();
		status_is("");
	}
}

static void a_veto_of_a_hook_is_undone(void **state)
{
	(void)state;
	RUN("echo staged >e; git add e; echo mine >d");
	hook("reference-transaction",
	        "'[ \"$1\" != prepared ] || { echo no landing today; exit 1; }'");
	refuses(ERR_GIT_FAILED, "no landing today");
	status_is(" M d;M  e");
}

static void hooks_after_the_move_do_not_count(void **state)
{
	(void)state;
	hook("post-merge", "'echo noise; echo noise >&2; exit 1'");
	lands();
	status_is("");
}

static void a_lock_on_the_index_is_waited_for(void **state)
{
	pid_t pid;

	(void)state;
	RUN(":>.git/index.lock");
	pid = fork();
	if (pid == 0) {
		usleep(300000);
		chdir(repo_dir);
		unlink(".git/index.lock");
		_exit(0);
	}
	lands();
	waitpid(pid, NULL, 0);
}

static void a_lock_that_stays_is_told_and_left(void **state)
{
	(void)state;
	RUN(":>.git/index.lock");
	refuses(ERR_BUSY, "index.lock is");
	RUN("test -e .git/index.lock");
}

static void who_holds_the_trunk_is_found(void **state)
{
	AUTOGIT g = {0};
	AUTOERR err = {0};

	(void)state;
	assert_int_equal(git_open(repo_dir, &g, &err), 0);
	{
		AUTOCHECKOUT c = {0};
		assert_int_equal(git_checkout_of(&g, "refs/heads/main", &c, &err), 0);
		assert_int_equal(c.paths.n, 1);
		assert_string_equal(c.path, g.main_worktree);
		assert_null(c.parked);
		assert_false(c.detached);
	}
	/* A bisect leaves HEAD detached, and moves the branch back at its end. */
	RUN("git checkout -q -f main; git commit -q --allow-empty -m 1;"
	    "git commit -q --allow-empty -m 2; git bisect start HEAD old >/dev/null 2>&1");
	{
		AUTOCHECKOUT c = {0};
		assert_int_equal(git_checkout_of(&g, "refs/heads/main", &c, &err), 0);
		assert_int_equal(c.paths.n, 1);
		assert_string_equal(c.parked, "bisect");
		assert_true(c.detached);
	}
	RUN("git bisect reset >/dev/null 2>&1; git worktree add -q -f wt main");
	{
		AUTOCHECKOUT c = {0};
		assert_int_equal(git_checkout_of(&g, "refs/heads/main", &c, &err), 0);
		assert_int_equal(c.paths.n, 2);
	}
	/* A worktree whose folder is gone holds nothing. */
	RUN("rm -rf wt");
	{
		AUTOCHECKOUT c = {0};
		assert_int_equal(git_checkout_of(&g, "refs/heads/main", &c, &err), 0);
		assert_int_equal(c.paths.n, 1);
	}
}

/* --- Half-way states -------------------------------------------------------------- */

static void nothing_begun_is_nothing_to_settle(void **state)
{
	(void)state;
	RUN("echo mine >d");
	assert_false(settle(NULL));
	status_is(" M d");
}

static void a_move_that_happened_is_seen(void **state)
{
	(void)state;
	lands();
	assert_true(settle(NULL));
	RUN("git commit -q --allow-empty -m further");
	assert_true(settle(NULL));
	status_is("");
}

static void index_and_files_ahead_of_the_ref_are_taken_back(void **state)
{
	(void)state;
	RUN("echo staged >e; git add e; git read-tree -m -u old new");
	assert_false(settle(NULL));
	main_is("old");
	status_is("M  e");
}

static void files_ahead_of_the_index_are_taken_back(void **state)
{
	AUTOSTRV warnings = {0};

	(void)state;
	/* As git leaves it when it is killed: c removed, a half written, b and n there. */
	RUN("rm c; printf a >a; echo b >b; mkdir -p n; echo n >n/n; echo mine >d");
	assert_false(settle(&warnings));
	main_is("old");
	status_is(" M d");
	assert_int_equal(warnings.n, 0);
	RUN("test ! -e n; test \"$(cat a)\" = a");
}

static void what_the_move_does_not_explain_is_left(void **state)
{
	AUTOSTRV warnings = {0};

	(void)state;
	RUN("rm c; echo mine >a; echo other >b");
	assert_false(settle(&warnings));
	status_is(" M a;?? b");
	assert_int_equal(warnings.n, 2);
	assert_non_null(strstr(warnings.v[0], "left as it is"));
	RUN("test \"$(cat a)\" = mine; test \"$(cat b)\" = other");
}

static void line_ends_and_filters_are_understood(void **state)
{
	(void)state;
	RUN("echo 'a text eol=crlf' >.gitattributes; git add .gitattributes; git commit -q -m attr;"
	    "git tag -f old >/dev/null 2>&1; rm a; git checkout -q a;"
	    "git checkout -q -b f2; printf 'x\\r\\ny\\r\\n' >a; git add a; git commit -q -m new2;"
	    "git tag -f new >/dev/null 2>&1; git checkout -q main; printf 'x\\r\\n' >a");
	assert_false(settle(NULL));
	status_is("");
}

/* A merge that is killed by its own smudge filter, in the middle of its files. */
static void a_killed_merge_is_put_right(void **state)
{
	AUTOERR err = {0};

	(void)state;
	RUN("echo 'n/* filter=die' >.git/info/attributes;"
	    "git config filter.die.smudge 'kill -9 $PPID; cat'");
	assert_int_equal(forward(NULL, &err), -1);
	main_is("old");
	/* git's lock is left by that; only a person can tell that nobody works there. */
	RUN("rm -f .git/index.lock; git config filter.die.smudge cat");
	assert_false(settle(NULL));
	status_is("");
}

static void git_that_still_works_is_waited_for(void **state)
{
	AUTOERR err = {0};
	AUTOFREE char *held = path_join(repo_dir, ".git/moving.lck");
	int fd;

	(void)state;
	RUN(":>.git/moving.lck");
	fd = open(held, O_RDWR | O_CLOEXEC);
	assert_int_equal(platform_byte_take(fd, 7), 0);
	{
		AUTOGIT g = {0};
		AUTOFREE char *git_dir = path_join(repo_dir, ".git");
		struct git_ff ff = {.ref = "refs/heads/main",
		        .message = "abide: land x",
		        .path = repo_dir,
		        .git_dir = git_dir,
		        .lock = held,
		        .lock_id = 7};
		bool moved;

		ff.old = oid_of("old");
		ff.new_value = oid_of("new");
		assert_int_equal(git_open(repo_dir, &g, &err), 0);
		stop_signal = SIGTERM; /* do not wait for all of its patience */
		assert_int_equal(git_ff_settle(&g, &ff, &moved, &err), -1);
		stop_signal = 0;
		assert_int_equal(err.code, ERR_BUSY);
	}
	close(fd);
	assert_false(settle(NULL));
}

int main(void)
{
#define REPO(f) cmocka_unit_test_setup_teardown(f, repository, repo_remove)
	const struct CMUnitTest tests[] = {
	        REPO(a_checkout_follows),
	        REPO(a_branch_checked_out_nowhere_moves_by_its_ref),
	        REPO(other_work_in_the_checkout_is_kept),
	        REPO(changes_that_overlap_are_named),
	        REPO(untracked_and_ignored_files_are_not_overwritten),
	        REPO(settings_of_the_branch_do_not_count),
	        REPO(a_veto_of_a_hook_is_undone),
	        REPO(hooks_after_the_move_do_not_count),
	        REPO(a_lock_on_the_index_is_waited_for),
	        REPO(a_lock_that_stays_is_told_and_left),
	        REPO(who_holds_the_trunk_is_found),
	        REPO(nothing_begun_is_nothing_to_settle),
	        REPO(a_move_that_happened_is_seen),
	        REPO(index_and_files_ahead_of_the_ref_are_taken_back),
	        REPO(files_ahead_of_the_index_are_taken_back),
	        REPO(what_the_move_does_not_explain_is_left),
	        REPO(line_ends_and_filters_are_understood),
	        REPO(a_killed_merge_is_put_right),
	        REPO(git_that_still_works_is_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
