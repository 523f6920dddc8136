/*
 * What the files of this folder share. Nobody else includes this.
 */
#ifndef ABIDE_TASK_OWN_H
#define ABIDE_TASK_OWN_H

#include "store/task.h"
#include "task/task.h"

/*
 * As task_list, with the linked worktrees that are no tasks, too: those on the
 * trunk and those whose HEAD is detached (branch ""; tip is then the HEAD).
 */
int own_worktrees(struct project *p, struct task_list *ret, struct err *err);
/* The one of LIST that WORD names; KIND stands in messages ("task"). */
int own_find(struct project *p, const struct task_list *list, const char *word, struct task *ret,
        struct err *err);

#endif
