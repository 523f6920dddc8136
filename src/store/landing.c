#include "store/landing.h"

#include <string.h>

#include "store/sql.h"

static const char *const states[] = {
        [LANDING_GOING] = "going",
        [LANDING_LANDED] = "landed",
        [LANDING_REFUSED] = "refused",
        [LANDING_UNDONE] = "undone",
};

void landing_release(struct landing *l)
{
	if (!l)
		return;
	free(l->task);
	free(l->branch);
	free(l->worktree);
	free(l->git_dir);
	free(l->trunk);
	free(l->checkout);
	free(l->step);
	free(l->slug);
	free(l->surface);
	json_decref(l->detail);
	*l = (struct landing){0};
}

void landing_list_release(struct landing_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		landing_release(&l->v[i]);
	free(l->v);
	*l = (struct landing_list){0};
}

/* --- Reading ------------------------------------------------------------------ */

#define COLUMNS                                                                                    \
	"id, task, branch, worktree, git_dir, trunk, tip, old, checkout, step, state, slug, "      \
	"detail, keep, surface, begun_at, ended_at"

static enum landing_state state_of(const char *text)
{
	for (size_t i = 0; i < NELEMS(states); i++)
		if (strcmp(states[i], text) == 0)
			return (enum landing_state)i;
	return LANDING_UNDONE;
}

static void take_row(sqlite3_stmt *st, struct landing *ret)
{
	const char *detail = sql_text(st, 12);

	*ret = (struct landing){
	        .id = sqlite3_column_int64(st, 0),
	        .task = sql_dup(st, 1),
	        .branch = sql_dup(st, 2),
	        .worktree = sql_dup(st, 3),
	        .git_dir = sql_dup(st, 4),
	        .trunk = sql_dup(st, 5),
	        .checkout = sql_dup(st, 8),
	        .step = sql_dup(st, 9),
	        .state = state_of(sql_text(st, 10)),
	        .slug = sql_dup(st, 11),
	        .detail = json_read(detail, strlen(detail), NULL),
	        .keep = sqlite3_column_int(st, 13) != 0,
	        .surface = sql_dup(st, 14),
	        .begun_at = sqlite3_column_int64(st, 15),
	        .ended_at = sqlite3_column_int64(st, 16),
	};
	oid_parse(&ret->tip, sql_text(st, 6));
	oid_parse(&ret->old, sql_text(st, 7));
	if (!json_is_object(ret->detail)) {
		json_decref(ret->detail);
		ret->detail = json_object();
	}
}

/* The row that ST, which it finalizes, stands for. 1: none. */
static int one(struct store *s, sqlite3_stmt *st, struct landing *ret, struct err *err)
{
	AUTOSTMT *mine = st;
	int rc = sql_step(s, mine, err);

	if (rc == 1)
		take_row(mine, ret);
	return rc < 0 ? -1 : !rc;
}

int landing_by_id(struct store *s, int64_t id, struct landing *ret, struct err *err)
{
	sqlite3_stmt *st = NULL;

	if (!s)
		return 1;
	if (sql_prepare(s, &st, err, "SELECT " COLUMNS " FROM landing WHERE id = ?", "i", id) < 0)
		return -1;
	return one(s, st, ret, err);
}

/* All that go on by their rows, and whose process is ALIVE or not. */
static int going(struct store *s, bool alive, struct landing_list *ret, struct err *err)
{
	AUTOLANDINGS l = {0};
	AUTOSTMT *st = NULL;
	int rc;

	*ret = l;
	if (!s)
		return 0;
	if (sql_prepare(s, &st, err,
	            "SELECT " COLUMNS " FROM landing WHERE state = 'going' ORDER BY id", "") < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 1) {
		if (store_alive(s, ALIVE_LANDING, sqlite3_column_int64(st, 0)) != alive)
			continue;
		l.v = xreallocarray(l.v, l.n + 1, sizeof(*l.v));
		take_row(st, &l.v[l.n++]);
	}
	if (rc < 0)
		return -1;
	*ret = l;
	l = (struct landing_list){0};
	return 0;
}

int landing_dead(struct store *s, struct landing_list *ret, struct err *err)
{
	return going(s, false, ret, err);
}

int landing_live(struct store *s, struct landing_list *ret, struct err *err)
{
	return going(s, true, ret, err);
}

int landing_newest(
        struct store *s, const char *branch, struct landing *ret, bool *ret_going, struct err *err)
{
	AUTOLANDINGS live = {0};
	sqlite3_stmt *st = NULL;

	if (landing_live(s, &live, err) < 0)
		return -1;
	*ret_going = false;
	for (size_t i = 0; i < live.n; i++)
		if (strcmp(live.v[i].branch, branch) == 0)
			*ret_going = true;
	if (!s)
		return 1;
	if (sql_prepare(s, &st, err,
	            "SELECT " COLUMNS
	            " FROM landing WHERE branch = ? AND state <> 'going' ORDER BY id DESC LIMIT 1",
	            "t", branch) < 0)
		return -1;
	return one(s, st, ret, err);
}

int landing_landed(struct store *s, const char *branch, struct landing *ret, struct err *err)
{
	sqlite3_stmt *st = NULL;

	if (!s)
		return 1;
	if (sql_prepare(s, &st, err,
	            "SELECT " COLUMNS
	            " FROM landing WHERE branch = ? AND state = 'landed' ORDER BY id DESC LIMIT 1",
	            "t", branch) < 0)
		return -1;
	return one(s, st, ret, err);
}

/* --- Writing ------------------------------------------------------------------ */

static const char *text(const char *s)
{
	return s ? s : "";
}

int landing_begin(struct store *s, struct landing *l, struct err *err)
{
	int64_t id, now = clock_wall_ms();

	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	if (sql_run(s, err,
	            "INSERT INTO landing (task, branch, worktree, git_dir, trunk, tip, step, state,"
	            " keep, surface, pid, begun_at)"
	            " VALUES (?, ?, ?, ?, ?, ?, ?, 'going', ?, ?, ?, ?)",
	            "tttttttbtii", text(l->task), l->branch, text(l->worktree), text(l->git_dir),
	            l->trunk, l->tip.hex, l->step, l->keep, l->surface, (int64_t)getpid(),
	            now) < 0) {
		store_rollback(s);
		return -1;
	}
	id = sqlite3_last_insert_rowid(s->db);
	/* Taken before anybody can see the row: it never looks dead. */
	if (!store_alive_take(s, ALIVE_LANDING, id)) {
		store_rollback(s);
		err_set(err, ERR_WRITE_DENIED, "The lock file %s/alive.lck could not be locked.",
		        s->dir);
		err_hint(err, "Check the rights of %s and its file system's support for locks.",
		        s->dir);
		return -1;
	}
	if (store_commit(s, true, err) < 0) {
		store_alive_free(s, ALIVE_LANDING, id);
		return -1;
	}
	l->id = id;
	l->begun_at = now;
	l->state = LANDING_GOING;
	return 0;
}

int landing_step(struct store *s, const struct landing *l, struct err *err)
{
	AUTOFREE char *detail = l->detail ? json_line(l->detail) : xstrdup("{}");

	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	if (sql_run(s, err,
	            "UPDATE landing SET tip = ?, old = ?, checkout = ?, step = ?, detail = ?,"
	            " keep = ?, pid = ? WHERE id = ?",
	            "tttttbii", l->tip.hex, l->old.hex, text(l->checkout), l->step, detail, l->keep,
	            (int64_t)getpid(), l->id) < 0) {
		store_rollback(s);
		return -1;
	}
	return store_commit(s, true, err);
}

int landing_end(struct store *s, struct landing *l, enum landing_state state, struct err *err)
{
	AUTOFREE char *detail = l->detail ? json_line(l->detail) : xstrdup("{}");
	int64_t now = clock_wall_ms();

	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	if (sql_run(s, err,
	            "UPDATE landing SET state = ?, step = ?, slug = ?, detail = ?, ended_at = ?"
	            " WHERE id = ? AND state = 'going'",
	            "ttttii", states[state], l->step, text(l->slug), detail, now, l->id) < 0) {
		store_rollback(s);
		return -1;
	}
	if (store_commit(s, true, err) < 0)
		return -1;
	l->state = state;
	l->ended_at = now;
	store_alive_free(s, ALIVE_LANDING, l->id);
	return 0;
}

bool landing_adopt(struct store *s, const struct landing *l)
{
	return store_alive_take(s, ALIVE_LANDING, l->id);
}
