/*
 * Receipts: one JSON object a note on refs/notes/abide, on the landed commit.
 * A note proves a landing only when it is valid and its commit is in trunk
 * history; see landing.md in the documentation of the format.
 */
#ifndef ABIDE_PROJECT_RECEIPT_H
#define ABIDE_PROJECT_RECEIPT_H

#include "git/git.h"

#define RECEIPT_REF "refs/notes/abide"
enum { RECEIPT_CAP = 65536, RECEIPT_MAJOR = 1 };

struct receipt {
	char *branch; /* short name, as the writer knew it */
	struct oid head, tree, base, tip;
	char *strategy, *trunk;
	bool gate_changed;
	int64_t landed_at;
	json_t *raw; /* whole object, unknown keys too */
};
void receipt_release(struct receipt *r);
#define AUTORECEIPT CLEANUP(receipt_release) struct receipt
struct receipt_list {
	struct receipt *v;
	size_t n, cap;
};
void receipt_list_release(struct receipt_list *l);
#define AUTORECEIPTS CLEANUP(receipt_list_release) struct receipt_list

/*
 * Reads one note. 0: well formed. 1: no receipt abide can use, *RET_WHY says
 * so (to be freed; RECEIPT_NEWER for an unknown major version). Never trusts
 * beyond the form: see receipt_check().
 *
 * A note is one object. Merges of notes refs, and people who append to a note,
 * put lines together; so where the whole is no object, each line that is one
 * counts. The first usable one is taken.
 */
int receipt_parse(const char *note, size_t len, struct receipt *ret, char **ret_why);
extern const char RECEIPT_NEWER[]; /* "newer format" */
/* The same for every receipt in the note, appended to RET. 1: there was none. */
int receipt_parse_all(const char *note, size_t len, struct receipt_list *ret, char **ret_why);
/*
 * Whether R, found on CARRIER whose tree is TREE, is a receipt of this trunk:
 * head is the carrier, tree its tree, trunk this trunk. NULL when it holds,
 * else why not (a static string). That the carrier is in trunk history and
 * base an ancestor of head is for the caller to ask git.
 */
const char *receipt_check(const struct receipt *r, const struct oid *carrier,
        const struct oid *tree, const char *trunk);

/*
 * The newest trustworthy receipt for BRANCH (short name; NULL: any) on a
 * commit of FROM..TO (FROM "" : all of TO's history), all checks done. One
 * process; one more for a match whose base lies outside the range. 1: none.
 * WARNINGS (or NULL) gets a sentence for notes in the range that a newer abide
 * wrote. Note blobs that a partial clone lacks count as not there.
 */
int receipt_find(const struct git *g, const char *trunk, const struct oid *from,
        const struct oid *to, const char *branch, struct receipt *ret, struct strv *warnings,
        struct err *err);
/*
 * As receipt_find for the whole history of TO, by way of the notes tree: fast
 * where the range is long and notes are few. At most three processes.
 */
int receipt_newest(const struct git *g, const char *trunk, const struct oid *to, const char *branch,
        struct receipt *ret, struct strv *warnings, struct err *err);

/* --- All of them --------------------------------------------------------------- */

struct receipt_row {
	struct oid carrier;
	struct receipt r; /* raw is NULL where the note holds none */
	char *why;        /* why it proves nothing; NULL: it holds */
};
struct receipt_rows {
	struct receipt_row *v;
	size_t n, cap;
};
void receipt_rows_release(struct receipt_rows *l);
#define AUTOROWS CLEANUP(receipt_rows_release) struct receipt_rows
/*
 * Every note of REF (full; missing: none) with its verdict in the history of
 * TO, the newest landing first. Three processes, whatever their number.
 */
int receipt_all(const struct git *g, const char *ref, const char *trunk, const struct oid *to,
        struct receipt_rows *ret, struct err *err);

#endif
