/*
 * task: one branch, one worktree, one line of work. Any linked worktree on a
 * local branch other than the trunk is one, whoever made it; what `start` made
 * is also recorded in the store.
 */
#ifndef ABIDE_TASK_TASK_H
#define ABIDE_TASK_TASK_H

#include "project/project.h"

struct task {
	char *id;        /* recorded id, else the worktree folder's name */
	char *branch;    /* full ref */
	char *worktree;  /* absolute; "" when none holds the branch */
	char *git_dir;   /* the worktree's own git folder: recorded at start where known */
	struct oid tip;  /* the branch's live tip, "" when the branch is gone */
	struct oid base; /* recorded at start, "" otherwise */
	int port;        /* 0: none */
	char *locked;    /* reason, NULL when not locked */
	bool recorded;   /* `start` made it: abide owns the worktree */
	bool main;       /* the main checkout standing on a branch other than the trunk */
	bool missing;    /* registered, but the folder is gone */
	bool leaving;    /* landed; its removal waits until nobody is inside */
};
void task_release(struct task *t);
#define AUTOTASK CLEANUP(task_release) struct task
struct task_list {
	struct task *v;
	size_t n;
};
void task_list_release(struct task_list *l);
#define AUTOTASKS CLEANUP(task_list_release) struct task_list

/* Every task of the repository, sorted by id. Two processes. */
int task_list(struct project *p, struct task_list *ret, struct err *err);
/*
 * The task that WORD names: branch (short or full), id, or worktree path; NULL:
 * the one the caller stands in. UNKNOWN_TARGET, AMBIGUOUS_TARGET (lists the
 * candidates), NOT_ON_TASK (the trunk, a detached HEAD, no worktree).
 */
int task_resolve(struct project *p, const char *word, struct task *ret, struct err *err);
/*
 * How git is called in the task's worktree: by the folders recorded at start,
 * never by discovery. WORKTREE_TAMPERED when its .git pointer is not the one
 * that was recorded, WORKTREE_MISSING when the folder is gone.
 */
int task_at(const struct project *p, const struct task *t, struct git_at *ret, struct err *err);
/* ABIDE_ID, ABIDE_BRANCH, ABIDE_WORKTREE, ABIDE_PORT, ABIDE_TASK_TRUNK for setup,
   jobs and turns, on top of the caller's environment less git's own variables. */
void task_environment(const struct project *p, const struct task *t, struct strv *ret);

#endif
