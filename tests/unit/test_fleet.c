#include "cmocka_all.h"

#include "fleet/fleet.h"

static void nothing_has_no_lead(void **state)
{
	(void)state;
	assert_int_equal(fleet_lead(NULL, 0), 0);
}

static void the_longest_remainder_leads(void **state)
{
	const struct flight v[] = {
	        {"done", 50, {.p90_ms = 100, .samples = 1}},
	        {"accept", 10, {.p90_ms = 90, .samples = 9}},
	        {"update", 0, {.p90_ms = 20, .samples = 9}},
	};

	(void)state;
	assert_int_equal(fleet_lead(v, 3), 1);
}

static void without_samples_none_leads_those_with(void **state)
{
	const struct flight v[] = {
	        {"start", 9000, {0}},
	        {"done", 500, {.p90_ms = 100, .samples = 1}}, /* past its p90, still known */
	        {"start", 0, {0}},
	};

	(void)state;
	assert_int_equal(fleet_lead(v, 3), 1);
}

static void without_any_samples_the_oldest_leads(void **state)
{
	const struct flight v[] = {{"start", 9000, {0}}, {"drop", 10, {0}}};

	(void)state;
	assert_int_equal(fleet_lead(v, 2), 0);
}

static void on_a_tie_the_older_leads(void **state)
{
	const struct flight v[] = {
	        {"start", 0, {0}},
	        {"done", 100, {.p90_ms = 150, .samples = 1}},
	        {"done", 50, {.p90_ms = 100, .samples = 1}},
	};

	(void)state;
	assert_int_equal(fleet_lead(v, 3), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(nothing_has_no_lead),
	        cmocka_unit_test(the_longest_remainder_leads),
	        cmocka_unit_test(without_samples_none_leads_those_with),
	        cmocka_unit_test(without_any_samples_the_oldest_leads),
	        cmocka_unit_test(on_a_tie_the_older_leads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
