/*
 * Where a branch is checked out, and what there stands in the way of a move.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "git/move.h"

void git_checkout_release(struct git_checkout *c)
{
	if (!c)
		return;
	strv_release(&c->paths);
	free(c->path);
	free(c->git_dir);
	*c = (struct git_checkout){0};
}

void git_obstacles_release(struct git_obstacles *o)
{
	if (!o)
		return;
	strv_release(&o->changed);
	strv_release(&o->untracked);
	strv_release(&o->submodules);
}

int git_checkout_of(const struct git *g, const char *ref, struct git_checkout *ret, struct err *err)
{
	AUTOWORKTREES trees = {0};
	AUTOCHECKOUT c = {0};

	if (git_worktrees(g, &trees, err) < 0)
		return -1;
	for (size_t i = 0; i < trees.n; i++) {
		const struct git_worktree *w = &trees.v[i];
		AUTOFREE char *held = NULL;
		const char *parked = NULL;
		bool stands = w->branch && strcmp(w->branch, ref) == 0;

		if (w->bare || w->missing || !w->git_dir || (w->branch && !stands))
			continue;
		if (git_parked(g, w->git_dir, &parked, &held, err) < 0)
			return -1;
		if (!stands && !(held && strcmp(held, ref) == 0))
			continue;
		strv_push(&c.paths, w->path);
		if (c.path)
			continue;
		c.path = xstrdup(w->path);
		c.git_dir = xstrdup(w->git_dir);
		c.parked = parked;
		c.detached = !stands;
	}
	*ret = c;
	c = (struct git_checkout){0};
	return 0;
}

/* --- The paths of a move ---------------------------------------------------------- */

void moves_release(struct moves *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].path);
	free(m->v);
	*m = (struct moves){0};
}

/* ":OLDMODE NEWMODE OLDID NEWID STATUS" */
static bool take_raw(const char *line, struct move *ret)
{
	char old_id[OID_MAX + 1], new_id[OID_MAX + 1];

	if (sscanf(line, ":%o %o %64[0-9a-f] %64[0-9a-f] %c", &ret->old_mode, &ret->new_mode,
	            old_id, new_id, &ret->status) != 5)
		return false;
	return oid_parse(&ret->old, old_id) && oid_parse(&ret->new_value, new_id);
}

int moves_between(const struct git *g, const struct oid *from, const struct oid *to,
        struct moves *ret, struct err *err)
{
	AUTOPROC p = {0};
	AUTOSTRV fields = {0};
	AUTOMOVES m = {0};

	if (git_run(git_at_common(g), &p,
	            GIT_WORDS("diff-tree", "-r", "--no-ext-diff", "--no-renames", "--raw",
	                    "--no-abbrev", "-z", from->hex, to->hex, "--"),
	            err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The files that a landing brings could not be listed", err);
	strv_split_nul(&fields, buf_str(&p.out), p.out.len);
	m.v = xcalloc(fields.n / 2 + 1, sizeof(*m.v));
	for (size_t i = 0; i + 1 < fields.n; i += 2) {
		if (!take_raw(fields.v[i], &m.v[m.n]))
			return git_complain(&p, "git printed no list of changes", err);
		m.v[m.n++].path = xstrdup(fields.v[i + 1]);
	}
	*ret = m;
	m = (struct moves){0};
	return 0;
}

/* --- Obstacles ---------------------------------------------------------------------- */

/* Whether A is B, or a folder above it. */
static bool covers(const char *a, const char *b)
{
	size_t n = strlen(a);

	while (n && a[n - 1] == '/')
		n--;
	return strncmp(a, b, n) == 0 && (b[n] == '\0' || b[n] == '/');
}

bool moves_touch(const struct moves *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (covers(m->v[i].path, path) || covers(path, m->v[i].path))
			return true;
	return false;
}

/* Whether the move takes a file away that stands at PATH, above or below it, or
   (on file systems that fold case) under another spelling. */
static bool makes_room(const struct moves *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct move *v = &m->v[i];

		if (v->status != 'A' && (covers(path, v->path) || covers(v->path, path)))
			return true;
		if (v->status == 'D' && strcasecmp(v->path, path) == 0)
			return true;
	}
	return false;
}

static bool is_empty_dir(const char *path)
{
	AUTOSTRV names = {0};

	fs_list(path, &names);
	return names.n == 0;
}

/*
 * What stands where the move brings the file PATH, or NULL: the file itself, or
 * one where a folder has to be. To be freed.
 */
static char *in_the_way(const char *top, const struct moves *m, const char *path)
{
	for (const char *slash = strchr(path, '/');; slash = strchr(slash + 1, '/')) {
		AUTOFREE char *part =
		        slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(path);
		AUTOFREE char *full = path_join(top, part);
		struct stat st;

		if (lstat(full, &st) < 0)
			return NULL;
		if (!slash) {
			bool free_place = S_ISDIR(st.st_mode) && is_empty_dir(full);
			return free_place || makes_room(m, part) ? NULL : STEAL(part);
		}
		if (!S_ISDIR(st.st_mode))
			return makes_room(m, part) ? NULL : STEAL(part);
	}
}

/* With a sparse checkout only git knows which paths will be written. */
static bool is_sparse(const struct git_checkout *c)
{
	AUTOFREE char *file = path_join(c->git_dir, "info/sparse-checkout");

	return fs_exists(file);
}

/* A submodule's own checkout is not what moves: where it stands is no obstacle. */
static bool is_submodule(const struct moves *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->v[i].path, path) == 0)
			return m->v[i].old_mode == MODE_SUBMODULE &&
			        m->v[i].new_mode == MODE_SUBMODULE;
	return false;
}

int git_obstacles(const struct git *g, const struct git_checkout *c, const struct oid *old,
        const struct oid *new_value, struct git_obstacles *ret, struct err *err)
{
	AUTOMOVES moves = {0};
	AUTOSTATUS status = {0};
	AUTOOBSTACLES o = {0};
	bool sparse = is_sparse(c);

	if (moves_between(g, old, new_value, &moves, err) < 0 ||
	        git_status(git_at_recorded(c->git_dir, c->path), false, &status, err) < 0)
		return -1;
	for (size_t i = 0; i < status.tracked.n; i++)
		if (moves_touch(&moves, status.tracked.v[i]) &&
		        !is_submodule(&moves, status.tracked.v[i]))
			strv_push(&o.changed, status.tracked.v[i]);
	for (size_t i = 0; i < moves.n; i++) {
		const struct move *m = &moves.v[i];

		if (m->old_mode == MODE_SUBMODULE || m->new_mode == MODE_SUBMODULE)
			strv_push(&o.submodules, m->path);
		if (m->status == 'A' && !sparse) {
			char *there = in_the_way(c->path, &moves, m->path);
			if (there && !strv_has(&o.untracked, there) && !strv_has(&o.changed, there))
				strv_push(&o.untracked, there);
			free(there);
		}
	}
	*ret = o;
	o = (struct git_obstacles){0};
	return 0;
}
