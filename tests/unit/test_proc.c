#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/base.h"

#define SH(script) ((const char *const[]){"sh", "-c", script, NULL})

static void output_and_status_come_back(void **state)
{
	AUTOPROC p = {.argv = SH("printf 'a\\0b'; echo no >&2; exit 7")};

	(void)state;
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_int_equal(p.status, 7);
	assert_int_equal(p.out.len, 3);
	assert_memory_equal(p.out.data, "a\0b", 3);
	assert_string_equal(buf_str(&p.err), "no\n");
	assert_false(p.timed_out || p.stopped);
	/* The same struct again starts from nothing. */
	p.argv = SH("echo once");
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_string_equal(buf_str(&p.out), "once\n");
	assert_int_equal(p.err.len, 0);
	assert_int_equal(p.status, 0);
}

static void a_signal_is_told_as_128_and_more(void **state)
{
	AUTOPROC p = {.argv = SH("kill -TERM $$")};

	(void)state;
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_int_equal(p.status, 128 + SIGTERM);
}

static void a_child_gets_its_stdin_whole_or_none(void **state)
{
	AUTOBUF big = {0};
	AUTOPROC all = {.argv = SH("wc -c")};
	AUTOPROC empty = {.argv = SH("wc -c"), .in = "", .in_len = 0};
	AUTOPROC none = {.argv = SH("wc -c")};

	(void)state;
	for (int i = 0; i < 300000; i++)
		buf_puts(&big, "0123456789");
	all.in = big.data;
	all.in_len = big.len;
	assert_int_equal(proc_run(&all, NULL), 0);
	assert_int_equal(atoi(buf_str(&all.out)), 3000000);
	assert_int_equal(proc_run(&empty, NULL), 0);
	assert_int_equal(atoi(buf_str(&empty.out)), 0);
	assert_int_equal(proc_run(&none, NULL), 0);
	assert_int_equal(atoi(buf_str(&none.out)), 0);
}

static void a_child_that_does_not_read_its_stdin_does_no_harm(void **state)
{
	AUTOBUF big = {0};
	AUTOPROC p = {.argv = SH("exec 0<&-; exit 3")};
	struct sigaction before, after;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_puts(&big, "0123456789");
	p.in = big.data;
	p.in_len = big.len;
	sigaction(SIGPIPE, NULL, &before);
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_int_equal(p.status, 3);
	sigaction(SIGPIPE, NULL, &after);
	assert_ptr_equal(before.sa_handler, after.sa_handler);
}

static void a_child_has_the_usual_signals(void **state)
{
	/* SIGPIPE is ignored here while it runs; what it runs must not inherit that. */
	AUTOPROC p = {
	        .argv = SH("sh -c 'kill -PIPE $$; echo survived'; kill -INT $$; echo survived")};

	(void)state;
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_int_equal(p.out.len, 0);
	assert_int_equal(p.status, 128 + SIGINT);
}

static void output_has_a_cap(void **state)
{
	AUTOPROC most = {.argv = SH("head -c 1000 /dev/zero"), .out_cap = 1000};
	AUTOPROC more = {.argv = SH("yes"), .out_cap = 1000, .apart = true};
	AUTOERR err = {0};

	(void)state;
	assert_int_equal(proc_run(&most, NULL), 0);
	assert_int_equal(most.out.len, 1000);
	assert_int_equal(proc_run(&more, &err), -1);
	assert_int_equal(err.code, ERR_READ_FAILED);
	assert_int_equal(err.hints.n, 1);
	assert_true(more.out.len <= 1000);
}

static void complaints_are_kept_short(void **state)
{
	AUTOPROC p = {
	        .argv = SH("i=0; while [ $i -lt 3000 ]; do echo 'line of words \033[31m' >&2; "
	                   "i=$((i+1)); done; echo 'the \xc3\xa4nd' >&2")};
	AUTOPROC silent = {.argv = SH("exit 4")};
	AUTOFREE char *said = NULL;
	AUTOFREE char *nothing = NULL;

	(void)state;
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_int_equal(p.err.len, 16384);
	said = proc_complaint(&p);
	assert_null(strchr(said, '\n'));
	assert_null(strchr(said, '\033'));
	assert_int_equal(proc_run(&silent, NULL), 0);
	nothing = proc_complaint(&silent);
	assert_non_null(strstr(nothing, "exit status 4"));
}

static void a_timeout_ends_the_child(void **state)
{
	AUTOPROC p = {.argv = SH("echo begun; sleep 100"), .timeout_ms = 50};
	AUTOPROC group = {.argv = SH("sleep 100 & sleep 100 & echo $!; wait"),
	        .timeout_ms = 100,
	        .apart = true};
	int64_t begun = clock_mono_ms();
	pid_t left;

	(void)state;
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_true(p.timed_out);
	assert_int_equal(p.status, 128 + SIGKILL);
	/* Apart: its whole group goes with it. */
	assert_int_equal(proc_run(&group, NULL), 0);
	assert_true(group.timed_out);
	left = atoi(buf_str(&group.out));
	assert_true(left > 1);
	while (kill(left, 0) == 0 && platform_start_time(left) && clock_mono_ms() - begun < 10000)
		random_pause_us(1000, 2000);
	assert_true(clock_mono_ms() - begun < 10000);
}

static void what_a_child_leaves_behind_is_not_waited_for(void **state)
{
	AUTOBUF big = {0};
	AUTOPROC p = {.argv = SH("head -c 300000 /dev/zero; sleep 100 & echo $! >&2; exit 5")};
	AUTOPROC deaf = {.argv = SH("exec 3<&0; sleep 100 <&3 & echo $! >&2; exit 6")};
	int64_t begun = clock_mono_ms();

	(void)state;
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_int_equal(p.status, 5);
	assert_int_equal(p.out.len, 300000);
	assert_int_equal(kill(atoi(buf_str(&p.err)), SIGKILL), 0);
	/* It holds the stdin open, too, and never reads it. */
	for (int i = 0; i < 100000; i++)
		buf_puts(&big, "0123456789");
	deaf.in = big.data;
	deaf.in_len = big.len;
	assert_int_equal(proc_run(&deaf, NULL), 0);
	assert_int_equal(deaf.status, 6);
	assert_int_equal(kill(atoi(buf_str(&deaf.err)), SIGKILL), 0);
	assert_true(clock_mono_ms() - begun < 20000);
}

static void a_missing_program_is_told(void **state)
{
	AUTOPROC p = {.argv = (const char *const[]){"abide-no-such-program", NULL}};
	AUTOPROC git = {
	        .argv = (const char *const[]){"git", "--version", NULL}, .cwd = "/nowhere/at/all"};
	AUTOERR err = {0};
	AUTOERR here = {0};
	AUTOERR no_git = {0};
	static char nowhere[] = "PATH=/nowhere";

	(void)state;
	assert_int_equal(proc_run(&p, &err), -1);
	assert_int_equal(err.code, ERR_READ_FAILED);
	assert_non_null(strstr(err.message, "abide-no-such-program"));
	/* A folder that is gone is not a git that is missing. */
	assert_int_equal(proc_run(&git, &here), -1);
	assert_int_equal(here.code, ERR_READ_FAILED);
	assert_non_null(strstr(here.message, "/nowhere/at/all"));
	git.cwd = NULL;
	git.env = (char *[]){nowhere, NULL};
	assert_int_equal(proc_run(&git, &no_git), -1);
	assert_int_equal(no_git.code, ERR_GIT_UNSUPPORTED);
}

static void several_run_side_by_side(void **state)
{
	AUTOFREE char *fifo = xasprintf("/tmp/abide-unit-%d.fifo", (int)getpid());
	AUTOFREE char *reads = xasprintf("mkfifo %s; cat %s", fifo, fifo);
	AUTOFREE char *writes = xasprintf("until [ -p %s ]; do :; done; echo met > %s", fifo, fifo);
	AUTOPROC a = {.argv = SH(reads)};
	AUTOPROC b = {.argv = SH(writes)};

	(void)state;
	assert_int_equal(proc_run_all((struct proc *[]){&a, &b}, 2, NULL), 0);
	assert_string_equal(buf_str(&a.out), "met\n");
	unlink(fifo);
}

static void the_first_error_of_several_is_told_and_all_end(void **state)
{
	AUTOPROC good = {.argv = SH("echo good")};
	AUTOPROC bad = {.argv = (const char *const[]){"abide-none-1", NULL}};
	AUTOPROC worse = {.argv = (const char *const[]){"abide-none-2", NULL}};
	AUTOPROC last = {.argv = SH("echo last")};
	AUTOERR err = {0};

	(void)state;
	assert_int_equal(proc_run_all((struct proc *[]){&good, &bad, &worse, &last}, 4, &err), -1);
	assert_non_null(strstr(err.message, "abide-none-1"));
	assert_int_equal(err.hints.n, 1);
	assert_int_equal(bad.status, -1);
	assert_string_equal(buf_str(&good.out), "good\n");
	assert_string_equal(buf_str(&last.out), "last\n");
}

static void a_stop_signal_ends_what_may_be_stopped(void **state)
{
	AUTOPROC polite = {.argv = SH("trap 'echo bye; exit 0' TERM; kill -TERM $PPID; "
	                              "while :; do sleep 0.01; done"),
	        .stoppable = true,
	        .apart = true};
	AUTOPROC deaf = {.argv = SH("trap '' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"),
	        .stoppable = true,
	        .apart = true};
	AUTOERR err = {0};

	(void)state;
	stop_install();
	assert_int_equal(stop_check(&err), 0);
	assert_int_equal(proc_run(&polite, NULL), 0);
	assert_true(polite.stopped);
	assert_string_equal(buf_str(&polite.out), "bye\n");
	assert_int_equal(stop_check(&err), -1);
	assert_int_equal(err.code, ERR_CANCELLED);
	stop_signal = 0;
	assert_int_equal(proc_run(&deaf, NULL), 0);
	assert_true(deaf.stopped);
	assert_int_equal(deaf.status, 128 + SIGKILL);
	stop_signal = 0;
}

static void apart_means_a_session_of_its_own(void **state)
{
	AUTOPROC p = {.argv = SH("ps -o sid= -p $$"), .apart = true};
	AUTOPROC same = {.argv = SH("ps -o sid= -p $$")};

	(void)state;
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_int_equal(proc_run(&same, NULL), 0);
	assert_int_not_equal(atoi(buf_str(&p.out)), (int)getsid(0));
	assert_int_equal(atoi(buf_str(&same.out)), (int)getsid(0));
}

static void descriptors_stay_here(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	AUTOFREE char *script = xasprintf("[ ! -e /proc/self/fd/%d ]", fd);
	AUTOPROC p = {.argv = SH(script)};

	(void)state;
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_int_equal(p.status, 0);
	close(fd);
}

static void byte_locks_are_freed_by_death_and_not_inherited(void **state)
{
	AUTOFREE char *path = xasprintf("/tmp/abide-unit-%d.lck", (int)getpid());
	AUTOCLOSE int a = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	AUTOCLOSE int b = open(path, O_RDWR | O_CLOEXEC);
	int ready[2];
	pid_t child;
	char c;

	(void)state;
	assert_int_equal(platform_byte_held(a, 7), 0);
	assert_int_equal(platform_byte_take(a, 7), 0);
	assert_int_equal(platform_byte_take(b, 7), 1);
	assert_int_equal(platform_byte_take(b, 8), 0);
	assert_int_equal(platform_byte_held(b, 7), 1);
	assert_int_equal(platform_byte_free(a, 7), 0);
	assert_int_equal(platform_byte_held(b, 7), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		int fd = open(path, O_RDWR | O_CLOEXEC);
		platform_byte_take(fd, INT64_C(1) << 40);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(platform_byte_held(a, INT64_C(1) << 40), 1);
	assert_true(platform_start_time(child) > 0);
	kill(child, SIGKILL);
	assert_int_equal(platform_byte_wait(a, INT64_C(1) << 40), 0);
	close(ready[0]);
	close(ready[1]);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(output_and_status_come_back),
	        cmocka_unit_test(a_signal_is_told_as_128_and_more),
	        cmocka_unit_test(a_child_gets_its_stdin_whole_or_none),
	        cmocka_unit_test(a_child_that_does_not_read_its_stdin_does_no_harm),
	        cmocka_unit_test(a_child_has_the_usual_signals),
	        cmocka_unit_test(output_has_a_cap),
	        cmocka_unit_test(complaints_are_kept_short),
	        cmocka_unit_test(a_timeout_ends_the_child),
	        cmocka_unit_test(what_a_child_leaves_behind_is_not_waited_for),
	        cmocka_unit_test(a_missing_program_is_told),
	        cmocka_unit_test(several_run_side_by_side),
	        cmocka_unit_test(the_first_error_of_several_is_told_and_all_end),
	        cmocka_unit_test(a_stop_signal_ends_what_may_be_stopped),
	        cmocka_unit_test(apart_means_a_session_of_its_own),
	        cmocka_unit_test(descriptors_stay_here),
	        cmocka_unit_test(byte_locks_are_freed_by_death_and_not_inherited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
