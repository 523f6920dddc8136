#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/* A unit test runs with the sanitizers' leak check on: the environment says so. */
static void leak_check_is_not_switched_off(void **state)
{
	(void)state;
	const char *options = getenv("ASAN_OPTIONS");
	if (options == NULL)
		return;
	assert_null(strstr(options, "detect_leaks=0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(leak_check_is_not_switched_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
