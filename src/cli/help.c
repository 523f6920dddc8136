#include "cli/help.h"

#include <string.h>

#include "cli/parse.h"

enum { WIDTH = 80, OPTION_COLUMN = 26 };

const struct exit_meaning exit_meanings[] = {
        {"0", "done; for await: the condition holds"},
        {"1", "refused or failed; doctor: something is bad"},
        {"2", "usage error"},
        {"3", "a loop halted for a person"},
        {"124", "await: not yet, or settled"},
        {"70", "internal error: a bug in abide"},
        {"130, 143", "ended by SIGINT, SIGTERM"},
        {0},
};

/* One word after another; *AT is the column. */
static void fill_words(const char *text, size_t len, const char *indent, struct buf *out)
{
	size_t at = strlen(indent);
	bool first = true;

	buf_puts(out, indent);
	for (const char *end = text + len; text < end;) {
		size_t n = strcspn(text, " \n");
		AUTOFREE char *word = NULL;
		size_t width;

		if (n > (size_t)(end - text))
			n = (size_t)(end - text);
		word = xstrndup(text, n);
		width = text_width(word);
		if (n && !first && at + 1 + width > WIDTH) {
			buf_printf(out, "\n%s", indent);
			at = strlen(indent);
			first = true;
		}
		if (n) {
			buf_printf(out, "%s%s", first ? "" : " ", word);
			at += width + !first;
			first = false;
		}
		text += n + (text + n < end);
	}
	buf_putc(out, '\n');
}

void help_fill(const char *text, const char *indent, struct buf *out)
{
	while (*text) {
		const char *gap = strstr(text, "\n\n");
		size_t len = gap ? (size_t)(gap - text) : strlen(text);

		if (*text == ' ')
			buf_printf(out, "%.*s\n", (int)len, text);
		else
			fill_words(text, len, indent, out);
		text += len;
		while (*text == '\n')
			text++;
		if (*text)
			buf_putc(out, '\n');
	}
}

char *help_option_usage(const struct option *o)
{
	return o->value ? xasprintf("--%s %s", o->name, o->value) : xasprintf("--%s", o->name);
}

/* "  LEFT   TEXT", the text filled beside the left column. */
static void two_columns(const char *left, const char *text, struct buf *out)
{
	AUTOFREE char *indent = xasprintf("%*s", OPTION_COLUMN, "");
	AUTOBUF filled = {0};

	help_fill(text, indent, &filled);
	if (text_width(left) + 4 > OPTION_COLUMN)
		buf_printf(out, "  %s\n%s", left, buf_str(&filled));
	else
		buf_printf(
		        out, "  %-*s%s", OPTION_COLUMN - 2, left, buf_str(&filled) + OPTION_COLUMN);
}

static void options_text(const struct option *list, struct buf *out)
{
	for (; list && list->name; list++) {
		AUTOFREE char *left = help_option_usage(list);
		if (!list->hidden)
			two_columns(left, list->help, out);
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
	buf_puts(out, "\n");
	two_columns("-C DIR", "work as if started in DIR", out);
	options_text(global_options, out);
	buf_puts(out, "\nexit status:\n");
	for (const struct exit_meaning *e = exit_meanings; e->status; e++)
		buf_printf(out, "  %-9s %s\n", e->status, e->meaning);
	buf_puts(out, "\n`abide help VERB` tells more.\n");
}

static void usage_text(const char *usage, struct buf *out)
{
	for (const char *label = "usage:"; usage; label = "      ") {
		size_t n = strcspn(usage, "\n");
		buf_printf(out, "%s abide %.*s\n", label, (int)n, usage);
		usage = usage[n] ? usage + n + 1 : NULL;
	}
}

static char *trimmed(const char *s, size_t len)
{
	while (len && (*s == ' ' || *s == '\n')) {
		s++;
		len--;
	}
	while (len && (s[len - 1] == ' ' || s[len - 1] == '\n'))
		len--;
	return xstrndup(s, len);
}

/* The command itself may hold a "#". */
static const char *last_comment(const char *line, size_t len)
{
	const char *found = NULL;

	for (size_t i = 0; i + 3 <= len; i++)
		if (memcmp(line + i, " # ", 3) == 0)
			found = line + i;
	return found;
}

bool help_next_example(const char **at, char **ret_command, char **ret_about)
{
	const char *line, *about;
	size_t len;

	*at += *at ? strspn(*at, " \n") : 0;
	line = *at;
	if (!line || !*line)
		return false;
	len = strcspn(line, "\n");
	about = last_comment(line, len);
	*ret_command = trimmed(line, about ? (size_t)(about - line) : len);
	*ret_about = about ? trimmed(about + 3, len - (size_t)(about + 3 - line)) : xstrdup("");
	*at = line + len;
	return true;
}

static void examples_text(const char *examples, struct buf *out)
{
	char *command, *about;
	size_t widest = 0;

	for (const char *at = examples; help_next_example(&at, &command, &about);) {
		if (*about && text_width(command) > widest)
			widest = text_width(command);
		free(command);
		free(about);
	}
	buf_puts(out, "\nexamples:\n");
	for (const char *at = examples; help_next_example(&at, &command, &about);) {
		buf_printf(out, "  %s", command);
		if (*about)
			buf_printf(
			        out, "%*s# %s", (int)(widest - text_width(command)) + 2, "", about);
		buf_putc(out, '\n');
		free(command);
		free(about);
	}
}

void help_verb(const struct command *cmd, struct buf *out)
{
	buf_printf(out, "abide %s: %s\n\n", cmd->name, cmd->summary);
	usage_text(cmd->usage, out);
	if (cmd->details) {
		buf_putc(out, '\n');
		help_fill(cmd->details, "", out);
	}
	if (cmd->options && cmd->options->name) {
		buf_putc(out, '\n');
		options_text(cmd->options, out);
	}
	if (cmd->examples)
		examples_text(cmd->examples, out);
}
