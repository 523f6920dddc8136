/*
 * Notes, written so that no other writer's are lost.
 */
#ifndef ABIDE_GIT_NOTES_H
#define ABIDE_GIT_NOTES_H

#include "git/git.h"

struct git_note {
	struct oid commit; /* carries it */
	char *text;        /* "": remove the note */
};
struct git_note_list {
	struct git_note *v;
	size_t n;
};
void git_note_list_release(struct git_note_list *l);
#define AUTONOTES CLEANUP(git_note_list_release) struct git_note_list
/* TEXT is copied. */
void git_note_list_push(struct git_note_list *l, const struct oid *commit, const char *text);

/*
 * The note of COMMIT in the notes commit AT ("": there are none), "" when there
 * is none or it is larger than CAP. One process.
 */
int git_note_read(const struct git *g, const struct oid *at, const struct oid *commit, size_t cap,
        struct buf *ret, struct err *err);

/*
 * What is to be changed, seen from the notes commit AT ("": the ref is not
 * there): fills RET. Called again when another writer was quicker.
 */
typedef int (*git_notes_compose)(
        void *ctx, const struct oid *at, struct git_note_list *ret, struct err *err);
/*
 * Changes notes of REF by one compare-and-swap (`git notes` loses most of what
 * is written at once), and tries again for up to 5 s while others write.
 * Nothing to change is success. LOCK (or NULL) is a file that writers of this
 * program lock meanwhile, so that they do not keep one another from it.
 * WRITE_DENIED when it cannot be written, BUSY when others never let it.
 */
int git_notes_change(const struct git *g, const char *ref, const char *lock, const char *message,
        git_notes_compose compose, void *ctx, struct err *err);

#endif
