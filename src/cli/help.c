#include "cli/help.h"

#include <string.h>

#include "cli/parse.h"

static void options_text(const struct option *list, struct buf *out)
{
	for (; list && list->name; list++) {
		AUTOFREE char *left = NULL;
		if (list->hidden)
			continue;
		left = xasprintf("--%s%s%s", list->name, list->value ? " " : "",
		        list->value ? list->value : "");
		buf_printf(out, "  %-28s %s\n", left, list->help);
	}
}

void help_all(struct buf *out)
{
	buf_puts(out,
	        "abide: one blocking call to wait for other work, and landings that are proven.\n\n"
	        "usage: abide [-C DIR] [--json] [--color=auto|always|never] VERB [options]\n\n");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			buf_printf(out, "  %-11s %s\n", (*c)->name, (*c)->summary);
	buf_puts(out, "\n  -C DIR                       work as if started in DIR\n");
	options_text(global_options, out);
	buf_puts(out,
	        "\n`abide help VERB` tells more. Exit status: 0 done, 1 refused or failed, 2 "
	        "usage,\n"
	        "124 not yet (await), 70 a bug in abide, 130 and 143 ended by a signal.\n");
}

void help_verb(const struct command *cmd, struct buf *out)
{
	const char *line = cmd->usage;

	buf_printf(out, "abide %s: %s\n\n", cmd->name, cmd->summary);
	for (const char *label = "usage:"; line; label = "      ") {
		size_t n = strcspn(line, "\n");
		buf_printf(out, "%s abide %.*s\n", label, (int)n, line);
		line = line[n] ? line + n + 1 : NULL;
	}
	if (cmd->details)
		buf_printf(out, "\n%s\n", cmd->details);
	if (cmd->options && cmd->options->name) {
		buf_puts(out, "\n");
		options_text(cmd->options, out);
	}
	if (cmd->examples)
		buf_printf(out, "\nexamples:\n%s\n", cmd->examples);
}
