/* wake: hints come for what was asked about, at once, and for nothing else. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "wake/wake.h"

/* The bound of a hold looks by stat, so a hint has to come well before it. */
enum { LONG_MS = 20000, SOON_MS = 10000 };

static int64_t (*real_mono_ms)(void);

/* --- A repository of its own for each test --------------------------------- */

struct place {
	char *dir, *common, *store, *commit, *other;
	struct wake *w;
};

static void run(struct place *p, const char *const *argv, bool must)
{
	AUTOERR err = {0};
	AUTOPROC r = {.argv = argv, .cwd = p->dir};

	if (proc_run(&r, &err) < 0 || (must && r.status != 0))
		fail_msg("%s %s: %s %s", argv[0], argv[1], err.message ? err.message : "",
		        buf_str(&r.err));
	mem_set(&p->other, xstrndup(buf_str(&r.out), strcspn(buf_str(&r.out), "\n")));
}
#define GIT(p, ...) run(p, (const char *const[]){"git", __VA_ARGS__, NULL}, true)
#define SH(p, script) run(p, (const char *const[]){"sh", "-c", script, NULL}, true)

static int open_place(void **state, bool reftable)
{
	struct place *p = xcalloc(1, sizeof(*p));
	char dir[] = "/tmp/abide-wake-XXXXXX";

	stop_signal = 0;
	if (!mkdtemp(dir))
		return -1;
	p->dir = path_real(dir);
	p->common = path_join(p->dir, ".git");
	p->store = path_join(p->common, "abide");
	GIT(p, "init", "-q", "-b", "main", reftable ? "--ref-format=reftable" : "--quiet", ".");
	GIT(p, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m",
	        "1");
	GIT(p, "rev-parse", "HEAD");
	p->commit = xstrdup(p->other);
	GIT(p, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m",
	        "2");
	GIT(p, "rev-parse", "HEAD"); /* the later commit: p->other, until the next run */
	*state = p;
	return 0;
}

static int setup(void **state)
{
	return open_place(state, false);
}

static int teardown(void **state)
{
	struct place *p = *state;
	AUTOERR err = {0};

	wake_close(p->w);
	fs_remove_tree(p->dir, &err);
	free(p->dir);
	free(p->common);
	free(p->store);
	free(p->commit);
	free(p->other);
	free(p);
	clock_source.mono_ms = real_mono_ms;
	stop_signal = 0;
	unsetenv("ABIDE_TEST_POLLING");
	return 0;
}

static const char *const asked[] = {"refs/heads/agent/fix", "refs/heads/main", NULL};

static void open_spec(struct place *p, struct wake_spec spec)
{
	AUTOERR err = {0};

	spec.common = p->common;
	spec.store_dir = p->store;
	if (wake_open(&spec, &p->w, &err) < 0)
		fail_msg("%s", err.message);
}

static void open_wake(struct place *p)
{
	open_spec(p, (struct wake_spec){.refs = asked, .notes = true, .bell = true});
	assert_true(wake_by_events(p->w, NULL));
}

static enum wake_reason hold(struct place *p, int ms)
{
	AUTOERR err = {0};
	enum wake_reason r = WAKE_TICK;

	if (wake_hold(p->w, ms ? clock_mono_ms() + ms : 0, 0, &r, &err) < 0)
		fail_msg("%s", err.message);
	return r;
}

/* All events of what ended are in the queue, so an expired deadline tells. */
#define NO_HINT(p) assert_int_equal(hold(p, 0), WAKE_BOUND)
#define HINT(p)                                                                                    \
	do {                                                                                       \
		int64_t from_ = real_mono_ms();                                                    \
		assert_int_equal(hold(p, LONG_MS), WAKE_HINT);                                     \
		assert_true(real_mono_ms() - from_ < SOON_MS);                                     \
	} while (0)

/* All that is there is taken; the wake is idle then. */
static void settle(struct place *p)
{
	while (hold(p, 1) == WAKE_HINT)
		;
}

/* --- Files backend ---------------------------------------------------------- */

static void a_ref_that_is_created_moved_and_deleted_is_a_hint(void **state)
{
	struct place *p = *state;

	open_wake(p);
	NO_HINT(p);
	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	HINT(p);
	settle(p);
	GIT(p, "update-ref", "refs/heads/agent/fix", "main");
	HINT(p);
	settle(p);
	GIT(p, "update-ref", "-d", "refs/heads/agent/fix");
	HINT(p);
	settle(p);
	/* Git removed the folder with its last branch. */
	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	HINT(p);
}

static void an_unrelated_ref_is_no_hint(void **state)
{
	struct place *p = *state;

	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	open_wake(p);
	NO_HINT(p);
	GIT(p, "update-ref", "refs/heads/agent/fix2", p->commit);
	GIT(p, "update-ref", "refs/heads/agent/fi", p->commit);
	GIT(p, "update-ref", "refs/heads/agent/agent", p->commit); /* named as its folder */
	GIT(p, "update-ref", "refs/heads/agent/deep/er", p->commit);
	GIT(p, "update-ref", "refs/heads/other", p->commit);
	GIT(p, "update-ref", "refs/heads/fix", p->commit);
	GIT(p, "update-ref", "refs/tags/fix", p->commit);
	GIT(p, "update-ref", "refs/notes/other", p->commit);
	GIT(p, "update-ref", "-d", "refs/heads/agent/deep/er");
	GIT(p, "update-ref", "-d", "refs/heads/agent/agent");
	GIT(p, "config", "x.y", "z");
	NO_HINT(p);
	GIT(p, "update-ref", "refs/heads/agent/fix", "main");
	HINT(p);
}

static void an_unrelated_branch_that_makes_the_folder_is_no_hint(void **state)
{
	struct place *p = *state;

	open_wake(p);
	GIT(p, "update-ref", "refs/heads/agent/other", p->commit);
	NO_HINT(p);
	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit); /* seen in the new folder */
	HINT(p);
	settle(p);
	GIT(p, "update-ref", "-d", "refs/heads/agent/fix");
	HINT(p);
	settle(p);
	GIT(p, "update-ref", "-d", "refs/heads/agent/other");
	NO_HINT(p);
}

static void packing_hides_nothing(void **state)
{
	struct place *p = *state;

	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	open_wake(p); /* packed-refs does not exist yet */
	GIT(p, "pack-refs", "--all");
	HINT(p);
	settle(p);
	GIT(p, "update-ref", "refs/heads/agent/fix", "main"); /* in a folder made anew */
	HINT(p);
	settle(p);
	GIT(p, "pack-refs", "--all");
	HINT(p);
	settle(p);
	GIT(p, "update-ref", "-d", "refs/heads/agent/fix"); /* only packed-refs changes */
	HINT(p);
	settle(p);
	for (int i = 0; i < 5; i++) {
		GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
		HINT(p);
		settle(p);
		GIT(p, "pack-refs", "--all");
		HINT(p);
		settle(p);
		GIT(p, "update-ref", "refs/heads/agent/fix", "main");
		HINT(p);
		settle(p);
	}
}

static void a_linked_packed_refs_is_followed(void **state)
{
	struct place *p = *state;

	GIT(p, "pack-refs", "--all");
	SH(p,
	        "mkdir far && mv .git/packed-refs far/packed-refs && "
	        "ln -s ../far/packed-refs .git/packed-refs");
	open_wake(p);
	GIT(p, "update-ref", "-d", "refs/heads/main");
	HINT(p);
	settle(p);
	SH(p, "echo '# pack-refs' >far/new && mv far/new far/packed-refs");
	HINT(p);
}

static void every_level_of_a_deep_name_is_followed(void **state)
{
	struct place *p = *state;
	const char *const deep[] = {"refs/heads/a/b/c/d/e", NULL};

	open_spec(p, (struct wake_spec){.refs = deep});
	NO_HINT(p);
	for (int i = 0; i < 4; i++) {
		GIT(p, "update-ref", "refs/heads/a/b/c/d/e", p->commit);
		HINT(p);
		settle(p);
		GIT(p, "update-ref", "refs/heads/a/b/c/d/e", "main");
		HINT(p);
		settle(p);
		GIT(p, "update-ref", "-d", "refs/heads/a/b/c/d/e");
		HINT(p);
		settle(p);
		GIT(p, "update-ref", "refs/heads/a/b/x", p->commit); /* as far as there */
		NO_HINT(p);
		GIT(p, "update-ref", "-d", "refs/heads/a/b/x");
		NO_HINT(p);
		GIT(p, "update-ref", "refs/heads/a", p->commit); /* a file where a folder was */
		NO_HINT(p);
		GIT(p, "update-ref", "-d", "refs/heads/a");
		NO_HINT(p);
	}
}

static void a_folder_that_is_replaced_is_watched_anew(void **state)
{
	struct place *p = *state;

	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	open_wake(p);
	SH(p, "mv .git/refs/heads/agent away && mkdir .git/refs/heads/agent");
	HINT(p);
	settle(p);
	SH(p, "cp away/fix .git/refs/heads/agent/fix");
	HINT(p);
	settle(p);
	SH(p, "rm -r .git/refs/heads && mkdir -p .git/refs/heads/agent");
	HINT(p);
	settle(p);
	SH(p, "cp away/fix .git/refs/heads/agent/fix");
	HINT(p);
	settle(p);
	/* The one that was moved away says nothing any more. */
	SH(p, "echo x >away/fix");
	NO_HINT(p);
}

/* An event between arming and the first hold, and between two holds. */
static void what_came_during_an_evaluation_is_remembered(void **state)
{
	struct place *p = *state;

	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	open_wake(p);
	GIT(p, "update-ref", "refs/heads/agent/fix", "main");
	assert_int_equal(hold(p, 0), WAKE_HINT); /* even past the bound, once */
	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	assert_int_equal(hold(p, 1), WAKE_HINT);
	NO_HINT(p);
}

static void notes_are_watched_when_asked_for(void **state)
{
	struct place *p = *state;

	open_wake(p); /* refs/notes does not exist yet */
	GIT(p, "update-ref", "refs/notes/commits", p->commit);
	NO_HINT(p);
	GIT(p, "update-ref", "refs/notes/abide", p->commit);
	HINT(p);
	settle(p);
	wake_close(p->w);
	open_spec(p, (struct wake_spec){.refs = asked});
	GIT(p, "update-ref", "refs/notes/abide", "main");
	NO_HINT(p);
}

static void the_bell_is_heard_also_when_hung_later(void **state)
{
	struct place *p = *state;

	open_wake(p);
	SH(p, "mkdir -p .git/abide/bell && : >.git/abide/state.db");
	NO_HINT(p);
	SH(p, ": >.git/abide/bell/b");
	HINT(p);
	settle(p);
	SH(p, "echo x >>.git/abide/state.db; echo y >.git/abide/state.db-wal");
	NO_HINT(p);
	SH(p, "touch .git/abide/bell/b");
	HINT(p);
	settle(p);
	SH(p, "rm -r .git/abide");
	HINT(p);
	settle(p);
	SH(p, "mkdir -p .git/abide/bell && : >.git/abide/bell/b");
	HINT(p);
	settle(p);
	SH(p, "touch .git/abide/bell/b");
	HINT(p);
	settle(p);
	wake_close(p->w);
	open_spec(p, (struct wake_spec){.refs = asked});
	SH(p, "touch .git/abide/bell/b");
	NO_HINT(p);
}

static void single_files_are_watched(void **state)
{
	struct place *p = *state;
	AUTOFREE char *head = path_join(p->common, "worktrees/wt/HEAD");
	AUTOFREE char *log = path_join(p->dir, "logs/1/out");
	const char *const files[] = {head, log, NULL};

	open_spec(p, (struct wake_spec){.refs = asked, .files = files});
	SH(p, "git worktree add -q --detach wt main");
	HINT(p);
	settle(p);
	SH(p, "git -C wt checkout -q --detach main~1");
	HINT(p);
	settle(p);
	SH(p, "touch .git/worktrees/wt/other logs; rm logs");
	NO_HINT(p);
	SH(p, "mkdir -p logs/1; : >logs/1/out");
	HINT(p);
	settle(p);
	SH(p, "echo line >>logs/1/out");
	HINT(p);
	settle(p);
	SH(p, "git worktree remove --force wt");
	HINT(p);
}

/* Two changes at once, the second decisive: never lost. */
static void a_second_change_right_behind_the_first_is_told(void **state)
{
	struct place *p = *state;
	pid_t child;
	int status;

	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	open_wake(p);
	child = fork();
	if (child == 0) {
		char from[4096], to[4096];
		snprintf(from, sizeof(from), "%s/refs/heads/agent/fix.lock", p->common);
		snprintf(to, sizeof(to), "%s/refs/heads/agent/fix", p->common);
		for (int i = 0; i < 2000; i++) {
			int fd = open(from, O_WRONLY | O_CREAT | O_EXCL, 0600);
			char c = (char)('a' + i % 20);
			if (write(fd, &c, 1) != 1 || (i == 1999 && write(fd, "!", 1) != 1))
				_exit(1);
			close(fd);
			rename(from, to);
		}
		_exit(0);
	}
	for (;;) {
		char text[8] = "";
		AUTOFREE char *path = path_join(p->common, "refs/heads/agent/fix");
		int fd;
		HINT(p);
		fd = open(path, O_RDONLY);
		if (read(fd, text, sizeof(text) - 1) < 0)
			fail();
		close(fd);
		if (strchr(text, '!'))
			break;
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

/* --- Lost events, the slow re-check ------------------------------------------- */

static int64_t jump_ms;
static int64_t jumped_mono_ms(void)
{
	return real_mono_ms() + jump_ms;
}

static void jump(int64_t ms)
{
	jump_ms += ms;
	clock_source.mono_ms = jumped_mono_ms;
}

static void a_lost_event_costs_at_most_the_slow_recheck(void **state)
{
	struct place *p = *state;

	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	SH(p, "ln .git/refs/heads/agent/fix alias");
	open_wake(p);
	settle(p);
	/* Written through its other name: no event in the watched folder. */
	SH(p, "git rev-parse main >alias");
	assert_int_equal(hold(p, 1), WAKE_HINT); /* the bound looks once more */
	SH(p, "git rev-parse main~1 >alias");
	jump(31000);
	assert_int_equal(hold(p, LONG_MS), WAKE_HINT);
	NO_HINT(p);
	jump(31000);
	NO_HINT(p);
	/* The watches were started anew, and work. */
	GIT(p, "update-ref", "refs/heads/agent/fix", "main");
	HINT(p);
}

/* The kernel's queue holds 16,384 events; libuv does not tell when it overflowed. */
static void an_overflow_of_the_queue_loses_nothing(void **state)
{
	struct place *p = *state;
	AUTOFREE char *noise = path_join(p->common, "refs/heads/noise");

	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	open_wake(p);
	for (int i = 0; i < 10000; i++) {
		close(open(noise, O_WRONLY | O_CREAT, 0600));
		unlink(noise);
	}
	GIT(p, "update-ref", "refs/heads/agent/fix", "main");
	HINT(p);
	settle(p);
	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	HINT(p);
}

/* --- Polling ------------------------------------------------------------------ */

static void polling_tells_the_same(void **state)
{
	struct place *p = *state;
	const char *why = NULL;

	setenv("ABIDE_TEST_POLLING", "1", 1);
	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	open_spec(p, (struct wake_spec){.refs = asked, .notes = true, .bell = true});
	assert_false(wake_by_events(p->w, &why));
	assert_non_null(strstr(why, "polling"));
	settle(p);
	GIT(p, "update-ref", "refs/heads/agent/other", p->commit);
	NO_HINT(p);
	GIT(p, "update-ref", "refs/heads/agent/fix", "main");
	HINT(p);
	settle(p);
	GIT(p, "pack-refs", "--all");
	HINT(p);
	settle(p);
	SH(p, "mkdir -p .git/abide/bell && : >.git/abide/bell/b");
	HINT(p);
	settle(p);
	SH(p, "touch .git/abide/bell/b");
	HINT(p);
}

/* Polling looks four times a second, not more: the clock says when. */
static void polling_looks_every_quarter_second(void **state)
{
	struct place *p = *state;
	int64_t from, took;

	setenv("ABIDE_TEST_POLLING", "1", 1);
	open_spec(p, (struct wake_spec){.refs = asked, .bell = true});
	settle(p);
	from = real_mono_ms();
	SH(p, "mkdir -p .git/abide/bell && : >.git/abide/bell/b");
	HINT(p);
	took = real_mono_ms() - from;
	assert_true(took < 5000);
}

static size_t held;
static size_t count_held(void *arg)
{
	(void)arg;
	return held;
}

static void without_share_it_polls_and_takes_the_next_chance(void **state)
{
	struct place *p = *state;
	const char *why = NULL;

	held = 3;
	open_spec(p,
	        (struct wake_spec){
	                .refs = asked, .instance_share = 3, .instances_held = count_held});
	assert_false(wake_by_events(p->w, &why));
	assert_non_null(strstr(why, "3 waits"));
	held = 2;
	jump(31000);
	NO_HINT(p);
	assert_true(wake_by_events(p->w, NULL));
	GIT(p, "update-ref", "refs/heads/main", p->commit);
	HINT(p);
}

/* The limits of a user namespace of our own: the machine's stay as they are. */
static void with_limit(void **state, const char *limit, const char *say)
{
	struct place *p = *state;
	int status;
	pid_t child = fork();

	if (child == 0) {
		AUTOERR err = {0};
		const char *why = NULL;
		struct wake_spec spec = {.common = p->common, .store_dir = p->store, .refs = asked};
		enum wake_reason r;
		int fd;
		if (unshare(CLONE_NEWUSER) != 0)
			_exit(77);
		fd = open(limit, O_WRONLY);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(77);
		if (wake_open(&spec, &p->w, &err) < 0 || wake_by_events(p->w, &why) ||
		        !strstr(why, say))
			_exit(2);
		GIT(p, "update-ref", "refs/heads/main", p->commit);
		if (wake_hold(p->w, clock_mono_ms() + LONG_MS, 0, &r, &err) < 0 || r != WAKE_HINT)
			_exit(3);
		_exit(write(fd, "9", 1) == 1 ? 0 : 77);
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void no_instance_to_spare_is_polling(void **state)
{
	with_limit(state, "/proc/sys/user/max_inotify_instances", "instance");
}

static void no_watch_to_spare_is_polling(void **state)
{
	with_limit(state, "/proc/sys/user/max_inotify_watches", "watch");
}

static int instances_of_this_process(void)
{
	AUTOSTRV names = {0};
	int n = 0;

	fs_list("/proc/self/fd", &names);
	for (size_t i = 0; i < names.n; i++) {
		AUTOFREE char *path = path_join("/proc/self/fd", names.v[i]);
		char to[64] = "";
		if (readlink(path, to, sizeof(to) - 1) > 0 && strstr(to, "inotify"))
			n++;
	}
	return n;
}

static void one_wake_takes_one_instance_and_gives_it_back(void **state)
{
	struct place *p = *state;

	assert_int_equal(instances_of_this_process(), 0);
	open_wake(p);
	assert_int_equal(instances_of_this_process(), 1);
	wake_disarm(p->w);
	GIT(p, "update-ref", "refs/heads/main", p->commit);
	HINT(p); /* by polling now */
	/* Closing waits in the kernel, so one is kept till the next is closed. */
	wake_close(p->w);
	open_wake(p);
	wake_close(p->w);
	p->w = NULL;
	assert_int_equal(instances_of_this_process(), 0);
}

/* --- Spacing -------------------------------------------------------------------- */

/* What a ref update leaves behind with the reftable backend. */
static void table_update(struct place *p)
{
	SH(p,
	        "mkdir -p .git/reftable && echo 1 >.git/reftable/tables.list.lock && "
	        "mv .git/reftable/tables.list.lock .git/reftable/tables.list");
}

/* A clock that goes on only by jump(): what is due is then exact, whatever the machine does. */
static int64_t frozen_ms;
static int64_t frozen_mono_ms(void)
{
	return frozen_ms + jump_ms;
}

static enum wake_reason hold_ticking(struct place *p)
{
	AUTOERR err = {0};
	enum wake_reason r = WAKE_BOUND;

	assert_int_equal(wake_hold(p->w, clock_mono_ms() + 1000000, 1, &r, &err), 0);
	return r;
}

/* The next hint comes after MS, not earlier; then nothing is found. */
static void is_held_back(struct place *p, int64_t ms)
{
	table_update(p);
	if (ms) {
		jump_ms += ms - 1;
		assert_int_equal(hold_ticking(p), WAKE_TICK);
		jump_ms += 1;
	}
	assert_int_equal(hold_ticking(p), WAKE_HINT);
	wake_found(p->w, false);
}

static void open_frozen(struct place *p)
{
	table_update(p);
	frozen_ms = real_mono_ms();
	clock_source.mono_ms = frozen_mono_ms;
	open_spec(p, (struct wake_spec){.reftable = true, .refs = asked, .bell = true});
}

static void fruitless_reftable_hints_are_spaced(void **state)
{
	static const int64_t spacing[] = {
	        0, 0, 0, 0, 0, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000};
	struct place *p = *state;

	open_frozen(p);
	for (size_t i = 0; i < NELEMS(spacing); i++)
		is_held_back(p, spacing[i]);
	/* Held back, but not beyond the bound, and not forgotten. */
	table_update(p);
	assert_int_equal(hold(p, 0), WAKE_HINT);
	wake_found(p->w, false);
	/* The bell is not held back: it concerns waits only. */
	table_update(p);
	SH(p, "mkdir -p .git/abide/bell && : >.git/abide/bell/b");
	assert_int_equal(hold_ticking(p), WAKE_HINT);
	/* A find resets. */
	wake_found(p->w, true);
	for (size_t i = 0; i < 7; i++)
		is_held_back(p, spacing[i]);
}

static void quiet_ends_the_spacing(void **state)
{
	struct place *p = *state;

	open_frozen(p);
	for (int i = 0; i < 5; i++)
		is_held_back(p, 0);
	is_held_back(p, 20);
	jump_ms += 1998; /* less than 2 s after the last event; what is due then is told */
	is_held_back(p, 0);
	is_held_back(p, 80);
	jump_ms += 2000;
	for (int i = 0; i < 5; i++)
		is_held_back(p, 0);
	is_held_back(p, 20);
}

static void packed_refs_are_spaced_as_reftables_are(void **state)
{
	struct place *p = *state;

	frozen_ms = real_mono_ms();
	clock_source.mono_ms = frozen_mono_ms;
	open_spec(p, (struct wake_spec){.refs = asked});
	for (int i = 0; i < 5; i++) {
		SH(p,
		        "echo '# pack-refs with: peeled fully-peeled sorted ' >.git/p && mv .git/p "
		        ".git/packed-refs");
		assert_int_equal(hold_ticking(p), WAKE_HINT);
		wake_found(p->w, false);
	}
	SH(p,
	        "echo '# pack-refs with: peeled fully-peeled sorted ' >.git/p && mv .git/p "
	        ".git/packed-refs");
	jump_ms += 19;
	assert_int_equal(hold_ticking(p), WAKE_TICK);
	/* A ref that was asked about is not held back. */
	GIT(p, "update-ref", "refs/heads/agent/fix", p->commit);
	assert_int_equal(hold_ticking(p), WAKE_HINT);
}

static bool git_has_reftable(void)
{
	AUTOERR err = {0};
	AUTOPROC can = {.argv = (const char *const[]){"sh", "-c",
	                        "d=$(mktemp -d) && git init -q --ref-format=reftable \"$d\"; r=$?; "
	                        "rm -rf \"$d\"; exit $r",
	                        NULL}};

	return proc_run(&can, &err) == 0 && can.status == 0;
}

static void real_reftables_tell_every_ref(void **state)
{
	struct place *p = NULL;

	(void)state;
	if (!git_has_reftable())
		skip();
	assert_int_equal(open_place((void **)&p, true), 0);
	open_spec(p, (struct wake_spec){.reftable = true, .refs = asked, .notes = true});
	assert_true(wake_by_events(p->w, NULL));
	NO_HINT(p);
	for (int i = 0; i < 8; i++) {
		GIT(p, "update-ref", "refs/heads/agent/fix", i % 2 ? "main" : p->commit);
		HINT(p);
		wake_found(p->w, true);
		settle(p);
	}
	teardown((void **)&p);
}

/* --- Ends ----------------------------------------------------------------------- */

static void the_bound_and_ticks_come(void **state)
{
	struct place *p = *state;
	AUTOERR err = {0};
	enum wake_reason r = WAKE_HINT;
	int64_t deadline = clock_mono_ms() + 60, ticks = 0;

	open_wake(p);
	do {
		assert_int_equal(wake_hold(p->w, deadline, 10, &r, &err), 0);
		ticks += r == WAKE_TICK;
	} while (r == WAKE_TICK);
	assert_int_equal(r, WAKE_BOUND);
	assert_true(clock_mono_ms() >= deadline);
	assert_true(ticks >= 1 && ticks <= 6);
	NO_HINT(p);
}

/* Runs WAIT in a child of its own and returns its status. */
static int in_child(struct place *p, int (*wait)(struct place *p, int fd), void (*then)(pid_t, int))
{
	int ready[2], status = -1;
	char c;
	pid_t child;

	if (pipe(ready) != 0)
		fail();
	child = fork();
	if (child == 0) {
		close(ready[0]);
		_exit(wait(p, ready[1]));
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		fail_msg("the child did not come so far");
	then(child, ready[0]);
	close(ready[0]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int wait_for_signal(struct place *p, int fd)
{
	AUTOERR err = {0};
	enum wake_reason r = WAKE_BOUND;

	stop_install();
	open_wake(p);
	if (write(fd, "r", 1) != 1 || wake_hold(p->w, clock_mono_ms() + LONG_MS, 0, &r, &err) < 0)
		return 100;
	return r == WAKE_SIGNAL ? 0 : 10 + (int)r;
}

static void send_term(pid_t child, int fd)
{
	(void)fd;
	kill(child, SIGTERM);
}

static void a_signal_ends_the_hold_at_once(void **state)
{
	int64_t from = clock_mono_ms();

	assert_int_equal(in_child(*state, wait_for_signal, send_term), 0);
	assert_true(clock_mono_ms() - from < SOON_MS);
}

static int orphan_pipe[2];

static int wait_for_stdin(struct place *p, int fd)
{
	AUTOERR err = {0};
	enum wake_reason r = WAKE_BOUND;

	close(orphan_pipe[1]);
	dup2(orphan_pipe[0], 0);
	open_spec(p, (struct wake_spec){.refs = asked, .watch_stdin = true});
	if (write(fd, "r", 1) != 1 || wake_hold(p->w, clock_mono_ms() + LONG_MS, 0, &r, &err) < 0)
		return 100;
	return r == WAKE_ORPHANED ? 0 : 10 + (int)r;
}

static void close_pipe(pid_t child, int fd)
{
	(void)child;
	(void)fd;
	close(orphan_pipe[1]);
}

static void a_closed_stdin_ends_the_hold(void **state)
{
	int64_t from = clock_mono_ms();
	char left[8];

	if (pipe(orphan_pipe) != 0 || write(orphan_pipe[1], "unread", 6) != 6)
		fail();
	assert_int_equal(in_child(*state, wait_for_stdin, close_pipe), 0);
	assert_true(clock_mono_ms() - from < SOON_MS);
	/* Nothing was read, and the flags that others share are as they were. */
	assert_int_equal(read(orphan_pipe[0], left, sizeof(left)), 6);
	assert_false(fcntl(orphan_pipe[0], F_GETFL) & O_NONBLOCK);
	close(orphan_pipe[0]);
}

/* A grandchild waits with a stdin that stays open while its parent dies. */
static int result_pipe[2];

static int wait_with_a_dying_parent(struct place *p, int fd)
{
	char c;
	int ready[2];
	pid_t waiter;

	if (pipe(ready) != 0)
		return 100;
	waiter = fork();
	if (waiter == 0) {
		AUTOERR err = {0};
		enum wake_reason r = WAKE_BOUND;
		char told;
		dup2(orphan_pipe[0], 0);
		open_spec(p, (struct wake_spec){.refs = asked, .watch_stdin = true});
		if (write(ready[1], "r", 1) != 1 ||
		        wake_hold(p->w, clock_mono_ms() + LONG_MS, 0, &r, &err) < 0)
			_exit(1);
		told = r == WAKE_ORPHANED ? 'y' : 'n';
		_exit(write(result_pipe[1], &told, 1) == 1 ? 0 : 1);
	}
	if (read(ready[0], &c, 1) != 1 || write(fd, "r", 1) != 1)
		return 101;
	return 0;
}

static void nothing_more(pid_t child, int fd)
{
	(void)child;
	(void)fd;
}

static void a_parent_that_is_gone_ends_the_hold(void **state)
{
	char told = 0;

	if (pipe(orphan_pipe) != 0 || pipe(result_pipe) != 0)
		fail();
	assert_int_equal(in_child(*state, wait_with_a_dying_parent, nothing_more), 0);
	assert_int_equal(read(result_pipe[0], &told, 1), 1);
	assert_int_equal(told, 'y');
	for (int i = 0; i < 2; i++) {
		close(orphan_pipe[i]);
		close(result_pipe[i]);
	}
}

static void an_odd_stdin_is_no_end(void **state)
{
	struct place *p = *state;
	int saved = dup(0), null = open("/dev/null", O_RDONLY);

	dup2(null, 0);
	open_spec(p, (struct wake_spec){.refs = asked, .watch_stdin = true});
	NO_HINT(p);
	dup2(saved, 0);
	close(saved);
	close(null);
}

static void the_share_is_a_quarter_and_at_least_one(void **state)
{
	(void)state;
	assert_true(wake_instance_share() >= 1);
	assert_true(wake_instance_share() <= platform_file_event_instances());
}

#define WITH_PLACE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        WITH_PLACE(a_ref_that_is_created_moved_and_deleted_is_a_hint),
	        WITH_PLACE(an_unrelated_ref_is_no_hint),
	        WITH_PLACE(an_unrelated_branch_that_makes_the_folder_is_no_hint),
	        WITH_PLACE(packing_hides_nothing),
	        WITH_PLACE(a_linked_packed_refs_is_followed),
	        WITH_PLACE(every_level_of_a_deep_name_is_followed),
	        WITH_PLACE(a_folder_that_is_replaced_is_watched_anew),
	        WITH_PLACE(what_came_during_an_evaluation_is_remembered),
	        WITH_PLACE(notes_are_watched_when_asked_for),
	        WITH_PLACE(the_bell_is_heard_also_when_hung_later),
	        WITH_PLACE(single_files_are_watched),
	        WITH_PLACE(a_second_change_right_behind_the_first_is_told),
	        WITH_PLACE(a_lost_event_costs_at_most_the_slow_recheck),
	        WITH_PLACE(an_overflow_of_the_queue_loses_nothing),
	        WITH_PLACE(polling_tells_the_same),
	        WITH_PLACE(polling_looks_every_quarter_second),
	        WITH_PLACE(without_share_it_polls_and_takes_the_next_chance),
	        WITH_PLACE(no_instance_to_spare_is_polling),
	        WITH_PLACE(no_watch_to_spare_is_polling),
	        WITH_PLACE(one_wake_takes_one_instance_and_gives_it_back),
	        WITH_PLACE(fruitless_reftable_hints_are_spaced),
	        WITH_PLACE(quiet_ends_the_spacing),
	        WITH_PLACE(packed_refs_are_spaced_as_reftables_are),
	        cmocka_unit_test(real_reftables_tell_every_ref),
	        WITH_PLACE(the_bound_and_ticks_come),
	        WITH_PLACE(a_signal_ends_the_hold_at_once),
	        WITH_PLACE(a_closed_stdin_ends_the_hold),
	        WITH_PLACE(a_parent_that_is_gone_ends_the_hold),
	        WITH_PLACE(an_odd_stdin_is_no_end),
	        cmocka_unit_test(the_share_is_a_quarter_and_at_least_one),
	};

	real_mono_ms = clock_source.mono_ms;
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
