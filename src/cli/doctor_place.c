#include "cli/doctor.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "store/store.h"
#include "task/task.h"
#include "wake/wake.h"

enum { YOUNG_LOCK_MS = 5000, TIGHT_BYTES = 32 << 20, MANY = 8 };

/* --- File watching ----------------------------------------------------------------- */

void doctor_watching(struct doctor *d)
{
	AUTOFREE char *dir = store_dir_of(d->p->git.common);
	const char *const refs[] = {d->p->trunk_ref ? d->p->trunk_ref : "refs/heads/main", NULL};
	struct wake_spec spec = {.common = d->p->git.common,
	        .store_dir = dir,
	        .reftable = d->p->git.reftable,
	        .refs = refs,
	        .notes = true,
	        .bell = true};
	size_t limit = platform_file_event_instances();
	AUTOWAKE *w = NULL;
	const char *why = NULL;
	AUTOERR err = {0};

	if (wake_open(&spec, &w, &err) < 0) {
		doctor_refusal(d, "watching", DOCTOR_BAD, &err);
		return;
	}
	json_put_text(d->data, "wake", wake_by_events(w, &why) ? "events" : "polling");
	if (!wake_by_events(w, &why))
		doctor_row(d, "watching", DOCTOR_WARN,
		        "Nothing breaks; waits notice a change up to 250 ms later and cost about "
		        "30 ms of "
		        "CPU a minute.",
		        "Waits look by themselves every 250 ms: %s",
		        why ? why : "no file events here.");
	else if (limit == SIZE_MAX)
		doctor_row(d, "watching", DOCTOR_OK, NULL, "Waits are woken by file events.");
	else
		doctor_row(d, "watching", DOCTOR_OK, NULL,
		        "Waits are woken by file events; at most %zu of this user's %zu instances "
		        "are "
		        "taken, further waits look by themselves.",
		        wake_instance_share(), limit);
}

/* --- The store ------------------------------------------------------------------------ */

/* What was committed lately stands in the log beside the database. */
static int64_t bytes_of(const char *db)
{
	AUTOFREE char *log = xasprintf("%s-wal", db);
	struct stat st;
	int64_t bytes = stat(db, &st) == 0 ? st.st_size : 0;

	return stat(log, &st) == 0 ? bytes + st.st_size : bytes;
}

static void store_facts(struct doctor *d, const char *dir, const char *fs, bool local)
{
	AUTOFREE char *db = path_join(dir, "state.db");
	json_t *facts = json_object();

	json_put_text(facts, "path", dir);
	json_put_bool(facts, "exists", fs_exists(db));
	if (fs_exists(db))
		json_put_int(facts, "bytes", bytes_of(db));
	json_put_text(facts, "file_system", fs);
	json_put_bool(facts, "local", local);
	json_put(d->data, "store", facts);
}

static char *size_text(int64_t bytes)
{
	if (bytes < 1024 * 1024)
		return xasprintf("%lld KiB", (long long)((bytes + 1023) / 1024));
	return xasprintf("%lld MiB", (long long)(bytes / (1024 * 1024)));
}

/* Whether the store can be written, without writing. */
static void rights_row(struct doctor *d, const char *dir)
{
	bool there = fs_exists(dir);
	const char *where = there ? dir : d->p->git.common;
	struct statvfs v;
	struct stat st;

	if (access(where, W_OK) != 0) {
		doctor_row(d, "store", DOCTOR_WARN,
		        "Make it writable for this user; in a sandbox, allow writing to the common "
		        "git "
		        "folder.",
		        "%s cannot be written: waits work without memory (a killed call is not "
		        "continued), and start, done and accept refuse.",
		        where);
		return;
	}
	if (statvfs(where, &v) == 0 && (uint64_t)v.f_bavail * v.f_frsize < TIGHT_BYTES)
		doctor_row(d, "store", DOCTOR_WARN, "Free some disk space.",
		        "Less than 32 MiB are free where %s lies.", where);
	if (there && stat(dir, &st) == 0 && (st.st_mode & 077)) {
		AUTOFREE char *quoted = text_shell_quote(dir);
		AUTOFREE char *fix = xasprintf("Close it with `chmod 700 %s`.", quoted);
		doctor_row(d, "store", DOCTOR_WARN, fix, "%s is open to other users (mode %o).",
		        dir, (unsigned)(st.st_mode & 0777));
	}
}

static void content_row(struct doctor *d, const char *dir, const char *fs)
{
	json_t *facts = json_object_get(d->data, "store");
	AUTOFREE char *size = size_text(json_int(facts, "bytes", 0));
	AUTOERR err = {0};
	int version = 0;

	if (!json_flag(facts, "exists")) {
		doctor_row(d, "store", DOCTOR_OK, NULL,
		        "None yet; %s is made when something has to be remembered (%s).", dir, fs);
		return;
	}
	if (store_check(d->p->git.common, &version, &err) < 0) {
		doctor_refusal(d, "store", DOCTOR_BAD, &err);
		return;
	}
	json_put_int(facts, "version", version);
	if (version < store_version_known())
		doctor_row(d, "store", DOCTOR_OK, NULL,
		        "%s, format %d, %s, on %s; the next verb that writes brings it to format "
		        "%d.",
		        dir, version, size, fs, store_version_known());
	else
		doctor_row(d, "store", DOCTOR_OK, NULL, "%s, format %d, %s, on %s.", dir, version,
		        size, fs);
}

void doctor_store(struct doctor *d)
{
	AUTOFREE char *dir = store_dir_of(d->p->git.common);
	bool local = true;
	AUTOFREE char *fs = platform_fs_type(fs_exists(dir) ? dir : d->p->git.common, &local);

	store_facts(d, dir, fs, local);
	content_row(d, dir, fs);
	rights_row(d, dir);
	if (!local)
		doctor_row(d, "store", DOCTOR_WARN, "Keep the repository on a local disk.",
		        "It lies on %s: only one machine may use abide here, since locks and "
		        "shared "
		        "memory do not reach others.",
		        fs);
}

/* --- Worktrees -------------------------------------------------------------------------- */

static void one_worktree(struct doctor *d, const struct task *t)
{
	struct git_at at;
	AUTOERR err = {0};

	if (t->missing || !*t->worktree)
		doctor_row(d, "worktrees", DOCTOR_WARN,
		        "If it is gone for good, forget it with `git worktree prune`; its branch "
		        "stays.",
		        "The worktree %s of %s is registered, but its folder is not there.",
		        t->worktree, git_branch_short(t->branch));
	else if (task_at(d->p, t, &at, &err) < 0)
		doctor_refusal(d, "worktrees", DOCTOR_BAD, &err);
}

void doctor_worktrees(struct doctor *d)
{
	AUTOTASKS tasks = {0};
	AUTOTASKS others = {0};
	AUTOERR err = {0};
	int before = d->count[DOCTOR_WARN] + d->count[DOCTOR_BAD];

	if (task_worktrees(d->p, &tasks, &others, &err) < 0) {
		doctor_refusal(d, "worktrees", DOCTOR_BAD, &err);
		return;
	}
	for (size_t i = 0; i < tasks.n; i++)
		one_worktree(d, &tasks.v[i]);
	for (size_t i = 0; i < others.n; i++)
		if (others.v[i].missing)
			one_worktree(d, &others.v[i]);
	if (before == d->count[DOCTOR_WARN] + d->count[DOCTOR_BAD])
		doctor_row(d, "worktrees", DOCTOR_OK, NULL, "%zu task%s, all in their places.",
		        tasks.n, tasks.n == 1 ? "" : "s");
}

/* --- Lock files of git -------------------------------------------------------------------- */

/* Who holds the file open, and what git works in DIR (it closes its lock while an editor runs). */
static void find_holders(const char *path, const char *dir, struct strv *ret)
{
	AUTOSTRV inside = {0};

	platform_holders(path, ret, MANY);
	if (dir)
		platform_inside(dir, &inside, 64);
	for (size_t i = 0; i < inside.n && ret->n < MANY; i++) {
		const char *name = strchr(inside.v[i], ' ');
		if (name && text_starts(name + 1, "git") && !strv_has(ret, inside.v[i]))
			strv_push(ret, inside.v[i]);
	}
}

static void lock_row(struct doctor *d, const char *path, int64_t age, const struct strv *holders)
{
	AUTOFREE char *ago = text_ago(age);
	AUTOFREE char *quoted = text_shell_quote(path);
	AUTOFREE char *fix = xasprintf("If no git is at work there, remove it: `rm %s`.", quoted);

	if (holders->n)
		doctor_row(d, "locks", DOCTOR_WARN, "Let it finish, or look at that process.",
		        "%s is %s old; process %s holds it.", path, ago, holders->v[0]);
	else
		doctor_row(d, "locks", DOCTOR_BAD, fix,
		        "%s is %s old and no process seems to hold it; git refuses to work there "
		        "until it "
		        "is gone.",
		        path, ago);
}

static void look_at_lock(
        struct doctor *d, json_t *list, const char *folder, const char *name, const char *worktree)
{
	AUTOFREE char *path = path_join(folder, name);
	AUTOSTRV holders = {0};
	struct stat st;
	int64_t age;
	json_t *row;

	if (lstat(path, &st) != 0)
		return;
	age = clock_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
	if (age < YOUNG_LOCK_MS)
		return;
	find_holders(path, worktree, &holders);
	row = json_object();
	json_put_text(row, "path", path);
	json_put_int(row, "age_ms", age);
	json_put(row, "holders", json_text_list(&holders, 0));
	json_array_append_new(list, row);
	lock_row(d, path, age, &holders);
}

void doctor_locks(struct doctor *d)
{
	static const char receipts[] = RECEIPT_REF ".lock";
	static const char *const shared[] = {"packed-refs.lock", "config.lock", "shallow.lock",
	        receipts, "reftable/tables.list.lock"};
	static const char *const own[] = {"index.lock", "HEAD.lock"};
	const char *common = d->p->git.common;
	AUTOWORKTREES trees = {0};
	json_t *list = json_array();

	json_put(d->data, "locks", list);
	for (size_t i = 0; i < NELEMS(shared); i++)
		look_at_lock(d, list, common, shared[i], NULL);
	if (d->p->trunk_ref) {
		AUTOFREE char *trunk = xasprintf("%s.lock", d->p->trunk_ref);
		look_at_lock(d, list, common, trunk, NULL);
	}
	if (git_worktrees(&d->p->git, &trees, NULL) < 0)
		return;
	for (size_t i = 0; i < trees.n; i++)
		for (size_t k = 0; k < NELEMS(own) && trees.v[i].git_dir; k++)
			look_at_lock(d, list, trees.v[i].git_dir, own[k],
			        trees.v[i].missing || trees.v[i].bare ? NULL : trees.v[i].path);
}
