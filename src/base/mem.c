#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *must(void *p)
{
	if (!p) {
		static const char msg[] = "abide: out of memory\n";
		if (write(STDERR_FILENO, msg, sizeof(msg) - 1) < 0)
			abort();
		abort();
	}
	return p;
}

void *xmalloc(size_t size)
{
	return must(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return must(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t size)
{
	return must(realloc(p, size ? size : 1));
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		must(NULL);
	return xrealloc(p, n * size);
}

char *xstrdup(const char *s)
{
	return s ? must(strdup(s)) : NULL;
}

char *xstrndup(const char *s, size_t n)
{
	return must(strndup(s, n));
}

char *xasprintf(const char *fmt, ...)
{
	char *out = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&out, fmt, ap) < 0)
		must(NULL);
	va_end(ap);
	return out;
}

void mem_set(char **where, char *value)
{
	free(*where);
	*where = value;
}
