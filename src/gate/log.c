#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "gate/own.h"

enum {
	HEAD_BYTES = 1 << 20, /* of the file's begin, written as it comes */
	KEPT_BYTES = 1 << 20, /* of the end, kept in memory */
	TAIL_LINES = 40,
	TAIL_BYTES = 8192,
};

struct log {
	int fd;
	uint64_t total, written;
	char *kept; /* a ring: the last bytes of all; byte I stands at I % room */
	size_t room;
};

struct log *log_open(const char *path)
{
	struct log *l = xcalloc(1, sizeof(*l));

	l->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return l;
}

static void to_file(struct log *l, const char *data, size_t len)
{
	while (len && l->fd >= 0) {
		ssize_t n = write(l->fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(l->fd);
			l->fd = -1;
			return;
		}
		data += n;
		len -= (size_t)n;
	}
}

/* The bytes [from, total) of what is kept, in order. */
static void kept_from(const struct log *l, uint64_t from, struct buf *ret)
{
	while (from < l->total) {
		size_t at = (size_t)(from % l->room);
		size_t n = l->room - at;

		if (n > l->total - from)
			n = (size_t)(l->total - from);
		buf_add(ret, l->kept + at, n);
		from += n;
	}
}

/* Room for LEN more bytes, as far as it may grow. */
static void grow(struct log *l, size_t len)
{
	size_t room = l->room ? l->room : 4096;
	AUTOBUF old = {0};

	while (room < KEPT_BYTES && room < l->total + len)
		room *= 2;
	if (room == l->room)
		return;
	/* It grows only as long as it holds everything. */
	if (l->room)
		kept_from(l, 0, &old);
	l->kept = xrealloc(l->kept, room);
	l->room = room;
	if (old.len)
		memcpy(l->kept, old.data, old.len);
}

void log_add(struct log *l, const char *data, size_t len)
{
	if (l->written < HEAD_BYTES) {
		size_t n = len < HEAD_BYTES - l->written ? len : HEAD_BYTES - (size_t)l->written;
		to_file(l, data, n);
		l->written += n;
	}
	grow(l, len);
	while (len) {
		size_t at = (size_t)(l->total % l->room);
		size_t n = len < l->room - at ? len : l->room - at;

		memcpy(l->kept + at, data, n);
		l->total += n;
		data += n;
		len -= n;
	}
}

/* The last lines of TEXT, as many as may be told. */
static char *tail_of(const char *text, size_t len)
{
	size_t at = len, lines = 0;

	while (at > 0 && text[at - 1] == '\n')
		at--;
	len = at;
	while (at > 0 && len - at < TAIL_BYTES) {
		if (text[at - 1] == '\n' && ++lines == TAIL_LINES)
			break;
		at--;
	}
	/* Cut within a line: from the next character on. */
	while (at > 0 && at < len && ((unsigned char)text[at] & 0xc0) == 0x80)
		at++;
	return text_to_utf8(text + at, len - at);
}

void log_close(struct log *l, char **ret_tail)
{
	uint64_t from = l->total > l->room ? l->total - l->room : 0;
	AUTOBUF kept = {0};

	if (l->room)
		kept_from(l, from, &kept);
	if (from > l->written) {
		AUTOFREE char *marker = xasprintf(
		        "\n[… %llu bytes left out …]\n", (unsigned long long)(from - l->written));
		to_file(l, marker, strlen(marker));
		l->written = from;
	}
	if (l->written < l->total)
		to_file(l, kept.data + (l->written - from), (size_t)(l->total - l->written));
	*ret_tail = tail_of(buf_str(&kept), kept.len);
	if (l->fd >= 0)
		close(l->fd);
	free(l->kept);
	free(l);
}
