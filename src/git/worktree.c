#include "git/git.h"

#include <errno.h>
#include <string.h>

void git_worktree_list_release(struct git_worktree_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].path);
		free(l->v[i].branch);
		free(l->v[i].git_dir);
		free(l->v[i].locked);
	}
	free(l->v);
	*l = (struct git_worktree_list){0};
}

static char *read_line(const char *path)
{
	AUTOBUF b = {0};

	if (fs_read(path, 65536, &b, NULL) != 0 || !b.len)
		return NULL;
	while (b.len && b.data[b.len - 1] == '\n')
		b.data[--b.len] = '\0';
	return buf_take(&b);
}

/*
 * Which folder below common/worktrees belongs to which path: each has a
 * `gitdir` file that names the worktree's .git. Used to address a worktree,
 * never to judge it. With extensions.relativeWorktrees the path is relative to
 * that folder.
 */
static void find_git_dirs(const struct git *g, struct git_worktree_list *l)
{
	AUTOFREE char *base = path_join(g->common, "worktrees");
	AUTOSTRV names = {0}, paths = {0};

	for (size_t i = 0; i < l->n; i++)
		strv_take(&paths, path_real(l->v[i].path));
	fs_list(base, &names);
	for (size_t i = 0; i < names.n; i++) {
		AUTOFREE char *dir = path_join(base, names.v[i]);
		AUTOFREE char *file = path_join(dir, "gitdir");
		AUTOFREE char *line = read_line(file);
		AUTOFREE char *whole = line && *line != '/' ? path_join(dir, line) : xstrdup(line);
		AUTOFREE char *parent = whole ? path_dir(whole) : NULL;
		AUTOFREE char *real = parent ? path_real(parent) : NULL;

		for (size_t k = 0; real && k < l->n; k++)
			if (!l->v[k].main && strcmp(paths.v[k], real) == 0)
				mem_set(&l->v[k].git_dir, xstrdup(dir));
	}
}

char *git_head_hint(const struct git *g)
{
	AUTOFREE char *file = path_join(g->git_dir, "HEAD");
	AUTOFREE char *line = g->reftable ? NULL : read_line(file);

	return line && text_starts(line, "ref: refs/heads/") ? xstrdup(line + strlen("ref: "))
	                                                     : NULL;
}

/* One attribute of the porcelain format, "name" or "name value". */
static void take_attribute(struct git_worktree *w, const char *line)
{
	if (text_starts(line, "worktree "))
		w->path = xstrdup(line + 9);
	else if (text_starts(line, "HEAD "))
		oid_parse(&w->head, line + 5);
	else if (text_starts(line, "branch "))
		w->branch = xstrdup(line + 7);
	else if (strcmp(line, "bare") == 0)
		w->bare = true;
	else if (text_starts(line, "locked"))
		w->locked = xstrdup(line[6] == ' ' ? line + 7 : "");
}

static bool all_zero(const struct oid *o)
{
	return strspn(o->hex, "0") == strlen(o->hex);
}

int git_worktrees(const struct git *g, struct git_worktree_list *ret, struct err *err)
{
	AUTOPROC p = {0};
	AUTOSTRV lines = {0};
	AUTOWORKTREES l = {0};

	/* git dies while another git is half-way through an add or a remove. */
	for (int attempt = 0;; attempt++) {
		proc_release(&p);
		p = (struct proc){0};
		if (git_run(git_at_common(g), &p,
		            GIT_WORDS("worktree", "list", "--porcelain", "-z"), err) < 0)
			return -1;
		if (p.status == 0)
			break;
		if (attempt == 5)
			return git_complain(&p, "The worktrees could not be listed", err);
		random_pause_us(10000, 30000);
	}
	strv_split_nul(&lines, buf_str(&p.out), p.out.len);
	l.v = xcalloc(lines.n + 1, sizeof(*l.v));
	for (size_t i = 0; i < lines.n; i++) {
		if (text_starts(lines.v[i], "worktree "))
			l.n++;
		if (l.n)
			take_attribute(&l.v[l.n - 1], lines.v[i]);
	}
	for (size_t i = 0; i < l.n; i++) {
		struct git_worktree *w = &l.v[i];

		w->main = i == 0;
		if (w->main) {
			w->git_dir = xstrdup(g->common);
			if (g->main_worktree)
				mem_set(&w->path, xstrdup(g->main_worktree));
		}
		if (all_zero(&w->head))
			w->head = (struct oid){0};
		w->missing = !w->bare && !fs_is_dir(w->path);
	}
	find_git_dirs(g, &l);
	*ret = l;
	l = (struct git_worktree_list){0};
	return 0;
}

void git_status_release(struct git_status *s)
{
	if (!s)
		return;
	free(s->branch);
	strv_release(&s->tracked);
	strv_release(&s->untracked);
	strv_release(&s->unmerged);
	*s = (struct git_status){0};
}

/* Where the path starts in a porcelain v2 line: after N fields. */
static const char *after_fields(const char *line, int n)
{
	while (n-- && line) {
		line = strchr(line, ' ');
		line = line ? line + 1 : NULL;
	}
	return line ? line : "";
}

/* Two argv that differ in their last word. */
#define STATUS_WORDS(untracked)                                                                    \
	{                                                                                          \
		"status", "--porcelain=v2", "-z", "--branch", "--no-renames", "--no-ahead-behind", \
		        "--ignore-submodules=none", "--untracked-files=" untracked, NULL           \
	}
static const char *const status_words[2][9] = {STATUS_WORDS("no"), STATUS_WORDS("normal")};

struct git_job git_status_job(struct git_at at, bool untracked)
{
	return (struct git_job){.at = at, .words = status_words[untracked]};
}

int git_status_take(const struct git_job *job, struct git_status *ret, struct err *err)
{
	AUTOSTRV lines = {0};
	AUTOSTATUS s = {0};

	if (job->p.status != 0)
		return git_complain(&job->p, "The worktree's state could not be read", err);
	strv_split_nul(&lines, buf_str(&job->p.out), job->p.out.len);
	for (size_t i = 0; i < lines.n; i++) {
		const char *line = lines.v[i];

		if (text_starts(line, "# branch.oid ")) {
			oid_parse(&s.head, line + 13);
		} else if (text_starts(line, "# branch.head ")) {
			if (strcmp(line + 14, "(detached)") != 0)
				s.branch = git_branch_ref(line + 14);
		} else if (*line == '1') {
			strv_push(&s.tracked, after_fields(line, 8));
		} else if (*line == '2') {
			strv_push(&s.tracked, after_fields(line, 9));
			i++; /* the old name follows in a field of its own */
		} else if (*line == 'u') {
			strv_push(&s.tracked, after_fields(line, 10));
			strv_push(&s.unmerged, after_fields(line, 10));
		} else if (*line == '?') {
			strv_push(&s.untracked, line + 2);
		}
	}
	*ret = s;
	s = (struct git_status){0};
	return 0;
}

int git_status(struct git_at at, bool untracked, struct git_status *ret, struct err *err)
{
	struct git_job job = git_status_job(at, untracked);
	int rc = git_run_all(&job, 1, err);

	if (rc == 0)
		rc = git_status_take(&job, ret, err);
	proc_release(&job.p);
	return rc;
}

/* Files that git leaves in a worktree's own folder while it is in the middle of something. */
static const struct {
	const char *file, *what;
	const char *branch_file; /* names the branch that is held, or NULL */
} parks[] = {
        {"rebase-merge", "rebase", "rebase-merge/head-name"},
        {"rebase-apply/applying", "am", NULL},
        {"rebase-apply", "rebase", "rebase-apply/head-name"},
        {"MERGE_HEAD", "merge", NULL},
        {"BISECT_START", "bisect", "BISECT_START"},
        {"sequencer/todo", "cherry-pick", NULL},
};

int git_parked(const struct git *g, const char *git_dir, const char **ret_what, char **ret_branch,
        struct err *err)
{
	static const struct {
		const char *ref, *what;
	} pseudo[] = {{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}};

	*ret_what = NULL;
	if (ret_branch)
		*ret_branch = NULL;
	for (size_t i = 0; i < NELEMS(parks); i++) {
		AUTOFREE char *file = path_join(git_dir, parks[i].file);
		if (!fs_exists(file))
			continue;
		*ret_what = parks[i].what;
		if (ret_branch && parks[i].branch_file) {
			AUTOFREE char *named = path_join(git_dir, parks[i].branch_file);
			AUTOFREE char *line = read_line(named);
			/* BISECT_START holds a short name, or an id when HEAD was detached. */
			if (line && strcmp(line, "detached HEAD") != 0)
				*ret_branch = git_branch_ref(line);
		}
		return 0;
	}
	/* These are files, except with reftable, where only git can tell. */
	for (size_t i = 0; i < NELEMS(pseudo); i++) {
		AUTOFREE char *file = path_join(git_dir, pseudo[i].ref);
		bool there = fs_exists(file);

		if (g->reftable) {
			AUTOPROC p = {0};
			if (git_run((struct git_at){.git_dir = git_dir}, &p,
			            GIT_WORDS("rev-parse", "--verify", "--quiet", pseudo[i].ref),
			            err) < 0)
				return -1;
			there = p.status == 0;
		}
		if (there) {
			*ret_what = pseudo[i].what;
			return 0;
		}
	}
	return 0;
}
