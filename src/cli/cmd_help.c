#include "cli/commands.h"
#include "cli/help.h"

static int run(struct call *c, struct result *res, struct err *err)
{
	const char *name = c->words.n ? c->words.v[0] : NULL;
	const struct command *about = name ? command_find(name) : NULL;
	AUTOBUF text = {0};

	if (name && !about) {
		err_set(err, ERR_INVALID_ARGUMENTS, "There is no verb `%s`.", name);
		err_hint(err, "See the list with `abide help`.");
		return -1;
	}
	if (about)
		help_verb(about, &text);
	else
		help_all(&text);
	json_put_text(result_data(res), "text", buf_str(&text));
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
        .details = "Prints the same text as `abide VERB --help`.",
        .options = (const struct option[]){{0}},
        .data = (const struct field[]){{"text", "string", true, "the help text"}, {0}},
        .word = "VERB",
        .complete = COMPLETE_VERB,
        .max_words = 1,
        .outside = true,
        .run = run,
        .render = render,
};
