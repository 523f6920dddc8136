/*
 * wake, inside: the places that are looked at (places.c), arming events on them
 * (watch.c), the loop and its reasons (wake.c).
 */
#ifndef ABIDE_WAKE_INTERNAL_H
#define ABIDE_WAKE_INTERNAL_H

#include <uv.h>

#include "wake/wake.h"

/* --- Places (places.c) ---------------------------------------------------- */

/* What stat tells of a file; two equal ones mean the file was left alone. */
struct stamp {
	bool there; /* a folder in its place counts as missing */
	/* Changed so lately that another change might leave the same stamp:
	   clocks of file systems go in steps of up to 10 ms. */
	bool fresh;
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
};

/* A folder on the way to a file. Parents stand before their children. */
struct level {
	char *path;
	const char *name; /* last component, points into path */
	size_t parent;    /* NO_LEVEL at the top */
	uv_fs_event_t event;
	bool armed;
	uint64_t dev, ino; /* of the folder when it was armed */
	int64_t born_ns;
	bool restart; /* arm again even if it looks the same */
	bool changed; /* came, went or was replaced: what lies below may be another */
};
#define NO_LEVEL SIZE_MAX

/* A file whose change is a hint. */
struct target {
	char *path;
	const char *name; /* points into path */
	size_t level;     /* the folder that holds it */
	bool shared;      /* holds all refs: its change says little about those asked about */
	bool bell;        /* the store's: no ref changed by it */
	struct stamp seen;
};

struct places {
	struct level *levels;
	size_t n_levels, cap_levels;
	struct target *targets;
	size_t n_targets, cap_targets;
};

/* What a hint is about. */
struct hint {
	bool own;    /* a file of what was asked about */
	bool shared; /* only a file that holds all refs */
	bool bell;   /* the store's bell */
};

void places_fill(struct places *p, const struct wake_spec *spec);
void places_release(struct places *p);
/*
 * Stats every target, remembers what it saw, and adds to *RET what differs from
 * the look before. Below a changed level a target counts as different if it was
 * there or is there. FRESH_TOO: one that was fresh counts as different.
 */
void places_look(struct places *p, bool fresh_too, struct hint *ret);
/* Adds what a change of T says to *RET. */
void hint_from(const struct target *t, struct hint *ret);
/* What stat says of a folder; false when there is none. */
bool places_folder(const char *path, uint64_t *ret_dev, uint64_t *ret_ino, int64_t *ret_born_ns);

/* --- Arming (watch.c) ----------------------------------------------------- */

/* Handles of all levels, on LOOP, not started; DATA is what watch_seen gets. */
void watch_init(struct places *p, uv_loop_t *loop, void *data);
/* Closes the handles; the loop has to run once more before it is closed. */
void watch_close(struct places *p);
/*
 * Starts a watch on every level that is there and not yet watched, or replaced,
 * or marked `restart`, until nothing more appears. 0, or libuv's error, and
 * then nothing is armed.
 */
int watch_arm(struct places *p);
void watch_disarm(struct places *p);
/* wake.c: an event on LEVEL; NAME is NULL when unknown; MOVED: it came or went. */
void watch_seen(void *data, struct level *level, const char *name, bool moved);

#endif
