#include "cmocka_all.h"

#include "wait/bound.h"

/* One row of the table of callers. */
struct row {
	enum surface surface;
	int64_t declared;
	long cap;
	int64_t asked;
	int64_t timeout;
	const char *basis;
	int64_t requested, retry;
	const char *retry_basis;
};

static const struct row rows[] = {
        /* the command line */
        {SURFACE_CLI, 0, 0, -1, 3300, "cli", -1, 3300, "cli"},
        {SURFACE_CLI, 0, 0, 7, 7, "explicit", -1, 3300, "cli"},
        {SURFACE_CLI, 0, 0, 100000, 100000, "explicit", -1, 3300, "cli"},
        {SURFACE_CLI, 0, 0, 0, 0, "explicit", -1, 3300, "cli"},
        {SURFACE_CLI, 0, 240, -1, 240, "cache-window", -1, 240, "cache-window"},
        {SURFACE_CLI, 0, 240, 5000, 5000, "explicit", -1, 240, "cache-window"},
        {SURFACE_CLI, 0, 9999, -1, 3300, "cli", -1, 3300, "cli"},
        {SURFACE_CLI, 0, 3300, -1, 3300, "cli", -1, 3300, "cli"},
        /* a declared limit */
        {SURFACE_MCP, 3600, 0, -1, 3300, "client", -1, 3300, "client"},
        {SURFACE_MCP, 60, 0, -1, 45, "client", -1, 45, "client"},
        {SURFACE_MCP, 61, 0, -1, 45, "client", -1, 45, "client"},
        {SURFACE_MCP, 300, 0, -1, 225, "client", -1, 225, "client"},
        {SURFACE_MCP, 1200, 0, -1, 900, "client", -1, 900, "client"},
        {SURFACE_MCP, 1199, 0, -1, 899, "client", -1, 899, "client"},
        {SURFACE_MCP, 7200, 0, -1, 6900, "client", -1, 6900, "client"},
        {SURFACE_MCP, -1, 0, -1, 3300, "client", -1, 3300, "client"},
        {SURFACE_MCP, 3600, 0, 600, 600, "explicit", -1, 3300, "client"},
        {SURFACE_MCP, 3600, 0, 3300, 3300, "explicit", -1, 3300, "client"},
        {SURFACE_MCP, 3600, 0, 3301, 3300, "client", 3301, 3300, "client"},
        {SURFACE_MCP, 3600, 0, 0, 0, "explicit", -1, 3300, "client"},
        {SURFACE_MCP, 3600, 240, -1, 240, "cache-window", -1, 240, "cache-window"},
        {SURFACE_MCP, 3600, 240, 600, 240, "cache-window", 600, 240, "cache-window"},
        {SURFACE_MCP, 3600, 240, 100, 100, "explicit", -1, 240, "cache-window"},
        {SURFACE_MCP, 60, 240, -1, 45, "client", -1, 45, "client"},
        /* no declaration */
        {SURFACE_MCP, 0, 0, -1, 45, "undeclared-client", -1, 45, "undeclared-client"},
        {SURFACE_MCP, 0, 0, 46, 45, "undeclared-client", 46, 45, "undeclared-client"},
        {SURFACE_MCP, 0, 20, -1, 20, "cache-window", -1, 20, "cache-window"},
};

static void every_caller_gets_its_bound_and_its_basis(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEMS(rows); i++) {
		const struct row *r = &rows[i];
		struct bound_caller c = {r->surface, r->declared, r->cap};
		struct bound b = bound_of(&c, r->asked);

		assert_int_equal(b.timeout_s, r->timeout);
		assert_string_equal(basis_text(b.basis), r->basis);
		assert_int_equal(b.requested_s, r->requested);
		assert_int_equal(b.retry_s, r->retry);
		assert_string_equal(basis_text(b.retry_basis), r->retry_basis);
	}
}

static void a_declared_limit_always_leaves_room(void **state)
{
	(void)state;
	for (int64_t t = 1; t < 10000; t++) {
		struct bound_caller c = {SURFACE_MCP, t, 0};
		struct bound b = bound_of(&c, -1);
		int64_t quarter_up = (t + 3) / 4, margin = quarter_up < 300 ? quarter_up : 300;

		assert_int_equal(b.timeout_s, t - margin);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_caller_gets_its_bound_and_its_basis),
	        cmocka_unit_test(a_declared_limit_always_leaves_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
