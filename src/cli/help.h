/*
 * Help texts, from the command table.
 */
#ifndef ABIDE_CLI_HELP_H
#define ABIDE_CLI_HELP_H

#include "cli/command.h"

void help_all(struct buf *out);
void help_verb(const struct command *cmd, struct buf *out);

#endif
