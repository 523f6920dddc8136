#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "store/logbook.h"
#include "store/sql.h"

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/abide-unit-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return fs_remove_tree(dir, NULL);
}

static struct store *opened(void)
{
	struct store *s;

	assert_int_equal(store_open(dir, STORE_WRITE, &s, NULL), 0);
	return s;
}

static int64_t begin(struct store *s, const char *verb, const char *branch)
{
	struct logbook_entry e = {.verb = verb, .surface = "cli", .branch = branch};
	int64_t id = logbook_begin(s, &e);

	assert_true(id > 0);
	return id;
}

/* A begin by a process that died before its end. */
static void begin_and_die(const char *verb, const char *branch)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct store *s;
		struct logbook_entry e = {.verb = verb, .surface = "cli", .branch = branch};

		_exit(store_open(dir, STORE_WRITE, &s, NULL) < 0 || !logbook_begin(s, &e));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* An event as if it had been recorded long ago. */
static void past(struct store *s, const char *verb, const char *digest, int64_t begun_at,
        const char *outcome, int64_t duration_ms, int64_t waited_ms)
{
	assert_int_equal(sql_run(s, NULL,
	                         "INSERT INTO event (invocation, verb, surface, branch, begun_at,"
	                         " ended_at, outcome, duration_ms, waited_ms, pid, gate_digest)"
	                         " VALUES ('x', ?, 'cli', 'refs/heads/b', ?, ?, ?, ?, ?, 1, ?)",
	                         "tiitiit", verb, begun_at, begun_at + duration_ms, outcome,
	                         duration_ms, waited_ms, digest),
	        0);
}

static int64_t count(struct store *s, const char *where)
{
	AUTOSTMT *st = NULL;
	AUTOFREE char *sql = xasprintf("SELECT count(*) FROM event WHERE %s", where);

	assert_int_equal(sql_prepare(s, &st, NULL, sql, ""), 0);
	assert_int_equal(sql_step(s, st, NULL), 1);
	return sqlite3_column_int64(st, 0);
}

static void an_await_never_hides_an_older_done(void **state)
{
	AUTOSTORE *s = opened();
	AUTOLOGBOOK all = {0}, of_b = {0}, none = {0};
	int64_t done = begin(s, "done", "refs/heads/b");
	int64_t await = begin(s, "await", "refs/heads/b");
	int64_t other = begin(s, "update", "refs/heads/c");

	(void)state;
	assert_int_equal(logbook_in_flight(s, "refs/heads/b", &of_b, NULL), 0);
	assert_int_equal(of_b.n, 2);
	assert_int_equal(of_b.v[0].id, done);
	assert_int_equal(of_b.v[1].id, await);
	assert_int_equal(logbook_in_flight(s, NULL, &all, NULL), 0);
	assert_int_equal(all.n, 3);
	assert_int_equal(all.v[0].id, done);
	assert_int_equal(all.v[2].id, other);
	logbook_end(s, done, "ok", 5, 0);
	logbook_end(s, await, "ok", 5, 0);
	logbook_end(s, other, "conflict", 5, 0);
	assert_int_equal(logbook_in_flight(s, NULL, &none, NULL), 0);
	assert_int_equal(none.n, 0);
}

static void a_begin_whose_process_died_is_not_in_flight(void **state)
{
	AUTOSTORE *s = opened();
	AUTOLOGBOOK open = {0}, log = {0};
	int64_t id;

	(void)state;
	begin_and_die("done", "refs/heads/b");
	id = begin(s, "start", "refs/heads/b");
	assert_int_equal(logbook_in_flight(s, "refs/heads/b", &open, NULL), 0);
	assert_int_equal(open.n, 1);
	assert_int_equal(open.v[0].id, id);
	assert_int_equal(logbook_newest(s, NULL, 10, &log, NULL), 0);
	assert_int_equal(log.n, 2);
	assert_string_equal(log.v[0].outcome, "interrupted");
	assert_string_equal(log.v[1].outcome, "");
}

static void dead_begins_are_closed_by_and_by(void **state)
{
	AUTOSTORE *s = opened();

	(void)state;
	for (int i = 0; i < 5; i++)
		begin_and_die("await", "refs/heads/b");
	assert_int_equal(count(s, "outcome IS NULL"), 5);
	for (int i = 0; i < 16; i++)
		logbook_end(s, begin(s, "done", "refs/heads/b"), "ok", 1, 0);
	assert_int_equal(count(s, "outcome IS NULL"), 0);
	assert_int_equal(count(s, "outcome = 'interrupted' AND ended_at IS NULL"), 5);
}

static void unknown_life_is_judged_by_age(void **state)
{
	const int64_t minute = 60000, hour = 60 * minute;
	struct prior none = {0}, quick = {.median_ms = minute, .samples = 3},
	             slow = {.median_ms = hour, .samples = 3};

	(void)state;
	assert_true(logbook_fresh_by_age(24 * hour - 1, &none));
	assert_false(logbook_fresh_by_age(24 * hour, &none));
	assert_true(logbook_fresh_by_age(hour - 1, &quick));
	assert_false(logbook_fresh_by_age(hour, &quick));
	assert_true(logbook_fresh_by_age(10 * hour - 1, &slow));
	assert_false(logbook_fresh_by_age(10 * hour, &slow));
}

static void without_a_lock_file_age_decides(void **state)
{
	AUTOSTORE *s = opened();
	AUTOLOGBOOK open = {0};
	AUTOFREE char *lock = path_join(dir, "abide/alive.lck");
	int64_t now = clock_wall_ms(), hour = 3600000;

	(void)state;
	past(s, "done", "", now - 2 * hour, NULL, 0, 0);   /* no samples: fresh for a day */
	past(s, "update", "", now - 2 * hour, NULL, 0, 0); /* quick samples: one hour */
	past(s, "start", "", now - 25 * hour, NULL, 0, 0); /* no samples, too old */
	past(s, "update", "", now - 3 * hour, "ok", 1000, 0);
	assert_false(fs_exists(lock));
	assert_int_equal(logbook_in_flight(s, NULL, &open, NULL), 0);
	assert_int_equal(open.n, 1);
	assert_string_equal(open.v[0].verb, "done");
}

static void priors_of_durations(void **state)
{
	struct prior p;
	int64_t ten[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, one[] = {7}, two[] = {4, 2},
	        eleven[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, same[] = {3, 3, 3};

	(void)state;
	prior_of(NULL, 0, &p);
	assert_int_equal(p.samples, 0);
	prior_of(one, 1, &p);
	assert_int_equal(p.median_ms, 7);
	assert_int_equal(p.p90_ms, 7);
	prior_of(two, 2, &p);
	assert_int_equal(p.median_ms, 3);
	assert_int_equal(p.p90_ms, 4);
	prior_of(ten, 10, &p);
	assert_int_equal(p.median_ms, 5);
	assert_int_equal(p.p90_ms, 9);
	prior_of(eleven, 11, &p);
	assert_int_equal(p.median_ms, 6);
	assert_int_equal(p.p90_ms, 10);
	prior_of(same, 3, &p);
	assert_int_equal(p.p90_ms, 3);
	assert_int_equal(p.samples, 3);
}

static void prior_rules(void **state)
{
	AUTOSTORE *s = opened();
	struct prior p;

	(void)state;
	assert_int_equal(logbook_prior(NULL, "done", "", &p, NULL), 0);
	assert_int_equal(p.samples, 0);
	past(s, "done", "old", 1000, "ok", 100, 0);
	past(s, "done", "old", 1000, "ok", 100, 0);
	past(s, "done", "new", 1000, "ok", 500, 200); /* waiting is taken out */
	past(s, "done", "new", 1000, "gate_red", 9000, 0);
	past(s, "done", "new", 1000, NULL, 0, 0);
	past(s, "await", "", 1000, "ok", 5000, 0);
	logbook_prior(s, "done", "new", &p, NULL);
	assert_int_equal(p.samples, 1);
	assert_int_equal(p.median_ms, 300);
	logbook_prior(s, "done", "unseen", &p, NULL);
	assert_int_equal(p.samples, 3);
	assert_int_equal(p.median_ms, 100);
	logbook_prior(s, "done", NULL, &p, NULL);
	assert_int_equal(p.samples, 3);
	logbook_prior(s, "await", NULL, &p, NULL);
	assert_int_equal(p.samples, 0);
}

static void priors_take_the_newest_200(void **state)
{
	AUTOSTORE *s = opened();
	struct prior p;

	(void)state;
	store_begin(s, STORE_QUICK, NULL);
	for (int i = 0; i < 50; i++)
		past(s, "done", "", 1000, "ok", 1, 0);
	for (int i = 0; i < 200; i++)
		past(s, "done", "", 1000, "ok", 70, 0);
	store_commit(s, false, NULL);
	logbook_prior(s, "done", NULL, &p, NULL);
	assert_int_equal(p.samples, 200);
	assert_int_equal(p.median_ms, 70);
}

static void old_events_are_forgotten_in_small_steps(void **state)
{
	AUTOSTORE *s = opened();
	int64_t now = clock_wall_ms();

	(void)state;
	store_begin(s, STORE_QUICK, NULL);
	for (int i = 0; i < 3; i++)
		past(s, "done", "", now - LOGBOOK_KEPT_MS - 60000, "ok", 1, 0);
	past(s, "done", "", now - LOGBOOK_KEPT_MS + 3600000, "ok", 1, 0);
	store_commit(s, false, NULL);
	for (int i = 0; i < 16; i++)
		logbook_end(s, begin(s, "done", "refs/heads/b"), "ok", 1, 0);
	assert_int_equal(count(s, "1"), 17);
	/* Past the number that is kept: some of the oldest go at each step. */
	assert_int_equal(
	        sql_run(s, NULL, "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'event'",
	                "i", (int64_t)LOGBOOK_ROWS),
	        0);
	for (int i = 0; i < 16; i++)
		logbook_end(s, begin(s, "done", "refs/heads/b"), "ok", 1, 0);
	assert_int_equal(count(s, "1"), 16);
}

static void every_query_uses_an_index(void **state)
{
	static const char *const queries[] = {
	        "SELECT * FROM event WHERE outcome IS NULL AND branch = 'b' ORDER BY id",
	        "SELECT * FROM event INDEXED BY event_open WHERE outcome IS NULL ORDER BY id",
	        "SELECT * FROM event WHERE branch = 'b' ORDER BY id DESC LIMIT 20",
	        "SELECT * FROM event WHERE branch = 'b' AND id > 3 ORDER BY id LIMIT 20",
	        "SELECT duration_ms FROM event WHERE outcome = 'ok' AND verb = 'v'"
	        " ORDER BY id DESC LIMIT 200",
	        "SELECT duration_ms FROM event WHERE outcome = 'ok' AND verb = 'v'"
	        " AND gate_digest = 'd' ORDER BY id DESC LIMIT 200",
	};
	AUTOSTORE *s = opened();

	(void)state;
	for (size_t i = 0; i < NELEMS(queries); i++) {
		AUTOSTMT *st = NULL;
		AUTOFREE char *sql = xasprintf("EXPLAIN QUERY PLAN %s", queries[i]);
		int rows = 0;

		assert_int_equal(sql_prepare(s, &st, NULL, sql, ""), 0);
		for (; sql_step(s, st, NULL) == 1; rows++) {
			const char *plan = sql_text(st, 3);
			bool open = strstr(queries[i], "event_open") != NULL;

			assert_non_null(strstr(queries[i], "ORDER"));
			if (!open && (!strstr(plan, "USING INDEX") || strstr(plan, "B-TREE")))
				fail_msg("%s: %s", queries[i], plan);
			if (open && !strstr(plan, "event_open") && !strstr(plan, "B-TREE"))
				fail_msg("%s: %s", queries[i], plan);
		}
		assert_true(rows > 0);
	}
}

static void the_pulse_is_touched(void **state)
{
	AUTOSTORE *s = opened();
	AUTOFREE char *pulse = logbook_pulse(dir);

	(void)state;
	assert_false(fs_exists(pulse));
	begin(s, "done", "refs/heads/b");
	assert_true(fs_exists(pulse));
}

static void a_missing_store_is_an_empty_logbook(void **state)
{
	AUTOLOGBOOK l = {0};
	int64_t when;

	(void)state;
	assert_int_equal(logbook_in_flight(NULL, NULL, &l, NULL), 0);
	assert_int_equal(logbook_newest(NULL, NULL, 5, &l, NULL), 0);
	assert_int_equal(logbook_after(NULL, NULL, 0, 5, &l, NULL), 0);
	assert_int_equal(logbook_event_by_id(NULL, 1, &l, NULL), 1);
	assert_int_equal(logbook_last_active(NULL, "b", &when, NULL), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(when, 0);
}

static void waiting_is_no_activity(void **state)
{
	AUTOSTORE *s = opened();
	int64_t when;

	(void)state;
	past(s, "done", "", 5000, "ok", 700, 0);
	past(s, "start", "", 5100, "ok", 1, 0);
	past(s, "await", "", 9000, "ok", 1, 0);
	assert_int_equal(logbook_last_active(s, "refs/heads/b", &when, NULL), 0);
	assert_int_equal(when, 5700);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        T(an_await_never_hides_an_older_done),
	        T(a_begin_whose_process_died_is_not_in_flight),
	        T(dead_begins_are_closed_by_and_by),
	        T(unknown_life_is_judged_by_age),
	        T(without_a_lock_file_age_decides),
	        T(priors_of_durations),
	        T(prior_rules),
	        T(priors_take_the_newest_200),
	        T(old_events_are_forgotten_in_small_steps),
	        T(every_query_uses_an_index),
	        T(the_pulse_is_touched),
	        T(a_missing_store_is_an_empty_logbook),
	        T(waiting_is_no_activity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
