/*
 * Watches: durable questions. A watch is kept for 7 days since its last use,
 * then leaves a tombstone for 30; an open one is never put away for capacity.
 */
#ifndef ABIDE_STORE_WATCH_H
#define ABIDE_STORE_WATCH_H

#include "git/git.h"
#include "store/store.h"

enum { WATCH_VERSION = 1, WATCH_SYMBOLS = 10 };
#define WATCH_KEPT_MS (7 * INT64_C(86400000))
#define WATCH_TOMBSTONE_MS (30 * INT64_C(86400000))

enum watch_state { WATCH_OPEN, WATCH_MET, WATCH_STOPPED };

/* How the last call on a watch ended. X(name, text) */
#define WATCH_ENDS(X)                                                                              \
	X(UNKNOWN, "")                /* it is running, or was killed */                           \
	X(ANSWERED, "answered")       /* its answer was written */                                 \
	X(INTERRUPTED, "interrupted") /* a person stopped it with SIGINT */                        \
	X(CANCELLED, "cancelled")     /* SIGTERM, or its caller was gone */                        \
	X(UNDELIVERED, "undelivered") /* its answer could not be written */

enum watch_end {
#define X(name, text) WATCH_END_##name,
	WATCH_ENDS(X)
#undef X
};

struct watch {
	int64_t id;                     /* 0: not in the store */
	char handle[WATCH_SYMBOLS + 1]; /* canonical symbols */
	int version;                    /* of RECORD */
	char *question;                 /* canonical text */
	char *trunk;                    /* short name */
	struct oid baseline;
	char *worktree; /* where it was asked */
	enum watch_state state;
	json_t *record; /* what the wait engine remembers */
	json_t *answer; /* data of the met answer, or NULL */
	enum watch_end end;
	int64_t begun_at, used_at, ended_at;
};
void watch_release(struct watch *w);
#define AUTOWATCH CLEANUP(watch_release) struct watch
struct watch_list {
	struct watch *v;
	size_t n;
};
void watch_list_release(struct watch_list *l);
#define AUTOWATCHES CLEANUP(watch_list_release) struct watch_list

/*
 * Puts W into the store under a handle that MAKE_HANDLE fills (asked again on a
 * collision), and puts away what was not used for too long. Sets id and handle;
 * state and answer are written as they are.
 */
int watch_create(struct store *s, struct watch *w, void (*make_handle)(char *ret), struct err *err);
/* 1: no such watch; *RET_TOMBSTONE then says whether there was one. */
int watch_load(struct store *s, const char *handle, struct watch *ret, bool *ret_tombstone,
        struct err *err);
/*
 * Writes record, answer, state and end of W. When another caller has met or
 * stopped the watch meanwhile, nothing is written and W takes over its state
 * and answer.
 */
int watch_save(struct store *s, struct watch *w, struct err *err);
/* The state alone, as it is now; OPEN when the row is gone. */
enum watch_state watch_state_now(struct store *s, int64_t id);
/* Notes that a call on W begins: its end is UNKNOWN until told. */
int watch_use(struct store *s, int64_t id, struct err *err);
/* How the call ended. Best effort. */
void watch_set_end(struct store *s, int64_t id, enum watch_end end);
/* Ends a watch for good. */
int watch_stop(struct store *s, int64_t id, struct err *err);
/* The newest watches of QUESTION under TRUNK asked in WORKTREE, newest first, at most MAX. */
int watch_same(struct store *s, const char *question, const char *trunk, const char *worktree,
        size_t max, struct watch_list *ret, struct err *err);
/* Open watches used within the kept time, newest first, at most MAX. */
int watch_open_list(struct store *s, size_t max, struct watch_list *ret, struct err *err);

#endif
