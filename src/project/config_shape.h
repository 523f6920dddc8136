/*
 * The form of an abide.yaml, by libyaml's events against the table of keys:
 * what libcyaml lets pass (anchors, tags, more documents, numbers with a tail)
 * or tells without the right line (unknown and duplicate keys) is refused here
 * with line and key. What passes is small, shallow and of the right types.
 */
#ifndef ABIDE_PROJECT_CONFIG_SHAPE_H
#define ABIDE_PROJECT_CONFIG_SHAPE_H

#include "project/config_keys.h"

/* Where a value stands. */
struct config_place {
	const struct config_key *key;
	size_t job, item; /* in `gate`, in the list within; from 0 */
	size_t line;      /* from 1 */
};
struct config_shape {
	bool empty;     /* no value at all: comments only */
	uint64_t given; /* bit I: row I of config_keys() has a value */
	struct config_place *v;
	size_t n, cap;
};
void config_shape_release(struct config_shape *s);
#define AUTOSHAPE CLEANUP(config_shape_release) struct config_shape

/* CONFIG_INVALID, with data.file, data.line and data.key. */
int config_shape(
        const char *data, size_t len, const char *name, struct config_shape *ret, struct err *err);
/* The line of a value; 0 when it has none. */
size_t config_line(const struct config_shape *s, const char *path, size_t job, size_t item);
/* Fills *ERR for a finding at LINE (0: none) under KEY (as shown, or NULL). Always -1. */
int config_bad(struct err *err, const char *name, size_t line, const char *key, const char *fmt,
        ...) PRINTF(5, 6);

#endif
