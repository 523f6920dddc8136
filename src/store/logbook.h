/*
 * logbook: the local record of verbs begun and finished. A memory and a wake
 * signal, never a clock or a verdict; writing it never fails a verb. Metadata
 * only: no output, no code, no values of arguments.
 *
 * A begin without an end is a verb that still works, or whose process died.
 */
#ifndef ABIDE_STORE_LOGBOOK_H
#define ABIDE_STORE_LOGBOOK_H

#include "git/git.h"
#include "store/store.h"

/* Kept: this many events, none older than this. */
enum { LOGBOOK_ROWS = 200000 };
#define LOGBOOK_KEPT_MS ((int64_t)730 * 24 * 3600 * 1000)

struct logbook_entry {
	const char *verb, *surface;
	const char *branch; /* full ref it works on, or NULL */
	const struct oid *head;
	const char *about;       /* await: what for; else NULL */
	const char *gate_digest; /* or NULL */
};
/*
 * Records the begin and takes its alive byte. 0 when it could not be recorded.
 * Now and then it also forgets a few events past what is kept.
 */
int64_t logbook_begin(struct store *s, const struct logbook_entry *e);
/* The same process's end of ID (0 is ignored): OUTCOME is "ok" or an error slug. */
void logbook_end(
        struct store *s, int64_t id, const char *outcome, int64_t duration_ms, int64_t waited_ms);

/*
 * The file that is touched after each begin and end, in a folder of its own:
 * what `log` and `status` follow. To be freed.
 */
char *logbook_pulse(const char *common);

/* --- Reading ---------------------------------------------------------------- */

/* A verb: what it was, and what came of it. */
struct logbook_event {
	int64_t id;
	char *verb, *surface;
	char *branch; /* full ref, "" none */
	struct oid head;
	char *about; /* "" none */
	char *gate_digest;
	int64_t begun_at, ended_at; /* ended_at 0: no end was recorded */
	char *outcome; /* "ok", a slug, "interrupted" when its process died; "" running */
	int64_t duration_ms, waited_ms;
	pid_t pid; /* for display */
};
struct logbook_list {
	struct logbook_event *v;
	size_t n;
};
void logbook_list_release(struct logbook_list *l);
#define AUTOLOGBOOK CLEANUP(logbook_list_release) struct logbook_list

/*
 * Every fresh begin without an end of BRANCH (full ref; NULL: of all), `await`
 * included, oldest first. Fresh: its process holds its alive byte. Where that
 * cannot be known: younger than one hour or ten medians of its verb, whichever
 * is more, or than a day where no run of the verb ever ended.
 */
int logbook_in_flight(
        struct store *s, const char *branch, struct logbook_list *ret, struct err *err);
/*
 * The newest LIMIT events of BRANCH (NULL: all), oldest first. An event whose
 * process died without an end is "interrupted".
 */
int logbook_newest(struct store *s, const char *branch, size_t limit, struct logbook_list *ret,
        struct err *err);
/* Events with ids above AFTER, at most LIMIT, oldest first. */
int logbook_after(struct store *s, const char *branch, int64_t after, size_t limit,
        struct logbook_list *ret, struct err *err);
/* Event ID as it now stands. 1: no longer there. */
int logbook_event_by_id(struct store *s, int64_t id, struct logbook_list *ret, struct err *err);
/* When anything but `await` last began or ended on BRANCH, 0 for never. */
int logbook_last_active(struct store *s, const char *branch, int64_t *ret_ms, struct err *err);

/* --- Priors ----------------------------------------------------------------- */

/* How long runs of a verb took, in milliseconds, time spent queueing taken out. */
struct prior {
	int64_t median_ms;
	int64_t p90_ms; /* nearest rank */
	size_t samples; /* 0: nothing is known */
};
enum { PRIOR_SAMPLES = 200 };
/* Sorts MS in place. */
void prior_of(int64_t *ms, size_t n, struct prior *ret);
/*
 * Over the newest 200 runs of VERB that ended ok: those under GATE_DIGEST where
 * there are any, else all. `await` has none, whatever was recorded.
 */
int logbook_prior(struct store *s, const char *verb, const char *gate_digest, struct prior *ret,
        struct err *err);
/* Whether a begin of AGE_MS, of whose process nothing can be known, still counts. */
bool logbook_fresh_by_age(int64_t age_ms, const struct prior *prior);

#endif
