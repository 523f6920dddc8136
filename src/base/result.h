/*
 * What a verb answers: data, hints, warnings; rendered by cli as text or as
 * the JSON envelope. And the spelling of "the next command" for whoever asked.
 */
#ifndef ABIDE_BASE_RESULT_H
#define ABIDE_BASE_RESULT_H

#include <jansson.h>

#include "base/buf.h"

struct result {
	json_t *data;         /* an object, or NULL when there is nothing */
	struct strv hints;    /* sentences that name the next command in full */
	struct strv warnings; /* sentences */
	int status;           /* exit status of an ok answer: 0, or 124 and 1 for await */
};

void result_release(struct result *r);
#define AUTORESULT CLEANUP(result_release) struct result
/* The data object, made at first use. Borrowed. */
json_t *result_data(struct result *r);
void result_hint(struct result *r, const char *fmt, ...) PRINTF(2, 3);
void result_warn(struct result *r, const char *fmt, ...) PRINTF(2, 3);

/* Which face asked: decides how commands are spelled in hints. */
enum surface { SURFACE_CLI, SURFACE_MCP };
extern enum surface result_surface;

/*
 * A call of VERB with pairs of option and value, ended by NULL, as the caller
 * would write it:
 *   call_text("await", "landed", "fix", "timeout", "60", NULL)
 *   cli: `abide await --landed fix --timeout 60`
 *   mcp: `await {"landed": "fix", "timeout": 60}`
 * An option "" is a positional word, and "=name" one that an mcp call has as its
 * argument "name" ("" alone is its "path"); the cli shows words bare, before the
 * options (after them and "--" when one begins with a dash). A value NULL is a flag. The same
 * option again is a list (mcp: an array). Quoted as needed. To be freed.
 */
char *call_text(const char *verb, ...) __attribute__((sentinel));

#endif
