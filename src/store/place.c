#include "store/store.h"

#include <time.h>

#include "store/sql.h"

/* A dead place gives no sign; so it is looked for this often. */
enum { LOOK_AGAIN_MS = 25 };

int place_join(
        struct store *s, const char *queue, const char *what, int64_t *ret_id, struct err *err)
{
	int64_t id;

	if (store_begin(s, STORE_QUICK, err) < 0)
		return -1;
	if (sql_run(s, err, "INSERT INTO place (queue, what, pid, since) VALUES (?, ?, ?, ?)",
	            "ttii", queue, what, (int64_t)getpid(), clock_wall_ms()) < 0) {
		store_rollback(s);
		return -1;
	}
	id = sqlite3_last_insert_rowid(s->db);
	/* Taken before anybody can see the row: it never looks dead. */
	if (!store_alive_take(s, ALIVE_PLACE, id)) {
		store_rollback(s);
		err_set(err, ERR_WRITE_DENIED, "The lock file %s/alive.lck could not be locked.",
		        s->dir);
		err_hint(err, "Check the rights of %s and its file system's support for locks.",
		        s->dir);
		return -1;
	}
	if (store_commit(s, false, err) < 0) {
		store_alive_free(s, ALIVE_PLACE, id);
		return -1;
	}
	*ret_id = id;
	return 0;
}

static int forget(struct store *s, int64_t id, struct err *err)
{
	if (store_begin(s, STORE_QUICK, err) < 0)
		return -1;
	if (sql_run(s, err, "DELETE FROM place WHERE id = ?", "i", id) < 0) {
		store_rollback(s);
		return -1;
	}
	return store_commit(s, false, err);
}

int place_ahead(struct store *s, const char *queue, int64_t id, size_t *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	int64_t dead[64];
	size_t n_dead = 0, alive = 0;
	int rc;

	if (sql_prepare(s, &st, err, "SELECT id FROM place WHERE queue = ? AND id < ? ORDER BY id",
	            "ti", queue, id) < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 1) {
		int64_t other = sqlite3_column_int64(st, 0);
		if (store_alive(s, ALIVE_PLACE, other))
			alive++;
		else if (n_dead < NELEMS(dead))
			dead[n_dead++] = other;
	}
	if (rc < 0)
		return -1;
	sqlite3_finalize(STEAL(st));
	for (size_t i = 0; i < n_dead; i++)
		if (forget(s, dead[i], err) < 0)
			return -1;
	*ret = alive;
	return 0;
}

int place_wait(struct store *s, const char *queue, int64_t id, size_t capacity,
        const volatile int *stop, void (*note)(void *ctx, size_t ahead), void *ctx, struct err *err)
{
	const struct timespec pause = {0, LOOK_AGAIN_MS * 1000000L};
	size_t ahead, told = SIZE_MAX;

	for (;;) {
		if (stop && *stop) {
			err_set(err, ERR_CANCELLED, "The wait for a place was ended by a signal.");
			err_hint(err, "Run the same command again to queue anew.");
			return -1;
		}
		if (place_ahead(s, queue, id, &ahead, err) < 0)
			return -1;
		if (ahead < capacity)
			return 0;
		if (note && ahead != told)
			note(ctx, ahead);
		told = ahead;
		nanosleep(&pause, NULL);
	}
}

void place_leave(struct store *s, int64_t id)
{
	/* The byte first: even when the row stays, the place counts as left. */
	store_alive_free(s, ALIVE_PLACE, id);
	forget(s, id, NULL);
}

void place_list_release(struct place_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].what);
	free(l->v);
	*l = (struct place_list){0};
}

int place_list(struct store *s, const char *queue, struct place_list *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	if (!s)
		return 0;
	if (sql_prepare(s, &st, err,
	            "SELECT id, what, since FROM place WHERE queue = ? ORDER BY id", "t",
	            queue) < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 1) {
		int64_t id = sqlite3_column_int64(st, 0);
		/* One whose process cannot be asked for is shown rather than hidden. */
		if (store_alive_ask(s, ALIVE_PLACE, id) == 0)
			continue;
		ret->v = xreallocarray(ret->v, ret->n + 1, sizeof(*ret->v));
		ret->v[ret->n++] = (struct place){.id = id,
		        .what = xstrdup(sql_text(st, 1)),
		        .since = sqlite3_column_int64(st, 2)};
	}
	return rc;
}
