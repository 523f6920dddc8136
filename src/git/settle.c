/*
 * What a move of the trunk left behind: telling it, and putting it back.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "git/move.h"

enum { SETTLE_PATIENCE_MS = 5000 };
/* A file of a landing that is larger is taken for somebody's. */
static const size_t ENTRY_CAP = 256u << 20;

/* --- What holds now ------------------------------------------------------------- */

int ff_read_ref(const struct git *g, const struct git_ff *ff, struct oid *ret_now, bool *ret_moved,
        struct err *err)
{
	if (git_refs(g, (const char *const[]){ff->ref, NULL}, ret_now, err) < 0)
		return -1;
	*ret_moved = false;
	if (!oid_is_set(ret_now) || oid_equal(ret_now, &ff->old))
		return 0;
	return git_is_ancestor(g, &ff->new_value, ret_now, ret_moved, err);
}

void ff_head_release(struct ff_head *h)
{
	free(h->ref);
}

int ff_read_head(const struct git_ff *ff, struct ff_head *ret, struct err *err)
{
	AUTOPROC p = {0};
	AUTOFREE char *real = path_real(ff->git_dir);
	AUTOFREE char *found = NULL;
	AUTOFREE char *out = NULL;
	char *id, *ref;

	/* The folder's name comes last: it may hold any byte. */
	if (git_run((struct git_at){.worktree = ff->path}, &p,
	            GIT_WORDS("rev-parse", "HEAD", "--symbolic-full-name", "HEAD",
	                    "--absolute-git-dir"),
	            err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The trunk's checkout could not be read", err);
	out = xstrndup(buf_str(&p.out), p.out.len ? p.out.len - 1 : 0);
	id = out;
	ref = strchr(id, '\n');
	if (!ref || !strchr(ref + 1, '\n'))
		return git_complain(&p, "The trunk's checkout could not be read", err);
	*ref++ = '\0';
	found = xstrdup(strchr(ref, '\n') + 1);
	*strchr(ref, '\n') = '\0';
	mem_set(&found, path_real(found));
	ret->expected = strcmp(found, real) == 0;
	if (!oid_parse(&ret->commit, id))
		ret->commit = (struct oid){0};
	ret->ref = xstrdup(strcmp(ref, "HEAD") == 0 ? "" : ref);
	return 0;
}

/* How long ago the file was written, in milliseconds; -1: it is not there. */
static int64_t age_of(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -1;
	return clock_wall_ms() - (int64_t)st.st_mtime * 1000;
}

bool ff_locked(const struct git_ff *ff, struct err *err)
{
	AUTOFREE char *lock = path_join(ff->git_dir, "index.lock");
	int64_t age = age_of(lock);
	AUTOFREE char *ago = text_ago(age < 0 ? 0 : age);

	if (age == -1)
		return false;
	err_set(err, ERR_BUSY,
	        "git's lock on the trunk's checkout is held: %s is %s old. A git command works "
	        "there, or one was killed and left it.",
	        lock, ago);
	err_hint(err,
	        "See that no git command works in %s; when none does, remove %s and run the same "
	        "command again.",
	        ff->path, lock);
	return true;
}

/* --- Putting back ------------------------------------------------------------------ */

/* git in the checkout, as its user would run it there. */
static int in_checkout(
        const struct git_ff *ff, struct proc *p, const char *const *words, struct err *err)
{
	return git_run((struct git_at){.worktree = ff->path}, p, words, err);
}

static int cannot_undo(const struct proc *p, const struct git_ff *ff, struct err *err)
{
	AUTOFREE char *said = proc_complaint(p);

	err_set(err, ERR_INTERRUPTED,
	        "Moving the trunk stopped half-way in %s, and could not be undone: git said: %s",
	        ff->path, said);
	err_data(err, "unfinished", json_true());
	err_hint(err,
	        "Look at `git status` there and put right what git complains about; the next abide "
	        "command finishes the rest.");
	return -1;
}

/* Takes index and files of the checkout from the new commit back to the old one. */
static int take_back(const struct git_ff *ff, struct err *err)
{
	AUTOPROC p = {0};

	if (in_checkout(ff, &p, GIT_WORDS("read-tree", "-m", "-u", ff->new_value.hex, ff->old.hex),
	            err) < 0)
		return -1;
	return p.status == 0 ? 0 : cannot_undo(&p, ff, err);
}

/*
 * Whether the index of the checkout holds the new commit where it differs from
 * the old one: git, which writes an index whole or not at all, stopped between
 * its index and its ref. What else is staged there does not count.
 */
static int index_moved(const struct git *g, const struct git_ff *ff, bool *ret, struct err *err)
{
	AUTOPROC p = {0};
	AUTOSTRV differs = {0};
	AUTOSTRV incoming = {0};
	size_t missing = 0;

	if (git_changed_paths(g, &ff->old, &ff->new_value, &incoming, err) < 0 ||
	        in_checkout(ff, &p,
	                GIT_WORDS("diff-index", "--cached", "--no-ext-diff", "--no-renames",
	                        "--name-only", "-z", ff->new_value.hex, "--"),
	                err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The index of the trunk's checkout could not be read", err);
	strv_split_nul(&differs, buf_str(&p.out), p.out.len);
	for (size_t i = 0; i < incoming.n; i++)
		missing += strv_has(&differs, incoming.v[i]);
	*ret = incoming.n && !missing;
	return 0;
}

int ff_undo(
        const struct git *g, const struct git_ff *ff, const struct ff_head *before, struct err *err)
{
	AUTOHEAD now = {0};
	AUTOPROC p = {0};
	bool half_way;

	if (ff_read_head(ff, &now, err) < 0)
		return -1;
	if (oid_equal(&now.commit, &ff->new_value) && oid_equal(&before->commit, &ff->old)) {
		if (take_back(ff, err) < 0 ||
		        in_checkout(ff, &p,
		                GIT_WORDS("update-ref", "-m", "abide: undo", "HEAD", ff->old.hex,
		                        ff->new_value.hex),
		                err) < 0)
			return -1;
		return p.status == 0 ? 0 : cannot_undo(&p, ff, err);
	}
	if (index_moved(g, ff, &half_way, err) < 0)
		return -1;
	return half_way ? take_back(ff, err) : 0;
}

/* --- After a crash ------------------------------------------------------------------- */

/* The file at PATH as git would store it: content, or a link's target. 1: not there. */
static int read_entry(const char *path, struct buf *ret, struct err *err)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0)
		return 1;
	if (!S_ISLNK(st.st_mode))
		return fs_read(path, ENTRY_CAP, ret, err);
	n = readlink(path, target, sizeof(target));
	if (n < 0)
		return 1;
	buf_add(ret, target, (size_t)n);
	return 0;
}

/* A blob as it is checked out at PATH, filters and line ends applied. */
static int checked_out(const struct git_ff *ff, const struct oid *commit, const char *path,
        struct buf *ret, struct err *err)
{
	AUTOFREE char *word = xasprintf("%s:%s", commit->hex, path);
	AUTOPROC p = {.out_cap = ENTRY_CAP};

	if (in_checkout(ff, &p, GIT_WORDS("cat-file", "--filters", word), err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "A file of the landing could not be read", err);
	buf_add(ret, buf_str(&p.out), p.out.len);
	return 0;
}

static bool starts_with(const struct buf *whole, const struct buf *part)
{
	return part->len <= whole->len && memcmp(buf_str(whole), buf_str(part), part->len) == 0;
}

enum entry { ENTRY_AS_BEFORE, ENTRY_OURS, ENTRY_FOREIGN };

/*
 * What stands at a path of the move. It was clean before, so anything but the
 * old file, the new one, the begin of the new one or nothing is somebody's.
 */
static int look_at(const struct git_ff *ff, const struct move *m, enum entry *ret, struct err *err)
{
	AUTOFREE char *full = path_join(ff->path, m->path);
	AUTOBUF is = {0};
	AUTOBUF was = {0};
	AUTOBUF comes = {0};
	int rc = read_entry(full, &is, err);

	if (rc < 0)
		return -1;
	if (rc == 1) {
		*ret = m->status == 'A' ? ENTRY_AS_BEFORE : ENTRY_OURS;
		return 0;
	}
	if (m->status != 'A') {
		if (checked_out(ff, &ff->old, m->path, &was, err) < 0)
			return -1;
		if (was.len == is.len && starts_with(&was, &is)) {
			*ret = ENTRY_AS_BEFORE;
			return 0;
		}
	}
	if (m->status != 'D' && checked_out(ff, &ff->new_value, m->path, &comes, err) < 0)
		return -1;
	*ret = m->status != 'D' && starts_with(&comes, &is) ? ENTRY_OURS : ENTRY_FOREIGN;
	return 0;
}

/* Removes a file that the move brought, and the folders that are empty by that. */
static void take_away(const struct git_ff *ff, const char *path)
{
	AUTOFREE char *at = path_join(ff->path, path);

	if (unlink(at) < 0)
		return;
	for (;;) {
		mem_set(&at, path_dir(at));
		if (!path_inside(at, ff->path) || strcmp(at, ff->path) == 0 || rmdir(at) < 0)
			return;
	}
}

/* The paths of the move whose files are not what the index (still the old one) says. */
static int touched(
        const struct git_ff *ff, const struct moves *moves, struct strv *ret, struct err *err)
{
	AUTOPROC p = {0};

	if (in_checkout(ff, &p,
	            GIT_WORDS("diff-files", "--no-ext-diff", "--name-only", "-z",
	                    "--ignore-submodules=all", "--"),
	            err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The trunk's checkout could not be read", err);
	strv_split_nul(ret, buf_str(&p.out), p.out.len);
	for (size_t i = 0; i < moves->n; i++) {
		AUTOFREE char *full = path_join(ff->path, moves->v[i].path);
		if (moves->v[i].status == 'A' && fs_exists(full))
			strv_push(ret, moves->v[i].path);
	}
	return 0;
}

/* Files partly new, index and ref old: git was killed while it wrote files. */
static int put_back(const struct git *g, struct git_ff *ff, struct err *err)
{
	AUTOMOVES moves = {0};
	AUTOSTRV list = {0};
	AUTOBUF restore = {0};
	AUTOPROC p = {0};

	if (moves_between(g, &ff->old, &ff->new_value, &moves, err) < 0 ||
	        touched(ff, &moves, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < moves.n; i++) {
		const struct move *m = &moves.v[i];
		enum entry what;

		if (m->old_mode == MODE_SUBMODULE || m->new_mode == MODE_SUBMODULE ||
		        !strv_has(&list, m->path))
			continue;
		if (look_at(ff, m, &what, err) < 0)
			return -1;
		if (what == ENTRY_FOREIGN)
			strv_printf(&ff->warnings,
			        "%s in the trunk's checkout %s changed while a landing was cut "
			        "short there; it was left as it is.",
			        m->path, ff->path);
		else if (what == ENTRY_OURS && m->status == 'A')
			take_away(ff, m->path);
		else if (what == ENTRY_OURS)
			buf_add(&restore, m->path, strlen(m->path) + 1);
	}
	if (!restore.len)
		return 0;
	p.in = buf_str(&restore);
	p.in_len = restore.len;
	if (in_checkout(ff, &p, GIT_WORDS("checkout-index", "-f", "-q", "-u", "-z", "--stdin"),
	            err) < 0)
		return -1;
	return p.status == 0 ? 0 : cannot_undo(&p, ff, err);
}

int ff_restore(const struct git *g, struct git_ff *ff, struct err *err)
{
	bool half_way;

	if (index_moved(g, ff, &half_way, err) < 0)
		return -1;
	return half_way ? take_back(ff, err) : put_back(g, ff, err);
}

/* Whether the HEAD of the checkout was moved by this very move. */
static int moved_by_us(const struct git_ff *ff, bool *ret, struct err *err)
{
	AUTOPROC p = {0};

	if (in_checkout(ff, &p, GIT_WORDS("log", "-g", "-1", "--format=%gs", "HEAD", "--"), err) <
	        0)
		return -1;
	*ret = p.status == 0 && text_starts(buf_str(&p.out), ff->message);
	return 0;
}

/* git, or one of its hooks, may still be at it though the caller died. */
static bool at_it(const struct git_ff *ff)
{
	AUTOCLOSE int fd = ff->lock ? open(ff->lock, O_RDONLY | O_CLOEXEC) : -1;

	return fd >= 0 && platform_byte_held(fd, ff->lock_id) == 1;
}

/* Waits until it ended or its work is done: 0, or -1 with BUSY. */
static int wait_for_git(
        const struct git *g, const struct git_ff *ff, bool *ret_moved, struct err *err)
{
	int64_t until = clock_mono_ms() + SETTLE_PATIENCE_MS;
	AUTOFREE char *lock = path_join(ff->git_dir, "index.lock");
	struct oid now;

	for (;;) {
		bool working = at_it(ff);

		if (ff_read_ref(g, ff, &now, ret_moved, err) < 0)
			return -1;
		if (*ret_moved || (!working && !fs_exists(lock)))
			return 0;
		if (clock_mono_ms() >= until || stop_signal)
			break;
		random_pause_us(10000, 40000);
	}
	if (!ff_locked(ff, err)) {
		err_set(err, ERR_BUSY,
		        "git, or a hook that it runs, still moves the trunk in %s for a landing "
		        "whose process ended.",
		        ff->path);
		err_hint(err, "Run the same command again when it has ended.");
	}
	return -1;
}

int git_ff_settle(const struct git *g, struct git_ff *ff, bool *ret_moved, struct err *err)
{
	AUTOHEAD head = {0};
	struct oid now;
	bool ours;

	if (ff_read_ref(g, ff, &now, ret_moved, err) < 0)
		return -1;
	if (*ret_moved || !ff->path || !fs_is_dir(ff->path))
		return 0;
	if (wait_for_git(g, ff, ret_moved, err) < 0)
		return -1;
	if (*ret_moved)
		return 0;
	if (ff_read_ref(g, ff, &now, ret_moved, err) < 0 || ff_read_head(ff, &head, err) < 0)
		return -1;
	if (*ret_moved || !head.expected)
		return 0;
	if (strcmp(head.ref, ff->ref) != 0) {
		const struct ff_head before = {.commit = ff->old};

		if (!oid_equal(&head.commit, &ff->new_value))
			return 0;
		return moved_by_us(ff, &ours, err) < 0 ? -1
		        : ours                         ? ff_undo(g, ff, &before, err)
		                                       : 0;
	}
	/* Somebody carried on from here: what is there is theirs. */
	if (!oid_equal(&now, &ff->old))
		return 0;
	return ff_restore(g, ff, err);
}
