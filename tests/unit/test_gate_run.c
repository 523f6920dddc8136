#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "store/run.h"
#include "store/sql.h"

static char dir[64];
static bool again; /* though there is a proof */
static struct store *s;

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/abide-unit-XXXXXX");
	return mkdtemp(dir) && store_open(dir, STORE_WRITE, &s, NULL) == 0 ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	store_close(s);
	return fs_remove_tree(dir, NULL);
}

static struct oid oid(char digit)
{
	struct oid o = {{0}};

	memset(o.hex, digit, 40);
	return o;
}

/* A run of the commit DIGIT in a worktree; -1 instead of a descriptor when none was made. */
static int create(
        char digit, const char *branch, const char *worktree, enum run_made *made, int64_t *id)
{
	AUTOJSON json_t *jobs = json_pack("[{s:s,s:s}]", "name", "test", "state", "waiting");
	const struct run row = {
	        .branch = (char *)branch,
	        .commit = oid(digit),
	        .tree = oid('e'),
	        .gate_digest = (char *)"d",
	        .worktree = (char *)worktree,
	        .jobs = jobs,
	};
	int alive;

	*made = RUN_MADE;
	assert_int_equal(run_create(s, &row, again, made, id, &alive, NULL), 0);
	return alive;
}

static int64_t begin(char digit, const char *branch, const char *worktree, int *alive)
{
	enum run_made made;
	int64_t id;

	*alive = create(digit, branch, worktree, &made, &id);
	assert_int_equal(made, RUN_MADE);
	assert_true(*alive >= 0);
	return id;
}

static int64_t finished(char digit, const char *branch, enum run_state state)
{
	AUTOJSON json_t *jobs = json_array();
	AUTOJSON json_t *detail = json_object();
	int alive;
	int64_t id = begin(digit, branch, branch, &alive);

	assert_int_equal(run_finish(s, id, state, jobs, detail, NULL), 0);
	close(alive);
	return id;
}

static enum run_state state_of(int64_t id)
{
	AUTORUN r = {0};

	assert_int_equal(run_by_id(s, id, &r, NULL), 0);
	return r.state;
}

static void a_run_lives_while_its_descriptor_is_open(void **state)
{
	AUTORUN r = {0};
	struct oid a = oid('a');
	int alive;
	int64_t id = begin('a', "refs/heads/b", "/w", &alive);

	(void)state;
	assert_int_equal(state_of(id), RUN_RUNNING);
	assert_int_equal(run_live(s, &a, &r, NULL), 0);
	close(alive);
	assert_int_equal(state_of(id), RUN_INTERRUPTED);
	assert_int_equal(run_live(s, &a, &(struct run){0}, NULL), 1);
	assert_int_equal(run_live_on(s, "refs/heads/b", &(struct run){0}, NULL), 1);
}

static void a_child_that_got_the_descriptor_keeps_the_run_alive(void **state)
{
	int alive, hold[2], status;
	int64_t id = begin('a', "refs/heads/b", "/w", &alive);
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(hold), 0);
	pid = fork();
	if (pid == 0) {
		close(hold[1]);
		_exit(read(hold[0], &c, 1) != 0);
	}
	close(alive);
	assert_int_equal(state_of(id), RUN_RUNNING);
	close(hold[0]);
	close(hold[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(state_of(id), RUN_INTERRUPTED);
}

static void one_run_of_a_commit_and_one_in_a_worktree(void **state)
{
	enum run_made made;
	int64_t other;
	int alive;
	int64_t id = begin('a', "refs/heads/b", "/w", &alive);

	(void)state;
	assert_int_equal(create('a', "refs/heads/c", "/v", &made, &other), -1);
	assert_int_equal(made, RUN_JOIN);
	assert_int_equal(other, id);
	assert_int_equal(create('c', "refs/heads/b", "/w", &made, &other), -1);
	assert_int_equal(made, RUN_OTHER);
	assert_int_equal(other, id);
	close(alive);
	/* Dead ones stand in nobody's way, and are put right. */
	close(create('a', "refs/heads/b", "/w", &made, &other));
	assert_int_equal(made, RUN_MADE);
	assert_int_equal(state_of(id), RUN_INTERRUPTED);
	{
		AUTORUN r = {0};
		assert_int_equal(run_by_id(s, id, &r, NULL), 0);
		assert_true(r.ended_at > 0);
	}
}

static void whoever_cannot_be_asked_about_is_not_declared_dead(void **state)
{
	AUTOSTMT *st = NULL;
	enum run_made made;
	int64_t other;
	int alive;
	int64_t id = begin('a', "refs/heads/b", "/w", &alive);

	(void)state;
	setenv("ABIDE_TEST_FAIL_AT", "store:alive", 1);
	create('a', "refs/heads/b", "/w", &made, &other);
	unsetenv("ABIDE_TEST_FAIL_AT");
	assert_int_equal(made, RUN_JOIN);
	assert_int_equal(
	        sql_prepare(s, &st, NULL, "SELECT state FROM gate_run WHERE id = ?", "i", id), 0);
	assert_int_equal(sql_step(s, st, NULL), 1);
	assert_string_equal(sql_text(st, 0), "running");
	close(alive);
}

static void the_newest_verdict_decides_about_the_proof(void **state)
{
	struct oid a = oid('a');
	AUTORUN proof = {0};
	int64_t passed = finished('a', "refs/heads/b", RUN_PASSED);

	(void)state;
	again = true;
	finished('a', "refs/heads/b", RUN_CANCELLED);
	finished('a', "refs/heads/b", RUN_INFRASTRUCTURE);
	finished('a', "refs/heads/b", RUN_DIRTIED);
	assert_int_equal(run_proof(s, &a, &proof, NULL), 0);
	assert_int_equal(proof.id, passed);
	finished('a', "refs/heads/b", RUN_RED);
	again = false;
	assert_int_equal(run_proof(s, &a, &(struct run){0}, NULL), 1);
	{
		AUTORUN branch = {0};
		assert_int_equal(run_branch_proof(s, "refs/heads/b", &branch, NULL), 0);
		assert_int_equal(branch.id, passed);
	}
}

static void a_proof_that_came_meanwhile_is_taken_instead_of_a_run(void **state)
{
	int64_t passed = finished('a', "refs/heads/b", RUN_PASSED), id;
	enum run_made made;

	(void)state;
	assert_int_equal(create('a', "refs/heads/b", "/w", &made, &id), -1);
	assert_int_equal(made, RUN_PROVEN);
	assert_int_equal(id, passed);
	again = true;
	close(create('a', "refs/heads/b", "/w", &made, &id));
	again = false;
	assert_int_equal(made, RUN_MADE);
	assert_int_equal(sql_run(s, NULL, "UPDATE gate_run SET gate_digest = 'older'", ""), 0);
	close(create('a', "refs/heads/b", "/w", &made, &id));
	assert_int_equal(made, RUN_MADE);
}

static void without_a_store_there_are_no_runs(void **state)
{
	struct oid a = oid('a');
	struct run r = {0};

	(void)state;
	assert_int_equal(run_proof(NULL, &a, &r, NULL), 1);
	assert_int_equal(run_newest(NULL, &a, &r, NULL), 1);
	assert_int_equal(run_newest_verdict(NULL, &a, &r, NULL), 1);
	assert_int_equal(run_branch_proof(NULL, "refs/heads/b", &r, NULL), 1);
	assert_int_equal(run_live(NULL, &a, &r, NULL), 1);
	assert_int_equal(run_live_on(NULL, "refs/heads/b", &r, NULL), 1);
	assert_int_equal(run_by_id(NULL, 1, &r, NULL), 1);
}

static void an_end_is_written_once(void **state)
{
	AUTOJSON json_t *none = json_array();
	AUTOJSON json_t *detail = json_object();
	int64_t id = finished('a', "refs/heads/b", RUN_PASSED);

	(void)state;
	assert_int_equal(run_finish(s, id, RUN_RED, none, detail, NULL), 1);
	assert_int_equal(run_set_jobs(s, id, none, NULL), 1);
	assert_int_equal(run_detach(s, id, NULL), 1);
	assert_int_equal(run_ask_cancel(s, id, "why", NULL), 1);
	assert_int_equal(state_of(id), RUN_PASSED);
}

static void logs_are_named_absolutely_and_stored_by_name(void **state)
{
	AUTOJSON json_t *jobs = json_pack("[{s:s,s:s}]", "name", "test", "log", "test.log");
	AUTORUN r = {0};
	AUTOFREE char *want = NULL;
	int alive;
	int64_t id = begin('a', "refs/heads/b", "/w", &alive);

	(void)state;
	assert_int_equal(run_set_jobs(s, id, jobs, NULL), 0);
	assert_int_equal(run_by_id(s, id, &r, NULL), 0);
	want = xasprintf("%s/abide/logs/%d/test.log", dir, (int)id);
	assert_string_equal(json_text(json_array_get(r.jobs, 0), "log"), want);
	close(alive);
}

static void what_is_no_json_in_a_row_is_taken_as_nothing(void **state)
{
	int64_t id = finished('a', "refs/heads/b", RUN_PASSED);
	AUTORUN r = {0};

	(void)state;
	assert_int_equal(
	        sql_run(s, NULL, "UPDATE gate_run SET jobs = '{', detail = '[]', state = 'odd'",
	                ""),
	        0);
	assert_int_equal(run_by_id(s, id, &r, NULL), 0);
	assert_int_equal(json_array_size(r.jobs), 0);
	assert_int_equal(json_object_size(r.detail), 0);
	assert_int_equal(r.state, RUN_INTERRUPTED);
}

static void ten_of_a_branch_are_kept_and_what_runs_always(void **state)
{
	AUTOSTRV gone = {0};
	int alive;
	int64_t running = begin('9', "refs/heads/b", "/elsewhere", &alive), other;
	AUTOFREE char *logs = xasprintf("%s/abide/logs/%d", dir, (int)running + 1);
	struct run r = {0};

	(void)state;
	assert_int_equal(fs_mkdirs(logs, 0700, NULL), 0);
	again = true;
	for (int i = 0; i < 12; i++)
		finished('a', "refs/heads/b", RUN_PASSED);
	again = false;
	other = finished('c', "refs/heads/c", RUN_PASSED);
	assert_int_equal(run_forget(s, &gone, NULL), 0);
	assert_int_equal(state_of(running), RUN_RUNNING);
	assert_int_equal(run_by_id(s, running + 1, &r, NULL), 1);
	assert_int_equal(run_by_id(s, running + 2, &r, NULL), 1);
	assert_int_equal(state_of(running + 3), RUN_PASSED);
	assert_false(fs_exists(logs));
	strv_printf(&gone, "%s", oid('c').hex);
	assert_int_equal(run_forget(s, &gone, NULL), 0);
	assert_int_equal(run_by_id(s, other, &r, NULL), 1);
	close(alive);
}

static void only_the_process_that_was_lent_the_byte_may_run_it(void **state)
{
	int alive;
	int64_t id = begin('a', "refs/heads/b", "/w", &alive);
	AUTOFREE char *path = xasprintf("%s/abide/alive.lck", dir);
	AUTOCLOSE int other = open(path, O_RDWR | O_CLOEXEC);

	(void)state;
	assert_true(store_alive_lent(s, alive, ALIVE_RUN, id));
	assert_false(store_alive_lent(s, other, ALIVE_RUN, id));
	assert_false(store_alive_lent(s, -1, ALIVE_RUN, id));
	assert_false(store_alive_lent(s, STDIN_FILENO, ALIVE_RUN, id));
	assert_false(store_alive_lent(s, alive, ALIVE_RUN, id + 1));
	close(alive);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        T(a_run_lives_while_its_descriptor_is_open),
	        T(a_child_that_got_the_descriptor_keeps_the_run_alive),
	        T(one_run_of_a_commit_and_one_in_a_worktree),
	        T(whoever_cannot_be_asked_about_is_not_declared_dead),
	        T(the_newest_verdict_decides_about_the_proof),
	        T(a_proof_that_came_meanwhile_is_taken_instead_of_a_run),
	        T(without_a_store_there_are_no_runs),
	        T(an_end_is_written_once),
	        T(logs_are_named_absolutely_and_stored_by_name),
	        T(what_is_no_json_in_a_row_is_taken_as_nothing),
	        T(ten_of_a_branch_are_kept_and_what_runs_always),
	        T(only_the_process_that_was_lent_the_byte_may_run_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
