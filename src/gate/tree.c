#include "gate/own.h"

enum { PATHS_TOLD = 50 };

/* A look at the worktree that saw something new, and who ran before it. */
struct find {
	struct strv jobs, paths;
	struct strv moves; /* sentences about HEAD */
};

struct tree {
	char *git_dir, *worktree, *branch;
	struct oid commit;
	struct strv since; /* jobs that ran since the last look */
	struct find *finds;
	size_t n;
	struct strv now; /* what the last look saw */
	struct strv moved;
};

struct tree *tree_watch(struct git_at at, const struct oid *commit, const char *branch)
{
	struct tree *t = xcalloc(1, sizeof(*t));

	t->git_dir = xstrdup(at.git_dir);
	t->worktree = xstrdup(at.worktree);
	t->branch = xstrdup(branch);
	t->commit = *commit;
	return t;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++) {
		strv_release(&t->finds[i].jobs);
		strv_release(&t->finds[i].paths);
		strv_release(&t->finds[i].moves);
	}
	free(t->finds);
	free(t->git_dir);
	free(t->worktree);
	free(t->branch);
	strv_release(&t->since);
	strv_release(&t->now);
	strv_release(&t->moved);
	free(t);
}

void tree_job(struct tree *t, const char *job)
{
	strv_push(&t->since, job);
}

/* Where HEAD is, when that is not where it was. */
static void look_at_head(const struct tree *t, const struct git_status *s, struct strv *ret)
{
	if (!s->branch || strcmp(s->branch, t->branch) != 0)
		strv_printf(ret, "HEAD is %s%s instead of on `%s`", s->branch ? "on " : "detached",
		        s->branch ? git_branch_short(s->branch) : "", git_branch_short(t->branch));
	if (!oid_equal(&s->head, &t->commit))
		strv_printf(ret, "HEAD is %s instead of %s", s->head.hex, t->commit.hex);
}

/* What is in NOW and was not BEFORE. */
static void fresh(const struct strv *now, const struct strv *before, struct strv *ret)
{
	for (size_t i = 0; i < now->n; i++)
		if (!strv_has(before, now->v[i]))
			strv_push(ret, now->v[i]);
}

int tree_look(struct tree *t, struct err *err)
{
	AUTOSTATUS s = {0};
	AUTOSTRV now = {0};
	AUTOSTRV moved = {0};
	struct find f = {0};

	if (git_status(git_at_recorded(t->git_dir, t->worktree), true, &s, err) < 0)
		return -1;
	strv_extend(&now, &s.tracked);
	strv_extend(&now, &s.untracked);
	look_at_head(t, &s, &moved);
	fresh(&now, &t->now, &f.paths);
	fresh(&moved, &t->moved, &f.moves);
	if (f.paths.n || f.moves.n) {
		strv_extend(&f.jobs, &t->since);
		t->finds = xreallocarray(t->finds, t->n + 1, sizeof(*t->finds));
		t->finds[t->n++] = f;
	}
	strv_release(&t->since);
	strv_release(&t->now);
	strv_release(&t->moved);
	t->since = t->now = t->moved = (struct strv){0};
	strv_extend(&t->now, &now);
	strv_extend(&t->moved, &moved);
	return 0;
}

bool tree_dirty(const struct tree *t)
{
	return t->now.n || t->moved.n;
}

void tree_tell(const struct tree *t, json_t *detail)
{
	AUTOSTRV jobs = {0};
	AUTOBUF reason = {0};

	/* Only what is still there: a job may put away what another one made. */
	for (size_t i = 0; i < t->n; i++) {
		const struct find *f = &t->finds[i];
		bool stays = false;
		for (size_t k = 0; k < f->paths.n && !stays; k++)
			stays = strv_has(&t->now, f->paths.v[k]);
		for (size_t k = 0; k < f->moves.n && !stays; k++)
			stays = strv_has(&t->moved, f->moves.v[k]);
		for (size_t k = 0; k < f->jobs.n && stays; k++)
			if (!strv_has(&jobs, f->jobs.v[k]))
				strv_push(&jobs, f->jobs.v[k]);
	}
	json_put(detail, "dirtied_by", json_text_list(&jobs, 0));
	json_put(detail, "dirtied", json_text_list(&t->now, PATHS_TOLD));
	json_put_int(detail, "dirtied_total", (int64_t)t->now.n);
	for (size_t i = 0; i < t->moved.n; i++)
		buf_printf(&reason, "%s%s", i ? ", " : "", t->moved.v[i]);
	if (reason.len)
		json_put_text(detail, "reason", buf_str(&reason));
}
