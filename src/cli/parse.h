/*
 * Words of the command line into a call.
 */
#ifndef ABIDE_CLI_PARSE_H
#define ABIDE_CLI_PARSE_H

#include "cli/command.h"

/* Options that stand before or after every verb; ends with {0}. */
extern const struct option global_options[];

/* What the words ask for besides a verb's own work. */
enum parse_want { PARSE_RUN, PARSE_HELP, PARSE_VERSION };

/*
 * Fills *RET from argv. --json counts wherever it stands, so that an error of
 * usage is told in JSON, too. INVALID_ARGUMENTS names the word and the fix.
 */
int parse_call(int argc, char **argv, struct call *ret, enum parse_want *want, struct err *err);

#endif
