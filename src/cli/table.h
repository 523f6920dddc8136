/*
 * Aligned columns for people.
 */
#ifndef ABIDE_CLI_TABLE_H
#define ABIDE_CLI_TABLE_H

#include "cli/command.h"

struct cell {
	char *text; /* visible already */
	enum style style;
};
/* Zeroed, but for COLUMNS, is an empty table. */
struct table {
	size_t columns;
	struct cell *v;
	size_t n;
};
void table_release(struct table *t);
#define AUTOTABLE CLEANUP(table_release) struct table

/* The next cell, in reading order: outside text, made visible, long text cut. */
void table_put(struct table *t, enum style style, const char *text);
void table_printf(struct table *t, enum style style, const char *fmt, ...) PRINTF(3, 4);
/* All rows; the last column is neither padded nor cut. Each line begins with INDENT. */
void table_print(const struct call *c, const struct table *t, const char *indent, struct buf *out);

#endif
