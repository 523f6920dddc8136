/*
 * Records of the tasks that `start` made: whose worktree it is, and the journal
 * of its making and of its removal. A record says what abide owns; whether the
 * task is there is for git to say.
 */
#ifndef ABIDE_STORE_TASK_H
#define ABIDE_STORE_TASK_H

#include "git/git.h"
#include "store/store.h"

/* X(name, text in the store) */
#define TASK_STEPS(X)                                                                              \
	X(MAKING, "making") /* start is at work, or died at it: to be undone */                    \
	X(LIVE, "live")                                                                            \
	X(REMOVING, "removing") /* its removal was begun: to be finished */                        \
	X(LEAVING, "leaving")   /* landed; removal waits until nobody is inside */

enum task_step {
#define X(name, text) TASK_##name,
	TASK_STEPS(X)
#undef X
};

struct task_record {
	int64_t row; /* names its alive byte (ALIVE_TASK) */
	char *id;
	char *branch;   /* full ref */
	char *worktree; /* absolute */
	char *git_dir;  /* the worktree's own git folder, "" until it is registered */
	struct oid base;
	char *base_name; /* the word that was given for it */
	int port;        /* 0: none */
	char *made_by;   /* surface */
	int64_t made_at;
	enum task_step step;
	bool adopted;   /* the branch was there before */
	json_t *copied; /* [{path, digest}] */
	json_t *detail; /* an object: what the step needs */
};
void task_record_release(struct task_record *r);
#define AUTORECORD CLEANUP(task_record_release) struct task_record
struct task_record_list {
	struct task_record *v;
	size_t n;
};
void task_record_list_release(struct task_record_list *l);
#define AUTORECORDS CLEANUP(task_record_list_release) struct task_record_list

/* All records, by id. */
int task_records(struct store *s, struct task_record_list *ret, struct err *err);
/* 1: none of that id. */
int task_record_by_id(struct store *s, const char *id, struct task_record *ret, struct err *err);
/* Whether any record is in another step than LIVE, or a merge was begun (store/update.h): cheap,
   for whoever looks. */
int task_records_pending(struct store *s, bool *ret, struct err *err);

/*
 * Adds R (id, branch, worktree, base, base_name, made_by, adopted) as MAKING and
 * takes its alive byte; fills row, made_at and the port: the first of
 * [port_from, port_to) that no other record has and that PORT_FREE takes. 1 when
 * the id is taken already.
 */
int task_record_add(struct store *s, struct task_record *r, int port_from, int port_to,
        bool (*port_free)(int port), struct err *err);
/* Adds R (id, branch, worktree, git_dir, made_by) at REMOVING, without a port, made_at 0: a
   worktree that abide did not make, for the time of its removal. */
int task_record_borrow(struct store *s, struct task_record *r, struct err *err);
/* Writes step, git_dir, worktree, copied and detail of R. */
int task_record_update(struct store *s, const struct task_record *r, bool ring, struct err *err);
/* Forgets it and frees its byte. */
int task_record_remove(struct store *s, const struct task_record *r, struct err *err);

#endif
