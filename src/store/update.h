/*
 * The journal of `update`: one row while git merges into a worktree. A row
 * whose process died says what may have been left half done there.
 */
#ifndef ABIDE_STORE_UPDATE_H
#define ABIDE_STORE_UPDATE_H

#include "git/git.h"
#include "store/store.h"

struct update_record {
	int64_t row; /* names its alive byte (ALIVE_UPDATE) */
	char *git_dir, *worktree;
	char *branch;      /* full ref */
	struct oid tip;    /* the branch before */
	struct oid target; /* what is merged into it */
	struct oid result; /* the tree that comes out */
	char *message;     /* of the merge: tells it from one that the user began */
	int64_t begun_at;
};
void update_record_release(struct update_record *r);
#define AUTOUPDATE CLEANUP(update_record_release) struct update_record
struct update_record_list {
	struct update_record *v;
	size_t n;
};
void update_record_list_release(struct update_record_list *l);
#define AUTOUPDATES CLEANUP(update_record_list_release) struct update_record_list

/* BUSY while a living process updates that worktree. Takes the alive byte, fills row and begun_at.
 */
int update_record_add(struct store *s, struct update_record *r, struct err *err);
int update_record_remove(struct store *s, const struct update_record *r, struct err *err);
int update_records(struct store *s, struct update_record_list *ret, struct err *err);

#endif
