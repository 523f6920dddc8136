/*
 * Putting right what a process that died left half done.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "task/own.h"

enum { GIT_PATIENCE_TRIES = 100 };

char *own_random_hex(void)
{
	unsigned char b[6];

	random_bytes(b, sizeof(b));
	return xasprintf("%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
}

/* --- A start that did not get to its end --------------------------------------- */

char *own_making_reason(const char *id)
{
	return xasprintf("abide: making %s", id);
}

char *own_branch_message(const struct task_record *r)
{
	return xasprintf("abide: start %s", r->id);
}

static bool file_says(const char *dir, const char *name, const char *text)
{
	AUTOFREE char *path = path_join(dir, name);
	AUTOBUF b = {0};

	if (fs_read(path, 65536, &b, NULL) != 0)
		return false;
	while (b.len && b.data[b.len - 1] == '\n')
		b.data[--b.len] = '\0';
	return strcmp(buf_str(&b), text) == 0;
}

/*
 * The git folder that start registered: the one in its record, else the one
 * that carries its mark, which git writes before anything else there.
 */
static char *registered(const struct project *p, const struct task_record *r)
{
	AUTOFREE char *base = path_join(p->git.common, "worktrees");
	AUTOFREE char *reason = own_making_reason(r->id);
	AUTOSTRV names = {0};

	if (*r->git_dir)
		return fs_exists(r->git_dir) ? xstrdup(r->git_dir) : NULL;
	fs_list(base, &names);
	for (size_t i = 0; i < names.n; i++) {
		AUTOFREE char *dir = path_join(base, names.v[i]);
		if (file_says(dir, "locked", reason))
			return STEAL(dir);
	}
	return NULL;
}

/* Only what is recognised as start's own goes; the folder is pulled away to be removed later. */
static int undo_worktree(
        const struct project *p, const struct task_record *r, const char *pulled, struct err *err)
{
	AUTOFREE char *git_dir = registered(p, r);
	AUTOFREE char *target = git_pointer(r->worktree);
	AUTOFREE char *want = git_dir ? path_real(git_dir) : NULL;

	if (want && target && strcmp(want, target) == 0 && rename(r->worktree, pulled) != 0)
		own_delete_tree(r->worktree, NULL);
	/* git died before it wrote there. */
	rmdir(r->worktree);
	if (!git_dir)
		return 0;
	if (!fs_exists(r->worktree) && git_worktree_forget(&p->git, r->worktree, NULL) == 0 &&
	        !fs_exists(git_dir))
		return 0;
	/* So little of it is there that git cannot tell what it is. */
	return own_delete_tree(git_dir, err);
}

static int undo_branch(const struct project *p, const struct task_record *r, struct err *err)
{
	AUTOFREE char *want = own_branch_message(r);
	AUTOFREE char *said = NULL;
	struct oid now;
	AUTOERR why = {0};

	if (r->adopted)
		return 0;
	if (git_refs(&p->git, (const char *const[]){r->branch, NULL}, &now, err) < 0)
		return -1;
	/* With another commit, or made by somebody else, it is not start's to delete. */
	if (!oid_equal(&now, &r->base))
		return 0;
	if (git_reflog_newest(&p->git, r->branch, &said, err) < 0)
		return -1;
	if (strcmp(said, want) != 0)
		return 0;
	if (git_delete_ref(&p->git, r->branch, &r->base, &why) < 0 && why.code != ERR_BUSY)
		return err_move(err, &why);
	return 0;
}

int own_undo_start(struct project *p, struct task_record *r, struct err *err)
{
	AUTOFREE char *parent = path_dir(r->worktree);
	AUTOFREE char *pulled = xstrdup(json_text(r->detail, "pulled"));
	AUTOCLOSE int lock = -1;

	if (own_lock(p, &lock, err) < 0)
		return -1;
	if (!pulled) {
		AUTOFREE char *hex = own_random_hex();
		pulled = xasprintf("%s/.abide-removing-%s", parent, hex);
		if (!r->detail)
			r->detail = json_object();
		json_put_text(r->detail, "pulled", pulled);
		if (task_record_update(p->store, r, false, err) < 0)
			return -1;
	}
	if (undo_worktree(p, r, pulled, err) < 0 || undo_branch(p, r, err) < 0)
		return -1;
	seam_point("undo:unregistered");
	fs_unlock(lock);
	lock = -1;
	if (own_delete_tree(pulled, err) < 0 || own_lock(p, &lock, err) < 0)
		return -1;
	own_tidy_parent(r->worktree);
	return task_record_remove(p->store, r, err);
}

/* --- What is found ---------------------------------------------------------------- */

/* The git that the dead process ran may still be at work there; it is not for long. */
static bool git_has_ended(const char *dir)
{
	for (int i = 0; own_git_inside(dir); i++) {
		if (i == GIT_PATIENCE_TRIES || stop_signal)
			return false;
		random_pause_us(20000, 20000);
	}
	return true;
}

static void recover_start(struct project *p, struct task_record *r)
{
	AUTOSTRV inside = {0};

	if (!git_has_ended(r->worktree))
		return;
	/* A set-up command that outlived its start is still at work. */
	own_inside(r->worktree, &inside);
	if (!inside.n)
		own_undo_start(p, r, NULL);
}

static void recover_removal(struct project *p, struct task_record *r)
{
	AUTOREMOVED done = {0};

	own_finish_removal(p, r, &done, NULL);
}

static void recover_leaving(struct project *p, struct task_record *r)
{
	AUTOSTRV inside = {0};

	own_inside(r->worktree, &inside);
	if (!inside.n)
		own_begin_leaving(p, r);
}

static void (*const actions[])(struct project *p, struct task_record *r) = {
        [TASK_MAKING] = recover_start,
        [TASK_REMOVING] = recover_removal,
        [TASK_LEAVING] = recover_leaving,
};

/* Under its byte, and as it is now: another process may have been quicker. */
static void recover_one(struct project *p, const struct task_record *seen)
{
	AUTORECORD r = {0};

	if (!store_alive_take(p->store, ALIVE_TASK, seen->row))
		return;
	if (task_record_by_id(p->store, seen->id, &r, NULL) == 0 && r.row == seen->row &&
	        r.step == seen->step)
		actions[r.step](p, &r);
	store_alive_free(p->store, ALIVE_TASK, seen->row);
}

static void recover_updates(struct project *p)
{
	AUTOUPDATES l = {0};

	if (update_records(p->store, &l, NULL) < 0)
		return;
	for (size_t i = 0; i < l.n; i++) {
		if (!store_alive_take(p->store, ALIVE_UPDATE, l.v[i].row))
			continue;
		if (git_has_ended(l.v[i].worktree))
			own_recover_update(p, &l.v[i]);
		store_alive_free(p->store, ALIVE_UPDATE, l.v[i].row);
	}
}

int task_recover(struct project *p, struct err *err)
{
	AUTORECORDS records = {0};
	bool pending;

	(void)err;
	/* A store that cannot be read or written is told by the verb that needs it. */
	if (project_store(p, STORE_READ, NULL) < 0 || !p->store ||
	        task_records_pending(p->store, &pending, NULL) < 0 || !pending ||
	        project_store(p, STORE_WRITE, NULL) < 0 ||
	        task_records(p->store, &records, NULL) < 0)
		return 0;
	for (size_t i = 0; i < records.n; i++)
		if (actions[records.v[i].step])
			recover_one(p, &records.v[i]);
	recover_updates(p);
	return 0;
}
