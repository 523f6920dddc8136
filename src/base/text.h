/*
 * Text from outside: encodings, what may be shown on a terminal, slugs,
 * durations.
 */
#ifndef ABIDE_BASE_TEXT_H
#define ABIDE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

bool text_is_utf8(const char *s, size_t len);
/* Valid UTF-8: invalid bytes become U+FFFD. To be freed. */
char *text_to_utf8(const char *s, size_t len);
/*
 * What a terminal may be shown of an outside string: control characters
 * (C0, DEL, C1, bidirectional overrides), newlines and invalid bytes are made
 * visible as \xNN or \u{N}. To be freed.
 */
char *text_visible(const char *s);
/* As text_visible for LEN bytes, but tabs are kept (log lines). To be freed. */
char *text_visible_line(const char *s, size_t len);
/* Columns that valid UTF-8 takes on a terminal, near enough for alignment. */
size_t text_width(const char *s);
/* Standard base64 with padding. To be freed. */
char *text_base64(const void *data, size_t len);
/*
 * NAME as a folder name: lower case ASCII, letters of any script and digits
 * kept, every other run becomes one '-', at most MAX bytes cut at a character.
 * "" when nothing is left. To be freed.
 */
char *text_slug(const char *name, size_t max);
/*
 * A duration: digits with one of ms, s, m, h, d (an optional fraction is not
 * taken). Fills *RET_MS; false when it is not one or overflows.
 */
bool text_duration(const char *s, int64_t *ret_ms);
/* "850 ms", "12 s", "3 m 20 s", "2 h 5 m". To be freed. */
char *text_ago(int64_t ms);
/* A whole decimal number with nothing around it, within [min, max]. */
bool text_int(const char *s, int64_t min, int64_t max, int64_t *ret);
bool text_starts(const char *s, const char *prefix);
bool text_ends(const char *s, const char *suffix);
/* Only lower case hex digits, LEN of them (40 or 64 for an object id). */
bool text_is_hex(const char *s, size_t len);
/* S in single quotes for a POSIX shell where it needs them. To be freed. */
char *text_shell_quote(const char *s);

#endif
