/*
 * Submodules: which repository a call means, and work that would be lost with
 * a worktree, whose submodules' repositories lie inside its own git folder.
 */
#include <string.h>

#include "task/own.h"

/* Whether a folder above DIR belongs to a repository: only then can DIR be its submodule. */
static bool repository_above(const char *dir)
{
	AUTOFREE char *at = path_dir(dir);

	while (strcmp(at, "/") != 0) {
		AUTOFREE char *dot_git = path_join(at, ".git");
		if (fs_exists(dot_git))
			return true;
		mem_set(&at, path_dir(at));
	}
	return false;
}

static int in_submodule(const struct project *p, struct err *err)
{
	AUTOPROC run = {.cwd = p->git.main_worktree};
	AUTOFREE char *outer = NULL;

	if (!p->git.main_worktree || !repository_above(p->git.main_worktree))
		return 0;
	if (git_run((struct git_at){0}, &run,
	            GIT_WORDS("rev-parse", "--show-superproject-working-tree"), err) < 0)
		return -1;
	if (run.status != 0 || run.out.len < 2)
		return 0;
	outer = xstrndup(run.out.data, run.out.len - 1);
	err_set(err, ERR_AMBIGUOUS_TARGET,
	        "%s is a submodule of %s, and it is not clear which of the two repositories is "
	        "meant.",
	        p->git.main_worktree, outer);
	err_hint(err, "For the submodule, say so: `abide -C %s …`.", p->git.main_worktree);
	err_hint(err, "For the repository around it: `abide -C %s …`.", outer);
	return -1;
}

/*
 * In the empty folder of a submodule that is not initialised git finds the
 * repository around it.
 */
static int in_empty_submodule(const struct project *p, const char *dir, struct err *err)
{
	AUTOFREE char *cwd = dir ? xstrdup(dir) : path_cwd();
	AUTOFREE char *real = cwd ? path_real(cwd) : NULL;
	AUTOFREE char *modules = p->git.worktree ? path_join(p->git.worktree, ".gitmodules") : NULL;
	AUTOSTRV words = {0};
	AUTOSTRV entries = {0};
	AUTOPROC run = {0};
	const char *below;

	if (!modules || !fs_exists(modules) || !real || strcmp(real, p->git.worktree) == 0 ||
	        !path_inside(real, p->git.worktree))
		return 0;
	below = real + strlen(p->git.worktree) + 1;
	strv_push(&words, "--literal-pathspecs");
	strv_push(&words, "ls-files");
	strv_push(&words, "-s");
	strv_push(&words, "-z");
	strv_push(&words, "--");
	for (const char *slash = strchr(below, '/');; slash = strchr(slash + 1, '/')) {
		strv_take(
		        &words, slash ? xstrndup(below, (size_t)(slash - below)) : xstrdup(below));
		if (!slash)
			break;
	}
	if (git_run(git_at_recorded(p->git.git_dir, p->git.worktree), &run,
	            (const char *const *)words.v, err) < 0)
		return -1;
	strv_split_nul(&entries, buf_str(&run.out), run.out.len);
	for (size_t i = 0; i < entries.n; i++) {
		if (!text_starts(entries.v[i], "160000 "))
			continue;
		err_set(err, ERR_NO_REPOSITORY,
		        "%s is the folder of a submodule that is not initialised, so there is no "
		        "repository of its own here.",
		        real);
		err_hint(err, "Initialise it with `git submodule update --init`, or go to %s.",
		        p->git.worktree);
		return -1;
	}
	return 0;
}

int task_place(const struct project *p, const char *dir, bool explicit, struct err *err)
{
	if (in_empty_submodule(p, dir, err) < 0)
		return -1;
	return explicit ? 0 : in_submodule(p, err);
}

/* --- Work that is only there -------------------------------------------------- */

enum { MODULES_DEPTH = 12 };

static bool is_repository(const char *dir)
{
	AUTOFREE char *head = path_join(dir, "HEAD");
	AUTOFREE char *objects = path_join(dir, "objects");

	return fs_exists(head) && fs_is_dir(objects);
}

/* Whether the submodule's repository holds commits that no remote of it has. */
static int check_module(const char *dir, const char *name, struct strv *ret, struct err *err)
{
	AUTOPROC run = {0};

	/* core.worktree points to a folder that may have been moved: it is not needed here. */
	if (git_run((struct git_at){.git_dir = dir}, &run,
	            GIT_WORDS("-c", "core.bare=true", "-c", "core.worktree=", "rev-list", "-n", "1",
	                    "HEAD", "--branches", "--tags", "--not", "--remotes"),
	            err) < 0)
		return -1;
	/* What cannot be read is not taken for clean. */
	if (run.status != 0 || run.out.len)
		strv_push(ret, name);
	return 0;
}

static int walk_modules(
        const char *dir, const char *name, int depth, struct strv *ret, struct err *err)
{
	AUTOSTRV names = {0};

	if (is_repository(dir)) {
		AUTOFREE char *inner = path_join(dir, "modules");
		if (check_module(dir, name, ret, err) < 0)
			return -1;
		return depth ? walk_modules(inner, name, depth - 1, ret, err) : 0;
	}
	fs_list(dir, &names);
	for (size_t i = 0; depth && i < names.n; i++) {
		AUTOFREE char *path = path_join(dir, names.v[i]);
		AUTOFREE char *whole =
		        *name ? xasprintf("%s/%s", name, names.v[i]) : xstrdup(names.v[i]);
		if (fs_is_dir(path) && walk_modules(path, whole, depth - 1, ret, err) < 0)
			return -1;
	}
	return 0;
}

int own_lone_submodules(const char *git_dir, struct strv *ret, struct err *err)
{
	AUTOFREE char *modules = path_join(git_dir, "modules");

	return fs_is_dir(modules) ? walk_modules(modules, "", MODULES_DEPTH, ret, err) : 0;
}
