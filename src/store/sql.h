/*
 * The few SQL helpers that the typed calls of this folder share. Nobody else
 * includes this.
 */
#ifndef ABIDE_STORE_SQL_H
#define ABIDE_STORE_SQL_H

#include <sqlite3.h>

#include "store/store.h"

struct store {
	sqlite3 *db;
	char *common;
	char *dir;    /* <common>/abide */
	int alive_fd; /* holds bytes; -1 until needed */
	int query_fd; /* asks for bytes, own ones included */
	bool in_txn, read_only;
	bool sync_set; /* whether SYNC was told to the database yet */
	enum store_sync sync;
};

/*
 * Prepares SQL and binds by TYPES, a character an argument: t text (NULL is
 * SQL NULL), i int64_t, b bool as int. The statement is to be finalized.
 */
int sql_prepare(struct store *s, sqlite3_stmt **ret, struct err *err, const char *sql,
        const char *types, ...);
/* One row: 1 row, 0 done, -1 error. */
int sql_step(struct store *s, sqlite3_stmt *st, struct err *err);
/* Prepares, runs to the end, finalizes. */
int sql_run(struct store *s, struct err *err, const char *sql, const char *types, ...);
/* Fills *err from the database's last error. Always -1. */
int sql_failed(struct store *s, struct err *err);

/* Column readers; text is "" for NULL, to be freed in its dup form. */
const char *sql_text(sqlite3_stmt *st, int column);
char *sql_dup(sqlite3_stmt *st, int column); /* NULL for NULL */

static inline void sql_finalizep(sqlite3_stmt **st)
{
	sqlite3_finalize(*st);
}
#define AUTOSTMT CLEANUP(sql_finalizep) sqlite3_stmt

/* schema.c: version N is reached by running migrations[N - 1]. */
extern const char *const schema_migrations[];
extern const int schema_version;

#endif
