/*
 * JSON, by jansson, with the caps and strictness that outside bytes need.
 */
#ifndef ABIDE_BASE_JSON_H
#define ABIDE_BASE_JSON_H

#include <jansson.h>

#include "base/buf.h"

/*
 * Reads one value from LEN bytes: strict UTF-8, no duplicate keys, nothing
 * after it, nesting as jansson allows (2,048). NULL when it is not that, with
 * a reason in *RET_WHY (to be freed) unless that is NULL.
 */
json_t *json_read(const char *data, size_t len, char **ret_why);

/* One line, keys in the order in which they were set. To be freed. */
char *json_line(const json_t *v);
/* Two-space indentation, final newline. To be freed. */
char *json_pretty(const json_t *v);

/*
 * Sets OBJ[KEY] to an outside string: exact when it is UTF-8, else with U+FFFD
 * and a sibling "KEY_bytes" in base64. NULL sets nothing.
 */
void json_put_text(json_t *obj, const char *key, const char *s);
void json_put_int(json_t *obj, const char *key, int64_t n);
void json_put_bool(json_t *obj, const char *key, bool b);
/* Takes the reference; NULL sets nothing. */
void json_put(json_t *obj, const char *key, json_t *v);
/* An array of strings, made UTF-8, at most MAX of them (0: all). */
json_t *json_text_list(const struct strv *l, size_t max);

/* Typed reads: the default when absent or of another type. Borrowed. */
const char *json_text(const json_t *obj, const char *key); /* or NULL */
int64_t json_int(const json_t *obj, const char *key, int64_t or_else);
bool json_flag(const json_t *obj, const char *key);

#define AUTOJSON CLEANUP(json_decrefp)

#endif
