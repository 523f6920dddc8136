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
/* The same, and apart the worktrees that are no tasks: on the trunk, or detached (branch ""). */
int task_worktrees(struct project *p, struct task_list *ret_tasks, struct task_list *ret_others,
        struct err *err);
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
/*
 * Refuses where "here" is not clear: DIR (NULL: the working directory) lies in
 * a submodule (AMBIGUOUS_TARGET, unless EXPLICIT: it was named with -C), or in
 * the folder of a submodule that is not initialised, where git answers for the
 * repository around it (NO_REPOSITORY). Costs nothing without submodules.
 */
int task_place(const struct project *p, const char *dir, bool explicit, struct err *err);

/* --- Beginning a task (start.c) ---------------------------------------------- */

/* Told of each step that takes time: WHAT ("setup") and a line about it. */
struct task_progress {
	void (*tell)(void *ctx, const char *what, const char *line);
	void *ctx;
};
struct task_start {
	const char *name;    /* NULL: two words are made up */
	const char *from;    /* where the new branch begins; NULL: the trunk's tip */
	const char *branch;  /* adopts this branch instead of making one */
	bool exact;          /* NAME as it is */
	bool dry_run;        /* only says what would be made */
	const char *surface; /* for the record */
	struct task_progress progress;
};
struct task_started {
	struct task task;
	char *from; /* the word for the base */
	bool adopted;
	struct strv copied; /* what `copy` brought */
	struct strv warnings;
};
void task_started_release(struct task_started *s);
#define AUTOSTARTED CLEANUP(task_started_release) struct task_started
/*
 * Makes a task: whole, or nothing stays. NO_COMMITS, NO_TRUNK, UNKNOWN_TARGET
 * (--from, --branch), AMBIGUOUS_TARGET (an exact name that is taken), BUSY (the
 * branch is checked out elsewhere), INTERRUPTED (a setup command failed),
 * CANCELLED (a signal).
 */
int task_start(
        struct project *p, const struct task_start *how, struct task_started *ret, struct err *err);

/* --- Bringing a task up to date (update.c) ------------------------------------ */

struct task_updated {
	bool merged;
	struct oid before, after;
	int64_t commits;     /* that came in */
	char *from;          /* the word for what was merged */
	struct strv files;   /* paths that came in */
	struct strv overlap; /* those of them that the task changes itself */
	struct strv warnings;
};
void task_updated_release(struct task_updated *u);
#define AUTOUPDATED CLEANUP(task_updated_release) struct task_updated
/*
 * Merges FROM (NULL: the trunk's tip) into T and runs its setup again when
 * something was merged. DIRTY_WORKTREE (changes, a merge or rebase under way,
 * untracked files in the way; data: files), CONFLICT (data: files),
 * SIGNING_FAILED, GIT_FAILED (hooks): the task is as it was. INTERRUPTED: the
 * merge stands, setup failed.
 */
int task_update(struct project *p, const struct task *t, const char *from,
        const struct task_progress *progress, struct task_updated *ret, struct err *err);

/* --- Ending a task (remove.c, recover.c) ----------------------------------- */

struct task_removal {
	struct oid tip;  /* the branch is deleted only while it is exactly this; "": it stays */
	bool discard;    /* drop: what it holds goes, and nobody is waited for */
	bool foreign;    /* drop: also a worktree that `start` did not make */
	const char *why; /* for the reflog and for who finds it half done: "landed", "dropped" */
};
struct task_removed {
	bool worktree, branch; /* what is gone */
	bool leaving;          /* somebody is inside; whoever looks later removes it */
	struct strv inside;    /* "pid name" of them */
	struct strv kept;      /* ignored files that were moved away, relative to the worktree */
	char *kept_dir;        /* where to, NULL when nothing was */
	char *stays;           /* why the worktree stays for good, a sentence; NULL */
};
void task_removed_release(struct task_removed *r);
#define AUTOREMOVED CLEANUP(task_removed_release) struct task_removed
/*
 * Removes the worktree and the branch of T, journalled: a removal that was
 * begun is finished by task_recover(). Only what `start` made is removed; of
 * anything else (unless foreign), of a locked worktree and (unless discard) of one that holds
 * changes, RET->stays says why it stays, which is no error. Without discard:
 * single ignored files that did not come from `copy` unchanged are moved to
 * <store>/kept/<id>/, up to 20 MiB, and while a process other than this one
 * stands inside, the task is left as `leaving`.
 */
int task_remove(struct project *p, const struct task *t, const struct task_removal *how,
        struct task_removed *ret, struct err *err);
/* What would go with a task. */
struct task_losses {
	struct strv tracked, untracked; /* paths */
	struct strv commits;            /* "<oid> <subject>", on no other branch, remote or tag */
	struct strv submodules;         /* with commits that no remote of theirs has */
	const char *parked;             /* what the worktree is in the middle of, or NULL */
	struct strv inside;             /* "pid name" of processes that stand there */
};
void task_losses_release(struct task_losses *l);
#define AUTOLOSSES CLEANUP(task_losses_release) struct task_losses
bool task_losses_any(const struct task_losses *l);
/*
 * The linked worktree that WORD names: a task, or one whose HEAD is detached
 * (branch ""). UNAUTHORIZED when the caller stands in another worktree than the
 * main checkout.
 */
int task_drop_find(struct project *p, const char *word, struct task *ret, struct err *err);
/*
 * Removes T. WOULD_LOSE, with RET_LOSSES filled, unless FORCE; WORKTREE_LOCKED,
 * WORKTREE_TAMPERED always; BUSY while somebody stands inside, unless FORCE.
 */
int task_drop(struct project *p, const struct task *t, bool force, struct task_losses *ret_losses,
        struct task_removed *ret, struct err *err);
/*
 * Puts right what was left half done by a process that died: a start is undone,
 * a removal finished, an update's merge aborted, a landed task that nobody
 * stands in any more removed. For every verb that looks; costs one small query
 * when there is nothing. Needs no store and makes none. What could not be done
 * yet is left for the next one, silently.
 */
int task_recover(struct project *p, struct err *err);

#endif
