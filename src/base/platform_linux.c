#ifdef __linux__

#include "base/platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include "base/fs.h"
#include "base/text.h"

bool platform_become_subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

/*
 * Field N (from 3) of /proc/PID/stat; the name before may hold anything, so
 * counting starts after its last parenthesis. -1 when PID is not there.
 */
static int64_t stat_field(pid_t pid, int n)
{
	char path[64], line[1024];
	AUTOCLOSE int fd = -1;
	ssize_t len;
	char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, line, sizeof(line) - 1);
	if (len <= 0)
		return -1;
	line[len] = '\0';
	p = strrchr(line, ')');
	for (int i = 2; p && i < n; i++)
		p = strchr(p + 1, ' ');
	return p ? strtoll(p + 1, NULL, 10) : -1;
}

int64_t platform_start_time(pid_t pid)
{
	int64_t t = stat_field(pid, 22);

	return t < 0 ? 0 : t;
}

char *platform_boot_id(void)
{
	char line[64];
	AUTOCLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line));

	while (n > 0 && line[n - 1] == '\n')
		n--;
	return xstrndup(line, n > 0 ? (size_t)n : 0);
}

size_t platform_descendants(pid_t root, pid_t *ret, size_t max)
{
	struct {
		pid_t pid, parent;
	} *all = NULL;
	size_t n = 0, cap = 0, found = 0;
	DIR *dir = opendir("/proc");
	struct dirent *e;

	if (!dir)
		return 0;
	while ((e = readdir(dir))) {
		int64_t pid, parent;
		if (!text_int(e->d_name, 1, INT32_MAX, &pid))
			continue;
		parent = stat_field((pid_t)pid, 4);
		if (parent <= 0)
			continue;
		if (n == cap) {
			cap = cap ? cap * 2 : 256;
			all = xreallocarray(all, cap, sizeof(*all));
		}
		all[n].pid = (pid_t)pid;
		all[n++].parent = (pid_t)parent;
	}
	closedir(dir);
	/* Breadth first: ret[] is both the result and the queue. */
	for (size_t at = 0;; at++) {
		pid_t parent = at ? ret[at - 1] : root;
		for (size_t i = 0; i < n && found < max; i++)
			if (all[i].parent == parent)
				ret[found++] = all[i].pid;
		if (at >= found)
			break;
	}
	free(all);
	return found;
}

char *platform_program(void)
{
	static const char self[] = "/proc/self/exe";
	char path[4096];
	ssize_t n = readlink(self, path, sizeof(path) - 1);
	struct stat named, running;

	/* The real name looks better in lists of processes, as long as it is the same file. */
	path[n > 0 ? n : 0] = '\0';
	if (n > 0 && stat(path, &named) == 0 && stat(self, &running) == 0 &&
	        named.st_dev == running.st_dev && named.st_ino == running.st_ino)
		return xstrdup(path);
	return xstrdup(self);
}

/* "pid name" of a process that is there. */
static void push_process(pid_t pid, struct strv *ret)
{
	char path[64], name[64] = "";
	AUTOCLOSE int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, name, sizeof(name) - 1);
	name[n > 0 ? strcspn(name, "\n") : 0] = '\0';
	strv_printf(ret, "%d %s", (int)pid, name);
}

/* The next number in a folder of /proc; 0 at its end. */
static int64_t next_number(DIR *dir)
{
	struct dirent *e;
	int64_t n;

	while ((e = readdir(dir)))
		if (text_int(e->d_name, 0, INT32_MAX, &n) && n > 0)
			return n;
	return 0;
}

void platform_inside(const char *dir, struct strv *ret, size_t max)
{
	DIR *proc = opendir("/proc");
	int64_t pid;

	while (proc && ret->n < max && (pid = next_number(proc))) {
		char path[64], cwd[4096];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
		n = readlink(path, cwd, sizeof(cwd) - 1);
		if (n <= 0)
			continue;
		cwd[n] = '\0';
		if (path_inside(cwd, dir))
			push_process((pid_t)pid, ret);
	}
	if (proc)
		closedir(proc);
}

static bool has_open(pid_t pid, const struct stat *wanted)
{
	char folder[64];
	DIR *fds;
	bool found = false;
	int64_t fd;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
	fds = opendir(folder);
	while (fds && !found && (fd = next_number(fds))) {
		struct stat st;
		char path[96];
		snprintf(path, sizeof(path), "%s/%d", folder, (int)fd);
		found = stat(path, &st) == 0 && st.st_dev == wanted->st_dev &&
		        st.st_ino == wanted->st_ino;
	}
	if (fds)
		closedir(fds);
	return found;
}

void platform_holders(const char *path, struct strv *ret, size_t max)
{
	DIR *proc = opendir("/proc");
	struct stat wanted;
	int64_t pid;

	while (proc && stat(path, &wanted) == 0 && ret->n < max && (pid = next_number(proc)))
		if (has_open((pid_t)pid, &wanted))
			push_process((pid_t)pid, ret);
	if (proc)
		closedir(proc);
}

/* Numbers from statfs(2). Unlisted types are taken as local. */
static const struct {
	unsigned long magic;
	const char *name;
	bool local;
} fs_types[] = {
        {0xef53, "ext4", true},
        {0x58465342, "xfs", true},
        {0x9123683e, "btrfs", true},
        {0x01021994, "tmpfs", true},
        {0x794c7630, "overlayfs", true},
        {0x2fc12fc1, "zfs", true},
        {0xf2f52010, "f2fs", true},
        {0x6969, "nfs", false},
        {0xff534d42, "cifs", false},
        {0xfe534d42, "smb2", false},
        {0x517b, "smb", false},
        {0x65735546, "fuse", false},
        {0x01021997, "9p", false},
        {0x6a656a63, "virtiofs", false},
        {0x00c36400, "ceph", false},
        {0x5346414f, "afs", false},
        {0x786f4256, "vboxsf", false},
};

char *platform_fs_type(const char *path, bool *ret_local)
{
	struct statfs s;

	*ret_local = true;
	if (statfs(path, &s) != 0)
		return xstrdup("unknown");
	for (size_t i = 0; i < NELEMS(fs_types); i++) {
		if (fs_types[i].magic == ((unsigned long)s.f_type & 0xffffffff)) {
			*ret_local = fs_types[i].local;
			return xstrdup(fs_types[i].name);
		}
	}
	return xasprintf("type 0x%lx", (unsigned long)s.f_type);
}

static int byte_lock(int fd, int64_t offset, int command, short type, short *ret_type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
	int rc = fcntl(fd, command, &l);

	if (ret_type)
		*ret_type = l.l_type;
	return rc;
}

int platform_byte_take(int fd, int64_t offset)
{
	if (byte_lock(fd, offset, F_OFD_SETLK, F_WRLCK, NULL) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? 1 : -1;
}

int platform_byte_wait(int fd, int64_t offset)
{
	return byte_lock(fd, offset, F_OFD_SETLKW, F_WRLCK, NULL);
}

int platform_byte_held(int fd, int64_t offset)
{
	short type;

	if (byte_lock(fd, offset, F_OFD_GETLK, F_WRLCK, &type) != 0)
		return -1;
	return type != F_UNLCK;
}

int platform_byte_free(int fd, int64_t offset)
{
	return byte_lock(fd, offset, F_OFD_SETLK, F_UNLCK, NULL);
}

int platform_hangup_fd(int fd)
{
	struct epoll_event e = {.events = EPOLLRDHUP}; /* EPOLLHUP comes unasked */
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) != 0) {
		close(ep);
		return -1;
	}
	return ep;
}

int platform_exit_fd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
}

static int64_t number_in(const char *path)
{
	char line[32];
	AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
	int64_t value;

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return text_int(line, 0, INT64_MAX, &value) ? value : INT64_MAX;
}

size_t platform_file_event_instances(void)
{
	int64_t user = number_in("/proc/sys/fs/inotify/max_user_instances");
	int64_t namespace = number_in("/proc/sys/user/max_inotify_instances");
	int64_t least = user < namespace ? user : namespace;

	return least == INT64_MAX ? SIZE_MAX : (size_t)least;
}

void platform_close_from(int first)
{
	if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) != 0) {
		long max = sysconf(_SC_OPEN_MAX);
		for (int fd = first; fd < max; fd++)
			close(fd);
	}
}

#endif
