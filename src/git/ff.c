#include "git/ff.h"

#include <fcntl.h>
#include <string.h>

#include "git/move.h"
#include "git/patient.h"

enum { LOCK_PATIENCE_MS = 5000, HOOK_PATIENCE_MS = 15000, STOP_PATIENCE_MS = 3000 };

/* --- The merge ----------------------------------------------------------------------- */

struct watch {
	const struct git *g;
	const struct git_ff *ff;
	int64_t stopped_at; /* when a signal was first seen; 0: not yet */
	bool moved;         /* the ref holds the new value though git is still at it */
};

/*
 * git is never killed: half of a checkout would be left. When the ref has moved
 * only a hook can be what takes so long, and nobody has to wait for that.
 */
static bool let_go(void *ctx, int64_t ms)
{
	struct watch *w = ctx;
	struct oid now;

	if (stop_signal && !w->stopped_at)
		w->stopped_at = ms + 1;
	if (ms < HOOK_PATIENCE_MS && !w->stopped_at)
		return false;
	if (ff_read_ref(w->g, w->ff, &now, &w->moved, NULL) == 0 && w->moved)
		return true;
	return w->stopped_at && ms - w->stopped_at > STOP_PATIENCE_MS;
}

/* What the merge is given besides the user's own environment. */
static void merge_environment(const struct git_ff *ff, struct strv *ret)
{
	AUTOFREE char *action = xasprintf("GIT_REFLOG_ACTION=%s", ff->message);

	env_with(ret,
	        (const char *const[]){"GIT_TERMINAL_PROMPT=0", "ABIDE_NO_OPTIONS=", action, NULL});
}

static int merge(
        const struct git *g, struct git_ff *ff, struct watch *w, struct patient *p, struct err *err)
{
	AUTOSTRV argv = {0};
	AUTOSTRV env = {0};
	AUTOCLOSE int alive = ff->lock ? open(ff->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	/* Options that the branch's configuration adds could make a merge commit of it. */
	AUTOFREE char *options = xasprintf(
	        "--config-env=branch.%s.mergeOptions=ABIDE_NO_OPTIONS", git_branch_short(ff->ref));

	merge_environment(ff, &env);
	git_argv((struct git_at){.worktree = ff->path},
	        GIT_WORDS(options, "merge", "--ff-only", "--commit", "--no-squash",
	                "--no-autostash", "--no-overwrite-ignore", "--no-stat", "-q",
	                ff->new_value.hex),
	        &argv);
	p->argv = (const char *const *)argv.v;
	p->env = env.v;
	p->cwd = ff->path;
	p->let_go = let_go;
	p->ctx = w;
	/* Held by git and its hooks for as long as they live, whatever becomes of this process. */
	if (alive >= 0)
		platform_byte_take(alive, ff->lock_id);
	p->keep_fd = alive;
	return patient_run(p, err);
}

static char *what_git_said(const struct patient *p)
{
	const struct proc as_proc = {.err = p->said, .status = p->status};

	return proc_complaint(&as_proc);
}

static json_t *json_of(const char *text)
{
	AUTOFREE char *clean = text_to_utf8(text, strlen(text));

	return json_string(clean);
}

int git_ff_in_the_way(const char *path, const struct git_obstacles *o, struct err *err)
{
	AUTOSTRV files = {0};
	AUTOBUF names = {0};

	strv_extend(&files, &o->changed);
	strv_extend(&files, &o->untracked);
	for (size_t i = 0; i < files.n && i < 5; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", files.v[i]);
	err_set(err, ERR_WOULD_LOSE,
	        "The trunk's checkout %s holds %s that the landing would overwrite: %s%s.", path,
	        o->changed.n ? "changes" : "files that git does not track", buf_str(&names),
	        files.n > 5 ? ", …" : "");
	err_data(err, "files", json_text_list(&files, 100));
	err_data(err, "checkout", json_of(path));
	if (o->changed.n)
		err_hint(err, "Commit or stash them there, then run the same command again.");
	else
		err_hint(err, "Move them away there, then run the same command again.");
	return -1;
}

/* Why the merge refused: files in the way by name where that is why. */
static int refused(
        const struct git *g, const struct git_ff *ff, const struct patient *p, struct err *err)
{
	const struct git_checkout c = {.path = (char *)ff->path, .git_dir = (char *)ff->git_dir};
	AUTOFREE char *said = what_git_said(p);
	AUTOOBSTACLES o = {0};

	if (git_obstacles(g, &c, &ff->old, &ff->new_value, &o, NULL) == 0 &&
	        (o.changed.n || o.untracked.n))
		return git_ff_in_the_way(ff->path, &o, err);
	err_set(err, ERR_GIT_FAILED,
	        "The trunk was not moved, and its checkout %s is as it was: git said: %s", ff->path,
	        said);
	err_hint(err, "Put right what git complains about in %s, then run the same command again.",
	        ff->path);
	return -1;
}

static int moved_meanwhile(const struct git_ff *ff, struct err *err)
{
	err_set(err, ERR_BUSY, "%s was moved by somebody else meanwhile; nothing was landed.",
	        git_branch_short(ff->ref));
	err_hint(err, "Run the same command again.");
	return -1;
}

/* HEAD of the checkout has to be the ref at its old value, in the folder that is known. */
static int check_head(const struct git_ff *ff, const struct ff_head *h, struct err *err)
{
	if (!h->expected) {
		err_set(err, ERR_WORKTREE_TAMPERED,
		        "In the trunk's checkout %s git finds another git folder than %s.",
		        ff->path, ff->git_dir);
		err_hint(err, "Mend the worktree with `git worktree repair`.");
		return -1;
	}
	if (strcmp(h->ref, ff->ref) == 0 && oid_equal(&h->commit, &ff->old))
		return 0;
	return moved_meanwhile(ff, err);
}

static int unfinished(const struct git_ff *ff, const struct patient *p, struct err *err)
{
	err_set(err, ERR_INTERRUPTED,
	        "git (process %ld) still moves the trunk in %s and is not to be killed.",
	        (long)p->pid, ff->path);
	err_data(err, "unfinished", json_true());
	err_hint(err, "The next abide command finds out how it ended and finishes the rest.");
	return -1;
}

/* Judged by the ref, whatever git's exit status. */
static int judge(const struct git *g, struct git_ff *ff, const struct ff_head *before,
        const struct patient *p, struct err *err)
{
	struct oid now;
	bool moved;

	if (ff_read_ref(g, ff, &now, &moved, err) < 0)
		return -1;
	if (moved) {
		if (p->status == -1)
			strv_printf(&ff->warnings,
			        "A hook of the trunk's checkout %s still runs (git process %ld); "
			        "it was left to itself.",
			        ff->path, (long)p->pid);
		return 0;
	}
	if (p->status == -1)
		return unfinished(ff, p, err);
	if (ff_undo(g, ff, before, err) < 0)
		return -1;
	/* A success that did not move it went to another HEAD. */
	if (p->status == 0 || !oid_equal(&now, &ff->old))
		return moved_meanwhile(ff, err);
	return refused(g, ff, p, err);
}

static int move_checked_out(const struct git *g, struct git_ff *ff, struct err *err)
{
	int64_t until = clock_mono_ms() + LOCK_PATIENCE_MS;

	for (;;) {
		AUTOHEAD before = {0};
		struct watch w = {.g = g, .ff = ff};
		AUTOPATIENT p = {0};
		AUTOERR why = {0};

		if (ff_read_head(ff, &before, err) < 0 || check_head(ff, &before, err) < 0)
			return -1;
		seam_point("ff:before-merge");
		if (merge(g, ff, &w, &p, err) < 0)
			return -1;
		seam_point("ff:after-merge");
		if (judge(g, ff, &before, &p, &why) == 0)
			return 0;
		/* git does not wait for the index by itself. */
		if (why.code != ERR_GIT_FAILED || !strstr(buf_str(&p.said), "index.lock"))
			return err_move(err, &why);
		if (clock_mono_ms() >= until)
			return ff_locked(ff, err) ? -1 : err_move(err, &why);
		random_pause_us(10000, 40000);
	}
}

/*
 * Nobody had it checked out. A checkout made in that very moment stands on the
 * old commit; it follows when nothing in it would be touched.
 */
static int follow(const struct git *g, struct git_ff *ff, struct err *err)
{
	AUTOCHECKOUT c = {0};
	AUTOPROC index = {0};
	AUTOPROC p = {0};

	if (git_checkout_of(g, ff->ref, &c, err) < 0)
		return -1;
	if (!c.path || c.detached)
		return 0;
	if (git_run(git_at_recorded(c.git_dir, c.path), &index,
	            GIT_WORDS("diff-index", "--cached", "--quiet", ff->new_value.hex, "--"),
	            err) < 0)
		return -1;
	if (index.status == 0)
		return 0;
	if (git_run(git_at_recorded(c.git_dir, c.path), &p,
	            GIT_WORDS("read-tree", "-m", "-u", ff->old.hex, ff->new_value.hex), err) < 0)
		return -1;
	if (p.status != 0)
		strv_printf(&ff->warnings,
		        "The trunk was checked out in %s while it moved, and the files there are "
		        "still those of before: see `git status` there.",
		        c.path);
	return 0;
}

int git_fast_forward(const struct git *g, struct git_ff *ff, struct err *err)
{
	AUTOERR quiet = {0};

	if (ff->path)
		return move_checked_out(g, ff, err);
	if (git_update_ref(g, ff->ref, &ff->new_value, &ff->old, ff->message, err) < 0)
		return -1;
	seam_point("ff:ref-moved");
	/* The trunk has moved: what comes now can only be told. */
	if (follow(g, ff, &quiet) < 0)
		strv_push(&ff->warnings, quiet.message);
	return 0;
}
