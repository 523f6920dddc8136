/*
 * Completion: thin shell scripts that ask `abide __complete`, which knows the
 * tables and the repository.
 */
#ifndef ABIDE_CLI_COMPLETION_H
#define ABIDE_CLI_COMPLETION_H

#include "cli/command.h"

/* The script for "bash", "zsh" or "fish"; NULL for another. */
const char *completion_script(const char *shell);
/* The names of the shells; ends with NULL. */
extern const char *const completion_shells[];

#endif
