/*
 * What is generated from the tables for readers: docs/reference/ (Markdown) and
 * the man pages (mdoc).
 */
#ifndef ABIDE_CLI_REFERENCE_H
#define ABIDE_CLI_REFERENCE_H

#include "cli/command.h"

/* The pages of docs/reference/, without their ending. */
void reference_pages(struct strv *ret);
/* False when there is no such page. */
bool reference_page(const char *name, struct buf *out);

/* "abide.1", "abide-await.1" … */
void man_pages(struct strv *ret);
bool man_page(const char *name, struct buf *out);

#endif
