#include "cmocka_all.h"

#include "base/base.h"

static void spelled(char *got, const char *want)
{
	result_surface = SURFACE_CLI;
	assert_string_equal(got, want);
	free(got);
}

#define CLI(want, ...)                                                                             \
	do {                                                                                       \
		result_surface = SURFACE_CLI;                                                      \
		spelled(call_text(__VA_ARGS__, NULL), want);                                       \
	} while (0)
#define MCP(want, ...)                                                                             \
	do {                                                                                       \
		result_surface = SURFACE_MCP;                                                      \
		spelled(call_text(__VA_ARGS__, NULL), want);                                       \
	} while (0)

static void a_command_is_spelled_for_the_shell(void **state)
{
	(void)state;
	CLI("abide status", "status");
	CLI("abide await --landed fix --timeout 60", "await", "landed", "fix", "timeout", "60");
	CLI("abide await --landed 'a b' --may-start", "await", "landed", "a b", "may_start", NULL);
	CLI("abide accept 'it'\\''s'", "accept", "", "it's");
	CLI("abide start fix --exact", "start", "=name", "fix", "exact", NULL);
}

static void words_never_become_options(void **state)
{
	(void)state;
	CLI("abide start fix --exact", "start", "exact", NULL, "=name", "fix");
	CLI("abide start --from HEAD -- -x", "start", "=name", "-x", "from", "HEAD");
}

static void a_command_is_spelled_for_a_tool_call(void **state)
{
	(void)state;
	MCP("status {}", "status");
	MCP("await {\"landed\":\"fix\",\"timeout\":60}", "await", "landed", "fix", "timeout", "60");
	MCP("await {\"landed\":\"fix\",\"may_start\":true}", "await", "landed", "fix", "may-start",
	        NULL);
	MCP("start {\"name\":\"-x\"}", "start", "=name", "-x");
	MCP("accept {\"path\":\"/w\"}", "accept", "", "/w");
	MCP("await {\"green\":[\"a\",\"b\",\"c\"],\"mode\":\"any\"}", "await", "green", "a",
	        "green", "b", "green", "c", "mode", "any");
}

static void a_result_is_gathered(void **state)
{
	AUTORESULT r = {0};

	(void)state;
	json_put_int(result_data(&r), "n", 1);
	json_put_int(result_data(&r), "m", 2);
	result_hint(&r, "Run `%s`.", "abide status");
	result_warn(&r, "%d things.", 3);
	assert_int_equal(json_object_size(r.data), 2);
	assert_string_equal(r.hints.v[0], "Run `abide status`.");
	assert_string_equal(r.warnings.v[0], "3 things.");
	result_release(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_command_is_spelled_for_the_shell),
	        cmocka_unit_test(words_never_become_options),
	        cmocka_unit_test(a_command_is_spelled_for_a_tool_call),
	        cmocka_unit_test(a_result_is_gathered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
