/*
 * store: the database <common>/abide/state.db, the alive lock and the bell.
 * Memory and wake, never a verdict about git. SQL stays in this folder.
 *
 * Every read call takes a NULL store as an empty one: a repository that abide
 * never touched, or whose .git cannot be written.
 */
#ifndef ABIDE_STORE_STORE_H
#define ABIDE_STORE_STORE_H

#include "base/base.h"

struct store;

enum store_mode {
	STORE_READ,  /* never creates; *ret is NULL when there is no store */
	STORE_WRITE, /* creates and migrates */
};

/*
 * Opens the store below the common directory COMMON. WRITE_DENIED when it has
 * to be written and cannot, NEWER_FORMAT when a newer abide made it (left as it
 * is), READ_FAILED when it is damaged.
 */
int store_open(const char *common, enum store_mode mode, struct store **ret, struct err *err);
void store_close(struct store *s); /* NULL is fine */
static inline void store_closep(struct store **s)
{
	store_close(*s);
}
#define AUTOSTORE CLEANUP(store_closep) struct store

bool store_is_read_only(const struct store *s);
/* <common>/abide; borrowed. */
const char *store_dir(const struct store *s);
/* <common>/abide for a repository, whether it exists or not. To be freed. */
char *store_dir_of(const char *common);
/* The newest schema version this program knows. */
int store_version_known(void);
/*
 * Looks through the whole database of COMMON (check.c), which has to be there:
 * READ_FAILED when it is damaged, NEWER_FORMAT. The version is 0 for one that
 * the next writer brings up to date. Changes nothing.
 */
int store_check(const char *common, int *ret_version, struct err *err);

/*
 * A write transaction: BEGIN IMMEDIATE, with patience. DURABLE waits for the
 * disk (decisions, landings, watches); QUICK does not (the logbook).
 */
enum store_sync { STORE_QUICK, STORE_DURABLE };
int store_begin(struct store *s, enum store_sync sync, struct err *err);
/* RING touches the bell after the commit returned: for writers of what waits read. */
int store_commit(struct store *s, bool ring, struct err *err);
void store_rollback(struct store *s);

/* Wakes all waits of this repository. Missing bell or store: nothing. */
void store_ring(struct store *s);

/* --- Who lives (alive.c) -------------------------------------------------- */

/*
 * What must be known to live holds a byte of abide/alive.lck: freed by any
 * death, not inherited by exec, true across pid namespaces. A process that
 * forks without exec must close its descriptors (platform_close_from).
 */
enum alive_kind {
	ALIVE_EVENT,
	ALIVE_RUN,
	ALIVE_WATCH,
	ALIVE_PLACE,
	ALIVE_LANDING,
	ALIVE_TASK,
	ALIVE_UPDATE,
	ALIVE_INSTANCE, /* a share of the user's file-event instances */
};
/* Takes the byte of (KIND, ID) until store_alive_free or death. False: not to be had. */
bool store_alive_take(struct store *s, enum alive_kind kind, int64_t id);
void store_alive_free(struct store *s, enum alive_kind kind, int64_t id);
/*
 * As take, but on a descriptor of its own (close-on-exec), which may be passed
 * on to a child: the byte is free when the last copy is closed. -1: not to be had.
 */
int store_alive_lend(struct store *s, enum alive_kind kind, int64_t id);
/* Whether FD, got from store_alive_lend() by way of a parent, holds the byte. */
bool store_alive_lent(struct store *s, int fd, enum alive_kind kind, int64_t id);
/* Whether any process holds it, this one included. Unknown counts as not. */
bool store_alive(struct store *s, enum alive_kind kind, int64_t id);
/* The same for those who treat the unknown apart: 1, 0, -1 where it cannot be known. */
int store_alive_ask(struct store *s, enum alive_kind kind, int64_t id);

/* --- Fair queues (place.c) ------------------------------------------------- */

/*
 * A place in a first come, first served queue, kept while its process lives:
 * the landing lock ("landing", one at a time) and the job budget ("jobs").
 */
int place_join(
        struct store *s, const char *queue, const char *what, int64_t *ret_id, struct err *err);
/* Living places before ID; those whose process died are cleared away. */
int place_ahead(struct store *s, const char *queue, int64_t id, size_t *ret, struct err *err);
/*
 * Blocks until fewer than CAPACITY living places are before ID, or *STOP
 * becomes non-zero by a signal's handler (CANCELLED). NOTE (or NULL) is told
 * each time the number ahead changed.
 */
int place_wait(struct store *s, const char *queue, int64_t id, size_t capacity,
        const volatile int *stop, void (*note)(void *ctx, size_t ahead), void *ctx,
        struct err *err);
void place_leave(struct store *s, int64_t id);

struct place {
	int64_t id;
	char *what; /* as it was told to place_join() */
	int64_t since;
};
struct place_list {
	struct place *v;
	size_t n;
};
void place_list_release(struct place_list *l);
#define AUTOPLACES CLEANUP(place_list_release) struct place_list
/* Who stands in QUEUE, the first first. Changes nothing. */
int place_list(struct store *s, const char *queue, struct place_list *ret, struct err *err);

#endif
