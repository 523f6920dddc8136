#include "store/watch.h"

#include <string.h>

#include "store/sql.h"

static const char *const state_texts[] = {
        [WATCH_OPEN] = "open",
        [WATCH_MET] = "met",
        [WATCH_STOPPED] = "stopped",
};

static const char *const end_texts[] = {
#define X(name, text) [WATCH_END_##name] = text,
        WATCH_ENDS(X)
#undef X
};

static int index_of(const char *const *texts, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(texts[i], text) == 0)
			return (int)i;
	return 0;
}

void watch_release(struct watch *w)
{
	if (!w)
		return;
	free(w->question);
	free(w->trunk);
	free(w->worktree);
	json_decref(w->record);
	json_decref(w->answer);
	*w = (struct watch){0};
}

void watch_list_release(struct watch_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		watch_release(&l->v[i]);
	free(l->v);
	*l = (struct watch_list){0};
}

#define COLUMNS                                                                                    \
	"id, handle, version, question, trunk, baseline, worktree, state, record, answer,"         \
	" delivered, begun_at, used_at, ended_at"

/* A record that a newer abide wrote is not looked into. */
static void read_row(sqlite3_stmt *st, struct watch *w)
{
	const char *answer = (const char *)sqlite3_column_text(st, 9);

	*w = (struct watch){
	        .id = sqlite3_column_int64(st, 0),
	        .version = sqlite3_column_int(st, 2),
	        .question = sql_dup(st, 3),
	        .trunk = sql_dup(st, 4),
	        .worktree = sql_dup(st, 6),
	        .state = (enum watch_state)index_of(
	                state_texts, NELEMS(state_texts), sql_text(st, 7)),
	        .record = json_read(sql_text(st, 8), strlen(sql_text(st, 8)), NULL),
	        .answer = answer ? json_read(answer, strlen(answer), NULL) : NULL,
	        .end = (enum watch_end)index_of(end_texts, NELEMS(end_texts), sql_text(st, 10)),
	        .begun_at = sqlite3_column_int64(st, 11),
	        .used_at = sqlite3_column_int64(st, 12),
	        .ended_at = sqlite3_column_int64(st, 13),
	};
	strncpy(w->handle, sql_text(st, 1), WATCH_SYMBOLS);
	oid_parse(&w->baseline, sql_text(st, 5));
}

static int read_rows(struct store *s, sqlite3_stmt *st, struct watch_list *ret, struct err *err)
{
	int rc;

	while ((rc = sql_step(s, st, err)) == 1) {
		ret->v = xreallocarray(ret->v, ret->n + 1, sizeof(*ret->v));
		read_row(st, &ret->v[ret->n++]);
	}
	return rc;
}

/* Watches nobody used for 7 days become tombstones; those go after 30. */
static int sweep(struct store *s, int64_t now, struct err *err)
{
	if (sql_run(s, err,
	            "INSERT OR IGNORE INTO tombstone (handle, died_at)"
	            " SELECT handle, ? FROM watch WHERE used_at < ?",
	            "ii", now, now - WATCH_KEPT_MS) < 0 ||
	        sql_run(s, err, "DELETE FROM watch WHERE used_at < ?", "i", now - WATCH_KEPT_MS) <
	                0)
		return -1;
	return sql_run(
	        s, err, "DELETE FROM tombstone WHERE died_at < ?", "i", now - WATCH_TOMBSTONE_MS);
}

/* 1 when HANDLE is free. */
static int handle_free(struct store *s, const char *handle, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	if (sql_prepare(s, &st, err,
	            "SELECT 1 FROM watch WHERE handle = ?1 UNION SELECT 1 FROM tombstone WHERE "
	            "handle = ?1",
	            "t", handle) < 0)
		return -1;
	rc = sql_step(s, st, err);
	return rc < 0 ? -1 : rc == 0;
}

static int insert(struct store *s, struct watch *w, void (*make_handle)(char *ret), int64_t now,
        struct err *err)
{
	AUTOFREE char *record = json_line(w->record);
	AUTOFREE char *answer = w->answer ? json_line(w->answer) : NULL;
	int is_free;

	do
		make_handle(w->handle);
	while ((is_free = handle_free(s, w->handle, err)) == 0);
	if (is_free < 0)
		return -1;
	if (sql_run(s, err,
	            "INSERT INTO watch (handle, version, question, trunk, baseline, worktree, "
	            "state, record,"
	            " answer, pid, begun_at, used_at, ended_at)"
	            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CASE WHEN ?7 = 'open' THEN NULL "
	            "ELSE ?11 END)",
	            "titttttttiii", w->handle, (int64_t)WATCH_VERSION, w->question, w->trunk,
	            w->baseline.hex, w->worktree, state_texts[w->state], record, answer,
	            (int64_t)getpid(), now, now) < 0)
		return -1;
	w->id = sqlite3_last_insert_rowid(s->db);
	return 0;
}

int watch_create(struct store *s, struct watch *w, void (*make_handle)(char *ret), struct err *err)
{
	int64_t now = clock_wall_ms();

	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	if (sweep(s, now, err) < 0 || insert(s, w, make_handle, now, err) < 0) {
		store_rollback(s);
		w->id = 0;
		return -1;
	}
	w->version = WATCH_VERSION;
	w->begun_at = w->used_at = now;
	/* Before anybody can see the row: a living watch never looks dead. */
	store_alive_take(s, ALIVE_WATCH, w->id);
	if (store_commit(s, false, err) < 0) {
		store_alive_free(s, ALIVE_WATCH, w->id);
		w->id = 0;
		return -1;
	}
	return 0;
}

static int has_tombstone(struct store *s, const char *handle, bool *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	if (sql_prepare(s, &st, err, "SELECT 1 FROM tombstone WHERE handle = ?", "t", handle) < 0)
		return -1;
	rc = sql_step(s, st, err);
	*ret = rc == 1;
	return rc < 0 ? -1 : 0;
}

int watch_load(struct store *s, const char *handle, struct watch *ret, bool *ret_tombstone,
        struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	*ret_tombstone = false;
	if (!s)
		return 1;
	if (sql_prepare(
	            s, &st, err, "SELECT " COLUMNS " FROM watch WHERE handle = ?", "t", handle) < 0)
		return -1;
	rc = sql_step(s, st, err);
	if (rc < 0)
		return -1;
	if (rc == 0)
		return has_tombstone(s, handle, ret_tombstone, err) < 0 ? -1 : 1;
	/* Not used for too long, and not yet swept: as good as gone. */
	if (sqlite3_column_int64(st, 12) < clock_wall_ms() - WATCH_KEPT_MS &&
	        !store_alive(s, ALIVE_WATCH, sqlite3_column_int64(st, 0))) {
		*ret_tombstone = true;
		return 1;
	}
	read_row(st, ret);
	return 0;
}

/* What another caller made of the watch while this one held it. 1: it is over. */
static int adopt(struct store *s, struct watch *w, struct err *err)
{
	AUTOSTMT *st = NULL;
	AUTOWATCH now = {0};
	int rc;

	if (sql_prepare(s, &st, err, "SELECT " COLUMNS " FROM watch WHERE id = ?", "i", w->id) < 0)
		return -1;
	rc = sql_step(s, st, err);
	if (rc <= 0)
		return rc;
	read_row(st, &now);
	if (now.state == WATCH_OPEN)
		return 0;
	w->state = now.state;
	json_decref(w->answer);
	w->answer = STEAL(now.answer);
	return 1;
}

int watch_save(struct store *s, struct watch *w, struct err *err)
{
	AUTOFREE char *record = json_line(w->record);
	AUTOFREE char *answer = w->answer ? json_line(w->answer) : NULL;
	int64_t now = clock_wall_ms();
	int rc;

	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	rc = adopt(s, w, err);
	if (rc == 0)
		rc = sql_run(s, err,
		        "UPDATE watch SET record = ?, answer = ?, state = ?, used_at = ?,"
		        " ended_at = CASE WHEN ?3 = 'open' THEN NULL ELSE ?4 END WHERE id = ?5",
		        "tttii", record, answer, state_texts[w->state], now, w->id);
	if (rc != 0) {
		store_rollback(s);
		return rc < 0 ? -1 : 0;
	}
	w->used_at = now;
	return store_commit(s, false, err);
}

enum watch_state watch_state_now(struct store *s, int64_t id)
{
	AUTOSTMT *st = NULL;

	if (!s || sql_prepare(s, &st, NULL, "SELECT state FROM watch WHERE id = ?", "i", id) < 0 ||
	        sql_step(s, st, NULL) != 1)
		return WATCH_OPEN;
	return (enum watch_state)index_of(state_texts, NELEMS(state_texts), sql_text(st, 0));
}

int watch_use(struct store *s, int64_t id, struct err *err)
{
	if (store_begin(s, STORE_QUICK, err) < 0)
		return -1;
	if (sql_run(s, err, "UPDATE watch SET used_at = ?, pid = ?, delivered = '' WHERE id = ?",
	            "iii", clock_wall_ms(), (int64_t)getpid(), id) < 0) {
		store_rollback(s);
		return -1;
	}
	store_alive_take(s, ALIVE_WATCH, id);
	return store_commit(s, false, err);
}

void watch_set_end(struct store *s, int64_t id, enum watch_end end)
{
	if (!s || !id || store_begin(s, STORE_QUICK, NULL) < 0)
		return;
	if (sql_run(s, NULL, "UPDATE watch SET delivered = ?, used_at = ? WHERE id = ?", "tii",
	            end_texts[end], clock_wall_ms(), id) < 0 ||
	        store_commit(s, false, NULL) < 0)
		store_rollback(s);
}

int watch_stop(struct store *s, int64_t id, struct err *err)
{
	int64_t now = clock_wall_ms();

	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	if (sql_run(s, err,
	            "UPDATE watch SET state = 'stopped', ended_at = ?, used_at = ? WHERE id = ?",
	            "iii", now, now, id) < 0) {
		store_rollback(s);
		return -1;
	}
	return store_commit(s, true, err);
}

int watch_same(struct store *s, const char *question, const char *trunk, const char *worktree,
        size_t max, struct watch_list *ret, struct err *err)
{
	AUTOSTMT *st = NULL;

	if (!s)
		return 0;
	if (sql_prepare(s, &st, err,
	            "SELECT " COLUMNS
	            " FROM watch WHERE question = ? AND worktree = ? AND trunk = ?"
	            " AND used_at >= ? ORDER BY id DESC LIMIT ?",
	            "tttii", question, worktree, trunk, clock_wall_ms() - WATCH_KEPT_MS,
	            (int64_t)max) < 0)
		return -1;
	return read_rows(s, st, ret, err);
}

int watch_open_list(struct store *s, size_t max, struct watch_list *ret, struct err *err)
{
	AUTOSTMT *st = NULL;

	if (!s)
		return 0;
	if (sql_prepare(s, &st, err,
	            "SELECT " COLUMNS " FROM watch WHERE state = 'open' AND used_at >= ?"
	            " ORDER BY id DESC LIMIT ?",
	            "ii", clock_wall_ms() - WATCH_KEPT_MS, (int64_t)max) < 0)
		return -1;
	return read_rows(s, st, ret, err);
}
