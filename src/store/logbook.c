#include "store/logbook.h"

#include <stdio.h>

#include "store/sql.h"

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
	store_alive_take(s, ALIVE_EVENT, id);
	return store_commit(s, false, NULL) < 0 ? 0 : id;
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
}
