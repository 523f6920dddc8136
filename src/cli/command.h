/*
 * The command table and what a command gets. One command a file (cmd_*.c),
 * with one entry struct; help, completion, man page, reference and the JSON
 * Schema of its `data` are derived from it.
 */
#ifndef ABIDE_CLI_COMMAND_H
#define ABIDE_CLI_COMMAND_H

#include "project/project.h"

enum option_kind { OPT_FLAG, OPT_TEXT, OPT_INT, OPT_LIST };

/* What a word completes to. */
enum complete {
	COMPLETE_NONE,
	COMPLETE_BRANCH,
	COMPLETE_TASK,
	COMPLETE_HANDLE,
	COMPLETE_VERB,
	COMPLETE_DIR,
	COMPLETE_FILE,
	COMPLETE_SCHEMA,
	COMPLETE_SHELL
};

struct option {
	const char *name; /* without the dashes */
	enum option_kind kind;
	const char *value; /* its name in help; NULL for a flag */
	const char *help;  /* one sentence without a final stop */
	enum complete complete;
	bool hidden;
	int64_t min, max; /* OPT_INT; max 0: INT64_MAX */
};

/*
 * A key of `data`, for the published schema. Types: "string" (outside bytes may
 * add a sibling KEY_bytes), "integer", "number", "boolean", "oid", "time" (UTC
 * milliseconds), "object" (without OF: any keys), "array" (of objects with OF,
 * without: of strings), "integers", "any". A refusal's data may hold every key,
 * too, and needs none; so keys that only refusals have stand here as well.
 */
struct field {
	const char *name;
	const char *type;
	bool required; /* always there when the verb was ok */
	const char *help;
	const struct field *of;  /* keys of an object, or of an array's items; ends with {0} */
	const char *const *only; /* the closed list of values of a string, or NULL */
};

struct call;

struct command {
	const char *name;
	const char *summary; /* one line, without a final stop */
	const char *usage;   /* what follows `abide`, lines split by \n */
	const char *details; /* paragraphs split by blank lines; for help, man page and reference */
	const char *examples;         /* lines "command   # what it does", or NULL */
	const struct option *options; /* ends with {0} */
	const struct field *data;     /* ends with {0} */
	const char *word;             /* name of the positional word, NULL for none */
	enum complete complete;
	int min_words, max_words;
	bool outside; /* works outside a repository: the project is not opened */
	bool hidden;  /* internal (starts with __) */
	bool streams; /* prints one object a line by itself with --follow */
	int (*run)(struct call *call, struct result *res, struct err *err);
	/* Text for people, appended to OUT. NULL: nothing on stdout. */
	void (*render)(struct call *call, const struct result *res, struct buf *out);
	/* Told once whether the answer reached stdout; or NULL. */
	void (*delivered)(struct call *call, bool written);
	/* Frees what run left in call->state; or NULL. */
	void (*release)(struct call *call);
};

/* Sorted by name, NULL at the end (commands.c). */
extern const struct command *const commands[];
const struct command *command_find(const char *name);

/* --- What a command gets --------------------------------------------------- */

struct call {
	const struct command *cmd;
	bool json;
	bool color; /* on stdout */
	bool live;  /* stderr is a terminal and may be redrawn */
	char *dir;  /* -C, or NULL */
	/* Set by the MCP server for its children (hidden options). */
	int64_t tool_timeout_s; /* declared by the client; -1 unlimited; 0 none declared */
	bool watch_stdin;       /* end when stdin closes: the server is gone */

	struct {
		const struct option *option;
		const char *value; /* NULL for a flag */
	} * given;
	size_t given_n;
	struct strv words;

	struct project project; /* opened unless cmd->outside */
	void *state;            /* the command's own */
	bool streamed;          /* it printed by itself; nothing more is said when it is ok */

	int64_t begun_mono_ms, waited_ms;
	int64_t event; /* logbook entry, 0 none */
};

bool opt_flag(const struct call *c, const char *name);
const char *opt_text(const struct call *c, const char *name); /* the last one, or NULL */
int64_t opt_int(const struct call *c, const char *name, int64_t or_else);
void opt_list(const struct call *c, const char *name, struct strv *ret);
bool opt_given(const struct call *c, const char *name);
/* "cli" or "mcp": for the logbook and receipts. */
const char *call_surface(void);

/*
 * Opens the store for writing and records that the verb begins to work on
 * BRANCH (full ref or NULL) at HEAD. Only the opening may fail, and only when
 * NEED is set. The frame records the end.
 */
int call_begin(struct call *c, bool need, const char *branch, const struct oid *head,
        const char *about, const char *gate_digest, struct err *err);

/*
 * Puts right what starts, removals and landings left whose process died. What
 * cannot be done now is left to the next verb, silently.
 */
void call_recover(struct call *c);

/* --- Text for people -------------------------------------------------------- */

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GREEN, STYLE_RED, STYLE_YELLOW };
/* Outside text, made visible, in STYLE when colour is on. */
void out_text(const struct call *c, struct buf *out, enum style style, const char *text);
void out_printf(const struct call *c, struct buf *out, enum style style, const char *fmt, ...)
        PRINTF(4, 5);
/* A shortened object id: 10 characters. */
void out_oid(const struct call *c, struct buf *out, const char *hex);
/* Progress for people on stderr: a whole line (never with --json when stderr is no terminal). */
void say(const struct call *c, const char *fmt, ...) PRINTF(2, 3);
/* One line on stderr that the next one replaces; only on a terminal. "" ends it. */
void say_live(const struct call *c, const char *fmt, ...) PRINTF(2, 3);

#endif
