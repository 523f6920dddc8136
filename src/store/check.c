#include "store/store.h"

#include "store/sql.h"

static int damaged(const struct store *s, const char *why, struct err *err)
{
	err_set(err, ERR_READ_FAILED, "The store %s/state.db is damaged: %s.", s->dir, why);
	err_hint(err,
	        "Move it away with `mv %s %s.damaged`: history and open waits are lost by that, "
	        "but "
	        "not what landed, which is in git.",
	        s->dir, s->dir);
	return -1;
}

int store_check(const char *common, int *ret_version, struct err *err)
{
	AUTOSTORE *s = NULL;
	AUTOSTMT *st = NULL;
	int rc;

	if (store_open(common, STORE_READ, &s, err) < 0)
		return -1;
	/* Made, but not filled yet, or older: the next writer brings it up to date. */
	*ret_version = 0;
	if (!s)
		return 0;
	*ret_version = schema_version;
	if (sql_prepare(s, &st, err, "PRAGMA quick_check(1)", "") < 0)
		return -1;
	rc = sql_step(s, st, err);
	if (rc < 0)
		return -1;
	return rc == 1 && strcmp(sql_text(st, 0), "ok") != 0 ? damaged(s, sql_text(st, 0), err) : 0;
}
