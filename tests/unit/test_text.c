#include "cmocka_all.h"

#include "base/base.h"

static void utf8_is_told_from_what_is_not(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool valid;
	} rows[] = {
	        {"", 0, true},
	        {"plain", 5, true},
	        {"\xc3\xa4", 2, true},
	        {"\xe2\x82\xac", 3, true},
	        {"\xf0\x9f\x98\x80", 4, true},
	        {"\xf4\x8f\xbf\xbf", 4, true},
	        {"\x80", 1, false},             /* a continuation alone */
	        {"\xc3", 1, false},             /* cut short */
	        {"\xc0\xaf", 2, false},         /* overlong */
	        {"\xe0\x80\xaf", 3, false},     /* overlong */
	        {"\xf0\x80\x80\xaf", 4, false}, /* overlong */
	        {"\xed\xa0\x80", 3, false},     /* a surrogate */
	        {"\xf4\x90\x80\x80", 4, false}, /* past the last character */
	        {"\xf8\x88\x80\x80\x80", 5, false},
	        {"\xff", 1, false},
	        {"a\xe2\x28\xa1", 4, false},
	};

	(void)state;
	for (size_t i = 0; i < NELEMS(rows); i++) {
		if (text_is_utf8(rows[i].bytes, rows[i].len) != rows[i].valid)
			fail_msg("row %zu", i);
	}
}

static void becomes(char *got, const char *want)
{
	assert_string_equal(got, want);
	free(got);
}

static void invalid_bytes_become_replacement_characters(void **state)
{
	(void)state;
	becomes(text_to_utf8("a\xff"
	                     "b",
	                3),
	        "a\xef\xbf\xbd"
	        "b");
	becomes(text_to_utf8("\xe2\x82", 2), "\xef\xbf\xbd\xef\xbf\xbd");
	becomes(text_to_utf8("a\0b", 3),
	        "a\xef\xbf\xbd"
	        "b");
	becomes(text_to_utf8("", 0), "");
}

static void nothing_that_moves_a_cursor_stays(void **state)
{
	(void)state;
	becomes(text_visible("\033[2J\r\n\t"), "\\x1B[2J\\x0D\\x0A\\x09");
	becomes(text_visible("\x7f"), "\\x7F");
	becomes(text_visible("\xc2\x9b"
	                     "1m"),
	        "\\u{9B}1m"); /* C1: a second way to write ESC [ */
	becomes(text_visible("a\xe2\x80\xae"
	                     "b"),
	        "a\\u{202E}b"); /* right-to-left override */
	becomes(text_visible("a\xe2\x80\x8b"
	                     "b"),
	        "a\\u{200B}b"); /* no width */
	becomes(text_visible("\xff\xc3"), "\\xFF\\xC3");
	becomes(text_visible("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"),
	        "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
	becomes(text_visible_line("a\tb\033", 4), "a\tb\\x1B");
	becomes(text_visible_line("a\0b", 3), "a\\x00b");
}

static void columns_are_counted_not_bytes(void **state)
{
	(void)state;
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("gr\xc3\xbcn"), 4);
	assert_int_equal(text_width("gru\xcc\x88n"), 4); /* combining */
	assert_int_equal(text_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);
	assert_int_equal(text_width("\xf0\x9f\x98\x80"), 2);
	assert_int_equal(text_width("\xff"), 1);
}

static void base64_pads(void **state)
{
	(void)state;
	becomes(text_base64("", 0), "");
	becomes(text_base64("f", 1), "Zg==");
	becomes(text_base64("fo", 2), "Zm8=");
	becomes(text_base64("foo", 3), "Zm9v");
	becomes(text_base64("\xff\xfe\x00", 3), "//4A");
}

static void slugs_keep_letters_of_any_script(void **state)
{
	(void)state;
	becomes(text_slug("Fix Login!", 40), "fix-login");
	becomes(text_slug("feat/x", 40), "feat-x");
	becomes(text_slug("--a--b--", 40), "a-b");
	becomes(text_slug("../../etc/passwd", 40), "etc-passwd");
	becomes(text_slug("gr\xc3\xbc\xc3\x9f", 40), "gr\xc3\xbc\xc3\x9f");
	becomes(text_slug("\xe4\xbf\xae\xe6\xad\xa3", 40), "\xe4\xbf\xae\xe6\xad\xa3");
	becomes(text_slug("a\xe2\x80\xae"
	                  "b",
	                40),
	        "a-b");
	becomes(text_slug("a\xff\xff"
	                  "b",
	                40),
	        "a-b");
	becomes(text_slug("...", 40), "");
	becomes(text_slug("", 40), "");
	/* Cut at a character, and never at a dash. */
	becomes(text_slug("abcdef", 3), "abc");
	becomes(text_slug("ab\xc3\xbc", 3), "ab");
	becomes(text_slug("abc def", 4), "abc");
}

static void durations_need_a_unit(void **state)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: refused */
	} rows[] = {
	        {"850ms", 850},
	        {"0s", 0},
	        {"12s", 12000},
	        {"10m", 600000},
	        {"2h", 7200000},
	        {"1d", 86400000},
	        {"106751991167d", INT64_C(106751991167) * 86400000},
	        {"106751991168d", -1}, /* overflow */
	        {"99999999999999999999s", -1},
	        {"12", -1},
	        {"", -1},
	        {"s", -1},
	        {"1.5s", -1},
	        {"-1s", -1},
	        {"+1s", -1},
	        {" 1s", -1},
	        {"1s ", -1},
	        {"1 s", -1},
	        {"1S", -1},
	        {"1sec", -1},
	        {"none", -1},
	};

	(void)state;
	for (size_t i = 0; i < NELEMS(rows); i++) {
		int64_t ms = -1;
		if (text_duration(rows[i].text, &ms) != (rows[i].ms >= 0) ||
		        (rows[i].ms >= 0 && ms != rows[i].ms))
			fail_msg("`%s` gave %lld", rows[i].text, (long long)ms);
	}
}

static void times_are_told_in_two_units_at_most(void **state)
{
	(void)state;
	becomes(text_ago(-5), "0 ms");
	becomes(text_ago(850), "850 ms");
	becomes(text_ago(12999), "12 s");
	becomes(text_ago(60000), "1 m");
	becomes(text_ago(200000), "3 m 20 s");
	becomes(text_ago(7500000), "2 h 5 m");
	becomes(text_ago(7200000), "2 h");
	becomes(text_ago(INT64_C(3) * 86400000), "3 d");
}

static void whole_numbers_stand_alone(void **state)
{
	static const char *const bad[] = {"", "-", "+1", " 1", "1 ", "1.5", "0x10", "1e3", "--1",
	        "9223372036854775808", "99999999999999999999999", "\xd9\xa1"};
	int64_t n = 7;

	(void)state;
	for (size_t i = 0; i < NELEMS(bad); i++)
		if (text_int(bad[i], INT64_MIN, INT64_MAX, &n))
			fail_msg("`%s` was taken", bad[i]);
	assert_int_equal(n, 7); /* written only on success */
	assert_true(text_int("-3", -5, 5, &n));
	assert_int_equal(n, -3);
	assert_true(text_int("9223372036854775807", 0, INT64_MAX, &n));
	assert_true(n == INT64_MAX);
	assert_false(text_int("6", -5, 5, &n));
	assert_false(text_int("-6", -5, 5, &n));
}

static void hex_is_lower_case_and_whole(void **state)
{
	(void)state;
	assert_true(text_is_hex("0af9", 4));
	assert_false(text_is_hex("0AF9", 4));
	assert_false(text_is_hex("0af", 4));
	assert_false(text_is_hex("0af99", 4));
	assert_true(text_starts("refs/heads/x", "refs/heads/"));
	assert_false(text_starts("ref", "refs/"));
	assert_true(text_ends("a.lock", ".lock"));
	assert_false(text_ends("lock", ".lock"));
}

static void quoted_words_come_back_from_a_shell(void **state)
{
	static const char *const words[] = {"plain", "", "two words", "it's", "$HOME `id`", "a\nb",
	        "*", "\\", "-x", "~", "#", "!", "\xff\xc3", "gr\xc3\xbc\xc3\x9f", "a;b&c|d>e"};

	(void)state;
	becomes(text_shell_quote("agent/fix-1"), "agent/fix-1");
	becomes(text_shell_quote(""), "''");
	becomes(text_shell_quote("it's"), "'it'\\''s'");
	for (size_t i = 0; i < NELEMS(words); i++) {
		AUTOFREE char *quoted = text_shell_quote(words[i]);
		AUTOFREE char *script = xasprintf("printf %%s %s", quoted);
		AUTOPROC p = {.argv = (const char *const[]){"sh", "-c", script, NULL}};
		assert_int_equal(proc_run(&p, NULL), 0);
		assert_string_equal(buf_str(&p.out), words[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(utf8_is_told_from_what_is_not),
	        cmocka_unit_test(invalid_bytes_become_replacement_characters),
	        cmocka_unit_test(nothing_that_moves_a_cursor_stays),
	        cmocka_unit_test(columns_are_counted_not_bytes),
	        cmocka_unit_test(base64_pads),
	        cmocka_unit_test(slugs_keep_letters_of_any_script),
	        cmocka_unit_test(durations_need_a_unit),
	        cmocka_unit_test(times_are_told_in_two_units_at_most),
	        cmocka_unit_test(whole_numbers_stand_alone),
	        cmocka_unit_test(hex_is_lower_case_and_whole),
	        cmocka_unit_test(quoted_words_come_back_from_a_shell),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
