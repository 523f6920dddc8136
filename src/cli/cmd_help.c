#include "cli/commands.h"
#include "cli/help.h"
#include "cli/suggest.h"

static int unknown_verb(const char *name, struct err *err)
{
	AUTOSTRV names = {0};
	const char *near;

	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			strv_push(&names, (*c)->name);
	near = suggest(name, &names);
	err_set(err, ERR_INVALID_ARGUMENTS, "There is no verb `%s`.", name);
	err_hint(err, "See the list with `abide help`.");
	if (near)
		err_hint(err, "Did you mean `abide help %s`?", near);
	return -1;
}

static json_t *verbs(void)
{
	json_t *list = json_array();

	for (const struct command *const *c = commands; *c; c++) {
		json_t *verb;
		if ((*c)->hidden)
			continue;
		verb = json_object();
		json_put_text(verb, "name", (*c)->name);
		json_put_text(verb, "summary", (*c)->summary);
		json_array_append_new(list, verb);
	}
	return list;
}

static int run(struct call *c, struct result *res, struct err *err)
{
	const char *name = c->words.n ? c->words.v[0] : NULL;
	const struct command *about = name ? command_find(name) : NULL;
	AUTOBUF text = {0};

	if (name && !about)
		return unknown_verb(name, err);
	if (about)
		help_verb(about, &text);
	else
		help_all(&text);
	json_put_text(result_data(res), "text", buf_str(&text));
	json_put_text(result_data(res), "about", name);
	if (!about)
		json_put(result_data(res), "verbs", verbs());
	return 0;
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	(void)c;
	buf_puts(out, json_text(res->data, "text"));
}

const struct command cmd_help = {
        .name = "help",
        .summary = "show what there is, or how one verb works",
        .usage = "help [VERB]",
        .details = "Prints the same text as `abide VERB --help`. `abide --version` tells the "
                   "version.",
        .examples = "abide help await   # how to wait for other work\n"
                    "abide await -h     # the same",
        .options = (const struct option[]){{0}},
        .data = (const struct field[]){{"text", "string", true, "what is printed for people"},
                {"about", "string", false, "the verb it is about"},
                {"verbs", "array", false, "without a verb: all of them",
                        .of = (const struct field[]){{"name", "string", true, "the verb"},
                                {"summary", "string", true, "what it does"}, {0}}},
                {"version", "string", false, "with --version: the program's version"}, {0}},
        .word = "VERB",
        .complete = COMPLETE_VERB,
        .max_words = 1,
        .outside = true,
        .run = run,
        .render = render,
};
