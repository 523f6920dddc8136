#include "wake/internal.h"

#include "base/base.h"

/* Folders that come and go faster than this often are left to the slow re-check. */
enum { ROUNDS = 32 };

static void on_event(uv_fs_event_t *handle, const char *name, int events, int status)
{
	struct level *l = (struct level *)((char *)handle - offsetof(struct level, event));

	watch_seen(handle->data, l, status < 0 ? NULL : name, events & UV_RENAME);
}

void watch_init(struct places *p, uv_loop_t *loop, void *data)
{
	for (size_t i = 0; i < p->n_levels; i++) {
		uv_fs_event_init(loop, &p->levels[i].event); /* cannot fail */
		p->levels[i].event.data = data;
		p->levels[i].armed = false;
	}
}

void watch_close(struct places *p)
{
	watch_disarm(p);
	for (size_t i = 0; i < p->n_levels; i++)
		uv_close((uv_handle_t *)&p->levels[i].event, NULL);
}

static void stop(struct level *l)
{
	if (l->armed)
		uv_fs_event_stop(&l->event);
	l->armed = false;
}

void watch_disarm(struct places *p)
{
	for (size_t i = 0; i < p->n_levels; i++)
		stop(&p->levels[i]);
}

/*
 * Brings one level's watch in line with what is on disk. 1 when it had to do
 * something, 0 when not, else libuv's error. What is compared was read before
 * the watch began, so a folder that was replaced in between differs in the next
 * round. A folder born later with the same number is told by its birth, and
 * where file systems keep none by its parent's event (`restart`).
 */
static int arm_level(struct places *p, struct level *l)
{
	uint64_t dev = 0, ino = 0;
	int64_t born_ns = 0;
	bool there = places_folder(l->path, &dev, &ino, &born_ns);
	bool same = l->armed && l->dev == dev && l->ino == ino && l->born_ns == born_ns;
	int rc;

	if (l->parent != NO_LEVEL && p->levels[l->parent].changed)
		l->changed = true;
	if (there ? same && !l->restart : !l->armed) {
		l->restart = false;
		return 0;
	}
	if (!same)
		l->changed = true;
	l->restart = false;
	stop(l);
	if (!there)
		return 1;
	rc = uv_fs_event_start(&l->event, on_event, l->path, 0);
	if (rc == UV_ENOENT || rc == UV_ENOTDIR)
		return 1; /* gone again: the next round sees it so */
	if (rc < 0)
		return rc;
	l->armed = true;
	l->dev = dev;
	l->ino = ino;
	l->born_ns = born_ns;
	return 1;
}

int watch_arm(struct places *p)
{
	bool again = true;

	for (int round = 0; again && round < ROUNDS; round++) {
		again = false;
		for (size_t i = 0; i < p->n_levels; i++) {
			int rc = arm_level(p, &p->levels[i]);
			if (rc < 0) {
				watch_disarm(p);
				return rc;
			}
			again = again || rc > 0;
		}
	}
	return 0;
}
