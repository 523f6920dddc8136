/*
 * Man pages, in mdoc.
 */
#include "cli/help.h"
#include "cli/parse.h"
#include "cli/reference.h"

enum { LINE = 70 };
/* The release's day, so that the pages are the same whenever they are made. */
static const char DAY[] = "November 30, 2026";

/* One character as text: what mdoc would take for its own is escaped. */
static void put(struct buf *out, char c)
{
	if (c == '\\')
		buf_puts(out, "\\e");
	else if (c == '-')
		buf_puts(out, "\\-");
	else if (c == '\'')
		buf_puts(out, "\\(aq");
	else if (c == '`')
		buf_puts(out, "\\(ga");
	else if (c == '^')
		buf_puts(out, "\\(ha");
	else if (c == '~')
		buf_puts(out, "\\(ti");
	else
		buf_putc(out, c);
}

/* Literal text; a dot at the start of a line would be a request. */
static void literal(struct buf *out, const char *text, size_t len)
{
	if (len && *text == '.')
		buf_puts(out, "\\&");
	for (size_t i = 0; i < len; i++)
		put(out, text[i]);
}

/* A word of prose: `code` is bold, dashes of options stay dashes. */
static void prose_word(struct buf *out, const char *text, size_t len, bool *code)
{
	bool option = len > 1 && text[0] == '-';

	if (len && (*text == '.' || *text == '\''))
		buf_puts(out, "\\&");
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '`') {
			*code = !*code;
			buf_puts(out, *code ? "\\fB" : "\\fR");
		} else if (text[i] == '-' && !*code && !option) {
			buf_putc(out, '-');
		} else {
			put(out, text[i]);
		}
	}
}

/* Whether a sentence ends with this word: the next begins a line of its own. */
static bool ends_sentence(const char *text, size_t len)
{
	return len > 1 && (text[len - 1] == '.' || text[len - 1] == '?' || text[len - 1] == '!');
}

/* One paragraph, filled. */
static void paragraph(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len;
	bool code = false, fresh = true;
	size_t at = 0;

	while (text < end) {
		size_t n = 0;
		while (text + n < end && text[n] != ' ' && text[n] != '\n')
			n++;
		if (n) {
			if (!fresh && at + 1 + n > LINE) {
				buf_putc(out, '\n');
				fresh = true;
				at = 0;
			}
			if (!fresh)
				buf_putc(out, ' ');
			prose_word(out, text, n, &code);
			at += n + !fresh;
			fresh = ends_sentence(text, n) && text + n < end;
			if (fresh) {
				buf_putc(out, '\n');
				at = 0;
			}
		}
		text += n + (text + n < end);
	}
	buf_putc(out, '\n');
}

static void paragraphs(struct buf *out, const char *text)
{
	for (bool first = true; *text; first = false) {
		const char *gap = strstr(text, "\n\n");
		size_t len = gap ? (size_t)(gap - text) : strlen(text);

		if (!first)
			buf_puts(out, ".Pp\n");
		paragraph(out, text, len);
		text += len;
		while (*text == '\n')
			text++;
	}
}

static void sentence(struct buf *out, const char *text)
{
	AUTOFREE char *whole = xasprintf("%s.", text);

	if (whole[0] >= 'a' && whole[0] <= 'z')
		whole[0] = (char)(whole[0] - 'a' + 'A');
	paragraphs(out, whole);
}

static void option(struct buf *out, const struct option *o)
{
	buf_printf(out, ".It Fl Fl %s", o->name);
	if (o->value) {
		buf_puts(out, " Ar ");
		literal(out, o->value, strlen(o->value));
	}
	buf_putc(out, '\n');
	sentence(out, o->help);
}

static void options(struct buf *out, const struct option *list)
{
	for (; list && list->name; list++)
		if (!list->hidden)
			option(out, list);
}

static bool has_options(const struct option *list)
{
	for (; list && list->name; list++)
		if (!list->hidden)
			return true;
	return false;
}

static void top(struct buf *out, const char *name, const char *about)
{
	AUTOFREE char *upper = xstrdup(name);

	for (char *c = upper; *c; c++)
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
	buf_printf(out, ".Dd %s\n.Dt %s 1\n.Os\n.Sh NAME\n.Nm %s\n.Nd ", DAY, upper, name);
	literal(out, about, strlen(about));
	buf_putc(out, '\n');
}

static void synopsis(struct buf *out, const char *usage)
{
	buf_puts(out, ".Sh SYNOPSIS\n.Bd -unfilled -compact\n");
	while (*usage) {
		size_t n = strcspn(usage, "\n");
		buf_puts(out, "abide ");
		literal(out, usage, n);
		buf_putc(out, '\n');
		usage += n + (usage[n] == '\n');
	}
	buf_puts(out, ".Ed\n");
}

static void exit_status(struct buf *out)
{
	buf_puts(out, ".Sh EXIT STATUS\n.Bl -tag -width \"130, 143\"\n");
	for (const struct exit_meaning *e = exit_meanings; e->status; e++) {
		buf_printf(out, ".It \"%s\"\n", e->status);
		sentence(out, e->meaning);
	}
	buf_puts(out, ".El\n");
}

static void examples(struct buf *out, const char *text)
{
	char *command, *about;

	buf_puts(out, ".Sh EXAMPLES\n");
	while (help_next_example(&text, &command, &about)) {
		if (*about)
			sentence(out, about);
		buf_puts(out, ".Bd -literal -offset indent -compact\n");
		literal(out, command, strlen(command));
		buf_puts(out, "\n.Ed\n");
		free(command);
		free(about);
	}
}

static void verb_page(const struct command *cmd, struct buf *out)
{
	AUTOFREE char *name = xasprintf("abide-%s", cmd->name);

	top(out, name, cmd->summary);
	synopsis(out, cmd->usage);
	buf_puts(out, ".Sh DESCRIPTION\n");
	if (cmd->details)
		paragraphs(out, cmd->details);
	else
		sentence(out, cmd->summary);
	if (has_options(cmd->options)) {
		buf_puts(out, ".Pp\nThe options are as follows:\n.Bl -tag -width Ds\n");
		options(out, cmd->options);
		buf_puts(out, ".El\n");
	}
	buf_puts(out, ".Pp\nThe options that every verb takes stand in\n.Xr abide 1 .\n");
	exit_status(out);
	if (cmd->examples)
		examples(out, cmd->examples);
	buf_puts(out, ".Sh SEE ALSO\n.Xr abide 1 ,\n.Xr git 1\n");
}

/* --- abide.1 ---------------------------------------------------------------------- */

static void environment(struct buf *out)
{
	static const struct {
		const char *var, *what;
	} rows[] = {
#define X(name, var, who, what) {var, what},
	        ENV_TABLE(X)
#undef X
#define X(name, var, older, rule, what) {var, what},
	                ENV_EXPERIMENT_TABLE(X)
#undef X
	};

	buf_puts(out, ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n");
	for (size_t i = 0; i < NELEMS(rows); i++) {
		buf_printf(out, ".It Ev %s\n", rows[i].var);
		sentence(out, rows[i].what);
	}
	buf_puts(out, ".El\n");
}

static void see_also(struct buf *out)
{
	buf_puts(out, ".Sh SEE ALSO\n");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			buf_printf(out, ".Xr abide-%s 1 ,\n", (*c)->name);
	buf_puts(out, ".Xr git 1\n");
}

static void main_page(struct buf *out)
{
	top(out, "abide", "wait for other work on a git repository, and land with proof");
	synopsis(out,
	        "[-C DIR] [--json] [--color=auto|always|never] VERB [options]\n"
	        "help [VERB]");
	buf_puts(out, ".Sh DESCRIPTION\n");
	paragraphs(out,
	        "For people who run several lines of work at once on one git repository. One "
	        "blocking "
	        "call waits until authoritative state says so and loses nothing when it is killed; "
	        "each "
	        "task has a worktree of its own, a gate on its exact commit, and a landing with a "
	        "durable receipt.\n\n"
	        "The verbs are as follows:");
	buf_puts(out, ".Bl -tag -width completion\n");
	for (const struct command *const *c = commands; *c; c++) {
		if ((*c)->hidden)
			continue;
		buf_printf(out, ".It Cm %s\n", (*c)->name);
		sentence(out, (*c)->summary);
	}
	buf_puts(out,
	        ".El\n.Pp\nThe options of every verb are as follows:\n.Bl -tag -width Ds\n"
	        ".It Fl C Ar DIR\nWork as if started in\n.Ar DIR .\n");
	options(out, global_options);
	buf_puts(out, ".El\n");
	environment(out);
	buf_puts(out,
	        ".Sh FILES\n.Bl -tag -width Ds\n.It Pa abide.yaml\n"
	        "The configuration of the project, in the root of the repository.\n"
	        ".It Pa .git/abide/\nWhat abide remembers: never a verdict about git.\n"
	        ".It Pa refs/notes/abide\nThe receipts of landings.\n.El\n");
	exit_status(out);
	see_also(out);
}

void man_pages(struct strv *ret)
{
	strv_push(ret, "abide.1");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			strv_printf(ret, "abide-%s.1", (*c)->name);
}

bool man_page(const char *name, struct buf *out)
{
	const struct command *cmd;
	AUTOFREE char *verb = NULL;

	if (strcmp(name, "abide.1") == 0) {
		main_page(out);
		return true;
	}
	if (!text_starts(name, "abide-") || !text_ends(name, ".1"))
		return false;
	verb = xstrndup(name + strlen("abide-"), strlen(name) - strlen("abide-") - strlen(".1"));
	cmd = command_find(verb);
	if (!cmd || cmd->hidden)
		return false;
	verb_page(cmd, out);
	return true;
}
