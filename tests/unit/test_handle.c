#include "cmocka_all.h"

#include <ctype.h>

#include "wait/handle.h"

static bool reads(const char *text)
{
	struct handle h;
	AUTOERR err = {0};

	return handle_read(text, 'w', &h, &err) == 0;
}

static void a_new_handle_reads_back(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct handle h, back;
		AUTOERR err = {0};
		AUTOFREE char *text = NULL;

		handle_make('w', &h);
		text = handle_text(&h);
		assert_int_equal(strlen(text), 14);
		assert_int_equal(handle_read(text, 'w', &back, &err), 0);
		assert_string_equal(h.symbols, back.symbols);
	}
}

static void every_single_substitution_is_caught(void **state)
{
	static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	struct handle h;
	AUTOFREE char *text = NULL;

	(void)state;
	handle_make('w', &h);
	text = handle_text(&h);
	for (size_t i = 2; text[i]; i++) {
		char right = text[i];
		if (right == '-')
			continue;
		for (const char *c = alphabet; *c; c++) {
			text[i] = *c;
			assert_int_equal(reads(text), *c == right);
		}
		text[i] = right;
	}
}

static void every_swap_of_two_symbols_is_caught(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct handle h;
		handle_make('w', &h);
		for (int i = 0; i < HANDLE_SYMBOLS; i++) {
			for (int k = i + 1; k < HANDLE_SYMBOLS; k++) {
				struct handle swapped = h;
				AUTOFREE char *text = NULL;
				swapped.symbols[i] = h.symbols[k];
				swapped.symbols[k] = h.symbols[i];
				text = handle_text(&swapped);
				assert_int_equal(reads(text), h.symbols[i] == h.symbols[k]);
			}
		}
	}
}

static void case_and_lookalikes_and_dashes_do_not_matter(void **state)
{
	AUTOFREE char *text = NULL;
	struct handle h;
	char typed[64];
	size_t n = 2;

	(void)state;
	/* A handle that holds both a 0 and a 1. */
	do
		handle_make('w', &h);
	while (!strchr(h.symbols, '0') || !strchr(h.symbols, '1'));
	text = handle_text(&h);
	memcpy(typed, "W-", 2);
	for (const char *c = h.symbols; *c; c++) {
		typed[n] = *c == '0' ? 'o' : *c == '1' ? (n % 2 ? 'l' : 'I') : (char)tolower(*c);
		n++;
	}
	typed[n] = '\0';
	assert_true(reads(text));
	assert_true(reads(typed));
}

static void what_is_no_handle_is_refused(void **state)
{
	static const char *const bad[] = {"", "w", "w-", "w-7K3Q", "7K3Q-X2M9-5F", "w-7K3Q-X2M9-5U",
	        "w-7K3Q-X2M9-5F0", "w-\xff\xfe", "w-7K3Q X2M9", "--resume", "w-%n%n%n%n%n"};

	(void)state;
	for (size_t i = 0; i < NELEMS(bad); i++) {
		struct handle h;
		AUTOERR err = {0};
		assert_int_equal(handle_read(bad[i], 'w', &h, &err), -1);
		assert_int_equal(err.code, ERR_HANDLE_MALFORMED);
		assert_true(err.hints.n > 0);
	}
}

static void a_handle_of_another_kind_is_told_apart(void **state)
{
	struct handle h;
	AUTOFREE char *text = NULL;
	AUTOERR err = {0};

	(void)state;
	handle_make('a', &h);
	text = handle_text(&h);
	assert_int_equal(handle_read(text, 'w', &h, &err), -1);
	assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_new_handle_reads_back),
	        cmocka_unit_test(every_single_substitution_is_caught),
	        cmocka_unit_test(every_swap_of_two_symbols_is_caught),
	        cmocka_unit_test(case_and_lookalikes_and_dashes_do_not_matter),
	        cmocka_unit_test(what_is_no_handle_is_refused),
	        cmocka_unit_test(a_handle_of_another_kind_is_told_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
