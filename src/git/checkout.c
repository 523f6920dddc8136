/*
 * Making and unmaking of worktrees and branches. Registration is short; the
 * files come afterwards, outside any lock.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/git.h"

enum { ADD_TRIES = 8 };

/*
 * What git and the hooks that it runs get here: a partial clone may fetch the
 * files that it lacks, which reading calls must not.
 */
static void working_environment(struct strv *ret)
{
	env_with(ret,
	        (const char *const[]){
	                "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C", NULL});
}

int git_branch_create(const struct git *g, const char *ref, const struct oid *oid,
        const char *message, struct err *err)
{
	AUTOPROC p = {0};
	AUTOFREE char *zeros = xmalloc(g->hex + 1);
	struct oid now;

	memset(zeros, '0', g->hex);
	zeros[g->hex] = '\0';
	if (git_run(git_at_common(g), &p,
	            GIT_WORDS("update-ref", "--create-reflog", "-m", message, ref, oid->hex, zeros),
	            err) < 0)
		return -1;
	if (p.status == 0)
		return 0;
	if (git_refs(g, (const char *const[]){ref, NULL}, &now, err) < 0)
		return -1;
	return oid_is_set(&now) ? 1 : git_complain(&p, "The branch could not be made", err);
}

int git_reflog_newest(const struct git *g, const char *ref, char **ret, struct err *err)
{
	AUTOPROC p = {0};

	if (git_run(git_at_common(g), &p,
	            GIT_WORDS("log", "-g", "-n", "1", "--no-show-signature", "--format=%gs",
	                    "--end-of-options", ref, "--"),
	            err) < 0)
		return -1;
	if (p.status == 0 && p.out.len && p.out.data[p.out.len - 1] == '\n')
		p.out.data[--p.out.len] = '\0';
	*ret = p.status == 0 ? buf_take(&p.out) : xstrdup("");
	return 0;
}

char *git_pointer(const char *worktree)
{
	AUTOFREE char *file = path_join(worktree, ".git");
	AUTOFREE char *whole = NULL;
	AUTOBUF text = {0};
	const char *target;
	struct stat st;

	if (lstat(file, &st) != 0 || !S_ISREG(st.st_mode) || fs_read(file, 65536, &text, NULL) != 0)
		return NULL;
	while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r'))
		text.data[--text.len] = '\0';
	if (!text_starts(buf_str(&text), "gitdir: ") || strlen(text.data) != text.len)
		return NULL;
	target = text.data + strlen("gitdir: ");
	whole = *target == '/' ? xstrdup(target) : path_join(worktree, target);
	return path_real(whole);
}

/* Whether there is nothing at PATH that an add could be blamed for. */
static bool untouched(const char *path)
{
	AUTOSTRV names = {0};

	if (!fs_exists(path))
		return true;
	fs_list(path, &names);
	return names.n == 0;
}

int git_worktree_add(const struct git *g, struct git_at at, const char *path, const char *branch,
        const struct oid *tip, const char *reason, char **ret_git_dir, struct err *err)
{
	const char *name = git_branch_short(branch);
	/* A name that git would take for an option is set afterwards. */
	bool odd = *name == '-';
	const char *const words[] = {"worktree", "add", "-q", "--lock", "--reason", reason,
	        "--no-checkout", odd ? "--detach" : "--no-detach", "--", path,
	        odd ? tip->hex : name, NULL};
	AUTOFREE char *git_dir = NULL;

	/* It dies when a foreign git is half-way through an add or a remove. */
	for (int attempt = 1;; attempt++) {
		AUTOPROC p = {0};
		if (git_run(at, &p, words, err) < 0)
			return -1;
		if (p.status == 0)
			break;
		if (attempt == ADD_TRIES || p.status != 128 || !untouched(path) ||
		        strstr(buf_str(&p.err), "already "))
			return git_complain(&p, "The worktree could not be registered", err);
		random_pause_us(10000, 30000);
	}
	git_dir = git_pointer(path);
	if (!git_dir)
		return err_set(err, ERR_GIT_FAILED,
		        "git made the worktree %s without a usable .git file.", path);
	if (odd) {
		AUTOPROC p = {0};
		if (git_run(git_at_recorded(git_dir, path), &p,
		            GIT_WORDS("symbolic-ref", "HEAD", branch), err) < 0)
			return -1;
		if (p.status != 0)
			return git_complain(&p, "The worktree could not be put on its branch", err);
	}
	*ret_git_dir = STEAL(git_dir);
	return 0;
}

int git_worktree_forget(const struct git *g, const char *path, struct err *err)
{
	for (int attempt = 1;; attempt++) {
		AUTOPROC p = {0};
		if (git_run(git_at_common(g), &p,
		            GIT_WORDS("worktree", "remove", "--force", "--force", "--", path),
		            err) < 0)
			return -1;
		if (p.status == 0 || strstr(buf_str(&p.err), "is not a working tree"))
			return 0;
		if (attempt == ADD_TRIES)
			return git_complain(
			        &p, "The worktree's registration could not be removed", err);
		random_pause_us(10000, 30000);
	}
}

int git_fill_worktree(struct git_at at, struct err *err)
{
	AUTOSTRV env = {0};
	AUTOPROC p = {.stoppable = true, .apart = true};

	working_environment(&env);
	p.env = env.v;
	if (git_run(at, &p, GIT_WORDS("reset", "-q", "--hard", "--no-recurse-submodules"), err) < 0)
		return -1;
	if (p.stopped && stop_check(err) < 0)
		return -1;
	return p.status == 0 ? 0 : git_complain(&p, "The files could not be checked out", err);
}

int git_post_checkout(const struct git *g, const char *worktree, const struct oid *tip,
        char **ret_said, struct err *err)
{
	AUTOSTRV env = {0};
	AUTOPROC p = {.stoppable = true, .apart = true};
	AUTOFREE char *zeros = xmalloc(g->hex + 1);

	memset(zeros, '0', g->hex);
	zeros[g->hex] = '\0';
	*ret_said = NULL;
	working_environment(&env);
	p.env = env.v;
	/* By discovery, as git's own worktree add calls it. */
	if (git_run((struct git_at){.worktree = worktree}, &p,
	            GIT_WORDS("hook", "run", "--ignore-missing", "post-checkout", "--", zeros,
	                    tip->hex, "1"),
	            err) < 0)
		return -1;
	if (p.stopped && stop_check(err) < 0)
		return -1;
	if (p.status != 0)
		*ret_said = proc_complaint(&p);
	return 0;
}

void git_leftovers_release(struct git_leftovers *l)
{
	if (!l)
		return;
	strv_release(&l->tracked);
	strv_release(&l->untracked);
	strv_release(&l->ignored);
	*l = (struct git_leftovers){0};
}

int git_leftovers(struct git_at at, struct git_leftovers *ret, struct err *err)
{
	CLEANUP(git_leftovers_release) struct git_leftovers l = {0};
	AUTOPROC p = {0};
	AUTOSTRV lines = {0};

	/* Nothing is believed that a file monitor says: what this calls clean may be removed. */
	if (git_run(at, &p,
	            GIT_WORDS("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c",
	                    "status.showUntrackedFiles=normal", "status", "--porcelain", "-z",
	                    "--no-renames", "--ignore-submodules=none", "--untracked-files=normal",
	                    "--ignored=matching"),
	            err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The worktree's state could not be read", err);
	strv_split_nul(&lines, buf_str(&p.out), p.out.len);
	for (size_t i = 0; i < lines.n; i++) {
		const char *line = lines.v[i];
		if (strlen(line) < 4)
			continue;
		if (*line == '!')
			strv_push(&l.ignored, line + 3);
		else if (*line == '?')
			strv_push(&l.untracked, line + 3);
		else
			strv_push(&l.tracked, line + 3);
	}
	*ret = l;
	l = (struct git_leftovers){0};
	return 0;
}

int git_upstream(const struct git *g, const char *ref, char **ret_upstream, int64_t *ret_ahead,
        int64_t *ret_behind, struct err *err)
{
	AUTOPROC p = {0};
	AUTOSTRV lines = {0};

	*ret_upstream = NULL;
	*ret_ahead = *ret_behind = 0;
	if (git_run(git_at_common(g), &p,
	            GIT_WORDS("for-each-ref",
	                    "--format=%(refname)%00%(upstream:short)%00%(upstream:track)%00", ref),
	            err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The branch's upstream could not be read", err);
	strv_split_nul(&lines, buf_str(&p.out), p.out.len);
	for (size_t i = 0; i + 2 < lines.n; i += 3) {
		const char *name = lines.v[i] + (lines.v[i][0] == '\n');
		const char *ahead = strstr(lines.v[i + 2], "ahead ");
		const char *behind = strstr(lines.v[i + 2], "behind ");

		/* "[gone]": it names an upstream that is not there. */
		if (strcmp(name, ref) != 0 || !*lines.v[i + 1] ||
		        strcmp(lines.v[i + 2], "[gone]") == 0)
			continue;
		*ret_upstream = xstrdup(lines.v[i + 1]);
		*ret_ahead = ahead ? strtoll(ahead + 6, NULL, 10) : 0;
		*ret_behind = behind ? strtoll(behind + 7, NULL, 10) : 0;
	}
	return 0;
}
