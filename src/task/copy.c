/*
 * `copy`: ignored files of the main checkout that a task needs, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "task/own.h"

int own_digests(const struct project *p, const char *dir, const struct strv *files,
        struct strv *ret, struct err *err)
{
	AUTOSTRV words = {0};
	AUTOPROC run = {0};
	const char *line;

	strv_push(&words, "hash-object");
	strv_push(&words, "--no-filters");
	strv_push(&words, "--");
	for (size_t i = 0; i < files->n; i++)
		strv_take(&words, path_join(dir, files->v[i]));
	if (git_run(git_at_common(&p->git), &run, (const char *const *)words.v, err) < 0)
		return -1;
	if (run.status != 0)
		return git_complain(&run, "The copied files could not be read", err);
	line = buf_str(&run.out);
	for (size_t n = strcspn(line, "\n"); n; n = strcspn(line, "\n")) {
		strv_take(ret, xstrndup(line, n));
		line += n + (line[n] == '\n');
	}
	return 0;
}

/* Those of WANTED that git ignores in the new worktree. */
static int ignored_of(
        struct git_at at, const struct strv *wanted, struct strv *ret, struct err *err)
{
	AUTOBUF in = {0};
	AUTOPROC run = {0};

	for (size_t i = 0; i < wanted->n; i++)
		buf_add(&in, wanted->v[i], strlen(wanted->v[i]) + 1);
	run.in = buf_str(&in);
	run.in_len = in.len;
	if (git_run(at, &run, GIT_WORDS("check-ignore", "-z", "--stdin"), err) < 0)
		return -1;
	if (run.status != 0 && run.status != 1)
		return git_complain(&run, "It could not be told which files git ignores", err);
	strv_split_nul(ret, buf_str(&run.out), run.out.len);
	return 0;
}

/* What is wrong with the name itself, or NULL. */
static const char *bad_name(const char *name)
{
	if (!*name || *name == '/' || text_ends(name, "/"))
		return "is no relative name of a file";
	for (const char *level = name;;) {
		size_t n = strcspn(level, "/");
		if ((n == 2 && strncmp(level, "..", 2) == 0) || n == 0)
			return "has a level that leaves the folder";
		if (n == 4 && strncasecmp(level, ".git", 4) == 0)
			return "lies inside .git";
		if (!level[n])
			return NULL;
		level += n + 1;
	}
}

static int write_copy(const char *from, const char *to, const char **ret_why, struct err *err)
{
	AUTOCLOSE int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	AUTOCLOSE int out = -1;
	char room[65536];
	struct stat st;
	ssize_t n;

	if (in < 0 || fstat(in, &st) != 0) {
		*ret_why = "cannot be read";
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		*ret_why = "is no file";
		return 0;
	}
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, st.st_mode & 0777);
	if (out < 0 && errno == EEXIST) {
		*ret_why = "is there already";
		return 0;
	}
	while (out >= 0 && (n = read(in, room, sizeof(room))) > 0)
		for (ssize_t at = 0; at < n;) {
			ssize_t w = write(out, room + at, (size_t)(n - at));
			if (w < 0)
				goto failed;
			at += w;
		}
	if (out >= 0 && n == 0)
		return 0;
failed:
	err_set(err, ERR_WRITE_DENIED, "%s could not be written: %s.", to, strerror(errno));
	err_hint(err, "Check the free space and the rights there, then run it again.");
	return -1;
}

/* Why the file may not be read or written, "" when it is not there, NULL when it may. */
static const char *check_paths(const char *from_dir, const char *worktree, const char *name)
{
	AUTOFREE char *from = path_join(from_dir, name);
	AUTOFREE char *to = path_join(worktree, name);
	AUTOFREE char *real = realpath(from, NULL);
	AUTOFREE char *parent = path_dir(to);
	AUTOFREE char *real_parent = path_real(parent);
	const char *bad = bad_name(name);

	if (bad)
		return bad;
	/* Not there: it may be for some people only, and nobody has to be told. */
	if (!real)
		return fs_exists(from) ? "is a link that leads nowhere" : "";
	if (!path_inside(real, from_dir))
		return "leaves the repository through a link";
	/* git, too, takes no name that goes through a link. */
	if (strcmp(real_parent, parent) != 0)
		return "would be written through a link in the worktree";
	return NULL;
}

static int copy_one(const char *from_dir, const char *worktree, const char *name,
        const char **ret_why, struct err *err)
{
	AUTOFREE char *from = path_join(from_dir, name);
	AUTOFREE char *real = path_real(from);
	AUTOFREE char *to = path_join(worktree, name);
	AUTOFREE char *parent = path_dir(to);

	if (fs_mkdirs(parent, 0777, err) < 0)
		return -1;
	return write_copy(real, to, ret_why, err);
}

int own_copy(const struct project *p, struct git_at at, const char *from_dir,
        const struct strv *names, json_t *ret_copied, struct strv *warnings, struct err *err)
{
	AUTOSTRV wanted = {0};
	AUTOSTRV ignored = {0};
	AUTOSTRV done = {0};
	AUTOSTRV digests = {0};

	for (size_t i = 0; i < names->n; i++) {
		const char *why = check_paths(from_dir, at.worktree, names->v[i]);
		if (why && *why)
			strv_printf(warnings, "`%s` was not copied: it %s.", names->v[i], why);
		else if (!why)
			strv_push(&wanted, names->v[i]);
	}
	if (!wanted.n)
		return 0;
	if (ignored_of(at, &wanted, &ignored, err) < 0)
		return -1;
	for (size_t i = 0; i < wanted.n; i++) {
		const char *name = wanted.v[i];
		const char *why = strv_has(&ignored, name) ? NULL : "is not ignored by git";
		if (!why && copy_one(from_dir, at.worktree, name, &why, err) < 0)
			return -1;
		if (why)
			strv_printf(warnings, "`%s` was not copied: it %s.", name, why);
		else
			strv_push(&done, name);
	}
	if (done.n && own_digests(p, at.worktree, &done, &digests, err) < 0)
		return -1;
	for (size_t i = 0; i < done.n && i < digests.n; i++) {
		json_t *c = json_object();
		json_put_text(c, "path", done.v[i]);
		json_put_text(c, "digest", digests.v[i]);
		json_array_append_new(ret_copied, c);
	}
	return 0;
}
