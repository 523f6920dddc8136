#ifdef __APPLE__

#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <libproc.h>
#include <mach-o/dyld.h>
#include <stdio.h>
#include <string.h>
#include <sys/event.h>
#include <sys/mount.h>
#include <sys/sysctl.h>

#include "base/fs.h"

bool platform_become_subreaper(void)
{
	return false;
}

static bool short_info(pid_t pid, struct proc_bsdinfo *ret)
{
	return proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, ret, sizeof(*ret)) == sizeof(*ret);
}

int64_t platform_start_time(pid_t pid)
{
	struct proc_bsdinfo i;

	return short_info(pid, &i)
	        ? (int64_t)i.pbi_start_tvsec * 1000000 + (int64_t)i.pbi_start_tvusec
	        : 0;
}

char *platform_boot_id(void)
{
	struct timeval t;
	size_t n = sizeof(t);

	if (sysctlbyname("kern.boottime", &t, &n, NULL, 0) != 0)
		return xstrdup("");
	return xasprintf("%lld.%06d", (long long)t.tv_sec, (int)t.tv_usec);
}

size_t platform_descendants(pid_t root, pid_t *ret, size_t max)
{
	size_t found = 0;

	for (size_t at = 0;; at++) {
		pid_t parent = at ? ret[at - 1] : root;
		pid_t kids[512];
		int n = proc_listchildpids(parent, kids, sizeof(kids));
		for (int i = 0; i < n && found < max; i++)
			ret[found++] = kids[i];
		if (at >= found)
			break;
	}
	return found;
}

char *platform_program(void)
{
	char path[4096];
	uint32_t n = sizeof(path);

	return _NSGetExecutablePath(path, &n) == 0 ? path_real(path) : xstrdup("abide");
}

void platform_inside(const char *dir, struct strv *ret, size_t max)
{
	int bytes = proc_listpids(PROC_ALL_PIDS, 0, NULL, 0);
	AUTOFREE pid_t *pids = xmalloc((size_t)(bytes > 0 ? bytes : 0) + 1);
	int n = bytes > 0 ? proc_listpids(PROC_ALL_PIDS, 0, pids, bytes) / (int)sizeof(*pids) : 0;

	for (int i = 0; i < n && ret->n < max; i++) {
		struct proc_vnodepathinfo v;
		char name[64] = "";
		if (proc_pidinfo(pids[i], PROC_PIDVNODEPATHINFO, 0, &v, sizeof(v)) != sizeof(v) ||
		        !path_inside(v.pvi_cdir.vip_path, dir))
			continue;
		proc_name(pids[i], name, sizeof(name));
		strv_printf(ret, "%d %s", (int)pids[i], name);
	}
}

void platform_holders(const char *path, struct strv *ret, size_t max)
{
	pid_t pids[64];
	int bytes = proc_listpidspath(PROC_ALL_PIDS, 0, path, 0, pids, sizeof(pids));

	for (int i = 0; i < bytes / (int)sizeof(*pids) && ret->n < max; i++) {
		char name[64] = "";
		proc_name(pids[i], name, sizeof(name));
		strv_printf(ret, "%d %s", (int)pids[i], name);
	}
}

char *platform_fs_type(const char *path, bool *ret_local)
{
	struct statfs s;

	*ret_local = true;
	if (statfs(path, &s) != 0)
		return xstrdup("unknown");
	*ret_local = (s.f_flags & MNT_LOCAL) != 0;
	return xstrdup(s.f_fstypename);
}

/* Open file description locks exist here too, under Apple's names. */
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
	(void)fd;
	return -1;
}

int platform_exit_fd(pid_t pid)
{
	struct kevent e;
	int kq = kqueue();

	if (kq < 0)
		return -1;
	fcntl(kq, F_SETFD, FD_CLOEXEC);
	EV_SET(&e, (uintptr_t)pid, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
	if (kevent(kq, &e, 1, NULL, 0, NULL) != 0) {
		close(kq);
		return -1;
	}
	return kq;
}

size_t platform_file_event_instances(void)
{
	return SIZE_MAX;
}

void platform_close_from(int first)
{
	long max = sysconf(_SC_OPEN_MAX);

	for (int fd = first; fd < max; fd++)
		close(fd);
}

#endif
