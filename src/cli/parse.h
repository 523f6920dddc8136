/*
 * Words of the command line into a call.
 */
#ifndef ABIDE_CLI_PARSE_H
#define ABIDE_CLI_PARSE_H

#include "cli/command.h"

/* Options that stand before or after every verb; ends with {0}. */
extern const struct option global_options[];

/* What the words ask for. Help is a verb of its own: `VERB -h` comes back as `help VERB`. */
enum parse_want { PARSE_RUN, PARSE_VERSION };

/*
 * Fills *RET from argv (its values point into it). --json counts wherever it
 * stands, so that an error of usage is told in JSON, too; so does -h, whatever
 * else is wrong. INVALID_ARGUMENTS names the word and the fix.
 */
int parse_call(int argc, char **argv, struct call *ret, enum parse_want *want, struct err *err);

#endif
