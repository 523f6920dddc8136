#include "cmocka_all.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

static char dir[] = "/tmp/abide-unit-fs-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return fs_remove_tree(dir, NULL);
}

static char *in_dir(const char *name)
{
	return path_join(dir, name);
}

static void same(char *got, const char *want)
{
	assert_string_equal(got, want);
	free(got);
}

static void paths_are_put_together_and_apart(void **state)
{
	(void)state;
	same(path_join("/a", "b"), "/a/b");
	same(path_join("/", "b"), "/b");
	same(path_join("", "b"), "b");
	same(path_dir("/a/b"), "/a");
	same(path_dir("/a"), "/");
	same(path_dir("a"), ".");
	assert_string_equal(path_base("/a/b"), "b");
	assert_true(path_inside("/a/b", "/a"));
	assert_true(path_inside("/a", "/a"));
	assert_true(path_inside("/a", "/a/"));
	assert_true(path_inside("/a", "/"));
	assert_false(path_inside("/ab", "/a"));
	assert_false(path_inside("/", "/a"));
}

static void links_are_resolved_as_far_as_there_is_something(void **state)
{
	AUTOFREE char *real = path_real(dir);
	AUTOFREE char *sub = in_dir("sub");
	AUTOFREE char *link = in_dir("link");
	AUTOFREE char *want = path_join(real, "sub/gone/file");
	AUTOFREE char *got = NULL;
	AUTOFREE char *dots = NULL;
	AUTOFREE char *out = NULL;
	AUTOFREE char *in = in_dir("link/gone/file/");

	(void)state;
	assert_int_equal(fs_mkdirs(sub, 0700, NULL), 0);
	assert_int_equal(symlink("sub", link), 0);
	got = path_real(in);
	assert_string_equal(got, want);
	/* A path that is not there cannot climb out by its dots. */
	dots = in_dir("sub/gone/../../../../../../etc/passwd");
	out = path_real(dots);
	assert_string_equal(out, "/etc/passwd");
	assert_false(path_inside(out, real));
	same(path_real("/"), "/");
}

static void only_small_regular_files_are_read(void **state)
{
	AUTOFREE char *file = in_dir("file");
	AUTOFREE char *fifo = in_dir("fifo");
	AUTOFREE char *gone = in_dir("gone/deeper");
	AUTOFREE char *below = in_dir("file/below");
	AUTOBUF got = {0};
	AUTOERR err = {0};

	(void)state;
	assert_int_equal(fs_write_atomic(file, "a\0b", 3, 0600, NULL), 0);
	assert_int_equal(fs_read(file, 3, &got, NULL), 0);
	assert_int_equal(got.len, 3);
	assert_int_equal(fs_read(file, 2, &got, &err), -1);
	assert_int_equal(err.code, ERR_READ_FAILED);
	assert_int_equal(got.len, 3); /* left alone */
	assert_int_equal(fs_read(gone, 10, &got, NULL), 1);
	assert_int_equal(fs_read(below, 10, &got, NULL), 1);
	assert_int_equal(fs_read(dir, 10, &got, NULL), -1);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(fs_read(fifo, 10, &got, NULL), -1); /* and does not hang */
}

static void files_are_replaced_whole_or_not_at_all(void **state)
{
	AUTOFREE char *folder = in_dir("atomic");
	AUTOFREE char *file = in_dir("atomic/file");
	AUTOFREE char *blocked = in_dir("atomic/blocked");
	AUTOFREE char *inner = in_dir("atomic/blocked/inner");
	AUTOFREE char *nowhere = in_dir("nowhere/file");
	AUTOSTRV names = {0};
	AUTOBUF got = {0};
	AUTOERR err = {0};
	struct stat st;

	(void)state;
	assert_int_equal(fs_mkdirs(inner, 0700, NULL), 0);
	assert_int_equal(fs_write_atomic(file, "one", 3, 0640, NULL), 0);
	assert_int_equal(fs_write_atomic(file, "two", 3, 0600, NULL), 0);
	assert_int_equal(fs_read(file, 10, &got, NULL), 0);
	assert_string_equal(buf_str(&got), "two");
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(fs_write_atomic(nowhere, "x", 1, 0600, &err), -1);
	assert_int_equal(err.code, ERR_WRITE_DENIED);
	/* The rename fails: a folder stands there. */
	assert_int_equal(fs_write_atomic(blocked, "x", 1, 0600, &err), -1);
	assert_true(fs_is_dir(inner));
	fs_list(folder, &names);
	assert_int_equal(names.n, 2); /* no temporary file stayed */
}

static void trees_are_removed_and_links_only_unlinked(void **state)
{
	AUTOFREE char *keep = in_dir("keep");
	AUTOFREE char *kept = in_dir("keep/file");
	AUTOFREE char *tree = in_dir("tree");
	AUTOFREE char *deep = in_dir("tree/a/b/c");
	AUTOFREE char *link = in_dir("tree/a/link");
	AUTOFREE char *file = in_dir("tree/a/b/file");
	AUTOFREE char *top = in_dir("toplink");

	(void)state;
	assert_int_equal(fs_mkdirs(keep, 0700, NULL), 0);
	assert_int_equal(fs_write_atomic(kept, "x", 1, 0600, NULL), 0);
	assert_int_equal(fs_mkdirs(deep, 0700, NULL), 0);
	assert_int_equal(fs_write_atomic(file, "x", 1, 0400, NULL), 0);
	assert_int_equal(symlink(keep, link), 0);
	assert_int_equal(symlink(keep, top), 0);
	assert_int_equal(fs_remove_tree(tree, NULL), 0);
	assert_false(fs_exists(tree));
	assert_int_equal(fs_remove_tree(top, NULL), 0);
	assert_false(fs_exists(top));
	assert_true(fs_exists(kept));
	assert_int_equal(fs_remove_tree(tree, NULL), 0); /* missing is success */
}

/* As a user whom rights bind: root is bound by none. */
static int as_nobody(int (*fn)(void))
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(77);
		_exit(fn());
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int remove_closed_folders(void)
{
	AUTOFREE char *tree = in_dir("closed");
	AUTOFREE char *deep = in_dir("closed/mod/cache");
	AUTOFREE char *file = in_dir("closed/mod/cache/file");
	AUTOFREE char *mod = in_dir("closed/mod");

	if (fs_mkdirs(deep, 0700, NULL) < 0 || fs_write_atomic(file, "x", 1, 0400, NULL) < 0)
		return 2;
	chmod(deep, 0500);
	chmod(mod, 0500);
	return fs_remove_tree(tree, NULL) == 0 && !fs_exists(tree) ? 0 : 1;
}

static void folders_that_their_owner_closed_are_removed(void **state)
{
	(void)state;
	chmod(dir, 0777);
	assert_int_equal(as_nobody(remove_closed_folders), 0);
	chmod(dir, 0700);
}

static int write_where_forbidden(void)
{
	AUTOFREE char *file = in_dir("forbidden");
	AUTOFREE char *lock = in_dir("forbidden.lck");
	AUTOERR err = {0};
	AUTOERR err2 = {0};
	int fd = -1;

	if (fs_write_atomic(file, "x", 1, 0600, &err) == 0 || err.code != ERR_WRITE_DENIED)
		return 1;
	if (fs_lock(lock, false, &fd, &err2) == 0 || err2.code != ERR_WRITE_DENIED)
		return 2;
	return err.hints.n && err2.hints.n ? 0 : 3;
}

static void missing_rights_are_write_denied(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	assert_int_equal(as_nobody(write_where_forbidden), 0);
}

static void a_lock_is_held_by_one_and_freed_by_death(void **state)
{
	AUTOFREE char *path = in_dir("one.lock");
	AUTOERR err = {0};
	int fd = -1, other = -1, ready[2];
	pid_t child;
	char c;

	(void)state;
	assert_int_equal(fs_lock(path, false, &fd, NULL), 0);
	assert_int_equal(fs_lock(path, false, &other, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(other, -1);
	fs_unlock(fd);
	assert_true(fs_exists(path)); /* never removed: that would split the lock */
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		if (fs_lock(path, true, &fd, NULL) == 0 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	kill(child, SIGKILL);
	assert_int_equal(fs_lock(path, true, &fd, NULL), 0);
	waitpid(child, NULL, 0);
	fs_unlock(fd);
	fs_unlock(-1);
	close(ready[0]);
	close(ready[1]);
}

static void a_signal_ends_the_wait_for_a_lock(void **state)
{
	AUTOFREE char *path = in_dir("held.lock");
	AUTOERR err = {0};
	int fd = -1, other = -1;
	pid_t parent = getpid(), child;

	(void)state;
	stop_install();
	assert_int_equal(fs_lock(path, false, &fd, NULL), 0);
	child = fork();
	if (child == 0) {
		/* Again and again: the first may come before the wait begins. */
		while (kill(parent, SIGTERM) == 0)
			random_pause_us(1000, 2000);
		_exit(0);
	}
	assert_int_equal(fs_lock(path, true, &other, &err), -1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	stop_signal = 0;
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_int_equal(other, -1);
	fs_unlock(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(paths_are_put_together_and_apart),
	        cmocka_unit_test(links_are_resolved_as_far_as_there_is_something),
	        cmocka_unit_test(only_small_regular_files_are_read),
	        cmocka_unit_test(files_are_replaced_whole_or_not_at_all),
	        cmocka_unit_test(trees_are_removed_and_links_only_unlinked),
	        cmocka_unit_test(folders_that_their_owner_closed_are_removed),
	        cmocka_unit_test(missing_rights_are_write_denied),
	        cmocka_unit_test(a_lock_is_held_by_one_and_freed_by_death),
	        cmocka_unit_test(a_signal_ends_the_wait_for_a_lock),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
