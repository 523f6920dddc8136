#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"

/* NAME on the PATH that ENV gives, or NULL. To be freed. */
static char *found_on_path(const char *name, char *const *env)
{
	const char *path = "/usr/local/bin:/usr/bin:/bin";

	for (size_t i = 0; env[i]; i++)
		if (text_starts(env[i], "PATH="))
			path = env[i] + strlen("PATH=");
	for (;;) {
		size_t n = strcspn(path, ":");
		AUTOFREE char *dir = n ? xstrndup(path, n) : xstrdup(".");
		AUTOFREE char *file = path_join(dir, name);
		if (access(file, X_OK) == 0 && !fs_is_dir(file))
			return STEAL(file);
		if (!path[n])
			return NULL;
		path += n + 1;
	}
}

/* Where the child's three descriptors come from. */
static int set_files(posix_spawn_file_actions_t *files, const struct spawn *s)
{
	int rc = 0;

	for (int i = 0; i < 3 && rc == 0; i++) {
		/* One that is in its place already is kept over exec by being copied onto itself.
		 */
		rc = s->fd[i] < 0 ? posix_spawn_file_actions_addopen(
		                            files, i, "/dev/null", i ? O_RDWR : O_RDONLY, 0)
		                  : posix_spawn_file_actions_adddup2(files, s->fd[i], i);
	}
	if (rc == 0 && s->cwd)
		rc = posix_spawn_file_actions_addchdir_np(files, s->cwd);
	return rc;
}

static int set_signals(posix_spawnattr_t *attr, const struct spawn *s)
{
	short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
	sigset_t all, none;
	int rc;

	sigfillset(&all);
	sigemptyset(&none);
	if (s->apart)
		flags |= POSIX_SPAWN_SETSID;
	rc = posix_spawnattr_setsigdefault(attr, &all);
	if (rc == 0)
		rc = posix_spawnattr_setsigmask(attr, &none);
	return rc ? rc : posix_spawnattr_setflags(attr, flags);
}

int spawn_start(const struct spawn *s, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	AUTOFREE char *file =
	        strchr(s->argv[0], '/') ? xstrdup(s->argv[0]) : found_on_path(s->argv[0], s->env);
	pid_t pid;
	int rc;

	if (!file)
		return -ENOENT;
	rc = posix_spawn_file_actions_init(&files);
	if (rc != 0)
		return -rc;
	rc = posix_spawnattr_init(&attr);
	if (rc == 0) {
		rc = set_files(&files, s);
		if (rc == 0)
			rc = set_signals(&attr, s);
		if (rc == 0)
			rc = posix_spawnp(
			        &pid, s->argv[0], &files, &attr, (char **)s->argv, (char **)s->env);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&files);
	if (rc == 0)
		*ret = pid;
	return -rc;
}
