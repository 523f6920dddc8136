#include "cmocka_all.h"

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "cli/suggest.h"

/* What everything that is derived from the table relies on. */

static void commands_are_sorted_and_whole(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		const struct command *c = commands[i];
		if (i)
			assert_true(strcmp(commands[i - 1]->name, c->name) < 0);
		assert_ptr_equal(command_find(c->name), c);
		assert_non_null(c->run);
		assert_non_null(c->summary);
		assert_non_null(c->options);
		assert_non_null(c->data);
		assert_true(text_starts(c->usage, c->name));
		assert_false(text_ends(c->summary, "."));
		assert_int_equal(c->hidden, text_starts(c->name, "__"));
		assert_true(c->hidden || c->details);
		assert_true(c->min_words <= c->max_words);
		assert_int_equal(c->word != NULL, c->max_words > 0);
	}
	assert_null(command_find("nope"));
	assert_null(command_find(""));
}

static void check_options(const char *verb, const struct option *list)
{
	for (const struct option *o = list; o && o->name; o++) {
		assert_int_equal(o->kind == OPT_FLAG, o->value == NULL);
		assert_non_null(o->help);
		assert_false(text_ends(o->help, "."));
		assert_true(o->complete == COMPLETE_NONE || o->value);
		for (const struct option *other = list; other != o; other++)
			assert_string_not_equal(other->name, o->name);
		for (const struct option *g = global_options; g->name && list != global_options;
		        g++)
			assert_string_not_equal(g->name, o->name);
	}
}

static void options_are_whole_and_distinct(void **state)
{
	(void)state;
	check_options("", global_options);
	for (size_t i = 0; commands[i]; i++)
		check_options(commands[i]->name, commands[i]->options);
}

static void check_fields(const char *path, const struct field *list, int depth)
{
	static const char *const types[] = {"string", "integer", "number", "boolean", "oid", "time",
	        "object", "array", "integers", "any"};

	for (const struct field *f = list; f && f->name; f++) {
		AUTOFREE char *here = xasprintf("%s.%s", path, f->name);
		bool known = false;
		for (size_t i = 0; i < NELEMS(types); i++)
			known = known || strcmp(types[i], f->type) == 0;
		assert_true(known);
		assert_non_null(f->help);
		assert_false(text_ends(f->help, "."));
		assert_true(!f->only || strcmp(f->type, "string") == 0);
		assert_true(
		        !f->of || strcmp(f->type, "object") == 0 || strcmp(f->type, "array") == 0);
		for (const struct field *other = list; other != f; other++)
			assert_string_not_equal(other->name, f->name);
		if (depth < 8)
			check_fields(here, f->of, depth + 1);
	}
}

static void fields_have_known_types_and_stand_once(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++)
		check_fields(commands[i]->name, commands[i]->data, 0);
}

static void examples_begin_with_the_program_or_a_shells_word(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		const char *at = commands[i]->examples;
		char *command, *about;
		while (help_next_example(&at, &command, &about)) {
			if (!strstr(command, "abide "))
				fail_msg("%s: `%s`", commands[i]->name, command);
			free(command);
			free(about);
		}
	}
}

static void examples_are_split_at_their_comment(void **state)
{
	const char *at = "  abide a --b 'c # d'   # what it does\n\nabide b\n";
	AUTOFREE char *one = NULL, *about = NULL;
	AUTOFREE char *two = NULL;
	AUTOFREE char *nothing = NULL;

	(void)state;
	assert_true(help_next_example(&at, &one, &about));
	assert_string_equal(one, "abide a --b 'c # d'");
	assert_string_equal(about, "what it does");
	assert_true(help_next_example(&at, &two, &nothing));
	assert_string_equal(two, "abide b");
	assert_string_equal(nothing, "");
	at = NULL;
	assert_false(help_next_example(&at, &one, &about));
}

static void text_is_filled_to_the_width(void **state)
{
	AUTOBUF out = {0};

	(void)state;
	help_fill("one two\nthree\n\n  kept   as it is\n\nlast", "> ", &out);
	assert_string_equal(buf_str(&out), "> one two three\n\n  kept   as it is\n\n> last\n");
	buf_reset(&out);
	for (int i = 0; i < 40; i++)
		buf_puts(&out, "word ");
	{
		AUTOBUF filled = {0};
		help_fill(buf_str(&out), "", &filled);
		for (const char *line = buf_str(&filled); *line; line += strcspn(line, "\n") + 1)
			assert_true(strcspn(line, "\n") <= 80);
	}
}

static void the_nearest_name_is_suggested(void **state)
{
	static const struct {
		const char *word, *want;
	} rows[] = {{"statsu", "status"}, {"stauts", "status"}, {"stat", "status"},
	        {"starts", "start"}, {"awai", "await"}, {"wait", "await"}, {"dnoe", "done"},
	        {"xyzzy", NULL}, {"", NULL}, {"s", NULL},
	        {"a-word-that-is-longer-than-anything-that-could-be-near", NULL}};
	AUTOSTRV names = {0};

	(void)state;
	strv_push(&names, "await");
	strv_push(&names, "done");
	strv_push(&names, "start");
	strv_push(&names, "status");
	for (size_t i = 0; i < NELEMS(rows); i++) {
		const char *got = suggest(rows[i].word, &names);
		if (!got != !rows[i].want || (got && strcmp(got, rows[i].want) != 0))
			fail_msg("`%s` gave %s", rows[i].word, got ? got : "nothing");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(commands_are_sorted_and_whole),
	        cmocka_unit_test(options_are_whole_and_distinct),
	        cmocka_unit_test(fields_have_known_types_and_stand_once),
	        cmocka_unit_test(examples_begin_with_the_program_or_a_shells_word),
	        cmocka_unit_test(examples_are_split_at_their_comment),
	        cmocka_unit_test(text_is_filled_to_the_width),
	        cmocka_unit_test(the_nearest_name_is_suggested),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
