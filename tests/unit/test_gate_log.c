#include "cmocka_all.h"

#include <string.h>

#include "gate/own.h"

enum { MIB = 1 << 20 };

static char path[] = "/tmp/abide-unit-log-XXXXXX";

static int make_file(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/abide-unit-log-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

/* TOTAL bytes whose value tells their place, in pieces of PIECE. */
static char at(size_t i)
{
	return (char)('a' + i % 26);
}

static void fill(struct log *l, size_t total, size_t piece)
{
	AUTOFREE char *bytes = xmalloc(piece);

	for (size_t done = 0; done < total;) {
		size_t n = total - done < piece ? total - done : piece;
		for (size_t i = 0; i < n; i++)
			bytes[i] = at(done + i);
		log_add(l, bytes, n);
		done += n;
	}
}

static void whole(struct buf *ret)
{
	assert_int_equal(fs_read(path, 8 * MIB, ret, NULL), 0);
}

static void up_to_two_mib_are_kept_whole(void **state)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, MIB - 1, MIB, MIB + 1, 2 * MIB};
	static const size_t pieces[] = {1000, 65536, 3 * MIB};

	(void)state;
	for (size_t k = 0; k < NELEMS(sizes) * NELEMS(pieces); k++) {
		size_t size = sizes[k / NELEMS(pieces)];
		struct log *l = log_open(path);
		AUTOFREE char *tail = NULL;
		AUTOBUF got = {0};

		fill(l, size, pieces[k % NELEMS(pieces)]);
		log_close(l, &tail);
		whole(&got);
		assert_int_equal(got.len, size);
		for (size_t i = 0; i < size; i++)
			if (got.data[i] != at(i))
				fail_msg("size %zu byte %zu", size, i);
	}
}

static void of_more_the_first_and_the_last_mib_with_what_is_missing_between(void **state)
{
	static const size_t sizes[] = {2 * MIB + 1, 2 * MIB + 12345, 5 * MIB + 7};

	(void)state;
	for (size_t k = 0; k < NELEMS(sizes); k++) {
		struct log *l = log_open(path);
		AUTOFREE char *tail = NULL;
		AUTOFREE char *marker =
		        xasprintf("\n[… %zu bytes left out …]\n", sizes[k] - 2 * MIB);
		size_t m = strlen(marker);
		AUTOBUF got = {0};

		fill(l, sizes[k], 60000);
		log_close(l, &tail);
		whole(&got);
		assert_int_equal(got.len, 2 * MIB + m);
		assert_memory_equal(got.data + MIB, marker, m);
		for (size_t i = 0; i < MIB; i++) {
			if (got.data[i] != at(i))
				fail_msg("head %zu", i);
			if (got.data[MIB + m + i] != at(sizes[k] - MIB + i))
				fail_msg("tail %zu", i);
		}
	}
}

static char *tail_of(const char *text, size_t len)
{
	struct log *l = log_open(path);
	char *tail;

	log_add(l, text, len);
	log_close(l, &tail);
	return tail;
}

static void the_tail_is_the_last_forty_lines(void **state)
{
	AUTOBUF text = {0};
	AUTOBUF want = {0};
	AUTOFREE char *tail = NULL;

	(void)state;
	for (int i = 0; i < 100; i++)
		buf_printf(&text, "line %d\n", i);
	for (int i = 60; i < 100; i++)
		buf_printf(&want, "%sline %d", i > 60 ? "\n" : "", i);
	buf_puts(&text, "\n\n");
	tail = tail_of(text.data, text.len);
	assert_string_equal(tail, want.data);
}

static void the_tail_is_valid_and_short_whatever_the_bytes(void **state)
{
	AUTOBUF text = {0};
	AUTOFREE char *euro = NULL;
	AUTOFREE char *bytes = NULL;
	AUTOFREE char *none = tail_of("", 0);
	AUTOFREE char *newlines = tail_of("\n\n\n", 3);

	(void)state;
	assert_string_equal(none, "");
	assert_string_equal(newlines, "");
	for (int i = 0; i < 5000; i++)
		buf_puts(&text, "€");
	euro = tail_of(text.data, text.len);
	assert_true(strlen(euro) <= 8192 && strlen(euro) > 8180);
	assert_null(strstr(euro, "\xef\xbf\xbd"));
	assert_true(text_starts(euro, "€"));
	buf_reset(&text);
	for (int i = 0; i < 10000; i++)
		buf_putc(&text, (char)(128 + i % 128));
	bytes = tail_of(text.data, text.len);
	assert_true(text_is_utf8(bytes, strlen(bytes)));
}

static void a_file_that_cannot_be_opened_loses_only_the_file(void **state)
{
	struct log *l = log_open("/nowhere/at/all");
	AUTOFREE char *tail = NULL;

	(void)state;
	log_add(l, "hello\n", 6);
	log_close(l, &tail);
	assert_string_equal(tail, "hello");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(up_to_two_mib_are_kept_whole),
	        cmocka_unit_test(of_more_the_first_and_the_last_mib_with_what_is_missing_between),
	        cmocka_unit_test(the_tail_is_the_last_forty_lines),
	        cmocka_unit_test(the_tail_is_valid_and_short_whatever_the_bytes),
	        cmocka_unit_test(a_file_that_cannot_be_opened_loses_only_the_file),
	};
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
