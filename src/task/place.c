/*
 * What stands around a worktree: the lock, the processes inside, its parent.
 */
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "task/own.h"

enum { INSIDE_MAX = 64, SETTLE_LOOKS = 25 };

int own_lock(const struct project *p, int *ret_fd, struct err *err)
{
	AUTOFREE char *file = path_join(store_dir(p->store), "worktrees.lock");
	int fd;

	if (fs_lock(file, true, &fd, err) < 0)
		return -1;
	/* Handed on to children on purpose: see the header. */
	fcntl(fd, F_SETFD, 0);
	*ret_fd = fd;
	return 0;
}

void own_inside(const char *dir, struct strv *ret)
{
	AUTOFREE char *real = path_real(dir);
	AUTOSTRV all = {0};

	platform_inside(real, &all, INSIDE_MAX);
	for (size_t i = 0; i < all.n; i++)
		if (strtol(all.v[i], NULL, 10) != (long)getpid())
			strv_push(ret, all.v[i]);
}

static bool only_git(const struct strv *inside)
{
	for (size_t i = 0; i < inside->n; i++)
		if (!text_ends(inside->v[i], " git"))
			return false;
	return inside->n > 0;
}

void own_settled_inside(const char *dir, struct strv *ret)
{
	for (int look = 0;; look++) {
		AUTOSTRV now = {0};

		own_inside(dir, &now);
		if (look == SETTLE_LOOKS || stop_signal || !only_git(&now)) {
			strv_extend(ret, &now);
			return;
		}
		random_pause_us(15000, 25000);
	}
}

bool own_git_inside(const char *dir)
{
	AUTOSTRV inside = {0};

	own_inside(dir, &inside);
	for (size_t i = 0; i < inside.n; i++)
		if (text_ends(inside.v[i], " git"))
			return true;
	return false;
}

/* Folders that are not ours to write in (a module cache, say) are made so: they are to go. */
static int open_up(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_D || type == FTW_DNR)
		chmod(path, (st->st_mode & 07777) | S_IRWXU);
	return 0;
}

int own_delete_tree(const char *path, struct err *err)
{
	/* A process that still writes in there may make the first try fail. */
	for (int attempt = 0; attempt < 3; attempt++) {
		if (fs_remove_tree(path, NULL) == 0)
			return 0;
		nftw(path, open_up, 32, FTW_PHYS | FTW_MOUNT);
	}
	return fs_remove_tree(path, err);
}

void own_tidy_parent(const char *worktree)
{
	AUTOFREE char *parent = path_dir(worktree);

	/* Only an empty folder goes. */
	rmdir(parent);
}
