/*
 * What receipt_find.c and receipt_all.c share.
 */
#ifndef ABIDE_PROJECT_RECEIPT_OWN_H
#define ABIDE_PROJECT_RECEIPT_OWN_H

#include "project/receipt.h"

/* One commit of a range; texts point into git's output. */
struct receipt_node {
	const char *hex, *parents;
	const char *tree; /* receipt_all.c only */
	bool seen;
};
int receipt_node_order(const void *a, const void *b);
struct receipt_node *receipt_node_of(struct receipt_node *v, size_t n, const char *hex);
/*
 * Whether BASE is reachable from HEAD by the range's own commits (sorted): 1
 * yes, 0 no, -1 when BASE lies outside and only git can tell.
 */
int receipt_reaches(
        struct receipt_node *v, size_t n, const struct oid *base, const struct oid *head);

/* Told each note of REF that is small enough to be a receipt. Two processes. */
typedef void (*receipt_note_fn)(void *ctx, const struct oid *carrier, const char *note, size_t len);
int receipt_notes(
        const struct git *g, const char *ref, receipt_note_fn take, void *ctx, struct err *err);

#endif
