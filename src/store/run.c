#include "store/run.h"

#include <unistd.h>

#include "store/sql.h"

enum { KEPT_PER_BRANCH = 10 };

static const char *const states[] = {
#define X(name, word, verdict) [RUN_##name] = word,
        RUN_STATES(X)
#undef X
};

const char *run_state_text(enum run_state state)
{
	return states[state];
}

/* A state that this program does not know is no verdict. */
static enum run_state state_from(const char *text)
{
	for (size_t i = 0; i < NELEMS(states); i++)
		if (strcmp(states[i], text) == 0)
			return (enum run_state)i;
	return RUN_INTERRUPTED;
}

void run_release(struct run *r)
{
	if (!r)
		return;
	free(r->branch);
	free(r->gate_digest);
	free(r->worktree);
	free(r->started);
	json_decref(r->jobs);
	json_decref(r->detail);
	free(r->log_dir);
	*r = (struct run){0};
}

/* --- Reading -------------------------------------------------------------- */

#define COLUMNS                                                                                    \
	"SELECT id, branch, commit_id, tree_id, gate_digest, worktree, state, detached, pid, "     \
	"started, jobs, detail, begun_at, ended_at FROM gate_run "
enum {
	COL_ID,
	COL_BRANCH,
	COL_COMMIT,
	COL_TREE,
	COL_DIGEST,
	COL_WORKTREE,
	COL_STATE,
	COL_DETACHED,
	COL_PID,
	COL_STARTED,
	COL_JOBS,
	COL_DETAIL,
	COL_BEGUN,
	COL_ENDED
};

static char *log_dir_of(const struct store *s, int64_t id)
{
	return xasprintf("%s/logs/%lld", s->dir, (long long)id);
}

static json_t *read_json(sqlite3_stmt *st, int column, json_type type)
{
	const char *text = sql_text(st, column);
	json_t *v = json_read(text, strlen(text), NULL);

	if (v && json_typeof(v) == type)
		return v;
	json_decref(v);
	return type == JSON_ARRAY ? json_array() : json_object();
}

/* Rows hold the names of logs alone, so that a repository may be moved. */
static void name_logs(json_t *jobs, const char *dir)
{
	json_t *job;
	size_t i;

	json_array_foreach (jobs, i, job) {
		const char *log = json_text(job, "log");
		AUTOFREE char *path = log ? path_join(dir, log) : NULL;
		if (path)
			json_put_text(job, "log", path);
	}
}

static void read_row(struct store *s, sqlite3_stmt *st, struct run *ret)
{
	*ret = (struct run){
	        .id = sqlite3_column_int64(st, COL_ID),
	        .branch = xstrdup(sql_text(st, COL_BRANCH)),
	        .gate_digest = xstrdup(sql_text(st, COL_DIGEST)),
	        .worktree = xstrdup(sql_text(st, COL_WORKTREE)),
	        .state = state_from(sql_text(st, COL_STATE)),
	        .detached = sqlite3_column_int(st, COL_DETACHED) != 0,
	        .pid = (pid_t)sqlite3_column_int(st, COL_PID),
	        .started = xstrdup(sql_text(st, COL_STARTED)),
	        .jobs = read_json(st, COL_JOBS, JSON_ARRAY),
	        .detail = read_json(st, COL_DETAIL, JSON_OBJECT),
	        .begun_at = sqlite3_column_int64(st, COL_BEGUN),
	        .ended_at = sqlite3_column_int64(st, COL_ENDED),
	};
	oid_parse(&ret->commit, sql_text(st, COL_COMMIT));
	oid_parse(&ret->tree, sql_text(st, COL_TREE));
	ret->log_dir = log_dir_of(s, ret->id);
	name_logs(ret->jobs, ret->log_dir);
	if (ret->state == RUN_RUNNING && !store_alive(s, ALIVE_RUN, ret->id))
		ret->state = RUN_INTERRUPTED;
}

/* The first row of a query. 1: none. */
static int first(struct store *s, sqlite3_stmt *st, struct run *ret, struct err *err)
{
	int rc = sql_step(s, st, err);

	if (rc == 1)
		read_row(s, st, ret);
	return rc < 0 ? -1 : rc == 0;
}

/* The first row that is going on in a living process. 1: none. */
static int first_live(struct store *s, sqlite3_stmt *st, struct run *ret, struct err *err)
{
	int rc;

	while ((rc = sql_step(s, st, err)) == 1) {
		if (!store_alive(s, ALIVE_RUN, sqlite3_column_int64(st, COL_ID)))
			continue;
		read_row(s, st, ret);
		return 0;
	}
	return rc < 0 ? -1 : 1;
}

int run_newest(struct store *s, const struct oid *commit, struct run *ret, struct err *err)
{
	AUTOSTMT *st = NULL;

	if (!s)
		return 1;
	if (sql_prepare(s, &st, err, COLUMNS "WHERE commit_id = ? ORDER BY id DESC LIMIT 1", "t",
	            commit->hex) < 0)
		return -1;
	return first(s, st, ret, err);
}

int run_newest_verdict(struct store *s, const struct oid *commit, struct run *ret, struct err *err)
{
	AUTOSTMT *st = NULL;

	if (!s)
		return 1;
	if (sql_prepare(s, &st, err,
	            COLUMNS "WHERE commit_id = ? AND state IN ('passed', 'red')"
	                    " ORDER BY id DESC LIMIT 1",
	            "t", commit->hex) < 0)
		return -1;
	return first(s, st, ret, err);
}

int run_proof(struct store *s, const struct oid *commit, struct run *ret, struct err *err)
{
	AUTORUN newest = {0};
	int rc = run_newest_verdict(s, commit, &newest, err);

	if (rc != 0)
		return rc;
	if (newest.state != RUN_PASSED)
		return 1;
	*ret = newest;
	newest = (struct run){0};
	return 0;
}

int run_branch_proof(struct store *s, const char *branch, struct run *ret, struct err *err)
{
	AUTOSTMT *st = NULL;

	if (!s)
		return 1;
	if (sql_prepare(s, &st, err,
	            COLUMNS "WHERE branch = ? AND state = 'passed' ORDER BY id DESC LIMIT 1", "t",
	            branch) < 0)
		return -1;
	return first(s, st, ret, err);
}

int run_by_id(struct store *s, int64_t id, struct run *ret, struct err *err)
{
	AUTOSTMT *st = NULL;

	if (!s)
		return 1;
	if (sql_prepare(s, &st, err, COLUMNS "WHERE id = ?", "i", id) < 0)
		return -1;
	return first(s, st, ret, err);
}

int run_live(struct store *s, const struct oid *commit, struct run *ret, struct err *err)
{
	AUTOSTMT *st = NULL;

	if (!s)
		return 1;
	if (sql_prepare(s, &st, err,
	            COLUMNS "WHERE state = 'running' AND commit_id = ? ORDER BY id DESC", "t",
	            commit->hex) < 0)
		return -1;
	return first_live(s, st, ret, err);
}

int run_live_on(struct store *s, const char *branch, struct run *ret, struct err *err)
{
	AUTOSTMT *st = NULL;

	if (!s)
		return 1;
	if (sql_prepare(s, &st, err,
	            COLUMNS "WHERE state = 'running' AND branch = ? ORDER BY id DESC", "t",
	            branch) < 0)
		return -1;
	return first_live(s, st, ret, err);
}

/* --- Writing -------------------------------------------------------------- */

/* Ends the transaction: commits when RC is 0, else takes it back. */
static int settle(struct store *s, int rc, bool ring, struct err *err)
{
	if (rc >= 0)
		return store_commit(s, ring, err) < 0 ? -1 : rc;
	store_rollback(s);
	return -1;
}

/* Those that still claim to run, and whose process is gone. */
static int bury_the_dead(struct store *s, struct err *err)
{
	AUTOSTMT *st = NULL;
	AUTOFREE int64_t *dead = NULL;
	size_t n = 0;
	int rc;

	if (sql_prepare(s, &st, err, "SELECT id FROM gate_run WHERE state = 'running'", "") < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 1) {
		int64_t id = sqlite3_column_int64(st, 0);
		if (store_alive_ask(s, ALIVE_RUN, id) != 0)
			continue;
		dead = xreallocarray(dead, n + 1, sizeof(*dead));
		dead[n++] = id;
	}
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = sql_run(s, err,
		        "UPDATE gate_run SET state = 'interrupted', ended_at = ? WHERE id = ?",
		        "ii", clock_wall_ms(), dead[i]);
	return rc;
}

/* Who stands in the way. Everybody left that claims to run does. */
static int find_other(
        struct store *s, const struct run *r, enum run_made *ret, int64_t *ret_id, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	*ret = RUN_MADE;
	if (sql_prepare(s, &st, err,
	            "SELECT id, commit_id = ? FROM gate_run WHERE state = 'running'"
	            " AND (commit_id = ? OR worktree = ?) ORDER BY commit_id = ? DESC, id DESC",
	            "tttt", r->commit.hex, r->commit.hex, r->worktree, r->commit.hex) < 0)
		return -1;
	rc = sql_step(s, st, err);
	if (rc != 1)
		return rc;
	*ret = sqlite3_column_int(st, 1) ? RUN_JOIN : RUN_OTHER;
	*ret_id = sqlite3_column_int64(st, 0);
	return 0;
}

static int insert(
        struct store *s, const struct run *r, int64_t *ret_id, int *ret_alive, struct err *err)
{
	AUTOFREE char *jobs = json_line(r->jobs);

	if (sql_run(s, err,
	            "INSERT INTO gate_run (branch, commit_id, tree_id, gate_digest, worktree, "
	            "state,"
	            " detached, jobs, begun_at) VALUES (?, ?, ?, ?, ?, 'running', ?, ?, ?)",
	            "tttttbti", r->branch, r->commit.hex, r->tree.hex, r->gate_digest, r->worktree,
	            (int)r->detached, jobs, clock_wall_ms()) < 0)
		return -1;
	*ret_id = sqlite3_last_insert_rowid(s->db);
	/* Taken before anybody can see the row: it never looks dead. */
	*ret_alive = store_alive_lend(s, ALIVE_RUN, *ret_id);
	if (*ret_alive >= 0)
		return 0;
	err_set(err, ERR_WRITE_DENIED, "The lock file %s/alive.lck could not be locked.", s->dir);
	err_hint(err, "Check the rights of %s and its file system's support for locks.", s->dir);
	return -1;
}

/* A run that ended since the caller looked. */
static int find_proof(
        struct store *s, const struct run *r, enum run_made *ret, int64_t *ret_id, struct err *err)
{
	AUTORUN proof = {0};
	int rc = run_proof(s, &r->commit, &proof, err);

	if (rc == 0 && strcmp(proof.gate_digest, r->gate_digest) == 0) {
		*ret = RUN_PROVEN;
		*ret_id = proof.id;
	}
	return rc < 0 ? -1 : 0;
}

int run_create(struct store *s, const struct run *r, bool again, enum run_made *ret,
        int64_t *ret_id, int *ret_alive, struct err *err)
{
	int rc;

	*ret_alive = -1;
	if (store_begin(s, STORE_QUICK, err) < 0)
		return -1;
	rc = bury_the_dead(s, err);
	if (rc == 0)
		rc = find_other(s, r, ret, ret_id, err);
	if (rc == 0 && *ret != RUN_JOIN && !again)
		rc = find_proof(s, r, ret, ret_id, err);
	if (rc == 0 && *ret == RUN_MADE)
		rc = insert(s, r, ret_id, ret_alive, err);
	rc = settle(s, rc, true, err);
	if (rc < 0 && *ret_alive >= 0) {
		close(*ret_alive);
		*ret_alive = -1;
	}
	return rc;
}

/* One UPDATE in a transaction of its own. 1: no such row. */
#define UPDATE(s, err, ...)                                                                        \
	(store_begin(s, STORE_QUICK, err) < 0                                                      \
	                ? -1                                                                       \
	                : settle(s, updated(s, sql_run(s, err, __VA_ARGS__)), true, err))

static int updated(struct store *s, int rc)
{
	return rc < 0 ? -1 : sqlite3_changes(s->db) == 0;
}

int run_claim(struct store *s, int64_t id, struct err *err)
{
	AUTOFREE char *boot = platform_boot_id();
	AUTOFREE char *started =
	        xasprintf("%lld %s", (long long)platform_start_time(getpid()), boot);

	return UPDATE(s, err,
	        "UPDATE gate_run SET pid = ?, started = ? WHERE id = ? AND state = 'running'",
	        "iti", (int64_t)getpid(), started, id);
}

int run_set_jobs(struct store *s, int64_t id, const json_t *jobs, struct err *err)
{
	AUTOFREE char *text = json_line(jobs);

	return UPDATE(s, err, "UPDATE gate_run SET jobs = ? WHERE id = ? AND state = 'running'",
	        "ti", text, id);
}

int run_finish(struct store *s, int64_t id, enum run_state state, const json_t *jobs,
        const json_t *detail, struct err *err)
{
	AUTOFREE char *jobs_text = json_line(jobs);
	AUTOFREE char *detail_text = json_line(detail);

	return UPDATE(s, err,
	        "UPDATE gate_run SET state = ?, jobs = ?, detail = ?, ended_at = ?"
	        " WHERE id = ? AND state = 'running'",
	        "tttii", run_state_text(state), jobs_text, detail_text, clock_wall_ms(), id);
}

int run_detach(struct store *s, int64_t id, struct err *err)
{
	return UPDATE(s, err, "UPDATE gate_run SET detached = 1 WHERE id = ? AND state = 'running'",
	        "i", id);
}

int run_ask_cancel(struct store *s, int64_t id, const char *reason, struct err *err)
{
	return UPDATE(s, err,
	        "UPDATE gate_run SET detail = json_set(detail, '$.cancel', ?)"
	        " WHERE id = ? AND state = 'running'",
	        "ti", reason, id);
}

/* --- Keeping -------------------------------------------------------------- */

int run_commits(struct store *s, struct strv *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	if (sql_prepare(s, &st, err, "SELECT DISTINCT commit_id FROM gate_run", "") < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 1)
		strv_push(ret, sql_text(st, 0));
	return rc;
}

/* Ids as text of what may go: of one commit, or (COMMIT NULL) what is beyond the newest few. */
static int find_old(struct store *s, const char *commit, struct strv *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc = commit ? sql_prepare(s, &st, err,
	                          "SELECT id FROM gate_run"
	                          " WHERE commit_id = ? AND state <> 'running'",
	                          "t", commit)
	                : sql_prepare(s, &st, err,
	                          "SELECT id FROM (SELECT id, state, row_number() OVER"
	                          " (PARTITION BY branch ORDER BY id DESC) AS place FROM gate_run)"
	                          " WHERE place > ? AND state <> 'running'",
	                          "i", (int64_t)KEPT_PER_BRANCH);

	if (rc < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 1)
		strv_push(ret, sql_text(st, 0));
	return rc;
}

int run_forget(struct store *s, const struct strv *gone, struct err *err)
{
	AUTOSTRV old = {0};
	int rc = find_old(s, NULL, &old, err);

	for (size_t i = 0; gone && i < gone->n && rc == 0; i++)
		rc = find_old(s, gone->v[i], &old, err);
	if (rc < 0 || !old.n)
		return rc;
	/* The folders first: a row without logs is better than logs without a row. */
	for (size_t i = 0; i < old.n; i++) {
		AUTOFREE char *dir = log_dir_of(s, strtoll(old.v[i], NULL, 10));
		if (fs_remove_tree(dir, err) < 0)
			return -1;
	}
	if (store_begin(s, STORE_QUICK, err) < 0)
		return -1;
	for (size_t i = 0; i < old.n && rc == 0; i++)
		rc = sql_run(s, err, "DELETE FROM gate_run WHERE id = ?", "t", old.v[i]);
	return settle(s, rc, false, err);
}
