#include "store/task.h"

#include <string.h>

#include "store/sql.h"

static const char *const step_texts[] = {
#define X(name, text) text,
        TASK_STEPS(X)
#undef X
};

void task_record_release(struct task_record *r)
{
	if (!r)
		return;
	free(r->id);
	free(r->branch);
	free(r->worktree);
	free(r->git_dir);
	free(r->base_name);
	free(r->made_by);
	json_decref(r->copied);
	json_decref(r->detail);
	*r = (struct task_record){0};
}

void task_record_list_release(struct task_record_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		task_record_release(&l->v[i]);
	free(l->v);
	*l = (struct task_record_list){0};
}

#define COLUMNS                                                                                    \
	"rowid, id, branch, worktree, git_dir, base, base_name, port, made_by, made_at, step, "    \
	"adopted, copied, detail"

/* A column that was written as JSON; FALLBACK (taken) where it does not parse. */
static json_t *read_json(sqlite3_stmt *st, int column, json_t *fallback)
{
	const char *text = sql_text(st, column);
	json_t *v = json_read(text, strlen(text), NULL);

	if (!v || json_typeof(v) != json_typeof(fallback)) {
		json_decref(v);
		return fallback;
	}
	json_decref(fallback);
	return v;
}

static void read_row(sqlite3_stmt *st, struct task_record *r)
{
	const char *step = sql_text(st, 10);

	*r = (struct task_record){
	        .row = sqlite3_column_int64(st, 0),
	        .id = sql_dup(st, 1),
	        .branch = sql_dup(st, 2),
	        .worktree = sql_dup(st, 3),
	        .git_dir = sql_dup(st, 4),
	        .base_name = sql_dup(st, 6),
	        .port = sqlite3_column_int(st, 7),
	        .made_by = sql_dup(st, 8),
	        .made_at = sqlite3_column_int64(st, 9),
	        .step = TASK_LIVE,
	        .adopted = sqlite3_column_int(st, 11) != 0,
	        .copied = read_json(st, 12, json_array()),
	        .detail = read_json(st, 13, json_object()),
	};
	oid_parse(&r->base, sql_text(st, 5));
	for (size_t i = 0; i < NELEMS(step_texts); i++)
		if (strcmp(step, step_texts[i]) == 0)
			r->step = (enum task_step)i;
}

int task_records(struct store *s, struct task_record_list *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	AUTORECORDS l = {0};
	size_t cap = 0;
	int rc;

	*ret = (struct task_record_list){0};
	if (!s)
		return 0;
	if (sql_prepare(s, &st, err, "SELECT " COLUMNS " FROM task ORDER BY id", "") < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 1) {
		if (l.n == cap) {
			cap = cap ? cap * 2 : 16;
			l.v = xreallocarray(l.v, cap, sizeof(*l.v));
		}
		read_row(st, &l.v[l.n++]);
	}
	if (rc < 0)
		return -1;
	*ret = l;
	l = (struct task_record_list){0};
	return 0;
}

int task_record_by_id(struct store *s, const char *id, struct task_record *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	if (!s)
		return 1;
	if (sql_prepare(s, &st, err, "SELECT " COLUMNS " FROM task WHERE id = ?", "t", id) < 0)
		return -1;
	rc = sql_step(s, st, err);
	if (rc != 1)
		return rc < 0 ? -1 : 1;
	read_row(st, ret);
	return 0;
}

int task_records_pending(struct store *s, bool *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	*ret = false;
	if (!s)
		return 0;
	if (sql_prepare(s, &st, err,
	            "SELECT 1 FROM task WHERE step <> 'live' "
	            "UNION ALL SELECT 1 FROM updating LIMIT 1",
	            "") < 0)
		return -1;
	rc = sql_step(s, st, err);
	if (rc < 0)
		return -1;
	*ret = rc == 1;
	return 0;
}

/* --- Writing --------------------------------------------------------------- */

/* The ports that are given out, as a sorted walk beside the range. */
static int choose_port(
        struct store *s, int from, int to, bool (*is_free)(int port), int *ret, struct err *err)
{
	AUTOFREE bool *taken = xcalloc((size_t)(to - from), sizeof(*taken));
	AUTOSTMT *st = NULL;
	uint32_t span = (uint32_t)(to - from);
	uint32_t first = random_below(span);
	int rc;

	if (sql_prepare(s, &st, err, "SELECT port FROM task WHERE port >= ? AND port < ?", "ii",
	            (int64_t)from, (int64_t)to) < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 1)
		taken[sqlite3_column_int(st, 0) - from] = true;
	if (rc < 0)
		return -1;
	/* From a random place on: a port is not handed on to the next task at once. */
	for (uint32_t i = 0; i < span; i++) {
		uint32_t k = (first + i) % span;
		if (!taken[k] && is_free(from + (int)k)) {
			*ret = from + (int)k;
			return 0;
		}
	}
	err_set(err, ERR_BUSY, "No port from %d to %d is free for another task.", from, to - 1);
	err_hint(err, "Land or drop tasks that are not needed any more (`abide status`).");
	return -1;
}

static int insert(struct store *s, struct task_record *r, int port_from, int port_to,
        bool (*port_free)(int port), struct err *err)
{
	AUTORECORD same = {0};
	int rc = task_record_by_id(s, r->id, &same, err);

	if (rc <= 0)
		return rc < 0 ? -1 : 1;
	if (choose_port(s, port_from, port_to, port_free, &r->port, err) < 0)
		return -1;
	r->made_at = clock_wall_ms();
	r->step = TASK_MAKING;
	if (sql_run(s, err,
	            "INSERT INTO task (id, branch, worktree, base, base_name, port, made_by, "
	            "made_at, step, adopted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	            "tttttititb", r->id, r->branch, r->worktree, r->base.hex, r->base_name,
	            (int64_t)r->port, r->made_by, r->made_at, step_texts[TASK_MAKING],
	            (int)r->adopted) < 0)
		return -1;
	r->row = sqlite3_last_insert_rowid(s->db);
	/* Taken before anybody can see the row: it never looks dead. */
	if (!store_alive_take(s, ALIVE_TASK, r->row)) {
		err_set(err, ERR_WRITE_DENIED, "The lock file %s/alive.lck could not be locked.",
		        s->dir);
		err_hint(err, "Check the rights of %s and its file system's support for locks.",
		        s->dir);
		return -1;
	}
	return 0;
}

int task_record_add(struct store *s, struct task_record *r, int port_from, int port_to,
        bool (*port_free)(int port), struct err *err)
{
	int rc;

	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	rc = insert(s, r, port_from, port_to, port_free, err);
	if (rc != 0) {
		store_rollback(s);
		return rc;
	}
	if (store_commit(s, false, err) < 0) {
		store_alive_free(s, ALIVE_TASK, r->row);
		return -1;
	}
	return 0;
}

int task_record_borrow(struct store *s, struct task_record *r, struct err *err)
{
	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	if (sql_run(s, err,
	            "INSERT INTO task (id, branch, worktree, git_dir, made_by, made_at, step, "
	            "adopted) VALUES (?, ?, ?, ?, ?, 0, ?, 1)",
	            "tttttt", r->id, r->branch, r->worktree, r->git_dir, r->made_by,
	            step_texts[TASK_REMOVING]) < 0) {
		store_rollback(s);
		return -1;
	}
	r->row = sqlite3_last_insert_rowid(s->db);
	r->made_at = 0;
	r->step = TASK_REMOVING;
	return store_commit(s, false, err);
}

int task_record_update(struct store *s, const struct task_record *r, bool ring, struct err *err)
{
	AUTOFREE char *copied = r->copied ? json_line(r->copied) : xstrdup("[]");
	AUTOFREE char *detail = r->detail ? json_line(r->detail) : xstrdup("{}");

	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	if (sql_run(s, err,
	            "UPDATE task SET step = ?, git_dir = ?, worktree = ?, copied = ?, detail = ? "
	            "WHERE id = ?",
	            "tttttt", step_texts[r->step], r->git_dir ? r->git_dir : "", r->worktree,
	            copied, detail, r->id) < 0) {
		store_rollback(s);
		return -1;
	}
	return store_commit(s, ring, err);
}

int task_record_remove(struct store *s, const struct task_record *r, struct err *err)
{
	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	if (sql_run(s, err, "DELETE FROM task WHERE id = ? AND rowid = ?", "ti", r->id, r->row) <
	        0) {
		store_rollback(s);
		return -1;
	}
	/* Before the row's number can be given to another. */
	store_alive_free(s, ALIVE_TASK, r->row);
	return store_commit(s, true, err);
}
