/*
 * Removal of a task. The folder is pulled away first, by one rename: from then
 * on nobody writes into it by its name, and what it holds can be judged. Each
 * half-way state can be told from the others:
 *
 *   folder at its place, nothing pulled away    begun: go on, or give up
 *   pulled away, no stage                       judge it
 *   stage "judged"                              from here on only forward
 *   stage "gone"                                branch and registration are gone
 *
 * From the first step on the worktree is locked with a reason of our own, so
 * that no `git worktree prune` forgets a folder that is only away.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "task/own.h"

void task_removed_release(struct task_removed *r)
{
	if (!r)
		return;
	strv_release(&r->inside);
	strv_release(&r->kept);
	free(r->kept_dir);
	free(r->stays);
	*r = (struct task_removed){0};
}

static bool at_stage(const struct task_record *r, const char *stage)
{
	const char *now = json_text(r->detail, "stage");

	return now && strcmp(now, stage) == 0;
}

static const char *pulled_place(const struct task_record *r)
{
	const char *place = json_text(r->detail, "pulled");

	return place ? place : "";
}

/* The folder that was there when the removal began, and no other that came to its place. */
static bool same_folder(const struct task_record *r)
{
	struct stat st;

	return lstat(r->worktree, &st) == 0 && S_ISDIR(st.st_mode) &&
	        (int64_t)st.st_ino == json_int(r->detail, "inode", -1) &&
	        (int64_t)st.st_dev == json_int(r->detail, "device", -1);
}

/* --- The lock of its own --------------------------------------------------------- */

static const char lock_reason[] = "abide: removing";

static bool locked_by_us(const char *file)
{
	AUTOBUF b = {0};

	return fs_read(file, 4096, &b, NULL) == 0 && text_starts(buf_str(&b), lock_reason);
}

/* False: somebody else has locked it. */
static bool lock_worktree(const struct task_record *r)
{
	AUTOFREE char *file = path_join(r->git_dir, "locked");
	AUTOCLOSE int fd = -1;

	if (!fs_is_dir(r->git_dir) || locked_by_us(file))
		return true;
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno != EEXIST;
	/* Whatever it says, it is a lock. */
	return write(fd, lock_reason, sizeof(lock_reason) - 1) > 0;
}

static void unlock_worktree(const struct task_record *r)
{
	AUTOFREE char *file = path_join(r->git_dir, "locked");

	if (locked_by_us(file))
		unlink(file);
}

static int put_back(const struct task_record *r, struct err *err)
{
	const char *pulled = pulled_place(r);

	if (rename(pulled, r->worktree) == 0)
		return 0;
	err_set(err, ERR_WRITE_DENIED, "%s could not be put back to %s: %s.", pulled, r->worktree,
	        strerror(errno));
	err_hint(err, "Move it back by hand: `mv %s %s`.", pulled, r->worktree);
	return -1;
}

/* The removal is given up: the task lives on as it was. */
static int give_up(struct project *p, struct task_record *r, struct task_removed *ret, char *why,
        struct err *err)
{
	mem_set(&ret->stays, why);
	if (fs_exists(pulled_place(r)) && !fs_exists(r->worktree) && put_back(r, err) < 0)
		return -1;
	unlock_worktree(r);
	if (r->made_at == 0)
		return task_record_remove(p->store, r, err);
	r->step = TASK_LIVE;
	json_object_clear(r->detail);
	return task_record_update(p->store, r, true, err);
}

/* --- What may not be lost ----------------------------------------------------- */

/* Why the task may not go, or NULL. AT_PATH is where its folder is; RET gets what it holds. */
static int judge(const struct task_record *r, const char *at_path, struct git_leftovers *ret,
        char **ret_why, struct err *err)
{
	AUTOSTRV modules = {0};
	const struct strv *held;

	*ret_why = NULL;
	if (git_leftovers(git_at_recorded(r->git_dir, at_path), ret, err) < 0)
		return -1;
	held = ret->tracked.n ? &ret->tracked : &ret->untracked;
	if (held->n) {
		*ret_why = xasprintf("%s holds %s: %s%s.", r->worktree,
		        ret->tracked.n ? "uncommitted changes" : "untracked files", held->v[0],
		        held->n > 1 ? ", …" : "");
		return 0;
	}
	if (own_lone_submodules(r->git_dir, &modules, err) < 0)
		return -1;
	if (modules.n)
		*ret_why = xasprintf(
		        "Its submodule `%s` holds commits that no remote has.", modules.v[0]);
	return 0;
}

/* --- The steps ----------------------------------------------------------------- */

static int pull_away(const struct task_record *r, struct err *err)
{
	if (rename(r->worktree, pulled_place(r)) == 0)
		return 0;
	err_set(err, ERR_WRITE_DENIED, "The worktree %s could not be moved aside: %s.", r->worktree,
	        strerror(errno));
	err_hint(err, "See what holds it (a mount, the folder's rights), then run it again.");
	return -1;
}

/* Whether a worktree stands on R's branch, which then must stay. */
static int branch_in_use(struct project *p, const struct task_record *r, bool *ret, struct err *err)
{
	AUTOTASKS l = {0};

	*ret = false;
	if (own_worktrees(p, &l, err) < 0)
		return -1;
	for (size_t i = 0; i < l.n; i++)
		if (strcmp(l.v[i].branch, r->branch) == 0)
			*ret = true;
	return 0;
}

/* Settings that `git push -u` and the like left for the branch; nobody's work. */
static void forget_branch_settings(const struct project *p, const struct task_record *r)
{
	AUTOFREE char *section = xasprintf("branch.%s", git_branch_short(r->branch));
	AUTOPROC run = {0};

	git_run(git_at_common(&p->git), &run,
	        GIT_WORDS("config", "--local", "--remove-section", section), NULL);
}

static int delete_branch(
        struct project *p, const struct task_record *r, struct task_removed *ret, struct err *err)
{
	const char *hex = json_text(r->detail, "tip");
	struct oid tip = {0};
	AUTOERR why = {0};
	bool in_use;

	if (!hex || !oid_parse(&tip, hex))
		return 0;
	if (branch_in_use(p, r, &in_use, err) < 0)
		return -1;
	if (in_use)
		return 0;
	if (git_delete_ref(&p->git, r->branch, &tip, &why) < 0)
		/* It got another commit meanwhile: that one is not ours to delete. */
		return why.code == ERR_BUSY ? 0 : err_move(err, &why);
	ret->branch = true;
	forget_branch_settings(p, r);
	return 0;
}

/* Everything that other git processes must not see half done. */
static int unregister(
        struct project *p, struct task_record *r, struct task_removed *ret, struct err *err)
{
	AUTOCLOSE int lock = -1;
	int rc = -1;

	if (own_lock(p, &lock, err) < 0)
		return -1;
	if (fs_exists(r->worktree) || !fs_exists(r->git_dir) ||
	        git_worktree_forget(&p->git, r->worktree, err) == 0)
		rc = 0;
	seam_point("remove:unregistered");
	if (rc == 0)
		rc = delete_branch(p, r, ret, err);
	seam_point("remove:branch-deleted");
	if (rc == 0) {
		json_put(r->detail, "stage", json_string("gone"));
		rc = task_record_update(p->store, r, false, err);
	}
	return rc;
}

/* Under the lock, so that no start that is about to use the parent loses it. */
static void tidy(struct project *p, const struct task_record *r)
{
	AUTOCLOSE int lock = -1;

	if (own_lock(p, &lock, NULL) == 0)
		own_tidy_parent(r->worktree);
}

/* Judges what lies at AT_PATH and takes what is to be kept out of it. */
static int clear_out(struct project *p, struct task_record *r, const char *at_path,
        struct task_removed *ret, char **ret_why, struct err *err)
{
	AUTOLEFTOVERS l = {0};

	*ret_why = NULL;
	if (json_flag(r->detail, "discard") || !fs_exists(at_path))
		return 0;
	if (judge(r, at_path, &l, ret_why, err) < 0)
		return -1;
	return *ret_why ? 0 : own_keep_files(p, r, at_path, &l.ignored, ret, ret_why, err);
}

/* Submodules are found by the worktree's own place: with some, it is judged before it goes. */
static int judge_and_pull(struct project *p, struct task_record *r, struct task_removed *ret,
        char **ret_why, struct err *err)
{
	AUTOFREE char *modules = path_join(r->git_dir, "modules");
	const char *pulled = pulled_place(r);
	bool in_place = fs_is_dir(modules);

	if (in_place && fs_exists(pulled) && !fs_exists(r->worktree) && put_back(r, err) < 0)
		return -1;
	if (!fs_exists(pulled) && same_folder(r)) {
		if (in_place && (clear_out(p, r, r->worktree, ret, ret_why, err) < 0 || *ret_why))
			return *ret_why ? 0 : -1;
		if (pull_away(r, err) < 0)
			return -1;
		seam_point("remove:pulled");
	}
	return in_place ? 0 : clear_out(p, r, pulled, ret, ret_why, err);
}

/* Up to the point from which there is only forward. RET_WHY: given up, and why. */
static int approach(struct project *p, struct task_record *r, struct task_removed *ret,
        char **ret_why, struct err *err)
{
	*ret_why = NULL;
	if (!lock_worktree(r)) {
		*ret_why = xasprintf("%s was locked meanwhile.", r->worktree);
		return 0;
	}
	if (judge_and_pull(p, r, ret, ret_why, err) < 0)
		return -1;
	if (*ret_why)
		return 0;
	json_put(r->detail, "stage", json_string("judged"));
	return task_record_update(p->store, r, false, err);
}

int own_finish_removal(
        struct project *p, struct task_record *r, struct task_removed *ret, struct err *err)
{
	AUTOFREE char *pulled = xstrdup(pulled_place(r));
	AUTOERR why_not = {0};
	char *why = NULL;

	if (!at_stage(r, "gone")) {
		if (!at_stage(r, "judged") && approach(p, r, ret, &why, &why_not) < 0) {
			give_up(p, r, ret, NULL, NULL);
			return err_move(err, &why_not);
		}
		if (why)
			return give_up(p, r, ret, why, err);
		if (unregister(p, r, ret, err) < 0)
			return -1;
	}
	seam_point("remove:gone");
	if (*pulled && own_delete_tree(pulled, err) < 0)
		return -1;
	tidy(p, r);
	ret->worktree = true;
	return task_record_remove(p->store, r, err);
}

/* --- Beginning ------------------------------------------------------------------ */

static void describe(struct task_record *r, const struct task_removal *how)
{
	AUTOFREE char *parent = path_dir(r->worktree);
	AUTOFREE char *hex = own_random_hex();
	AUTOFREE char *pulled = xasprintf("%s/.abide-removing-%s", parent, hex);
	struct stat st;

	json_decref(r->detail);
	r->detail = json_object();
	json_put_bool(r->detail, "discard", how->discard);
	json_put_text(r->detail, "tip", how->tip.hex);
	json_put_text(r->detail, "why", how->why);
	json_put_text(r->detail, "pulled", pulled);
	if (lstat(r->worktree, &st) == 0) {
		json_put_int(r->detail, "inode", (int64_t)st.st_ino);
		json_put_int(r->detail, "device", (int64_t)st.st_dev);
	}
}

/* The record of T; 1 when abide has none. */
static int record_of(
        struct project *p, const struct task *t, struct task_record *ret, struct err *err)
{
	int rc;

	if (!t->recorded)
		return 1;
	rc = task_record_by_id(p->store, t->id, ret, err);
	if (rc == 0 && strcmp(ret->worktree, t->worktree) != 0)
		rc = 1;
	return rc;
}

/* While somebody is inside, the task is left for whoever looks later. */
static int leave(struct project *p, struct task_record *r, const struct task_removal *how,
        struct task_removed *ret, struct err *err)
{
	describe(r, how);
	r->step = TASK_LEAVING;
	ret->leaving = true;
	return task_record_update(p->store, r, true, err);
}

/* A worktree that somebody else made gets a record for the time of its removal. */
static int make_record(
        struct project *p, const struct task *t, struct task_record *ret, struct err *err)
{
	AUTOFREE char *hex = own_random_hex();

	*ret = (struct task_record){
	        .id = xasprintf("%s %s", t->id, hex),
	        .branch = xstrdup(t->branch),
	        .worktree = xstrdup(t->worktree),
	        .git_dir = xstrdup(t->git_dir),
	        .base_name = xstrdup(""),
	        .made_by = xstrdup(""),
	        .adopted = true,
	};
	return task_record_borrow(p->store, ret, err);
}

int task_remove(struct project *p, const struct task *t, const struct task_removal *how,
        struct task_removed *ret, struct err *err)
{
	AUTOREMOVED done = {0};
	AUTORECORD r = {0};
	int rc;

	if (project_store(p, STORE_WRITE, err) < 0)
		return -1;
	rc = record_of(p, t, &r, err);
	if (rc < 0)
		return -1;
	if (t->main || (rc == 1 && !how->foreign)) {
		ret->stays = xasprintf("%s was not made by abide.", t->worktree);
		return 0;
	}
	if (t->locked) {
		ret->stays = xasprintf(
		        "%s is locked%s%s.", t->worktree, *t->locked ? ": " : "", t->locked);
		return 0;
	}
	if (!t->missing && !own_points_back(t)) {
		ret->stays = xasprintf(
		        "%s/.git does not point to this repository any more.", t->worktree);
		return 0;
	}
	if (rc == 1 && make_record(p, t, &r, err) < 0)
		return -1;
	if (!store_alive_take(p->store, ALIVE_TASK, r.row)) {
		err_set(err, ERR_BUSY, "Another abide is at work on `%s`.",
		        git_branch_short(t->branch));
		err_hint(err, "Run the same command again in a moment.");
		return -1;
	}
	if (!how->discard) {
		own_settled_inside(t->worktree, &done.inside);
		if (done.inside.n)
			rc = leave(p, &r, how, &done, err);
	}
	if (!done.leaving) {
		describe(&r, how);
		r.step = TASK_REMOVING;
		rc = task_record_update(p->store, &r, false, err);
		seam_point("remove:begun");
		if (rc == 0)
			rc = own_finish_removal(p, &r, &done, err);
	}
	store_alive_free(p->store, ALIVE_TASK, r.row);
	if (rc < 0)
		return -1;
	*ret = done;
	done = (struct task_removed){0};
	return 0;
}

void own_begin_leaving(struct project *p, struct task_record *r)
{
	const char *tip = json_text(r->detail, "tip");
	struct task_removal how = {.why = "landed"};
	struct oid now;
	AUTOREMOVED done = {0};

	if (tip)
		oid_parse(&how.tip, tip);
	if (git_refs(&p->git, (const char *const[]){r->branch, NULL}, &now, NULL) < 0)
		return;
	/* Somebody works on with it: it is a task like any other again. */
	if (!oid_equal(&now, &how.tip)) {
		r->step = TASK_LIVE;
		json_object_clear(r->detail);
		task_record_update(p->store, r, true, NULL);
		return;
	}
	describe(r, &how);
	r->step = TASK_REMOVING;
	if (task_record_update(p->store, r, false, NULL) == 0)
		own_finish_removal(p, r, &done, NULL);
}
