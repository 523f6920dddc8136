#include "wake/internal.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

static const int64_t FRESH_NS = 20 * 1000000LL;

/* --- Stat ----------------------------------------------------------------- */

static int64_t nanoseconds(uv_timespec_t t)
{
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* libuv's stat without a callback is a plain system call in this thread. */
static bool stat_now(const char *path, uv_stat_t *ret)
{
	uv_fs_t req;
	bool ok = uv_fs_stat(NULL, &req, path, NULL) == 0;

	if (ok)
		*ret = req.statbuf;
	uv_fs_req_cleanup(&req);
	return ok;
}

static struct stamp stamp_of(const char *path)
{
	uv_stat_t s;
	struct stamp r = {0};
	int64_t newest, age;

	if (!stat_now(path, &s) || S_ISDIR(s.st_mode))
		return r;
	r.there = true;
	r.dev = s.st_dev;
	r.ino = s.st_ino;
	r.size = s.st_size;
	r.mtime_ns = nanoseconds(s.st_mtim);
	r.ctime_ns = nanoseconds(s.st_ctim);
	newest = r.ctime_ns > r.mtime_ns ? r.ctime_ns : r.mtime_ns;
	age = clock_wall_ms() * 1000000 - newest;
	r.fresh = age > -FRESH_NS && age < FRESH_NS;
	return r;
}

static bool stamp_same(const struct stamp *a, const struct stamp *b)
{
	if (!a->there || !b->there)
		return a->there == b->there;
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	        a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

bool places_folder(const char *path, uint64_t *ret_dev, uint64_t *ret_ino, int64_t *ret_born_ns)
{
	uv_stat_t s;

	if (!stat_now(path, &s) || !S_ISDIR(s.st_mode))
		return false;
	*ret_dev = s.st_dev;
	*ret_ino = s.st_ino;
	*ret_born_ns = nanoseconds(s.st_birthtim);
	return true;
}

void hint_from(const struct target *t, struct hint *ret)
{
	if (t->shared)
		ret->shared = true;
	else if (t->bell)
		ret->bell = true;
	else
		ret->own = true;
}

void places_look(struct places *p, bool fresh_too, struct hint *ret)
{
	for (size_t i = 0; i < p->n_targets; i++) {
		struct target *t = &p->targets[i];
		struct stamp now = stamp_of(t->path);
		bool moved = p->levels[t->level].changed && (t->seen.there || now.there);
		if (moved || (fresh_too && t->seen.fresh) || !stamp_same(&t->seen, &now)) {
			hint_from(t, ret);
		}
		t->seen = now;
	}
	for (size_t i = 0; i < p->n_levels; i++)
		p->levels[i].changed = false;
}

/* --- What is looked at ---------------------------------------------------- */

static size_t level_find(const struct places *p, const char *path)
{
	for (size_t i = 0; i < p->n_levels; i++)
		if (strcmp(p->levels[i].path, path) == 0)
			return i;
	return NO_LEVEL;
}

/* The level of folder PATH; those from TOP down to it are made. */
static size_t level_add(struct places *p, const char *top, const char *path)
{
	AUTOFREE char *above = path_dir(path);
	size_t at = level_find(p, path), parent;
	struct level *l;

	if (at != NO_LEVEL)
		return at;
	parent = strcmp(path, top) == 0 || strcmp(path, above) == 0 ? NO_LEVEL
	                                                            : level_add(p, top, above);
	if (p->n_levels == p->cap_levels) {
		p->cap_levels = p->cap_levels ? p->cap_levels * 2 : 8;
		p->levels = xreallocarray(p->levels, p->cap_levels, sizeof(*p->levels));
	}
	l = &p->levels[p->n_levels];
	memset(l, 0, sizeof(*l));
	l->path = xstrdup(path);
	l->name = path_base(l->path);
	l->parent = parent;
	return p->n_levels++;
}

/*
 * The topmost folder watched for FILE: the common directory for what lies in
 * it, else the nearest folder that is there now.
 */
static char *top_for(const char *common, const char *file)
{
	char *dir = path_dir(file);

	if (path_inside(dir, common)) {
		mem_set(&dir, xstrdup(common));
		return dir;
	}
	while (!fs_is_dir(dir) && strcmp(dir, "/") != 0)
		mem_set(&dir, path_dir(dir));
	return dir;
}

static void target_add(struct places *p, const char *common, const char *file, bool shared)
{
	AUTOFREE char *dir = path_dir(file);
	AUTOFREE char *top = top_for(common, file);
	struct target *t;

	for (size_t i = 0; i < p->n_targets; i++)
		if (strcmp(p->targets[i].path, file) == 0)
			return;
	if (p->n_targets == p->cap_targets) {
		p->cap_targets = p->cap_targets ? p->cap_targets * 2 : 8;
		p->targets = xreallocarray(p->targets, p->cap_targets, sizeof(*p->targets));
	}
	t = &p->targets[p->n_targets++];
	memset(t, 0, sizeof(*t));
	t->path = xstrdup(file);
	t->name = path_base(t->path);
	t->level = level_add(p, top, dir);
	t->shared = shared;
}

static void target_in(struct places *p, const char *common, const char *name, bool shared)
{
	AUTOFREE char *path = path_join(common, name);

	target_add(p, common, path, shared);
}

/* Git replaces what a linked packed-refs points to, not the link. */
static void packed_refs_behind_link(struct places *p, const char *common)
{
	AUTOFREE char *link = path_join(common, "packed-refs");
	AUTOFREE char *real = path_real(link);
	char to[1];

	if (readlink(link, to, sizeof(to)) >= 0 && strcmp(real, link) != 0)
		target_add(p, common, real, true);
}

void places_fill(struct places *p, const struct wake_spec *spec)
{
	/* Whichever the backend is now: `git refs migrate` may change it. */
	target_in(p, spec->common, "reftable/tables.list", true);
	if (!spec->reftable) {
		target_in(p, spec->common, "packed-refs", true);
		packed_refs_behind_link(p, spec->common);
		for (size_t i = 0; spec->refs && spec->refs[i]; i++)
			target_in(p, spec->common, spec->refs[i], false);
		if (spec->notes)
			target_in(p, spec->common, "refs/notes/abide", false);
	}
	if (spec->bell && spec->store_dir) {
		AUTOFREE char *bell = path_join(spec->store_dir, "bell/b");
		target_add(p, spec->common, bell, false);
		p->targets[p->n_targets - 1].bell = true;
	}
	for (size_t i = 0; spec->files && spec->files[i]; i++)
		target_add(p, spec->common, spec->files[i], false);
}

void places_release(struct places *p)
{
	for (size_t i = 0; i < p->n_levels; i++)
		free(p->levels[i].path);
	for (size_t i = 0; i < p->n_targets; i++)
		free(p->targets[i].path);
	free(p->levels);
	free(p->targets);
	memset(p, 0, sizeof(*p));
}
