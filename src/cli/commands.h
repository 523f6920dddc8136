/*
 * The list of commands, in order of name: a new one is a line here and a file
 * cmd_NAME.c.
 */
#ifndef ABIDE_CLI_COMMANDS_H
#define ABIDE_CLI_COMMANDS_H

#include "cli/command.h"

/* clang-format off: one a line */
#define COMMAND_TABLE(X)                                                                           \
	X(__complete)                                                                              \
	X(__gate)                                                                                  \
	X(__generate)                                                                              \
	X(__shepherd)                                                                              \
	X(accept)                                                                                  \
	X(await)                                                                                   \
	X(completion)                                                                              \
	X(config)                                                                                  \
	X(doctor)                                                                                  \
	X(done)                                                                                    \
	X(drop)                                                                                    \
	X(help)                                                                                    \
	X(init)                                                                                    \
	X(log)                                                                                     \
	X(receipts)                                                                                \
	X(schema)                                                                                  \
	X(start)                                                                                   \
	X(status)                                                                                  \
	X(update)

#define X(name) extern const struct command cmd_##name;
COMMAND_TABLE(X)
#undef X

#endif
