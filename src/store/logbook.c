#include "store/logbook.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "store/sql.h"

/* Every so many begins, so many of the oldest events are looked at. */
enum { TIDY_EVERY = 16, TIDY_BATCH = 256 };

#define HOUR_MS ((int64_t)3600 * 1000)

/* --- Reading ---------------------------------------------------------------- */

void logbook_list_release(struct logbook_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].verb);
		free(l->v[i].surface);
		free(l->v[i].branch);
		free(l->v[i].about);
		free(l->v[i].gate_digest);
		free(l->v[i].outcome);
	}
	free(l->v);
	*l = (struct logbook_list){0};
}

#define COLUMNS                                                                                    \
	"SELECT id, verb, surface, branch, head, about, gate_digest, begun_at, ended_at, outcome," \
	" duration_ms, waited_ms, pid FROM event "

static void take_row(sqlite3_stmt *st, struct logbook_list *l)
{
	struct logbook_event *e;

	if ((l->n & (l->n + 1)) == 0)
		l->v = xreallocarray(l->v, 2 * (l->n + 1), sizeof(*l->v));
	e = &l->v[l->n++];
	*e = (struct logbook_event){
	        .id = sqlite3_column_int64(st, 0),
	        .verb = xstrdup(sql_text(st, 1)),
	        .surface = xstrdup(sql_text(st, 2)),
	        .branch = xstrdup(sql_text(st, 3)),
	        .about = xstrdup(sql_text(st, 5)),
	        .gate_digest = xstrdup(sql_text(st, 6)),
	        .begun_at = sqlite3_column_int64(st, 7),
	        .ended_at = sqlite3_column_int64(st, 8),
	        .outcome = xstrdup(sql_text(st, 9)),
	        .duration_ms = sqlite3_column_int64(st, 10),
	        .waited_ms = sqlite3_column_int64(st, 11),
	        .pid = (pid_t)sqlite3_column_int64(st, 12),
	};
	oid_parse(&e->head, sql_text(st, 4));
}

bool logbook_fresh_by_age(int64_t age_ms, const struct prior *prior)
{
	if (!prior->samples)
		return age_ms < 24 * HOUR_MS;
	return age_ms < HOUR_MS || age_ms / 10 < prior->median_ms;
}

static bool is_fresh(struct store *s, const struct logbook_event *e)
{
	struct prior prior = {0};
	int alive = store_alive_ask(s, ALIVE_EVENT, e->id);

	if (alive >= 0)
		return alive;
	logbook_prior(s, e->verb, e->gate_digest, &prior, NULL);
	return logbook_fresh_by_age(clock_wall_ms() - e->begun_at, &prior);
}

/* Reads all rows of ST, and tells those that run from those whose process died. */
static int take_rows(struct store *s, sqlite3_stmt *st, struct logbook_list *ret, struct err *err)
{
	int rc;

	while ((rc = sql_step(s, st, err)) == 1)
		take_row(st, ret);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < ret->n; i++)
		if (!*ret->v[i].outcome && !is_fresh(s, &ret->v[i]))
			mem_set(&ret->v[i].outcome, xstrdup("interrupted"));
	return 0;
}

int logbook_in_flight(
        struct store *s, const char *branch, struct logbook_list *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	AUTOLOGBOOK open = {0};
	size_t n = 0;

	if (!s)
		return 0;
	if ((branch ? sql_prepare(s, &st, err,
	                      COLUMNS "WHERE outcome IS NULL AND branch = ? ORDER BY id", "t",
	                      branch)
	            : sql_prepare(s, &st, err,
	                      COLUMNS "INDEXED BY event_open WHERE outcome IS NULL ORDER BY id",
	                      "")) < 0 ||
	        take_rows(s, st, &open, err) < 0)
		return -1;
	/* What is left of the list are those that run; the others are freed with the rest. */
	for (size_t i = 0; i < open.n; i++) {
		struct logbook_event e = open.v[i];
		if (*e.outcome)
			continue;
		open.v[i] = open.v[n];
		open.v[n++] = e;
	}
	if (!n)
		return 0;
	ret->v = xcalloc(n, sizeof(*ret->v));
	memcpy(ret->v, open.v, n * sizeof(*ret->v));
	memset(open.v, 0, n * sizeof(*open.v));
	ret->n = n;
	return 0;
}

int logbook_newest(struct store *s, const char *branch, size_t limit, struct logbook_list *ret,
        struct err *err)
{
	AUTOSTMT *st = NULL;
	size_t n;

	if (!s)
		return 0;
	if ((branch ? sql_prepare(s, &st, err, COLUMNS "WHERE branch = ? ORDER BY id DESC LIMIT ?",
	                      "ti", branch, (int64_t)limit)
	            : sql_prepare(s, &st, err, COLUMNS "ORDER BY id DESC LIMIT ?", "i",
	                      (int64_t)limit)) < 0 ||
	        take_rows(s, st, ret, err) < 0)
		return -1;
	n = ret->n;
	for (size_t i = 0; i < n / 2; i++) {
		struct logbook_event e = ret->v[i];
		ret->v[i] = ret->v[n - 1 - i];
		ret->v[n - 1 - i] = e;
	}
	return 0;
}

int logbook_after(struct store *s, const char *branch, int64_t after, size_t limit,
        struct logbook_list *ret, struct err *err)
{
	AUTOSTMT *st = NULL;

	if (!s)
		return 0;
	if ((branch ? sql_prepare(s, &st, err,
	                      COLUMNS "WHERE branch = ? AND id > ? ORDER BY id LIMIT ?", "tii",
	                      branch, after, (int64_t)limit)
	            : sql_prepare(s, &st, err, COLUMNS "WHERE id > ? ORDER BY id LIMIT ?", "ii",
	                      after, (int64_t)limit)) < 0)
		return -1;
	return take_rows(s, st, ret, err);
}

int logbook_event_by_id(struct store *s, int64_t id, struct logbook_list *ret, struct err *err)
{
	AUTOSTMT *st = NULL;

	if (!s)
		return 1;
	if (sql_prepare(s, &st, err, COLUMNS "WHERE id = ?", "i", id) < 0 ||
	        take_rows(s, st, ret, err) < 0)
		return -1;
	return ret->n ? 0 : 1;
}

int logbook_last_active(struct store *s, const char *branch, int64_t *ret_ms, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	*ret_ms = 0;
	if (!s)
		return 0;
	/* The newest few: the one that ended last may have begun before others. */
	if (sql_prepare(s, &st, err,
	            "SELECT max(max(begun_at, ifnull(ended_at, 0))) FROM (SELECT * FROM event"
	            " WHERE branch = ? ORDER BY id DESC LIMIT 20) WHERE verb <> 'await'",
	            "t", branch) < 0)
		return -1;
	rc = sql_step(s, st, err);
	if (rc == 1)
		*ret_ms = sqlite3_column_int64(st, 0);
	return rc < 0 ? -1 : 0;
}

/* --- Priors ----------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void prior_of(int64_t *ms, size_t n, struct prior *ret)
{
	*ret = (struct prior){0};
	if (!n)
		return;
	qsort(ms, n, sizeof(*ms), by_size);
	ret->median_ms = n % 2 ? ms[n / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2;
	/* Nearest rank: the smallest one that 90 % of all do not exceed. */
	ret->p90_ms = ms[(9 * n + 9) / 10 - 1];
	ret->samples = n;
}

/* The newest durations, of one gate digest or (NULL) of all. */
static int read_samples(struct store *s, const char *verb, const char *gate_digest, int64_t *ret,
        size_t *ret_n, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	*ret_n = 0;
	if ((gate_digest ? sql_prepare(s, &st, err,
	                           "SELECT duration_ms - waited_ms FROM event WHERE outcome = 'ok'"
	                           " AND verb = ? AND gate_digest = ? ORDER BY id DESC LIMIT ?",
	                           "tti", verb, gate_digest, (int64_t)PRIOR_SAMPLES)
	                 : sql_prepare(s, &st, err,
	                           "SELECT duration_ms - waited_ms FROM event WHERE outcome = 'ok'"
	                           " AND verb = ? ORDER BY id DESC LIMIT ?",
	                           "ti", verb, (int64_t)PRIOR_SAMPLES)) < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 1) {
		int64_t ms = sqlite3_column_int64(st, 0);
		ret[(*ret_n)++] = ms > 0 ? ms : 0;
	}
	return rc;
}

int logbook_prior(struct store *s, const char *verb, const char *gate_digest, struct prior *ret,
        struct err *err)
{
	int64_t ms[PRIOR_SAMPLES];
	size_t n = 0;

	*ret = (struct prior){0};
	if (!s || strcmp(verb, "await") == 0)
		return 0;
	if (gate_digest && *gate_digest && read_samples(s, verb, gate_digest, ms, &n, err) < 0)
		return -1;
	if (!n && read_samples(s, verb, NULL, ms, &n, err) < 0)
		return -1;
	prior_of(ms, n, ret);
	return 0;
}

/* --- Tidying ---------------------------------------------------------------- */

/*
 * A begin whose process died is closed, so that the index of open events stays
 * as small as what runs. When it ended nobody knows.
 */
static int close_dead(struct store *s)
{
	AUTOLOGBOOK open = {0};
	AUTOSTMT *st = NULL;

	if (sql_prepare(s, &st, NULL, COLUMNS "INDEXED BY event_open WHERE outcome IS NULL LIMIT ?",
	            "i", (int64_t)TIDY_BATCH) < 0 ||
	        take_rows(s, st, &open, NULL) < 0)
		return -1;
	for (size_t i = 0; i < open.n; i++)
		if (*open.v[i].outcome &&
		        sql_run(s, NULL, "UPDATE event SET outcome = 'interrupted' WHERE id = ?",
		                "i", open.v[i].id) < 0)
			return -1;
	return 0;
}

/* A few of the oldest at a time: no verb is held up by what others left. */
static int forget_old(struct store *s)
{
	return sql_run(s, NULL,
	        "DELETE FROM event WHERE id IN (SELECT id FROM"
	        " (SELECT id, begun_at, outcome FROM event ORDER BY id LIMIT ?)"
	        " WHERE outcome IS NOT NULL"
	        " AND (begun_at < ? OR id <= (SELECT max(id) FROM event) - ?))",
	        "iii", (int64_t)TIDY_BATCH, clock_wall_ms() - LOGBOOK_KEPT_MS,
	        (int64_t)LOGBOOK_ROWS);
}

/* Best effort: what could not be tidied now is by a later verb. */
static void tidy(struct store *s)
{
	if (store_begin(s, STORE_QUICK, NULL) < 0)
		return;
	if (close_dead(s) < 0 || forget_old(s) < 0 || store_commit(s, false, NULL) < 0)
		store_rollback(s);
}

/* --- Writing ---------------------------------------------------------------- */

/* One word for all that this process records. */
static const char *invocation(void)
{
	static char text[17];

	if (!*text) {
		unsigned char r[8];
		random_bytes(r, sizeof(r));
		for (size_t i = 0; i < sizeof(r); i++)
			snprintf(text + 2 * i, 3, "%02x", r[i]);
	}
	return text;
}

char *logbook_pulse(const char *common)
{
	AUTOFREE char *dir = store_dir_of(common);

	return path_join(dir, "pulse/p");
}

/* After the commit, so that whoever wakes by it sees what was written. */
static void beat(struct store *s)
{
	AUTOFREE char *pulse = logbook_pulse(s->common);
	AUTOFREE char *dir = NULL;
	int fd;

	if (utimensat(AT_FDCWD, pulse, NULL, 0) == 0)
		return;
	dir = path_dir(pulse);
	mkdir(dir, 0700);
	fd = open(pulse, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

int64_t logbook_begin(struct store *s, const struct logbook_entry *e)
{
	int64_t id;

	if (!s || store_begin(s, STORE_QUICK, NULL) < 0)
		return 0;
	if (sql_run(s, NULL,
	            "INSERT INTO event (invocation, verb, surface, branch, head, about, begun_at, "
	            "pid,"
	            " gate_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	            "ttttttiit", invocation(), e->verb, e->surface, e->branch ? e->branch : "",
	            e->head ? e->head->hex : "", e->about ? e->about : "", clock_wall_ms(),
	            (int64_t)getpid(), e->gate_digest ? e->gate_digest : "") < 0) {
		store_rollback(s);
		return 0;
	}
	id = sqlite3_last_insert_rowid(s->db);
	/* Taken before anybody can see the row: it never looks dead. */
	store_alive_take(s, ALIVE_EVENT, id);
	if (store_commit(s, false, NULL) < 0) {
		store_alive_free(s, ALIVE_EVENT, id);
		return 0;
	}
	beat(s);
	/* Here and not at the end, where somebody waits for the answer. */
	if (id % TIDY_EVERY == 0)
		tidy(s);
	return id;
}

void logbook_end(
        struct store *s, int64_t id, const char *outcome, int64_t duration_ms, int64_t waited_ms)
{
	if (!s || !id || store_begin(s, STORE_QUICK, NULL) < 0)
		return;
	if (sql_run(s, NULL,
	            "UPDATE event SET ended_at = ?, outcome = ?, duration_ms = ?, waited_ms = ?"
	            " WHERE id = ?",
	            "itiii", clock_wall_ms(), outcome, duration_ms, waited_ms, id) < 0 ||
	        store_commit(s, false, NULL) < 0)
		store_rollback(s);
	store_alive_free(s, ALIVE_EVENT, id);
	beat(s);
}
