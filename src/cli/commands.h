/*
 * The list of commands: a new one is a line here and a file cmd_NAME.c.
 */
#ifndef ABIDE_CLI_COMMANDS_H
#define ABIDE_CLI_COMMANDS_H

#include "cli/command.h"

#define COMMAND_TABLE(X)                                                                           \
	X(help)                                                                                    \
	X(schema)

#define X(name) extern const struct command cmd_##name;
COMMAND_TABLE(X)
#undef X

#endif
