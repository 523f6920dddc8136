/*
 * Files and folders. Paths are absolute unless said otherwise.
 */
#ifndef ABIDE_BASE_FS_H
#define ABIDE_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* DIR/NAME without a doubled slash. To be freed. */
char *path_join(const char *dir, const char *name);
/* The folder that holds PATH ("/" at the top). To be freed. */
char *path_dir(const char *path);
/* What follows the last slash; points into PATH. */
const char *path_base(const char *path);
/* Resolves links; when PATH is not there, resolves what exists of it and
   appends the rest, without "." and "..". To be freed. */
char *path_real(const char *path);
/* Whether PATH is DIR or lies below it (both real). */
bool path_inside(const char *path, const char *dir);
/* The working directory, or NULL when it is gone. To be freed. */
char *path_cwd(void);

bool fs_exists(const char *path); /* a dangling link counts */
bool fs_is_dir(const char *path); /* links followed */

/* The names in a folder except "." and "..", sorted; none when it is not there. */
void fs_list(const char *dir, struct strv *ret);

/* Makes PATH and what is missing above it, each with MODE. */
int fs_mkdirs(const char *path, mode_t mode, struct err *err);

/*
 * Reads a whole regular file of at most CAP bytes into RET. More than that, or
 * anything that is no regular file, is READ_FAILED. Returns 1 when there is no
 * such file (and no error is set), 0 when read, -1 on error.
 */
int fs_read(const char *path, size_t cap, struct buf *ret, struct err *err);

/*
 * Replaces PATH by DATA: a temporary file beside it, fsync, rename. On failure
 * PATH is as it was and no temporary file stays.
 */
int fs_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct err *err);

/*
 * Removes a folder with everything in it. Links are removed, never followed;
 * other file systems mounted below are not entered. Missing is success.
 */
int fs_remove_tree(const char *path, struct err *err);

/*
 * An advisory lock on a file (made when missing, 0600), held by the open
 * descriptor and so by this process alone: any death frees it. The file is
 * never removed. WAIT false: BUSY at once when another holds it; true: a
 * signal that comes while it waits is CANCELLED.
 */
int fs_lock(const char *path, bool wait, int *ret_fd, struct err *err);
void fs_unlock(int fd);

#endif
