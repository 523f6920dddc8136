/*
 * Allocation that cannot fail (it aborts), and cleanup attributes. Every local
 * that owns something is declared with one, so that each return path frees it.
 */
#ifndef ABIDE_BASE_MEM_H
#define ABIDE_BASE_MEM_H

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define UNUSED __attribute__((unused))
#define NELEMS(a) (sizeof(a) / sizeof((a)[0]))

/* All results are to be freed with free(). Sizes are in bytes. */
void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
/* Room for N elements of SIZE bytes; aborts when the product overflows. */
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s); /* NULL stays NULL */
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) PRINTF(1, 2);

static inline void mem_freep(void *p)
{
	free(*(void **)p);
}

static inline void mem_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define AUTOFREE CLEANUP(mem_freep)
#define AUTOCLOSE CLEANUP(mem_closep)

/* Takes the pointer out of a local with a cleanup attribute. */
#define STEAL(p)                                                                                   \
	__extension__({                                                                            \
		__typeof__(p) stolen_ = (p);                                                       \
		(p) = NULL;                                                                        \
		stolen_;                                                                           \
	})

/* Puts VALUE (owned) into *WHERE and frees what stood there. */
void mem_set(char **where, char *value);

#endif
