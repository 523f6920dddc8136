#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "store/sql.h"

char *store_dir_of(const char *common)
{
	return path_join(common, "abide");
}

bool store_is_read_only(const struct store *s)
{
	return s->read_only;
}

const char *store_dir(const struct store *s)
{
	return s->dir;
}

int store_version_known(void)
{
	return schema_version;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	if (s->in_txn)
		store_rollback(s);
	sqlite3_close(s->db);
	if (s->alive_fd >= 0)
		close(s->alive_fd);
	if (s->query_fd >= 0)
		close(s->query_fd);
	free(s->common);
	free(s->dir);
	free(s);
}

/* --- Errors -------------------------------------------------------------- */

static const struct {
	int code; /* primary result code */
	enum err_code err;
	const char *hint;
} sql_errors[] = {
        {SQLITE_READONLY, ERR_WRITE_DENIED,
                "Make the git folder writable for this user and try again."},
        {SQLITE_PERM, ERR_WRITE_DENIED,
                "Make the git folder writable for this user and try again."},
        {SQLITE_FULL, ERR_WRITE_DENIED, "Free some disk space and try again."},
        {SQLITE_IOERR, ERR_WRITE_DENIED, "Check the disk (space, errors) and try again."},
        {SQLITE_CANTOPEN, ERR_WRITE_DENIED, "Check the rights of the git folder and try again."},
        {SQLITE_BUSY, ERR_BUSY, "Many processes write at once; run the same command again."},
        {SQLITE_LOCKED, ERR_BUSY, "Many processes write at once; run the same command again."},
        {SQLITE_CORRUPT, ERR_READ_FAILED, NULL},
        {SQLITE_NOTADB, ERR_READ_FAILED, NULL},
};

int sql_failed(struct store *s, struct err *err)
{
	int code = sqlite3_errcode(s->db);

	for (size_t i = 0; i < NELEMS(sql_errors); i++) {
		if (sql_errors[i].code != (code & 0xff))
			continue;
		err_set(err, sql_errors[i].err, "The store %s/state.db: %s.", s->dir,
		        sqlite3_errmsg(s->db));
		if (sql_errors[i].hint) {
			err_hint(err, "%s", sql_errors[i].hint);
		} else {
			err_hint(err,
			        "Move the damaged store away with `mv %s %s.damaged`: history and "
			        "open waits are lost by that, but not what landed, which is in "
			        "git.",
			        s->dir, s->dir);
		}
		return -1;
	}
	err_set(err, ERR_INTERNAL, "The store %s/state.db: %s (%d).", s->dir, sqlite3_errmsg(s->db),
	        sqlite3_extended_errcode(s->db));
	err_hint(err, "Report this, with what `abide doctor` prints.");
	return -1;
}

/* --- Statements ---------------------------------------------------------- */

static int bind(sqlite3_stmt *st, const char *types, va_list ap)
{
	for (int i = 1; *types; types++, i++) {
		const char *text;
		switch (*types) {
		case 't':
			text = va_arg(ap, const char *);
			sqlite3_bind_text(st, i, text, -1, SQLITE_TRANSIENT);
			break;
		case 'i':
			sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
			break;
		case 'b':
			sqlite3_bind_int(st, i, va_arg(ap, int) != 0);
			break;
		default:
			return -1;
		}
	}
	return 0;
}

static int prepare(struct store *s, sqlite3_stmt **ret, struct err *err, const char *sql,
        const char *types, va_list ap)
{
	if (sqlite3_prepare_v2(s->db, sql, -1, ret, NULL) != SQLITE_OK)
		return sql_failed(s, err);
	if (bind(*ret, types, ap) < 0)
		return err_set(err, ERR_INTERNAL, "Unknown binding in `%s`.", sql);
	return 0;
}

int sql_prepare(struct store *s, sqlite3_stmt **ret, struct err *err, const char *sql,
        const char *types, ...)
{
	va_list ap;
	int rc;

	va_start(ap, types);
	rc = prepare(s, ret, err, sql, types, ap);
	va_end(ap);
	return rc;
}

int sql_step(struct store *s, sqlite3_stmt *st, struct err *err)
{
	switch (sqlite3_step(st)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return sql_failed(s, err);
	}
}

int sql_run(struct store *s, struct err *err, const char *sql, const char *types, ...)
{
	AUTOSTMT *st = NULL;
	va_list ap;
	int rc;

	va_start(ap, types);
	rc = prepare(s, &st, err, sql, types, ap);
	va_end(ap);
	while (rc == 0) {
		rc = sql_step(s, st, err);
		if (rc <= 0)
			return rc;
		rc = 0;
	}
	return -1;
}

const char *sql_text(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return text ? text : "";
}

char *sql_dup(sqlite3_stmt *st, int column)
{
	return xstrdup((const char *)sqlite3_column_text(st, column));
}

/* --- Transactions -------------------------------------------------------- */

int store_begin(struct store *s, enum store_sync sync, struct err *err)
{
	if (s->read_only) {
		err_set(err, ERR_WRITE_DENIED, "The store in %s can only be read.", s->dir);
		err_hint(err, "Make the git folder writable for this user and try again.");
		return -1;
	}
	if ((!s->sync_set || sync != s->sync) &&
	        sql_run(s, err,
	                sync == STORE_DURABLE ? "PRAGMA synchronous=FULL"
	                                      : "PRAGMA synchronous=NORMAL",
	                "") < 0)
		return -1;
	s->sync = sync;
	s->sync_set = true;
	if (seam_fails("store:begin")) {
		err_set(err, ERR_WRITE_DENIED, "The store %s/state.db: a test lets it fail.",
		        s->dir);
		err_hint(err, "Free some disk space and try again.");
		return -1;
	}
	if (sql_run(s, err, "BEGIN IMMEDIATE", "") < 0)
		return -1;
	s->in_txn = true;
	return 0;
}

int store_commit(struct store *s, bool ring, struct err *err)
{
	if (sql_run(s, err, "COMMIT", "") < 0) {
		store_rollback(s);
		return -1;
	}
	s->in_txn = false;
	if (ring)
		store_ring(s);
	return 0;
}

void store_rollback(struct store *s)
{
	if (s->in_txn)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->in_txn = false;
}

void store_ring(struct store *s)
{
	AUTOFREE char *bell = NULL;

	if (!s)
		return;
	bell = path_join(s->dir, "bell/b");
	/* Best effort: a wait that misses it looks again by itself. */
	utimensat(AT_FDCWD, bell, NULL, 0);
}

/* --- Opening ------------------------------------------------------------- */

/*
 * SQLite's own busy time-out sleeps up to 100 ms and stalls for seconds under
 * many writers; short random pauses do not. Gives up after about 30 s.
 */
static int on_busy(void *ctx, int tries)
{
	(void)ctx;
	if (tries > 8000)
		return 0;
	random_pause_us(200, tries < 4 ? 1000 : 6000);
	return 1;
}

static int open_db(struct store *s, int flags, struct err *err)
{
	AUTOFREE char *path = path_join(s->dir, "state.db");
	int on = 1;

	if (sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return sql_failed(s, err);
	sqlite3_busy_handler(s->db, on_busy, NULL);
	/* With -wal and -shm kept, a store in a read-only folder can still be read. */
	sqlite3_file_control(s->db, NULL, SQLITE_FCNTL_PERSIST_WAL, &on);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	return sql_run(s, err, "PRAGMA foreign_keys=ON", "") < 0 ||
	                sql_run(s, err, "PRAGMA cache_size=-256", "") < 0
	        ? -1
	        : 0;
}

static int read_version(struct store *s, int *ret, struct err *err)
{
	AUTOSTMT *st = NULL;
	int rc;

	if (sql_prepare(s, &st, err, "PRAGMA user_version", "") < 0)
		return -1;
	rc = sql_step(s, st, err);
	*ret = rc == 1 ? sqlite3_column_int(st, 0) : 0;
	return rc < 0 ? -1 : 0;
}

static int newer(const struct store *s, int version, struct err *err)
{
	err_set(err, ERR_NEWER_FORMAT,
	        "The store in %s was written by a newer abide (format %d, this one knows %d); it "
	        "was "
	        "left as it is.",
	        s->dir, version, schema_version);
	err_hint(err, "Use the newer abide for this repository.");
	return -1;
}

/* Brings the schema up to date; one creator at a time. */
static int migrate(struct store *s, struct err *err)
{
	AUTOFREE char *lock = path_join(s->dir, "create.lck");
	AUTOFREE char *fs = NULL;
	AUTOCLOSE int fd = -1;
	int version;
	bool local;

	if (fs_lock(lock, true, &fd, err) < 0 || read_version(s, &version, err) < 0)
		return -1;
	if (version > schema_version)
		return newer(s, version, err);
	if (version == 0) {
		fs = platform_fs_type(s->dir, &local);
		/* WAL needs shared memory, which network file systems lack. */
		if (sql_run(s, err,
		            local ? "PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=DELETE",
		            "") < 0)
			return -1;
	}
	if (version == schema_version)
		return 0;
	if (store_begin(s, STORE_DURABLE, err) < 0)
		return -1;
	for (; version < schema_version; version++) {
		AUTOFREE char *set = xasprintf("PRAGMA user_version=%d", version + 1);
		if (sqlite3_exec(s->db, schema_migrations[version], NULL, NULL, NULL) !=
		                SQLITE_OK ||
		        sqlite3_exec(s->db, set, NULL, NULL, NULL) != SQLITE_OK) {
			sql_failed(s, err);
			store_rollback(s);
			return -1;
		}
	}
	return store_commit(s, false, err);
}

/* An empty file, made with rights that SQLite's own files then take over. */
static int touch(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0) {
		err_set(err, ERR_WRITE_DENIED, "%s could not be made: %s.", path, strerror(errno));
		err_hint(err, "Make the git folder writable for this user and try again.");
		return -1;
	}
	close(fd);
	return 0;
}

static int make_folder(const struct store *s, struct err *err)
{
	AUTOFREE char *db = path_join(s->dir, "state.db");
	AUTOFREE char *bell_dir = path_join(s->dir, "bell");
	AUTOFREE char *bell = path_join(bell_dir, "b");

	if (fs_exists(bell) && fs_exists(db))
		return 0;
	if (fs_mkdirs(s->dir, 0700, err) < 0 || fs_mkdirs(bell_dir, 0700, err) < 0)
		return -1;
	return touch(db, err) < 0 || touch(bell, err) < 0 ? -1 : 0;
}

int store_open(const char *common, enum store_mode mode, struct store **ret, struct err *err)
{
	AUTOSTORE *s = xcalloc(1, sizeof(*s));
	AUTOFREE char *db = NULL;
	int version;

	s->alive_fd = s->query_fd = -1;

	s->common = xstrdup(common);
	s->dir = store_dir_of(common);
	s->read_only = mode == STORE_READ;
	db = path_join(s->dir, "state.db");
	*ret = NULL;
	if (mode == STORE_READ && !fs_exists(db))
		return 0;
	if (mode == STORE_WRITE && make_folder(s, err) < 0)
		return -1;
	/* A reader, too, opens for writing where it may: WAL needs its shared memory. */
	if (open_db(s,
	            mode == STORE_WRITE || access(db, W_OK) == 0 ? SQLITE_OPEN_READWRITE
	                                                         : SQLITE_OPEN_READONLY,
	            err) < 0 ||
	        read_version(s, &version, err) < 0)
		return -1;
	if (version > schema_version)
		return newer(s, version, err);
	/* Another process is just making it: nothing to read yet. */
	if (mode == STORE_READ && version < schema_version)
		return 0;
	if (mode == STORE_WRITE && version < schema_version && migrate(s, err) < 0)
		return -1;
	*ret = STEAL(s);
	return 0;
}
