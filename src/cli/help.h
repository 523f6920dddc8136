/*
 * Help texts, from the command table.
 */
#ifndef ABIDE_CLI_HELP_H
#define ABIDE_CLI_HELP_H

#include "cli/command.h"

void help_all(struct buf *out);
void help_verb(const struct command *cmd, struct buf *out);

/*
 * TEXT (paragraphs split by blank lines) filled to 80 columns with INDENT
 * before each line. A paragraph whose lines begin with a space stays as it is.
 */
void help_fill(const char *text, const char *indent, struct buf *out);
/* "--name VALUE". To be freed. */
char *help_option_usage(const struct option *o);

/*
 * Takes the next line off *AT ("command   # what it does"): false at the end.
 * RET_ABOUT "" when nothing is said. Both to be freed.
 */
bool help_next_example(const char **at, char **ret_command, char **ret_about);

/* What an exit status means; ends with {0}. For help, man page and reference. */
struct exit_meaning {
	const char *status, *meaning;
};
extern const struct exit_meaning exit_meanings[];

#endif
