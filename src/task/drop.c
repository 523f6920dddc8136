/*
 * drop: removal of a task that is given up, after saying what would be lost.
 */
#include <string.h>

#include "task/own.h"

enum { COMMITS_MAX = 1000 };

void task_losses_release(struct task_losses *l)
{
	if (!l)
		return;
	strv_release(&l->tracked);
	strv_release(&l->untracked);
	strv_release(&l->commits);
	strv_release(&l->submodules);
	strv_release(&l->inside);
	*l = (struct task_losses){0};
}

bool task_losses_any(const struct task_losses *l)
{
	return l->tracked.n || l->untracked.n || l->commits.n || l->submodules.n || l->parked;
}

/* --- Which one ---------------------------------------------------------------- */

static int no_linked_task(const struct project *p, const struct task *t, struct err *err)
{
	if (t->main) {
		err_set(err, ERR_NOT_ON_TASK,
		        "`%s` is checked out in the main checkout %s, which is not abide's to "
		        "remove.",
		        git_branch_short(t->branch), t->worktree);
		err_hint(err, "Switch it to another branch and delete the branch with git.");
		return -1;
	}
	err_set(err, ERR_NOT_ON_TASK, "%s is on the trunk `%s`, so it is no task.", t->worktree,
	        p->trunk);
	err_hint(err, "Remove that worktree with `git worktree remove` if it is not needed.");
	return -1;
}

int task_drop_find(struct project *p, const char *word, struct task *ret, struct err *err)
{
	AUTOTASKS all = {0};
	AUTOTASK t = {0};

	if (!project_in_main(p) && p->git.main_worktree) {
		AUTOFREE char *quoted = text_shell_quote(p->git.main_worktree);
		err_set(err, ERR_UNAUTHORIZED,
		        "Tasks are dropped from the main checkout, by a person, and not from "
		        "inside another task.");
		err_hint(err, "Run it there: `cd %s`.", quoted);
		return -1;
	}
	if (own_worktrees(p, &all, err) < 0 || own_find(p, &all, word, &t, err) < 0)
		return -1;
	if (t.main || (p->trunk_ref && strcmp(t.branch, p->trunk_ref) == 0))
		return no_linked_task(p, &t, err);
	*ret = t;
	t = (struct task){0};
	return 0;
}

/* --- What would be lost ---------------------------------------------------------- */

/* Commits that nothing but this worktree and its branch reaches: "<oid> <subject>". */
static int lone_commits(const struct project *p, const struct task *t, const struct oid *head,
        struct strv *ret, struct err *err)
{
	AUTOFREE char *exclude = xasprintf("--exclude=%s", git_branch_short(t->branch));
	AUTOFREE char *max = xasprintf("--max-count=%d", COMMITS_MAX);
	AUTOSTRV words = {0};
	AUTOPROC run = {0};

	strv_push(&words, "log");
	strv_push(&words, "-z");
	strv_push(&words, "--no-show-signature");
	strv_push(&words, "--format=%H %s");
	strv_push(&words, max);
	if (oid_is_set(&t->tip))
		strv_push(&words, t->tip.hex);
	if (oid_is_set(head))
		strv_push(&words, head->hex);
	if (words.n == 5)
		return 0;
	strv_push(&words, "--not");
	if (*t->branch)
		strv_push(&words, exclude);
	strv_push(&words, "--branches");
	strv_push(&words, "--remotes");
	strv_push(&words, "--tags");
	strv_push(&words, "--");
	if (git_run(git_at_common(&p->git), &run, (const char *const *)words.v, err) < 0)
		return -1;
	if (run.status != 0)
		return git_complain(&run, "The task's own commits could not be listed", err);
	strv_split_nul(ret, buf_str(&run.out), run.out.len);
	return 0;
}

/* HEAD is the worktree's own: in the middle of a rebase it is not the branch. */
static int look_inside(
        const struct project *p, const struct task *t, struct task_losses *ret, struct err *err)
{
	struct git_at at;
	AUTOSTATUS s = {0};
	AUTOLEFTOVERS l = {0};

	if (task_at(p, t, &at, err) < 0)
		return -1;
	own_settled_inside(t->worktree, &ret->inside);
	if (git_parked(&p->git, t->git_dir, &ret->parked, NULL, err) < 0 ||
	        git_status(at, false, &s, err) < 0 || git_leftovers(at, &l, err) < 0 ||
	        own_lone_submodules(t->git_dir, &ret->submodules, err) < 0 ||
	        lone_commits(p, t, &s.head, &ret->commits, err) < 0)
		return -1;
	strv_extend(&ret->tracked, &l.tracked);
	strv_extend(&ret->untracked, &l.untracked);
	return 0;
}

static void say_count(struct buf *b, size_t n, bool more, const char *one, const char *many)
{
	if (n)
		buf_printf(b, "%s%zu%s %s", b->len ? ", " : "", n, more ? " or more" : "",
		        n == 1 ? one : many);
}

static int would_lose(const struct task *t, const struct task_losses *l, struct err *err)
{
	const char *name = *t->branch ? git_branch_short(t->branch) : t->id;
	AUTOFREE char *force = call_text("drop", "", t->id, "force", NULL, NULL);
	AUTOBUF what = {0};

	say_count(&what, l->tracked.n, false, "uncommitted change", "uncommitted changes");
	say_count(&what, l->untracked.n, false, "untracked file", "untracked files");
	say_count(&what, l->commits.n, l->commits.n == COMMITS_MAX, "commit on no other branch",
	        "commits on no other branch");
	say_count(&what, l->submodules.n, false, "submodule with commits that no remote has",
	        "submodules with commits that no remote has");
	if (l->parked)
		buf_printf(&what, "%sa %s that is under way", what.len ? ", " : "", l->parked);
	err_set(err, ERR_WOULD_LOSE, "Dropping `%s` would lose %s.", name, buf_str(&what));
	err_hint(err, "If that is meant: `%s`.", force);
	return -1;
}

/* --- Doing it ---------------------------------------------------------------------- */

static int is_locked(const struct task *t, struct err *err)
{
	AUTOFREE char *quoted = text_shell_quote(t->worktree);

	err_set(err, ERR_WORKTREE_LOCKED, "%s is locked%s%s.", t->worktree, *t->locked ? ": " : "",
	        t->locked);
	err_hint(err, "Whoever locked it opens it with `git worktree unlock %s`.", quoted);
	return -1;
}

/*
 * A start that is at work, or that died and left a set-up command running, for
 * whose end recovery waits. 1: undone here.
 */
static int half_made(struct project *p, const struct task *t, bool force, struct err *err)
{
	AUTORECORD r = {0};
	int rc = task_record_by_id(p->store, t->id, &r, err);

	if (rc != 0 || r.step != TASK_MAKING || strcmp(r.worktree, t->worktree) != 0)
		return rc < 0 ? -1 : 0;
	if (!store_alive_take(p->store, ALIVE_TASK, r.row)) {
		err_set(err, ERR_BUSY, "`%s` is just being made by another abide.", t->id);
		err_hint(err, "Wait for it, or interrupt that start: it then leaves nothing.");
		return -1;
	}
	if (force)
		rc = own_undo_start(p, &r, err);
	store_alive_free(p->store, ALIVE_TASK, r.row);
	if (force)
		return rc < 0 ? -1 : 1;
	err_set(err, ERR_BUSY,
	        "The start of `%s` died, and a command that it ran is still at work there.", t->id);
	err_hint(err, "End that command, or drop the task with --force.");
	return -1;
}

static int somebody_inside(const struct task *t, const struct task_losses *l, struct err *err)
{
	err_set(err, ERR_BUSY, "Processes stand inside %s: %s%s.", t->worktree, l->inside.v[0],
	        l->inside.n > 1 ? ", …" : "");
	err_hint(err, "End them or let them leave, then run the same command again.");
	return -1;
}

/* Another abide was quicker, and its folder went while it was looked into. */
static int just_removed(const struct task *t, struct err *err)
{
	err_clear(err);
	err_set(err, ERR_BUSY, "`%s` is just being removed by somebody else.", t->id);
	err_hint(err, "Look again in a moment: `abide status`.");
	return -1;
}

int task_drop(struct project *p, const struct task *t, bool force, struct task_losses *ret_losses,
        struct task_removed *ret, struct err *err)
{
	struct task_removal how = {
	        .tip = *t->branch ? t->tip : (struct oid){{0}},
	        .discard = force,
	        .foreign = true,
	        .why = "dropped",
	};
	int rc;

	if (project_store(p, STORE_WRITE, err) < 0)
		return -1;
	rc = half_made(p, t, force, err);
	if (rc != 0) {
		ret->worktree = ret->branch = rc == 1;
		return rc < 0 ? -1 : 0;
	}
	if (t->locked)
		return is_locked(t, err);
	if (t->missing)
		rc = lone_commits(p, t, &(struct oid){{0}}, &ret_losses->commits, err);
	else
		rc = look_inside(p, t, ret_losses, err);
	if (rc < 0)
		return t->missing || fs_is_dir(t->worktree) ? -1 : just_removed(t, err);
	if (!force && task_losses_any(ret_losses))
		return would_lose(t, ret_losses, err);
	if (!force && ret_losses->inside.n)
		return somebody_inside(t, ret_losses, err);
	rc = task_remove(p, t, &how, ret, err);
	/* Gone between two looks: another drop was quicker. */
	if ((rc < 0 || ret->stays) && !t->missing && !fs_is_dir(t->worktree))
		return just_removed(t, err);
	if (rc < 0)
		return -1;
	if (ret->stays) {
		err_set(err, ERR_WOULD_LOSE, "`%s` was not dropped. %s", t->id, ret->stays);
		err_hint(err, "Look there, then run the same command again.");
		return -1;
	}
	return 0;
}
