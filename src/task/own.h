/*
 * What the files of this folder share. Nobody else includes this.
 */
#ifndef ABIDE_TASK_OWN_H
#define ABIDE_TASK_OWN_H

#include "store/task.h"
#include "store/update.h"
#include "task/task.h"

/*
 * As task_list, with the linked worktrees that are no tasks, too: those on the
 * trunk and those whose HEAD is detached (branch ""; tip is then the HEAD).
 */
int own_worktrees(struct project *p, struct task_list *ret, struct err *err);
/* The one of LIST that WORD names; KIND stands in messages ("task"). */
int own_find(struct project *p, const struct task_list *list, const char *word, struct task *ret,
        struct err *err);

/*
 * The lock under which worktrees are registered and removed and branches made
 * and deleted (<store>/worktrees.lock). git processes that run under it hold
 * it, too, so it does not open before the last of them has ended. fs_unlock().
 */
int own_lock(const struct project *p, int *ret_fd, struct err *err);
/* Whether the .git of the task's worktree is the pointer that it should be. */
bool own_points_back(const struct task *t);
/* "pid name" of the processes inside DIR, but for this one. */
void own_inside(const char *dir, struct strv *ret);
/* As own_inside, but a git that is alone there (somebody's status, say) gets half a second to end.
 */
void own_settled_inside(const char *dir, struct strv *ret);
/* Whether a git process works in DIR: one that outlived the abide that ran it. */
bool own_git_inside(const char *dir);
/* Removes the folder that holds worktrees when it is empty. Under the lock. */
void own_tidy_parent(const char *worktree);

/* As fs_remove_tree, also where folders are not writable. */
int own_delete_tree(const char *path, struct err *err);
/* Names of submodules below the worktree's GIT_DIR with commits that no remote of theirs has. */
int own_lone_submodules(const char *git_dir, struct strv *ret, struct err *err);
/* A random name of 12 hex digits. To be freed. */
char *own_random_hex(void);

/* Digests of the files FILES below DIR, in order (copy.c). */
int own_digests(const struct project *p, const char *dir, const struct strv *files,
        struct strv *ret, struct err *err);
/*
 * Moves single ignored files out of the folder AT_PATH of the task R to where
 * they stay for a week. RET_WHY (to be freed): why they were left instead.
 */
int own_keep_files(struct project *p, const struct task_record *r, const char *at_path,
        const struct strv *ignored, struct task_removed *ret, char **ret_why, struct err *err);

/*
 * Copies the files NAMES from FROM_DIR into the worktree of AT, those that git
 * ignores there; appends {path, digest} to RET_COPIED, and a sentence to WARNINGS
 * for each that it passes over.
 */
int own_copy(const struct project *p, struct git_at at, const char *from_dir,
        const struct strv *names, json_t *ret_copied, struct strv *warnings, struct err *err);

/* NAME without refs/heads/ and the branch prefix; points into NAME. */
const char *own_bare_name(const char *name, const char *prefix);
/* A new id for NAME (NULL: words); a new try may give another. To be freed. */
char *own_new_id(const char *name, bool exact, int attempt);
/* Runs the setup commands in T's worktree, their output going to stderr. INTERRUPTED when one
   fails, CANCELLED by a signal; nothing that they started is left then. */
int own_setup(const struct project *p, const struct task *t, const struct strv *commands,
        const struct task_progress *progress, struct err *err);

/* start: the reason of the lock that a worktree has while it is being made. */
char *own_making_reason(const char *id);
/* The first message of the reflog of a branch that start made. */
char *own_branch_message(const struct task_record *r);
/* Undoes a start of which R is the record: no branch, no folder, no registration, no record. */
int own_undo_start(struct project *p, struct task_record *r, struct err *err);

/*
 * The rest of a removal whose record R is at REMOVING, from wherever it was
 * left; under R's alive byte.
 */
int own_finish_removal(
        struct project *p, struct task_record *r, struct task_removed *ret, struct err *err);

/* Removes a task that was LEAVING, or takes it up again when it got new commits. */
void own_begin_leaving(struct project *p, struct task_record *r);

/* Puts index and files back where a merge that did not get to its end found them. */
int own_take_back_merge(const struct project *p, const struct update_record *r, struct err *err);
/* The same for a merge whose process died, unless somebody has worked on it since. */
void own_recover_update(struct project *p, const struct update_record *r);

#endif
