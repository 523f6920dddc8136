#include "wait/bound.h"

const char *const basis_texts[] = {
#define X(name, text) [BASIS_##name] = text,
        BASIS_TABLE(X)
#undef X
                NULL,
};

const char *basis_text(enum basis basis)
{
	return basis_texts[basis];
}

/* A quarter of the client's limit, at most five minutes, is left for delivery. */
static int64_t below_limit(int64_t limit_s)
{
	int64_t quartered = limit_s / 4 * 3 + limit_s % 4 * 3 / 4;

	return limit_s >= 4 * BOUND_MARGIN_S ? limit_s - BOUND_MARGIN_S : quartered;
}

struct bound bound_of(const struct bound_caller *c, int64_t asked_s)
{
	struct bound b = {.requested_s = -1};

	if (c->surface == SURFACE_CLI) {
		b.retry_s = BOUND_CLI_S;
		b.retry_basis = BASIS_CLI;
	} else if (c->tool_timeout_s < 0) {
		b.retry_s = BOUND_CLI_S;
		b.retry_basis = BASIS_CLIENT;
	} else if (c->tool_timeout_s > 0) {
		b.retry_s = below_limit(c->tool_timeout_s);
		b.retry_basis = BASIS_CLIENT;
	} else {
		b.retry_s = BOUND_UNDECLARED_S;
		b.retry_basis = BASIS_UNDECLARED;
	}
	/* The experiment can only shorten. */
	if (c->cap_s > 0 && c->cap_s < b.retry_s) {
		b.retry_s = c->cap_s;
		b.retry_basis = BASIS_CACHE_WINDOW;
	}
	b.timeout_s = b.retry_s;
	b.basis = b.retry_basis;
	if (asked_s >= 0 && (c->surface == SURFACE_CLI || asked_s <= b.retry_s)) {
		b.timeout_s = asked_s;
		b.basis = BASIS_EXPLICIT;
	} else if (asked_s >= 0) {
		b.requested_s = asked_s;
	}
	return b;
}
