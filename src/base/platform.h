/*
 * What differs between Linux and macOS. The only place with such knowledge:
 * platform_linux.c and platform_macos.c.
 */
#ifndef ABIDE_BASE_PLATFORM_H
#define ABIDE_BASE_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* Orphans of this process's descendants become its children. False where unknown. */
bool platform_become_subreaper(void);

/* When PID started, in the system's own unit; 0 when it is not there. */
int64_t platform_start_time(pid_t pid);
/* Names this boot of this machine. To be freed; "" where unknown. */
char *platform_boot_id(void);

/* All living descendants of ROOT, itself excluded, parents before children. */
size_t platform_descendants(pid_t root, pid_t *ret, size_t max);

/* A path that runs this very program again, whatever argv[0] said and though its
   file was replaced meanwhile (Linux). To be freed. */
char *platform_program(void);

/*
 * Processes of this user (of all users where that can be seen) whose working
 * directory is DIR (real path) or below it; "pid name" each, at most MAX.
 */
void platform_inside(const char *dir, struct strv *ret, size_t max);

/* Processes that have the file PATH open, as far as can be seen; as platform_inside. */
void platform_holders(const char *path, struct strv *ret, size_t max);

/* The file system that holds PATH: its name, and whether file events and
   shared memory can be trusted there (false: network and FUSE). To be freed. */
char *platform_fs_type(const char *path, bool *ret_local);

/*
 * Byte locks that any death frees and that exec and fork do not pass on.
 * take: 0 taken, 1 held by another, -1 errno. held: 1, 0, -1 errno.
 */
int platform_byte_take(int fd, int64_t offset);
/* As take, but waits; EINTR comes back as -1. */
int platform_byte_wait(int fd, int64_t offset);
int platform_byte_held(int fd, int64_t offset);
int platform_byte_free(int fd, int64_t offset);

/*
 * A descriptor that becomes readable when the other end of FD (pipe, socket,
 * terminal) hangs up; nothing is read from FD and its flags stay as they are.
 * -1 where that cannot be had. To be closed.
 */
int platform_hangup_fd(int fd);
/* A descriptor that becomes readable when process PID ends, or -1. To be closed. */
int platform_exit_fd(pid_t pid);
/* File-event instances that this user may have; SIZE_MAX where there is no such limit. */
size_t platform_file_event_instances(void);

/* Every file descriptor from FIRST on is closed. */
void platform_close_from(int first);

#endif
