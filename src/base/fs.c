#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/stop.h"
#include "base/text.h"

char *path_join(const char *dir, const char *name)
{
	bool slash = *dir && text_ends(dir, "/");

	return xasprintf("%s%s%s", dir, slash || !*dir ? "" : "/", name);
}

char *path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	if (slash == path)
		return xstrdup("/");
	return xstrndup(path, (size_t)(slash - path));
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_real(const char *path)
{
	char *real = realpath(path, NULL);
	AUTOFREE char *trimmed = NULL;
	AUTOFREE char *dir = NULL;
	AUTOFREE char *real_dir = NULL;

	if (real)
		return real;
	trimmed = xstrdup(path);
	for (size_t n = strlen(trimmed); n > 1 && trimmed[n - 1] == '/'; n--)
		trimmed[n - 1] = '\0';
	if (!*trimmed || strcmp(trimmed, "/") == 0 || !strchr(trimmed, '/'))
		return xstrdup(trimmed);
	dir = path_dir(trimmed);
	real_dir = path_real(dir);
	/* Past what exists there are no links: dots can be resolved as text. */
	if (strcmp(path_base(trimmed), ".") == 0)
		return xstrdup(real_dir);
	if (strcmp(path_base(trimmed), "..") == 0)
		return path_dir(real_dir);
	return path_join(real_dir, path_base(trimmed));
}

bool path_inside(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

char *path_cwd(void)
{
	return getcwd(NULL, 0);
}

bool fs_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

bool fs_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void fs_list(const char *dir, struct strv *ret)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			strv_push(ret, e->d_name);
	if (d)
		closedir(d);
	strv_sort(ret);
}

int fs_mkdirs(const char *path, mode_t mode, struct err *err)
{
	AUTOFREE char *above = NULL;

	if (mkdir(path, mode) == 0 || (errno == EEXIST && fs_is_dir(path)))
		return 0;
	if (errno == ENOENT && strcmp(path, "/") != 0) {
		above = path_dir(path);
		if (fs_mkdirs(above, mode, err) < 0)
			return -1;
		if (mkdir(path, mode) == 0 || (errno == EEXIST && fs_is_dir(path)))
			return 0;
	}
	err_set(err, ERR_WRITE_DENIED, "The folder %s could not be made: %s.", path,
	        strerror(errno));
	err_hint(err, "Check the rights and the free space of the folder above %s.", path);
	return -1;
}

static int read_failed(const char *path, const char *why, struct err *err)
{
	err_set(err, ERR_READ_FAILED, "%s could not be read: %s.", path, why);
	err_hint(err, "Check that %s is a readable regular file.", path);
	return -1;
}

int fs_read(const char *path, size_t cap, struct buf *ret, struct err *err)
{
	AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTOBUF got = {0};
	struct stat st;
	char chunk[65536];

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
		        ? 1
		        : read_failed(path, strerror(errno), err);
	if (fstat(fd, &st) != 0)
		return read_failed(path, strerror(errno), err);
	if (!S_ISREG(st.st_mode))
		return read_failed(path, "it is no regular file", err);
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return read_failed(path, strerror(errno), err);
		if (n == 0)
			break;
		if (got.len + (size_t)n > cap)
			return read_failed(path, "it is larger than abide accepts", err);
		buf_add(&got, chunk, (size_t)n);
	}
	buf_release(ret);
	*ret = got;
	got = (struct buf){0};
	return 0;
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fs_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct err *err)
{
	unsigned char rnd[6];
	AUTOFREE char *tmp = NULL;
	int fd, saved;

	random_bytes(rnd, sizeof(rnd));
	tmp = xasprintf("%s.%02x%02x%02x%02x%02x%02x.tmp", path, rnd[0], rnd[1], rnd[2], rnd[3],
	        rnd[4], rnd[5]);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd >= 0) {
		bool ok = write_all(fd, data, len) == 0 && fsync(fd) == 0;
		saved = errno;
		if (close(fd) != 0 && ok) {
			ok = false;
			saved = errno;
		}
		if (ok && rename(tmp, path) == 0)
			return 0;
		if (ok)
			saved = errno;
		unlink(tmp);
		errno = saved;
	}
	err_set(err, ERR_WRITE_DENIED, "%s could not be written: %s.", path, strerror(errno));
	err_hint(err, "Check the rights and the free space of its folder; the file is as it was.");
	return -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_DP || type == FTW_DNR)
		return rmdir(path) == 0 || errno == ENOENT ? 0 : -1;
	return unlink(path) == 0 || errno == ENOENT ? 0 : -1;
}

/* Folders that their owner made read-only (module caches are) open up again. */
static int open_up(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if ((type == FTW_D || type == FTW_DNR) && (st->st_mode & S_IRWXU) != S_IRWXU)
		chmod(path, (st->st_mode & 07777) | S_IRWXU);
	return 0;
}

static bool remove_all(const char *path)
{
	return nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0 ||
	        !fs_exists(path);
}

int fs_remove_tree(const char *path, struct err *err)
{
	if (!fs_exists(path) || remove_all(path))
		return 0;
	nftw(path, open_up, 32, FTW_PHYS | FTW_MOUNT);
	if (remove_all(path))
		return 0;
	err_set(err, ERR_WRITE_DENIED, "%s could not be removed whole: %s.", path, strerror(errno));
	err_hint(err, "Look what holds files there (`ls -la %s`), then run the same command again.",
	        path);
	return -1;
}

int fs_lock(const char *path, bool wait, int *ret_fd, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0) {
		err_set(err, ERR_WRITE_DENIED, "The lock file %s could not be opened: %s.", path,
		        strerror(errno));
		err_hint(err, "Check the rights of its folder.");
		return -1;
	}
	while (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
		if (errno == EINTR) {
			if (stop_check(err) == 0)
				continue;
			close(fd);
			return -1;
		}
		err_set(err, errno == EWOULDBLOCK ? ERR_BUSY : ERR_WRITE_DENIED,
		        "The lock %s could not be taken: %s.", path, strerror(errno));
		err_hint(err, "Run the same command again.");
		close(fd);
		return -1;
	}
	*ret_fd = fd;
	return 0;
}

void fs_unlock(int fd)
{
	if (fd >= 0)
		close(fd);
}
