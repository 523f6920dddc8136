/*
 * Growing byte buffers and lists of strings.
 */
#ifndef ABIDE_BASE_BUF_H
#define ABIDE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

/* Bytes, always followed by a NUL that LEN does not count. Zeroed is empty. */
struct buf {
	char *data; /* never NULL after the first append; use buf_str() to read */
	size_t len;
	size_t cap;
};

void buf_release(struct buf *b); /* NULL and zeroed are fine */
void buf_reset(struct buf *b);   /* empty, memory kept */
void buf_add(struct buf *b, const void *data, size_t len);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
/* The text, "" when empty; valid until the next change. */
const char *buf_str(const struct buf *b);
/* Takes the text out (to be freed), leaves the buffer empty. */
char *buf_take(struct buf *b);

#define AUTOBUF CLEANUP(buf_release) struct buf

/* A list of owned strings, NULL-terminated after the first push. Zeroed is empty. */
struct strv {
	char **v;
	size_t n;
	size_t cap;
};

void strv_release(struct strv *l);
void strv_push(struct strv *l, const char *s); /* copies */
void strv_take(struct strv *l, char *s);       /* takes ownership */
void strv_printf(struct strv *l, const char *fmt, ...) PRINTF(2, 3);
void strv_extend(struct strv *l, const struct strv *more); /* copies */
bool strv_has(const struct strv *l, const char *s);
void strv_sort(struct strv *l); /* by bytes */
/* Splits NUL-terminated fields (git's -z); a last field without NUL counts. */
void strv_split_nul(struct strv *l, const char *data, size_t len);

#define AUTOSTRV CLEANUP(strv_release) struct strv

#endif
