#include "store/update.h"

#include "store/sql.h"

void update_record_release(struct update_record *r)
{
	if (!r)
		return;
	free(r->git_dir);
	free(r->worktree);
	free(r->branch);
	free(r->message);
	*r = (struct update_record){0};
}

void update_record_list_release(struct update_record_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		update_record_release(&l->v[i]);
	free(l->v);
	*l = (struct update_record_list){0};
}

/* A row of a process that died, and that nobody has put right yet, gives way: the worktree was
   found clean. */
static int give_way(struct store *s, const char *git_dir, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	if (sql_prepare(s, &st, err, "SELECT rowid FROM updating WHERE git_dir = ?", "t", git_dir) <
	        0)
		return -1;
	rc = sql_step(s, st, err);
	if (rc != 1)
		return rc;
	if (store_alive(s, ALIVE_UPDATE, sqlite3_column_int64(st, 0))) {
		err_set(err, ERR_BUSY, "Another update is at work in this worktree.");
		err_hint(err, "Run the same command again when it has ended.");
		return -1;
	}
	return sql_run(s, err, "DELETE FROM updating WHERE git_dir = ?", "t", git_dir);
}

static int insert(struct store *s, struct update_record *r, struct err *err)
{
	r->begun_at = clock_wall_ms();
	if (give_way(s, r->git_dir, err) < 0 ||
	        sql_run(s, err,
	                "INSERT INTO updating (git_dir, worktree, branch, tip, target, result, "
	                "message, begun_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	                "ttttttti", r->git_dir, r->worktree, r->branch, r->tip.hex, r->target.hex,
	                r->result.hex, r->message, r->begun_at) < 0)
		return -1;
	r->row = sqlite3_last_insert_rowid(s->db);
	/* Taken before anybody can see the row: it never looks dead. */
	if (store_alive_take(s, ALIVE_UPDATE, r->row))
		return 0;
	err_set(err, ERR_WRITE_DENIED, "The lock file %s/alive.lck could not be locked.", s->dir);
	err_hint(err, "Check the rights of %s and its file system's support for locks.", s->dir);
	return -1;
}

int update_record_add(struct store *s, struct update_record *r, struct err *err)
{
	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	if (insert(s, r, err) < 0) {
		store_rollback(s);
		return -1;
	}
	if (store_commit(s, false, err) == 0)
		return 0;
	store_alive_free(s, ALIVE_UPDATE, r->row);
	return -1;
}

int update_record_remove(struct store *s, const struct update_record *r, struct err *err)
{
	if (store_begin(s, STORE_QUICK, err) < 0)
		return -1;
	if (sql_run(s, err, "DELETE FROM updating WHERE git_dir = ? AND rowid = ?", "ti",
	            r->git_dir, r->row) < 0) {
		store_rollback(s);
		return -1;
	}
	/* Before the row's number can be given to another. */
	store_alive_free(s, ALIVE_UPDATE, r->row);
	return store_commit(s, false, err);
}

int update_records(struct store *s, struct update_record_list *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	AUTOUPDATES l = {0};
	size_t cap = 0;
	int rc;

	*ret = (struct update_record_list){0};
	if (!s)
		return 0;
	if (sql_prepare(s, &st, err,
	            "SELECT rowid, git_dir, worktree, branch, tip, target, result, message, "
	            "begun_at "
	            "FROM updating ORDER BY rowid",
	            "") < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 1) {
		struct update_record *r;

		if (l.n == cap) {
			cap = cap ? cap * 2 : 4;
			l.v = xreallocarray(l.v, cap, sizeof(*l.v));
		}
		r = &l.v[l.n++];
		*r = (struct update_record){
		        .row = sqlite3_column_int64(st, 0),
		        .git_dir = sql_dup(st, 1),
		        .worktree = sql_dup(st, 2),
		        .branch = sql_dup(st, 3),
		        .message = sql_dup(st, 7),
		        .begun_at = sqlite3_column_int64(st, 8),
		};
		oid_parse(&r->tip, sql_text(st, 4));
		oid_parse(&r->target, sql_text(st, 5));
		oid_parse(&r->result, sql_text(st, 6));
	}
	if (rc < 0)
		return -1;
	*ret = l;
	l = (struct update_record_list){0};
	return 0;
}
