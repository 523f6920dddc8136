#include "cmocka_all.h"

#include "base/base.h"

static void a_buffer_grows_and_stays_terminated(void **state)
{
	AUTOBUF b = {0};

	(void)state;
	assert_string_equal(buf_str(&b), "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%d,", i);
	assert_int_equal(b.len, 3890);
	assert_int_equal(b.data[b.len], 0);
	buf_reset(&b);
	assert_string_equal(buf_str(&b), "");
	buf_add(&b, "a\0b", 3);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "a\0b", 4);
	buf_add(&b, NULL, 0);
	assert_int_equal(b.len, 3);
}

static void taking_leaves_an_empty_buffer(void **state)
{
	struct buf b = {0};
	AUTOFREE char *empty = buf_take(&b);
	AUTOFREE char *text = NULL;

	(void)state;
	assert_string_equal(empty, "");
	buf_puts(&b, "text");
	text = buf_take(&b);
	assert_string_equal(text, "text");
	assert_null(b.data);
	buf_release(&b);
	buf_release(NULL);
}

static void a_list_ends_in_null(void **state)
{
	AUTOSTRV l = {0};
	AUTOSTRV more = {0};

	(void)state;
	for (int i = 20; i-- > 0;)
		strv_printf(&l, "%02d", i);
	assert_int_equal(l.n, 20);
	assert_null(l.v[20]);
	strv_sort(&l);
	assert_string_equal(l.v[0], "00");
	assert_string_equal(l.v[19], "19");
	assert_true(strv_has(&l, "07"));
	assert_false(strv_has(&l, "7"));
	strv_extend(&more, &l);
	assert_int_equal(more.n, 20);
	assert_ptr_not_equal(more.v[0], l.v[0]);
	strv_release(NULL);
}

static void nul_fields_are_split_with_empty_ones(void **state)
{
	AUTOSTRV l = {0};

	(void)state;
	strv_split_nul(&l, "", 0);
	assert_int_equal(l.n, 0);
	strv_split_nul(&l, "a\0\0b\nc\0last", 11);
	assert_int_equal(l.n, 4);
	assert_string_equal(l.v[0], "a");
	assert_string_equal(l.v[1], "");
	assert_string_equal(l.v[2], "b\nc");
	assert_string_equal(l.v[3], "last");
}

static int64_t noon(void)
{
	return INT64_C(1764504071123);
}

static void zeros(void *out, size_t bytes)
{
	memset(out, 0, bytes);
}

static void time_and_random_are_injected(void **state)
{
	struct clock_source before = clock_source;
	AUTOFREE char *iso = NULL;

	(void)state;
	clock_source.wall_ms = noon;
	clock_source.random = zeros;
	iso = clock_iso(clock_wall_ms());
	assert_string_equal(iso, "2025-11-30T12:01:11.123Z");
	assert_int_equal(random_below(10), 0);
	clock_source = before;
	for (int i = 0; i < 1000; i++)
		assert_in_range(random_below(7), 0, 6);
	assert_int_equal(random_below(1), 0);
	assert_int_equal(random_below(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_buffer_grows_and_stays_terminated),
	        cmocka_unit_test(taking_leaves_an_empty_buffer),
	        cmocka_unit_test(a_list_ends_in_null),
	        cmocka_unit_test(nul_fields_are_split_with_empty_ones),
	        cmocka_unit_test(time_and_random_are_injected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
