/*
 * update: the trunk, or another commit, merged into a task. A conflict is found
 * beside the working tree and touches nothing; the merge itself is journalled.
 */
#include <string.h>
#include <sys/stat.h>

#include "git/ff.h"
#include "git/move.h"
#include "task/own.h"

enum { LISTED_MAX = 1000, LOCK_LOOKS = 40 };

void task_updated_release(struct task_updated *u)
{
	if (!u)
		return;
	free(u->from);
	strv_release(&u->files);
	strv_release(&u->overlap);
	strv_release(&u->warnings);
	*u = (struct task_updated){0};
}

/* --- Whether it can begin ---------------------------------------------------------- */

static json_t *listed(const struct strv *files)
{
	return json_text_list(files, LISTED_MAX);
}

static int check_idle(const struct project *p, const struct task *t, struct err *err)
{
	const char *parked;

	if (git_parked(&p->git, t->git_dir, &parked, NULL, err) < 0)
		return -1;
	if (!parked)
		return 0;
	err_set(err, ERR_DIRTY_WORKTREE, "%s is in the middle of a %s.", t->worktree, parked);
	err_hint(err, "Finish or abort the %s there first.", parked);
	return -1;
}

static int check_clean(const struct task *t, struct git_at at, struct err *err)
{
	AUTOSTATUS s = {0};

	if (git_status(at, false, &s, err) < 0)
		return -1;
	if (!s.tracked.n)
		return 0;
	err_set(err, ERR_DIRTY_WORKTREE, "%s holds uncommitted changes: %s%s.", t->worktree,
	        s.tracked.v[0], s.tracked.n > 1 ? ", …" : "");
	err_hint(err, "Commit them first, or put them away with `git stash`.");
	err_data(err, "files", listed(&s.tracked));
	return -1;
}

static int64_t changed_at(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return 0;
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* A merge that meets another git's lock half-way is hard to take back: it is looked for first. */
static int check_unlocked(const struct task *t, struct err *err)
{
	AUTOFREE char *lock = path_join(t->git_dir, "index.lock");
	AUTOFREE char *ago = NULL;

	for (int look = 0; look < LOCK_LOOKS && fs_exists(lock); look++) {
		if (stop_check(err) < 0)
			return -1;
		random_pause_us(20000, 60000);
	}
	if (!fs_exists(lock))
		return 0;
	ago = text_ago(clock_wall_ms() - changed_at(lock) / 1000000);
	err_set(err, ERR_BUSY,
	        "git's lock on the index of %s is held: %s is %s old. A git command works there, "
	        "or "
	        "one was killed and left it.",
	        t->worktree, lock, ago);
	err_hint(err,
	        "See that no git command works there; when none does, remove %s and run the same "
	        "command again.",
	        lock);
	return -1;
}

/* The word that is merged: the trunk, or what git or abide knows by it. */
static int find_target(struct project *p, const char *from, struct task_updated *ret,
        struct oid *ret_target, struct err *err)
{
	const struct config *policy;
	AUTOFREE char *prefixed = NULL;
	AUTOERR why = {0};

	if (!from) {
		if (project_need_trunk(p, err) < 0)
			return -1;
		*ret_target = p->trunk_tip;
		ret->from = xstrdup(p->trunk);
		return 0;
	}
	ret->from = xstrdup(from);
	if (git_resolve_commit(&p->git, from, ret_target, &why) == 0)
		return 0;
	if (why.code != ERR_UNKNOWN_TARGET || project_policy(p, &policy, NULL) < 0)
		return err_move(err, &why);
	prefixed = xasprintf("%s%s", policy->branch_prefix, from);
	return git_resolve_commit(&p->git, prefixed, ret_target, NULL) == 0 ? 0
	                                                                    : err_move(err, &why);
}

/* --- What it brings ------------------------------------------------------------------ */

static int describe(struct project *p, const struct oid *tip, const struct oid *target,
        struct task_updated *ret, struct err *err)
{
	AUTOSTRV own = {0};
	int64_t ahead;

	if (git_ahead_behind(&p->git, target, tip, &ret->commits, &ahead, err) < 0 ||
	        git_incoming_paths(&p->git, tip, target, &ret->files, err) < 0 ||
	        git_incoming_paths(&p->git, target, tip, &own, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->files.n; i++)
		if (strv_has(&own, ret->files.v[i]))
			strv_push(&ret->overlap, ret->files.v[i]);
	return 0;
}

static int conflicts(
        const struct task *t, const char *from, const struct strv *files, struct err *err)
{
	err_set(err, ERR_CONFLICT,
	        "Merging `%s` into `%s` would conflict in %zu file%s (%s%s); nothing was changed.",
	        from, git_branch_short(t->branch), files->n, files->n == 1 ? "" : "s",
	        files->n ? files->v[0] : "", files->n > 1 ? ", …" : "");
	err_hint(err, "Merge it by hand in %s and resolve it there: `git merge %s`.", t->worktree,
	        from);
	err_data(err, "files", listed(files));
	return -1;
}

/* Files that git does not know, or is told to ignore, are the user's: nothing writes over them. */
static int check_in_the_way(
        const struct project *p, const struct task *t, const struct oid *result, struct err *err)
{
	const struct git_checkout c = {.path = t->worktree, .git_dir = t->git_dir};
	AUTOOBSTACLES o = {0};

	if (git_obstacles(&p->git, &c, &t->tip, result, &o, err) < 0)
		return -1;
	if (!o.untracked.n)
		return 0;
	err_set(err, ERR_DIRTY_WORKTREE, "The merge would write over untracked files in %s: %s%s.",
	        t->worktree, o.untracked.v[0], o.untracked.n > 1 ? ", …" : "");
	err_hint(err, "Move or commit them, then run the same command again.");
	err_data(err, "files", listed(&o.untracked));
	return -1;
}

/* --- Merging -------------------------------------------------------------------------- */

/* Why git did not merge, though it does not conflict. */
static const struct {
	const char *says; /* in git's words */
	enum err_code code;
	const char *what, *hint;
} refusals[] = {
        {"failed to sign", ERR_SIGNING_FAILED, "git could not sign the merge",
                "See that the signing key can be used without a prompt (an agent that is "
                "unlocked), then run the same command again."},
        {"failed to write commit object", ERR_SIGNING_FAILED, "git could not write the merge",
                "See that the signing key can be used without a prompt, then run the same "
                "command again."},
        {"index.lock", ERR_BUSY, "git's lock on the worktree's index is held",
                "When no git command works there, remove the lock file that git names."},
        {"Please tell me who you are", ERR_GIT_FAILED, "git does not know whose merge it is",
                "Set an identity: `git config user.name …` and `git config user.email …`."},
        {"ident name", ERR_GIT_FAILED, "git does not know whose merge it is",
                "Set an identity: `git config user.name …` and `git config user.email …`."},
        {"Not committing merge", ERR_GIT_FAILED, "A hook of the repository refused the merge",
                "See what the hook wants (it ran before the merge was committed), and run the "
                "same command again."},
};

static int refused(const struct proc *run, struct err *err)
{
	AUTOFREE char *said = proc_complaint(run);

	for (size_t i = 0; i < NELEMS(refusals); i++) {
		if (!strstr(buf_str(&run->err), refusals[i].says))
			continue;
		err_set(err, refusals[i].code, "%s; the task is as it was before. git said: %s",
		        refusals[i].what, said);
		err_hint(err, "%s", refusals[i].hint);
		return -1;
	}
	/* A hook that fails in silence. */
	err_set(err, ERR_GIT_FAILED,
	        "git, or a hook of the repository, refused the merge; the task is as it was "
	        "before. git said: %s",
	        said);
	err_hint(err, "Put right what it complains about, then run the same command again.");
	return -1;
}

/* The branch did not move: files and index go back to where they were. */
int own_take_back_merge(const struct project *p, const struct update_record *r, struct err *err)
{
	struct git_at at = git_at_recorded(r->git_dir, r->worktree);
	struct git_ff ff = {.ref = r->branch,
	        .old = r->tip,
	        .new_value = r->result,
	        .path = r->worktree,
	        .git_dir = r->git_dir};
	struct oid merging;
	int rc;

	if (git_merge_head(at, &merging, err) < 0)
		return -1;
	if (oid_is_set(&merging))
		return oid_equal(&merging, &r->target) ? git_merge_abort(at, err) : 0;
	rc = ff_restore(&p->git, &ff, err);
	strv_release(&ff.warnings);
	return rc;
}

static int merge(struct project *p, const struct task *t, struct git_at at, struct update_record *r,
        struct task_updated *ret, struct err *err)
{
	AUTOPROC run = {0};
	AUTOERR cannot = {0};
	int rc = git_merge(at, &r->target, r->message, &run, err);

	seam_point("update:merged");
	if (rc < 0 ||
	        git_refs(&p->git, (const char *const[]){t->branch, NULL}, &ret->after, err) < 0)
		return -1;
	if (!oid_equal(&ret->after, &r->tip)) {
		bool contains;
		if (git_is_ancestor(&p->git, &r->target, &ret->after, &contains, err) < 0)
			return -1;
		if (contains)
			return 0;
	}
	if (own_take_back_merge(p, r, &cannot) < 0) {
		err_data(&cannot, "unfinished", json_true());
		return err_move(err, &cannot);
	}
	if (run.stopped && stop_check(err) < 0)
		return -1;
	return refused(&run, err);
}

static int journalled_merge(struct project *p, const struct task *t, struct git_at at,
        const struct oid *target, const struct oid *result, struct task_updated *ret,
        struct err *err)
{
	AUTOUPDATE r = {
	        .git_dir = xstrdup(t->git_dir),
	        .worktree = xstrdup(t->worktree),
	        .branch = xstrdup(t->branch),
	        .tip = t->tip,
	        .target = *target,
	        .result = *result,
	        .message = xasprintf("Merge %s into %s", ret->from, git_branch_short(t->branch)),
	};
	int rc;

	if (stop_check(err) < 0 || update_record_add(p->store, &r, err) < 0)
		return -1;
	seam_point("update:begun");
	rc = merge(p, t, at, &r, ret, err);
	/* What could not be put right now stays in the journal, for the next verb. */
	if (rc < 0 && err && json_flag(err->data, "unfinished"))
		store_alive_free(p->store, ALIVE_UPDATE, r.row);
	else
		update_record_remove(p->store, &r, NULL);
	seam_point("update:done");
	return rc;
}

/* The merge stands whatever comes of this. */
static int set_up_again(struct project *p, const struct task *t, const struct task_updated *u,
        const struct task_progress *progress, struct err *err)
{
	AUTOCONFIG work = {0};
	AUTOERR why = {0};

	if (config_at(&p->git, &u->after, &work, &why) == 0 &&
	        own_setup(p, t, &work.setup, progress, &why) == 0)
		return 0;
	err_data(&why, "before", json_string(u->before.hex));
	err_data(&why, "after", json_string(u->after.hex));
	err_hint(&why, "`%s` was merged already; only the set-up is missing.", u->from);
	return err_move(err, &why);
}

int task_update(struct project *p, const struct task *t, const char *from,
        const struct task_progress *progress, struct task_updated *ret, struct err *err)
{
	CLEANUP(task_updated_release) struct task_updated u = {0};
	AUTOSTRV files = {0};
	struct oid target, result;
	struct git_at at;
	bool contained;
	int rc;

	if (find_target(p, from, &u, &target, err) < 0 || task_at(p, t, &at, err) < 0 ||
	        check_idle(p, t, err) < 0 || check_clean(t, at, err) < 0 ||
	        check_unlocked(t, err) < 0)
		return -1;
	if (!oid_is_set(&t->tip))
		return err_set(err, ERR_NO_COMMITS, "`%s` has no commit yet.",
		        git_branch_short(t->branch));
	u.before = u.after = t->tip;
	if (git_is_ancestor(&p->git, &target, &t->tip, &contained, err) < 0)
		return -1;
	if (!contained) {
		rc = git_merge_preview(at, &t->tip, &target, &result, &files, err);
		if (rc != 0)
			return rc < 0 ? -1 : conflicts(t, u.from, &files, err);
		if (describe(p, &t->tip, &target, &u, err) < 0 ||
		        check_in_the_way(p, t, &result, err) < 0 ||
		        project_store(p, STORE_WRITE, err) < 0 ||
		        journalled_merge(p, t, at, &target, &result, &u, err) < 0)
			return -1;
		u.merged = true;
		if (set_up_again(p, t, &u, progress, err) < 0)
			return -1;
	}
	*ret = u;
	u = (struct task_updated){0};
	return 0;
}

/* --- Recovery --------------------------------------------------------------------------- */

static bool says(const char *file, const char *text)
{
	AUTOBUF b = {0};

	return fs_read(file, 1 << 20, &b, NULL) == 0 && text_starts(buf_str(&b), text);
}

/*
 * A merge that stands in the worktree is abide's when it carries its message,
 * and nobody has worked on it when nothing there was written after it stopped.
 */
static bool merge_is_ours(struct git_at at, const struct update_record *r)
{
	AUTOFREE char *head = path_join(r->git_dir, "MERGE_HEAD");
	AUTOFREE char *message = path_join(r->git_dir, "MERGE_MSG");
	AUTOFREE char *index = path_join(r->git_dir, "index");
	int64_t stopped = changed_at(head);
	AUTOSTATUS s = {0};

	if (!says(message, r->message) || changed_at(index) > stopped ||
	        git_status(at, false, &s, NULL) < 0)
		return false;
	for (size_t i = 0; i < s.tracked.n; i++) {
		AUTOFREE char *path = path_join(r->worktree, s.tracked.v[i]);
		if (changed_at(path) > stopped)
			return false;
	}
	return true;
}

void own_recover_update(struct project *p, const struct update_record *r)
{
	struct git_at at = git_at_recorded(r->git_dir, r->worktree);
	AUTOFREE char *lock = path_join(r->git_dir, "index.lock");
	AUTOFREE char *target = git_pointer(r->worktree);
	AUTOFREE char *main_git = path_join(r->worktree, ".git");
	struct oid now, merging;
	AUTOFREE char *want = path_real(r->git_dir);
	bool right_place = (target && strcmp(target, want) == 0) ||
	        (fs_is_dir(main_git) && fs_is_dir(r->git_dir));

	if (!right_place) {
		update_record_remove(p->store, r, NULL);
		return;
	}
	if (git_refs(&p->git, (const char *const[]){r->branch, NULL}, &now, NULL) < 0 ||
	        git_merge_head(at, &merging, NULL) < 0)
		return;
	/* It got to its end, or somebody carried on from here. */
	if (!oid_equal(&now, &r->tip) || (oid_is_set(&merging) && !merge_is_ours(at, r))) {
		update_record_remove(p->store, r, NULL);
		return;
	}
	/* No git is at work there: a lock that is left was the merge's own. */
	if (fs_exists(lock) && changed_at(lock) / 1000000 >= r->begun_at - 1000)
		unlink(lock);
	if (own_take_back_merge(p, r, NULL) == 0)
		update_record_remove(p->store, r, NULL);
}
