/*
 * How long one call may hold. A property of the caller's transport, never of
 * how long things took before, and never of who the client says it is.
 */
#ifndef ABIDE_WAIT_BOUND_H
#define ABIDE_WAIT_BOUND_H

#include "base/base.h"

enum { BOUND_CLI_S = 3300, BOUND_UNDECLARED_S = 45, BOUND_MARGIN_S = 300 };

/* X(name, text): the closed vocabulary of timeout_basis and retry_basis. */
#define BASIS_TABLE(X)                                                                             \
	X(EXPLICIT, "explicit")                                                                    \
	X(CLI, "cli")                                                                              \
	X(CLIENT, "client")                                                                        \
	X(UNDECLARED, "undeclared-client")                                                         \
	X(CACHE_WINDOW, "cache-window")

enum basis {
#define X(name, text) BASIS_##name,
	BASIS_TABLE(X)
#undef X
};
const char *basis_text(enum basis basis);
extern const char *const basis_texts[]; /* NULL-terminated, for the schema */

struct bound_caller {
	enum surface surface;
	int64_t tool_timeout_s; /* mcp: declared; -1 unlimited; 0 not declared */
	long cap_s;             /* the valued experiment; 0 off */
};

struct bound {
	int64_t timeout_s;
	enum basis basis;
	int64_t requested_s; /* what was asked for when it was sliced, else -1 */
	int64_t retry_s;     /* length recommended for the next call */
	enum basis retry_basis;
};

/* ASKED_S: an explicit --timeout in seconds, or -1 for none. */
struct bound bound_of(const struct bound_caller *caller, int64_t asked_s);

#endif
