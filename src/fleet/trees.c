#include "fleet/fleet.h"

#include <string.h>

const char *fleet_state_text(enum fleet_state state)
{
	static const char *const texts[] = {
#define X(name, text) text,
	        FLEET_STATES(X)
#undef X
	};
	return texts[state];
}

static void tree_release(struct fleet_tree *t)
{
	task_release(&t->task);
	free(t->message);
	strv_release(&t->hints);
	git_status_release(&t->status);
}

void fleet_trees_release(struct fleet_trees *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		tree_release(&l->v[i]);
	free(l->v);
	*l = (struct fleet_trees){0};
}

static bool stands_in(const struct project *p, const struct task *t)
{
	AUTOFREE char *real = NULL;

	if (!p->git.worktree)
		return false;
	/* git's own folder tells it even where the worktree was moved by hand. */
	if (!t->main && *t->git_dir)
		return strcmp(t->git_dir, p->git.git_dir) == 0;
	real = path_real(t->worktree);
	return real && strcmp(real, p->git.worktree) == 0;
}

/* Takes the tasks out of FROM; HERE: only the caller's. */
static void take(const struct project *p, struct task_list *from, bool is_task, bool here,
        struct fleet_trees *to)
{
	for (size_t i = 0; i < from->n; i++) {
		bool stands = stands_in(p, &from->v[i]);
		if (here && !stands)
			continue;
		to->v[to->n++] =
		        (struct fleet_tree){.task = from->v[i], .is_task = is_task, .here = stands};
		from->v[i] = (struct task){0};
	}
}

static void tell_wrong(struct fleet_tree *t, enum fleet_state state, struct err *err)
{
	t->state = state;
	t->message = STEAL(err->message);
	strv_extend(&t->hints, &err->hints);
	err_clear(err);
}

/* Whether git can be run in T, and how. */
static bool reachable(const struct project *p, struct fleet_tree *t, struct git_at *ret)
{
	AUTOERR err = {0};

	if (task_at(p, &t->task, ret, &err) == 0)
		return true;
	tell_wrong(t,
	        err.code == ERR_WORKTREE_MISSING            ? FLEET_MISSING
	                : err.code == ERR_WORKTREE_TAMPERED ? FLEET_TAMPERED
	                                                    : FLEET_BROKEN,
	        &err);
	return false;
}

/* With reftable some of it is asked of git, so only where there is a reason to. */
static void find_parked(const struct project *p, struct fleet_tree *t)
{
	if (!*t->task.git_dir || (p->git.reftable && !t->status.tracked.n && t->status.branch))
		return;
	git_parked(&p->git, t->task.git_dir, &t->parked, NULL, NULL);
}

static void take_status(const struct project *p, struct fleet_tree *t, struct git_job *job)
{
	AUTOERR err = {0};

	if (git_status_take(job, &t->status, &err) < 0) {
		tell_wrong(t, FLEET_BROKEN, &err);
		return;
	}
	t->read = true;
	/* The branch may have moved since the worktrees were listed. */
	if (t->status.branch && strcmp(t->status.branch, t->task.branch) == 0)
		t->task.tip = t->status.head;
	if (!oid_is_set(&t->status.head))
		t->state = FLEET_UNBORN;
	if (t->task.leaving)
		t->state = FLEET_LEAVING;
	find_parked(p, t);
}

int fleet_trees(struct project *p, bool here, struct fleet_trees *ret, struct err *err)
{
	AUTOTASKS tasks = {0}, others = {0};
	AUTOTREES l = {0};
	AUTOFREE struct git_job *jobs = NULL;
	AUTOFREE size_t *whose = NULL;
	size_t n = 0;

	if (task_worktrees(p, &tasks, &others, err) < 0)
		return -1;
	l.v = xcalloc(tasks.n + others.n + 1, sizeof(*l.v));
	take(p, &tasks, true, here, &l);
	take(p, &others, false, here, &l);
	jobs = xcalloc(l.n + 1, sizeof(*jobs));
	whose = xcalloc(l.n + 1, sizeof(*whose));
	for (size_t i = 0; i < l.n; i++) {
		struct git_at at;
		if (!reachable(p, &l.v[i], &at))
			continue;
		jobs[n] = git_status_job(at, true);
		whose[n++] = i;
	}
	/* One that could not be started is told by its own row. */
	git_run_pool(jobs, n, proc_cores(), NULL);
	for (size_t i = 0; i < n; i++) {
		take_status(p, &l.v[whose[i]], &jobs[i]);
		proc_release(&jobs[i].p);
	}
	if (stop_check(err) < 0)
		return -1;
	*ret = l;
	l = (struct fleet_trees){0};
	return 0;
}
