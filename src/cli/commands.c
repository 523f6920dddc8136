#include "cli/commands.h"

#include <string.h>

/* In order of name: a test holds it. */
const struct command *const commands[] = {
#define X(name) &cmd_##name,
        COMMAND_TABLE(X)
#undef X
                NULL,
};

const struct command *command_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}
