#include "store/store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "store/sql.h"

/* Offsets of the kinds do not meet: ids stay below 2^48. */
static int64_t offset_of(enum alive_kind kind, int64_t id)
{
	return ((int64_t)(kind + 1) << 48) | id;
}

static int open_lock(struct store *s, int flags)
{
	AUTOFREE char *path = path_join(s->dir, "alive.lck");

	return open(path, flags | O_CLOEXEC, 0600);
}

bool store_alive_take(struct store *s, enum alive_kind kind, int64_t id)
{
	if (!s)
		return false;
	if (s->alive_fd < 0)
		s->alive_fd = open_lock(s, O_RDWR | O_CREAT);
	return s->alive_fd >= 0 && platform_byte_take(s->alive_fd, offset_of(kind, id)) == 0;
}

void store_alive_free(struct store *s, enum alive_kind kind, int64_t id)
{
	if (s && s->alive_fd >= 0)
		platform_byte_free(s->alive_fd, offset_of(kind, id));
}

int store_alive_lend(struct store *s, enum alive_kind kind, int64_t id)
{
	AUTOCLOSE int fd = open_lock(s, O_RDWR | O_CREAT);
	int lent = fd;

	if (fd < 0 || platform_byte_take(fd, offset_of(kind, id)) != 0)
		return -1;
	fd = -1;
	return lent;
}

bool store_alive_lent(struct store *s, int fd, enum alive_kind kind, int64_t id)
{
	AUTOFREE char *path = path_join(s->dir, "alive.lck");
	struct stat lent, own;

	/* Who holds it takes it again; from everybody else it is refused. */
	return fstat(fd, &lent) == 0 && stat(path, &own) == 0 && lent.st_dev == own.st_dev &&
	        lent.st_ino == own.st_ino && store_alive(s, kind, id) &&
	        platform_byte_take(fd, offset_of(kind, id)) == 0;
}

int store_alive_ask(struct store *s, enum alive_kind kind, int64_t id)
{
	if (!s || seam_fails("store:alive"))
		return -1;
	/* A description of its own: own bytes count as held, too. */
	if (s->query_fd < 0)
		s->query_fd = open_lock(s, O_RDONLY);
	return s->query_fd < 0 ? -1 : platform_byte_held(s->query_fd, offset_of(kind, id));
}

bool store_alive(struct store *s, enum alive_kind kind, int64_t id)
{
	return store_alive_ask(s, kind, id) == 1;
}
