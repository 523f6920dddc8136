#include <string.h>

#include "task/own.h"

void task_release(struct task *t)
{
	if (!t)
		return;
	free(t->id);
	free(t->branch);
	free(t->worktree);
	free(t->git_dir);
	free(t->locked);
	*t = (struct task){0};
}

void task_list_release(struct task_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		task_release(&l->v[i]);
	free(l->v);
	*l = (struct task_list){0};
}

static void copy_task(struct task *to, const struct task *from)
{
	*to = *from;
	to->id = xstrdup(from->id);
	to->branch = xstrdup(from->branch);
	to->worktree = xstrdup(from->worktree);
	to->git_dir = xstrdup(from->git_dir);
	to->locked = xstrdup(from->locked);
}

/* --- Which there are --------------------------------------------------------- */

/*
 * The record of a worktree: same folder, same place in the repository. A folder
 * of that name that somebody made later, after the task's own was gone, is
 * another git folder or was registered at another path.
 */
static const struct task_record *record_of(
        const struct task_record_list *records, const struct git_worktree *w)
{
	for (size_t i = 0; i < records->n; i++) {
		const struct task_record *r = &records->v[i];
		if (*r->git_dir && w->git_dir && strcmp(r->git_dir, w->git_dir) == 0 &&
		        strcmp(r->worktree, w->path) == 0)
			return r;
	}
	return NULL;
}

static int take_worktree(const struct project *p, const struct git_worktree *w,
        const struct task_record_list *records, struct task *ret, struct err *err)
{
	const struct task_record *r = w->main ? NULL : record_of(records, w);
	const char *doing;
	char *held = NULL;

	/* In the middle of a rebase or a bisect HEAD is detached, and the branch is still its. */
	if (!w->branch && w->git_dir && git_parked(&p->git, w->git_dir, &doing, &held, err) < 0)
		return -1;
	*ret = (struct task){
	        .id = xstrdup(r ? r->id : path_base(w->path)),
	        .branch = w->branch ? xstrdup(w->branch)
	                : held      ? held
	                            : xstrdup(""),
	        .worktree = xstrdup(w->path),
	        .git_dir = xstrdup(w->git_dir ? w->git_dir : ""),
	        .tip = held ? (struct oid){{0}} : w->head,
	        .locked = xstrdup(w->locked),
	        .main = w->main,
	        .missing = w->missing,
	};
	if (r && strcmp(r->branch, ret->branch) == 0) {
		ret->recorded = true;
		ret->base = r->base;
		ret->port = r->port;
		ret->leaving = r->step == TASK_LEAVING;
	}
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct task *x = a, *y = b;
	int c = strcmp(x->id, y->id);

	return c ? c : strcmp(x->worktree, y->worktree);
}

/* The tips of branches that are held by a detached worktree. */
static int read_held_tips(const struct project *p, struct task_list *l, struct err *err)
{
	AUTOFREE const char **names = xcalloc(l->n + 1, sizeof(*names));
	AUTOFREE struct oid *tips = xcalloc(l->n + 1, sizeof(*tips));
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (*l->v[i].branch && !oid_is_set(&l->v[i].tip))
			names[n++] = l->v[i].branch;
	if (git_refs(&p->git, names, tips, err) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < n; k++)
			if (strcmp(names[k], l->v[i].branch) == 0)
				l->v[i].tip = tips[k];
	return 0;
}

int own_worktrees(struct project *p, struct task_list *ret, struct err *err)
{
	AUTOWORKTREES w = {0};
	AUTORECORDS records = {0};
	AUTOTASKS l = {0};

	/* A store that cannot be read hides only who made a worktree: then nothing is removed. */
	if (project_store(p, STORE_READ, NULL) == 0)
		task_records(p->store, &records, NULL);
	if (git_worktrees(&p->git, &w, err) < 0)
		return -1;
	l.v = xcalloc(w.n + 1, sizeof(*l.v));
	for (size_t i = 0; i < w.n; i++) {
		if (w.v[i].bare)
			continue;
		if (take_worktree(p, &w.v[i], &records, &l.v[l.n], err) < 0)
			return -1;
		l.n++;
	}
	if (read_held_tips(p, &l, err) < 0)
		return -1;
	qsort(l.v, l.n, sizeof(*l.v), by_id);
	*ret = l;
	l = (struct task_list){0};
	return 0;
}

static bool is_task(const struct project *p, const struct task *t)
{
	return text_starts(t->branch, "refs/heads/") &&
	        !(p->trunk_ref && strcmp(p->trunk_ref, t->branch) == 0);
}

static void push(struct task_list *l, const struct task *t)
{
	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = *t;
}

int task_worktrees(struct project *p, struct task_list *ret_tasks, struct task_list *ret_others,
        struct err *err)
{
	AUTOTASKS l = {0};

	if (own_worktrees(p, &l, err) < 0)
		return -1;
	for (size_t i = 0; i < l.n; i++)
		push(is_task(p, &l.v[i]) ? ret_tasks : ret_others, &l.v[i]);
	l.n = 0;
	return 0;
}

int task_list(struct project *p, struct task_list *ret, struct err *err)
{
	AUTOTASKS others = {0};

	return task_worktrees(p, ret, &others, err);
}

/* --- Which one is meant ------------------------------------------------------ */

/* What a word may stand for, worked out once. */
struct names {
	const char *word;
	char *ref;      /* as a branch */
	char *prefixed; /* as a branch below branch_prefix, or NULL */
	char *path;     /* as a folder, real */
};

static void names_release(struct names *n)
{
	free(n->ref);
	free(n->prefixed);
	free(n->path);
}

static bool named(const struct names *n, const struct task *t)
{
	AUTOFREE char *real = path_real(t->worktree);

	if (real && n->path && strcmp(real, n->path) == 0)
		return true;
	if (*n->word == '/')
		return false;
	/* A full name is never also a short one. */
	if (text_starts(n->word, "refs/heads/"))
		return strcmp(t->branch, n->word) == 0;
	return strcmp(t->branch, n->ref) == 0 || strcmp(t->id, n->word) == 0 ||
	        (n->prefixed && strcmp(t->branch, n->prefixed) == 0);
}

static char *path_of(const char *word)
{
	AUTOFREE char *cwd = *word == '/' ? NULL : path_cwd();
	AUTOFREE char *whole = *word == '/' ? xstrdup(word) : cwd ? path_join(cwd, word) : NULL;
	size_t n = whole ? strlen(whole) : 0;

	while (n > 1 && whole[n - 1] == '/')
		whole[--n] = '\0';
	return n ? path_real(whole) : NULL;
}

static int ambiguous(const struct task_list *l, const struct names *n, struct err *err)
{
	json_t *candidates = json_array();

	err_set(err, ERR_AMBIGUOUS_TARGET, "`%s` names more than one task.", n->word);
	for (size_t i = 0; i < l->n; i++) {
		json_t *c;
		if (!named(n, &l->v[i]))
			continue;
		c = json_object();
		json_put_text(c, "branch", git_branch_short(l->v[i].branch));
		json_put_text(c, "id", l->v[i].id);
		json_put_text(c, "path", l->v[i].worktree);
		json_array_append_new(candidates, c);
		err_hint(err, "Say `%s` for the one in %s.", l->v[i].branch, l->v[i].worktree);
	}
	err_data(err, "candidates", candidates);
	return -1;
}

static int unknown(
        struct project *p, const struct task_list *l, const struct names *n, struct err *err)
{
	AUTOFREE char *status = call_text("status", NULL);
	struct oid tip = {0};

	if (p->trunk_ref && strcmp(p->trunk_ref, n->ref) == 0) {
		err_set(err, ERR_NOT_ON_TASK, "`%s` is the trunk, not a task.", p->trunk);
		err_hint(err, "Name a task; `%s` lists them.", status);
		return -1;
	}
	if (git_refs(&p->git, (const char *const[]){n->ref, NULL}, &tip, err) < 0)
		return -1;
	if (oid_is_set(&tip)) {
		AUTOFREE char *adopt = call_text("start", "branch", git_branch_short(n->ref), NULL);
		err_set(err, ERR_UNKNOWN_TARGET,
		        "The branch `%s` is checked out in no worktree, so it is no task yet.",
		        git_branch_short(n->ref));
		err_hint(err, "Give it a worktree with `%s`.", adopt);
		return -1;
	}
	err_set(err, ERR_UNKNOWN_TARGET, "No task has the branch, id or folder `%s`.", n->word);
	err_hint(err,
	        l->n ? "Name a task by its branch, its id or its worktree's path; `%s` lists them."
	             : "There are no tasks here; `%s` shows what there is.",
	        status);
	return -1;
}

int own_find(struct project *p, const struct task_list *l, const char *word, struct task *ret,
        struct err *err)
{
	CLEANUP(names_release)
	struct names n = {.word = word, .ref = git_branch_ref(word), .path = path_of(word)};
	const struct config *policy;
	const struct task *found = NULL;

	/* A configuration that is wrong is told by the verb that needs it. */
	if (project_policy(p, &policy, NULL) == 0)
		n.prefixed = xasprintf("refs/heads/%s%s", policy->branch_prefix, word);
	for (size_t i = 0; i < l->n; i++) {
		if (!named(&n, &l->v[i]))
			continue;
		if (found)
			return ambiguous(l, &n, err);
		found = &l->v[i];
	}
	if (!found)
		return unknown(p, l, &n, err);
	copy_task(ret, found);
	return 0;
}

static int no_task_here(const struct project *p, const char *branch, struct err *err)
{
	AUTOFREE char *status = call_text("status", NULL);

	if (!p->git.worktree)
		err_set(err, ERR_NOT_ON_TASK,
		        "This place has no working tree, so no task is here.");
	else if (branch && *branch)
		err_set(err, ERR_NOT_ON_TASK, "%s is on `%s`, which is the trunk, not a task.",
		        p->git.worktree, git_branch_short(branch));
	else
		err_set(err, ERR_NOT_ON_TASK,
		        "HEAD is detached in %s, so it stands on no task's branch.",
		        p->git.worktree);
	err_hint(err, "Run the command in a task's worktree, or name the task; `%s` lists them.",
	        status);
	return -1;
}

static int find_here(
        const struct project *p, const struct task_list *l, struct task *ret, struct err *err)
{
	const char *branch = NULL;

	for (size_t i = 0; p->git.worktree && i < l->n; i++) {
		const struct task *t = &l->v[i];
		AUTOFREE char *real = path_real(t->worktree);

		/* By the folder; by git's own folder where the worktree was moved by hand. */
		if ((!real || strcmp(real, p->git.worktree) != 0) &&
		        (t->main || strcmp(t->git_dir, p->git.git_dir) != 0))
			continue;
		branch = t->branch;
		if (is_task(p, t)) {
			copy_task(ret, t);
			return 0;
		}
	}
	return no_task_here(p, branch, err);
}

int task_resolve(struct project *p, const char *word, struct task *ret, struct err *err)
{
	AUTOTASKS l = {0};

	if (word) {
		if (task_list(p, &l, err) < 0)
			return -1;
		return own_find(p, &l, word, ret, err);
	}
	if (own_worktrees(p, &l, err) < 0)
		return -1;
	return find_here(p, &l, ret, err);
}

/* --- How it is called -------------------------------------------------------- */

bool own_points_back(const struct task *t)
{
	AUTOFREE char *target = git_pointer(t->worktree);
	AUTOFREE char *want = *t->git_dir ? path_real(t->git_dir) : NULL;

	return target && want && strcmp(target, want) == 0;
}

int task_at(const struct project *p, const struct task *t, struct git_at *ret, struct err *err)
{
	if (t->missing || !*t->worktree) {
		err_set(err, ERR_WORKTREE_MISSING,
		        "The worktree of `%s` is registered at %s, but the folder is not there.",
		        git_branch_short(t->branch), t->worktree);
		err_hint(err,
		        "If it was moved, run `git worktree repair PATH` with its new path; if it "
		        "is "
		        "gone for good, `git worktree prune` forgets it and keeps the branch.");
		return -1;
	}
	if (!t->main && !own_points_back(t)) {
		err_set(err, ERR_WORKTREE_TAMPERED,
		        "%s/.git does not point to %s, where the worktree of `%s` is registered; "
		        "git is not run there, since another repository's settings could run "
		        "programs.",
		        t->worktree, *t->git_dir ? t->git_dir : "a folder of this repository",
		        git_branch_short(t->branch));
		err_hint(err,
		        "Look at that file; if nothing else is wrong, `git -C %s worktree repair "
		        "%s` "
		        "writes it anew.",
		        p->git.main_worktree ? p->git.main_worktree : p->git.common, t->worktree);
		return -1;
	}
	*ret = git_at_recorded(t->git_dir, t->worktree);
	return 0;
}

void task_environment(const struct project *p, const struct task *t, struct strv *ret)
{
	AUTOSTRV extra = {0};

	strv_printf(&extra, "ABIDE_ID=%s", t->id);
	strv_printf(&extra, "ABIDE_BRANCH=%s", git_branch_short(t->branch));
	strv_printf(&extra, "ABIDE_WORKTREE=%s", t->worktree);
	/* Empty rather than the port of a task that this one was called from. */
	if (t->port)
		strv_printf(&extra, "ABIDE_PORT=%d", t->port);
	else
		strv_push(&extra, "ABIDE_PORT=");
	if (p->trunk)
		strv_printf(&extra, "ABIDE_TASK_TRUNK=%s", p->trunk);
	env_with(ret, (const char *const *)extra.v);
}
