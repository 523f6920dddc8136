#include "cmocka_all.h"

#include "base/base.h"

static void only_strict_json_is_read(void **state)
{
	static const char *const bad[] = {
	        "",
	        " ",
	        "{",
	        "{\"a\":1,}",
	        "{\"a\":1,\"a\":2}",
	        "{\"a\":{\"b\":1,\"b\":1}}",
	        "{} {}",
	        "{}x",
	        "\"\xff\"",
	        "\"\xed\xa0\x80\"",
	        "\"\\ud800\"",
	        "\"a\\u0000b\"",
	        "01",
	        "1e999",
	        "99999999999999999999",
	        "NaN",
	        "'a'",
	        "[1,]",
	        "// no\n1",
	};

	(void)state;
	for (size_t i = 0; i < NELEMS(bad); i++) {
		AUTOFREE char *why = NULL;
		json_t *v = json_read(bad[i], strlen(bad[i]), &why);
		if (v)
			fail_msg("`%s` was read", bad[i]);
		assert_non_null(why);
		assert_null(json_read(bad[i], strlen(bad[i]), NULL));
	}
}

static void the_reason_names_the_place(void **state)
{
	AUTOFREE char *why = NULL;

	(void)state;
	assert_null(json_read("{\n  \"a\": nope\n}", 15, &why));
	assert_non_null(strstr(why, "line 2"));
}

static void deep_nesting_is_refused(void **state)
{
	AUTOBUF text = {0};

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_putc(&text, '[');
	assert_null(json_read(buf_str(&text), text.len, NULL));
}

static void any_value_is_read_and_written_in_order(void **state)
{
	AUTOJSON json_t *v = json_read("{\"z\":1,\"a\":[true,null,\"x\"]}", 27, NULL);
	AUTOJSON json_t *one = json_read(" 7 ", 3, NULL);
	AUTOFREE char *line = NULL;
	AUTOFREE char *pretty = NULL;

	(void)state;
	assert_non_null(v);
	assert_true(json_is_integer(one));
	line = json_line(v);
	assert_string_equal(line, "{\"z\":1,\"a\":[true,null,\"x\"]}");
	pretty = json_pretty(one);
	assert_string_equal(pretty, "7\n");
}

static void strings_hold_exact_bytes_or_say_which_they_were(void **state)
{
	AUTOJSON json_t *o = json_object();
	AUTOSTRV l = {0};
	AUTOJSON json_t *list = NULL;

	(void)state;
	json_put_text(o, "good", "a\n\033\xc3\xbc");
	json_put_text(o, "bad", "a\xff");
	json_put_text(o, "none", NULL);
	assert_string_equal(json_text(o, "good"), "a\n\033\xc3\xbc");
	assert_null(json_object_get(o, "good_bytes"));
	assert_string_equal(json_text(o, "bad"), "a\xef\xbf\xbd");
	assert_string_equal(json_text(o, "bad_bytes"), "Yf8=");
	assert_null(json_object_get(o, "none"));
	strv_push(&l, "one");
	strv_push(&l, "\xff");
	strv_push(&l, "three");
	list = json_text_list(&l, 2);
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(json_string_value(json_array_get(list, 1)), "\xef\xbf\xbd");
}

static void typed_reads_fall_back(void **state)
{
	AUTOJSON json_t *o = json_object();

	(void)state;
	json_put_int(o, "n", 5);
	json_put_bool(o, "b", true);
	json_put_text(o, "s", "5");
	json_put(o, "absent", NULL);
	assert_int_equal(json_int(o, "n", 1), 5);
	assert_int_equal(json_int(o, "s", 1), 1);
	assert_int_equal(json_int(o, "absent", 1), 1);
	assert_true(json_flag(o, "b"));
	assert_false(json_flag(o, "n"));
	assert_null(json_text(o, "n"));
	assert_null(json_text(NULL, "n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(only_strict_json_is_read),
	        cmocka_unit_test(the_reason_names_the_place),
	        cmocka_unit_test(deep_nesting_is_refused),
	        cmocka_unit_test(any_value_is_read_and_written_in_order),
	        cmocka_unit_test(strings_hold_exact_bytes_or_say_which_they_were),
	        cmocka_unit_test(typed_reads_fall_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
