/*
 * What is kept of a removed worktree: single ignored files (an .env, a local
 * database), for a week. Whole ignored folders are made things and go.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "task/own.h"

static const int64_t KEEP_BYTES = 20 << 20;
static const int64_t KEEP_MS = 7LL * 24 * 3600 * 1000;

/* The digest that `copy` recorded for PATH, or NULL. */
static const char *copied_digest(const struct task_record *r, const char *path)
{
	size_t i;
	json_t *c;

	json_array_foreach (r->copied, i, c) {
		const char *name = json_text(c, "path");
		if (name && strcmp(name, path) == 0)
			return json_text(c, "digest");
	}
	return NULL;
}

/* Those of IGNORED that are worth keeping: RET, and their size. */
static int choose(const struct project *p, const struct task_record *r, const char *at_path,
        const struct strv *ignored, struct strv *ret, int64_t *ret_bytes, struct err *err)
{
	AUTOSTRV copied = {0};
	AUTOSTRV digests = {0};
	int64_t bytes = 0;

	for (size_t i = 0; i < ignored->n; i++)
		if (copied_digest(r, ignored->v[i]))
			strv_push(&copied, ignored->v[i]);
	if (copied.n && own_digests(p, at_path, &copied, &digests, err) < 0)
		return -1;
	for (size_t i = 0; i < ignored->n; i++) {
		AUTOFREE char *path = path_join(at_path, ignored->v[i]);
		bool unchanged = false;
		struct stat st;

		for (size_t k = 0; k < copied.n && k < digests.n; k++)
			if (strcmp(copied.v[k], ignored->v[i]) == 0)
				unchanged =
				        strcmp(digests.v[k], copied_digest(r, copied.v[k])) == 0;
		if (unchanged || text_ends(ignored->v[i], "/") || lstat(path, &st) != 0 ||
		        !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
			continue;
		strv_push(ret, ignored->v[i]);
		bytes += (int64_t)st.st_size;
	}
	*ret_bytes = bytes;
	return 0;
}

/* --- Moving -------------------------------------------------------------------- */

static int copy_bytes(int in, int out)
{
	char room[65536];
	ssize_t n;

	while ((n = read(in, room, sizeof(room))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		for (ssize_t at = 0; at < n;) {
			ssize_t w = write(out, room + at, (size_t)(n - at));
			if (w < 0 && errno != EINTR)
				return -1;
			at += w < 0 ? 0 : w;
		}
	}
	return 0;
}

/* Across file systems. The source goes only when the copy is on the disk. */
static int copy_over(const char *from, const char *to)
{
	AUTOCLOSE int in = -1;
	AUTOCLOSE int out = -1;
	struct stat st;

	if (lstat(from, &st) != 0)
		return -1;
	if (S_ISLNK(st.st_mode)) {
		char target[4096];
		ssize_t n = readlink(from, target, sizeof(target) - 1);
		if (n < 0)
			return -1;
		target[n] = '\0';
		return symlink(target, to) == 0 ? unlink(from) : -1;
	}
	in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0777);
	if (out < 0)
		return -1;
	if (copy_bytes(in, out) < 0 || fsync(out) != 0) {
		unlink(to);
		return -1;
	}
	return unlink(from);
}

static int move(const char *from_dir, const char *to_dir, const char *name, struct err *err)
{
	AUTOFREE char *from = path_join(from_dir, name);
	AUTOFREE char *to = path_join(to_dir, name);
	AUTOFREE char *parent = path_dir(to);

	if (fs_mkdirs(parent, 0700, err) < 0)
		return -1;
	if (rename(from, to) == 0 || (errno == EXDEV && copy_over(from, to) == 0))
		return 0;
	err_set(err, ERR_WRITE_DENIED, "%s could not be moved to %s: %s.", from, to,
	        strerror(errno));
	err_hint(err, "Check the free space and the rights there, then run it again.");
	return -1;
}

/* What was kept long enough goes. */
static void purge(const char *kept)
{
	AUTOSTRV names = {0};

	fs_list(kept, &names);
	for (size_t i = 0; i < names.n; i++) {
		AUTOFREE char *path = path_join(kept, names.v[i]);
		struct stat st;
		if (lstat(path, &st) == 0 &&
		        (int64_t)st.st_mtime * 1000 + KEEP_MS < clock_wall_ms())
			own_delete_tree(path, NULL);
	}
}

/* <store>/kept/<id>, with a number when a task of that id was there before. */
static char *kept_dir(const char *kept, const char *id)
{
	char *dir = path_join(kept, id);

	for (int n = 2; fs_exists(dir); n++) {
		free(dir);
		dir = xasprintf("%s/%s.%d", kept, id, n);
	}
	return dir;
}

int own_keep_files(struct project *p, const struct task_record *r, const char *at_path,
        const struct strv *ignored, struct task_removed *ret, char **ret_why, struct err *err)
{
	AUTOFREE char *kept = path_join(store_dir(p->store), "kept");
	AUTOFREE char *dir = NULL;
	AUTOSTRV files = {0};
	int64_t bytes;

	*ret_why = NULL;
	purge(kept);
	if (choose(p, r, at_path, ignored, &files, &bytes, err) < 0)
		return -1;
	if (bytes > KEEP_BYTES) {
		*ret_why =
		        xasprintf("%s holds %lld MiB of ignored files (%s%s), more than the %lld "
		                  "MiB that are moved aside.",
		                r->worktree, (long long)(bytes >> 20), files.v[0],
		                files.n > 1 ? ", …" : "", (long long)(KEEP_BYTES >> 20));
		return 0;
	}
	if (!files.n)
		return 0;
	dir = kept_dir(kept, r->id);
	for (size_t i = 0; i < files.n; i++) {
		if (move(at_path, dir, files.v[i], err) == 0)
			continue;
		while (i-- > 0)
			move(dir, at_path, files.v[i], NULL);
		own_delete_tree(dir, NULL);
		return -1;
	}
	/* The week begins now, whatever the files' own times. */
	utimensat(AT_FDCWD, dir, NULL, 0);
	strv_extend(&ret->kept, &files);
	mem_set(&ret->kept_dir, STEAL(dir));
	return 0;
}
