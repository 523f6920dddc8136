/*
 * logbook: the local record of verbs begun and finished. A memory and a wake
 * signal, never a clock or a verdict; writing it never fails a verb. Metadata
 * only: no output, no code, no values of arguments.
 */
#ifndef ABIDE_STORE_LOGBOOK_H
#define ABIDE_STORE_LOGBOOK_H

#include "git/git.h"
#include "store/store.h"

struct logbook_entry {
	const char *verb, *surface;
	const char *branch; /* full ref it works on, or NULL */
	const struct oid *head;
	const char *about;       /* await: what for; else NULL */
	const char *gate_digest; /* or NULL */
};
/* Records the begin and takes its alive byte. 0 when it could not be recorded. */
int64_t logbook_begin(struct store *s, const struct logbook_entry *e);
/* The same process's end of ID (0 is ignored): OUTCOME is "ok" or an error slug. */
void logbook_end(
        struct store *s, int64_t id, const char *outcome, int64_t duration_ms, int64_t waited_ms);

#endif
