#include "cli/reference.h"

#include "cli/help.h"
#include "cli/parse.h"
#include "cli/schema.h"
#include "project/config_keys.h"

/* --- Markdown ------------------------------------------------------------------- */

/* A cell of a table: "|" would end it. */
static void cell(struct buf *out, const char *text)
{
	buf_putc(out, ' ');
	for (; *text; text++) {
		if (*text == '|')
			buf_puts(out, "\\|");
		else
			buf_putc(out, *text == '\n' ? ' ' : *text);
	}
	buf_puts(out, " |");
}

/* As `code`; nothing when empty. */
static void code_cell(struct buf *out, const char *text)
{
	AUTOFREE char *quoted = *text ? xasprintf("`%s`", text) : xstrdup("");

	cell(out, quoted);
}

static void head(struct buf *out, const char *const *titles)
{
	AUTOBUF line = {0};

	buf_putc(out, '|');
	for (; *titles; titles++) {
		cell(out, *titles);
		buf_puts(&line, " --- |");
	}
	buf_printf(out, "\n|%s\n", buf_str(&line));
}
#define HEAD(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Angle brackets would be taken for HTML. */
static void prose(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			buf_puts(out, "&lt;");
		else
			buf_putc(out, *text);
	}
	buf_puts(out, "\n\n");
}

static void title(struct buf *out, const char *text, const char *about)
{
	buf_printf(out, "# %s\n\n", text);
	buf_puts(out, "Generated from the program's tables; changes belong there.\n\n");
	prose(out, about);
}

/* --- Verbs ---------------------------------------------------------------------- */

static void options_table(struct buf *out, const struct option *list)
{
	bool any = false;

	for (; list && list->name; list++) {
		AUTOFREE char *usage = help_option_usage(list);
		if (list->hidden)
			continue;
		if (!any)
			head(out, HEAD("option", "does"));
		any = true;
		buf_putc(out, '|');
		code_cell(out, usage);
		cell(out, list->help);
		buf_putc(out, '\n');
	}
	if (any)
		buf_putc(out, '\n');
}

static const char *type_text(const struct field *f)
{
	if (strcmp(f->type, "oid") == 0)
		return "object id";
	if (strcmp(f->type, "time") == 0)
		return "milliseconds since 1970, UTC";
	if (strcmp(f->type, "array") == 0)
		return f->of ? "list of objects" : "list of strings";
	if (strcmp(f->type, "integers") == 0)
		return "list of integers";
	return f->type;
}

enum { DEEPEST = 3 };

static void choices_text(struct buf *out, const char *const *list)
{
	for (const char *const *v = list; *v; v++)
		buf_printf(out, "%s`%s`", v == list ? ": " : ", ", *v);
}

static void fields_rows(struct buf *out, const struct field *f, const char *above, int depth)
{
	for (; f && f->name; f++) {
		AUTOFREE char *path = xasprintf("%s%s", above, f->name);
		AUTOBUF about = {0};

		buf_puts(&about, f->help);
		if (f->only)
			choices_text(&about, f->only);
		buf_putc(out, '|');
		code_cell(out, path);
		cell(out, type_text(f));
		cell(out, f->required ? "always" : "");
		cell(out, buf_str(&about));
		buf_putc(out, '\n');
		if (f->of && depth < DEEPEST) {
			AUTOFREE char *below =
			        xasprintf("%s%s.", path, strcmp(f->type, "array") == 0 ? "[]" : "");
			fields_rows(out, f->of, below, depth + 1);
		}
	}
}

static void examples_block(struct buf *out, const char *examples)
{
	char *command, *about;

	buf_puts(out, "```\n");
	for (const char *at = examples; help_next_example(&at, &command, &about);) {
		buf_printf(out, "%s%s%s\n", command, *about ? "   # " : "", about);
		free(command);
		free(about);
	}
	buf_puts(out, "```\n\n");
}

static void verb(struct buf *out, const struct command *cmd)
{
	AUTOFREE char *summary = xstrdup(cmd->summary);

	if (summary[0] >= 'a' && summary[0] <= 'z')
		summary[0] = (char)(summary[0] - 'a' + 'A');
	buf_printf(out, "## abide %s\n\n%s.\n\n```\n", cmd->name, summary);
	for (const char *line = cmd->usage; line && *line;) {
		size_t n = strcspn(line, "\n");
		buf_printf(out, "abide %.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
	buf_puts(out, "```\n\n");
	if (cmd->details)
		prose(out, cmd->details);
	options_table(out, cmd->options);
	if (cmd->examples)
		examples_block(out, cmd->examples);
	if (cmd->data && cmd->data->name) {
		buf_printf(out, "`data` of `abide %s --json`:\n\n", cmd->name);
		head(out, HEAD("key", "type", "there", "holds"));
		fields_rows(out, cmd->data, "", 0);
		buf_putc(out, '\n');
	}
}

static void cli_page(struct buf *out)
{
	title(out, "Command line",
	        "    abide [-C DIR] [--json] [--color=auto|always|never] VERB [options]\n\n"
	        "Options stand before or after the verb, as `--name value` or `--name=value`; `--` "
	        "ends them. `-h` and `--help` work at every place, and `abide help VERB` says the "
	        "same. "
	        "Branches are named short (`fix`) or full (`refs/heads/fix`); a task also by its "
	        "id or "
	        "its worktree's path. What a word could mean twice is refused with the "
	        "candidates.");
	buf_puts(out,
	        "| option | does |\n| --- | --- |\n| `-C DIR` | work as if started in DIR |\n");
	{
		AUTOBUF table = {0};
		options_table(&table, global_options);
		/* Its head stands above already. */
		buf_puts(out, strchr(strchr(buf_str(&table), '\n') + 1, '\n') + 1);
	}
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			verb(out, *c);
	while (out->len > 1 && out->data[out->len - 1] == '\n' && out->data[out->len - 2] == '\n')
		out->data[--out->len] = '\0';
}

/* --- Errors and exit statuses ----------------------------------------------------- */

static void errors_page(struct buf *out)
{
	title(out, "Errors",
	        "The `error` of an answer that is not ok. Slugs are stable; `message` and `hints` "
	        "are "
	        "for reading. Retryable means that the same call may succeed later without any "
	        "other "
	        "change.");
	head(out, HEAD("error", "exit status", "retryable", "means"));
	for (int code = ERR_NONE + 1; code < ERR_COUNT; code++) {
		enum err_code c = (enum err_code)code;
		AUTOFREE char *status = xasprintf("%d", err_exit_status(c));
		buf_putc(out, '|');
		code_cell(out, err_slug(c));
		cell(out, status);
		cell(out, err_retryable(c) ? "yes" : "");
		cell(out, err_meaning(c));
		buf_putc(out, '\n');
	}
}

static void exit_page(struct buf *out)
{
	title(out, "Exit status",
	        "With `--json` an envelope is printed whatever the exit status. When the answer "
	        "itself "
	        "could not be written to stdout, the status is 1 and stderr says so.");
	head(out, HEAD("status", "means"));
	for (const struct exit_meaning *e = exit_meanings; e->status; e++) {
		buf_putc(out, '|');
		cell(out, e->status);
		cell(out, e->meaning);
		buf_putc(out, '\n');
	}
}

/* --- Environment and experiments --------------------------------------------------- */

struct env_row {
	const char *var, *who, *what;
};

static const struct env_row read_rows[] = {
#define X(name, var, who, what) {var, who, what},
        ENV_TABLE(X)
#undef X
};

static const struct env_row given_rows[] = {
#define X(name, var, who, what) {var, who, what},
        ENV_GIVEN_TABLE(X)
#undef X
};

static const struct {
	const char *var, *older, *what;
	enum env_rule rule;
} experiments[] = {
#define X(name, var, older, rule, what) {var, older, what, rule},
        ENV_EXPERIMENT_TABLE(X)
#undef X
};

static void env_table(struct buf *out, const struct env_row *rows, size_t n, bool who)
{
	if (who)
		head(out, HEAD("variable", "set by", "does"));
	else
		head(out, HEAD("variable", "holds"));
	for (size_t i = 0; i < n; i++) {
		buf_putc(out, '|');
		code_cell(out, rows[i].var);
		if (who)
			cell(out, rows[i].who);
		cell(out, rows[i].what);
		buf_putc(out, '\n');
	}
	buf_putc(out, '\n');
}

static void environment_page(struct buf *out)
{
	title(out, "Environment",
	        "Every variable that abide reads by itself. The experiments have a page of their "
	        "own.");
	env_table(out, read_rows, NELEMS(read_rows), true);
	buf_puts(out,
	        "## Given to what abide runs\n\n"
	        "Set for `setup` commands and for the jobs of the gate.\n\n");
	env_table(out, given_rows, NELEMS(given_rows), false);
	prose(out,
	        "## Variables of git\n\n"
	        "What `git rev-parse --local-env-vars` lists (`GIT_DIR`, `GIT_INDEX_FILE` and so "
	        "on) is "
	        "removed at the start: abide works on the repository of its working directory or "
	        "of "
	        "`-C`, and what it runs sees none of them. `GIT_CONFIG_COUNT` and its pairs stay, "
	        "since "
	        "they are how `safe.directory` is passed. git itself is run with "
	        "`GIT_OPTIONAL_LOCKS=0`, `GIT_TERMINAL_PROMPT=0`, `GIT_NO_LAZY_FETCH=1` and "
	        "`LC_ALL=C`.");
	out->data[--out->len] = '\0';
}

static void experiments_page(struct buf *out)
{
	title(out, "Experiments",
	        "Switched on by the environment alone, for one call; no configuration holds them. "
	        "A "
	        "switch is on when its variable is exactly `1`. A valued experiment is on when its "
	        "variable is a positive whole number; anything else (`0`, `-3`, `1.5`, `3s`, "
	        "nothing) "
	        "is off. An older name counts only while the present one is not set at all. How to "
	        "evaluate one stands in [docs/experiments.md](../experiments.md).");
	head(out, HEAD("variable", "older name", "rule", "does"));
	for (size_t i = 0; i < NELEMS(experiments); i++) {
		buf_putc(out, '|');
		code_cell(out, experiments[i].var);
		code_cell(out, experiments[i].older ? experiments[i].older : "");
		cell(out, experiments[i].rule == ENV_SWITCH ? "switch" : "valued");
		cell(out, experiments[i].what);
		buf_putc(out, '\n');
	}
}

/* --- abide.yaml ---------------------------------------------------------------------- */

static const char *type_name(const struct config_key *key)
{
	switch (key->type) {
	case CONFIG_MAP:
		return "map";
	case CONFIG_LIST:
		return "list";
	case CONFIG_TEXT:
		return "text";
	case CONFIG_COMMAND:
		return "shell command";
	case CONFIG_BOOL:
		return "true or false";
	case CONFIG_INT:
		return "whole number";
	case CONFIG_CHOICE:
		return "choice";
	case CONFIG_DURATION:
		return "duration";
	}
	return "";
}

/* Whether the help says already what may be chosen. */
static bool names_all(const char *help, const char *const *choices)
{
	for (; *choices; choices++) {
		AUTOFREE char *quoted = xasprintf("`%s`", *choices);
		if (!strstr(help, quoted))
			return false;
	}
	return true;
}

static void config_page(struct buf *out)
{
	size_t n;
	const struct config_key *keys = config_keys(&n);

	title(out, "abide.yaml",
	        "Committed in the root of the repository. Every key has a default, and without the "
	        "file "
	        "all but the gate works. Unknown and duplicate keys, wrong types, YAML aliases and "
	        "durations without a unit are refused with line and key. Durations are a number "
	        "with "
	        "`ms`, `s`, `m`, `h` or `d`, or `none`.\n\n"
	        "Keys of scope *policy* are read from the trunk's tip, never from a task, which "
	        "could "
	        "commit anything; keys of scope *work* from the commit that is judged or set up. "
	        "`abide config` shows each value with its source, `abide config --check` "
	        "validates.");
	head(out, HEAD("key", "type", "default", "scope", "does"));
	for (size_t i = 0; i < n; i++) {
		AUTOBUF about = {0};
		buf_puts(&about, keys[i].help);
		if (keys[i].type == CONFIG_CHOICE && !names_all(keys[i].help, keys[i].choices))
			choices_text(&about, keys[i].choices);
		if (keys[i].required)
			buf_puts(&about, " (required)");
		buf_putc(out, '|');
		code_cell(out, keys[i].path);
		cell(out, type_name(&keys[i]));
		code_cell(out, keys[i].by_default ? keys[i].by_default : "");
		cell(out, keys[i].scope == CONFIG_POLICY ? "policy" : "work");
		cell(out, buf_str(&about));
		buf_putc(out, '\n');
	}
}

/* --- Schemas ----------------------------------------------------------------------------- */

static void schemas_page(struct buf *out)
{
	AUTOSTRV names = {0};

	title(out, "JSON Schemas",
	        "Published in `schema/` and printed by `abide schema NAME`, as JSON Schema "
	        "2020-12. "
	        "Within a major version keys are only added. Strings hold exact bytes where these "
	        "are "
	        "UTF-8; else U+FFFD stands in, and a sibling key that ends in `_bytes` holds the "
	        "bytes "
	        "in base64. Object ids are whole, 40 or 64 hex digits.");
	schema_names(&names);
	head(out, HEAD("name", "file", "describes"));
	for (size_t i = 0; i < names.n; i++) {
		AUTOJSON json_t *schema = schema_named(names.v[i], false);
		AUTOFREE char *file = schema_file(names.v[i]);
		AUTOFREE char *link = xasprintf("[%s](../../%s)", file, file);
		buf_putc(out, '|');
		code_cell(out, names.v[i]);
		cell(out, link);
		cell(out, json_text(schema, "description"));
		buf_putc(out, '\n');
	}
}

static const struct {
	const char *name;
	void (*write)(struct buf *out);
} pages[] = {
        {"cli", cli_page},
        {"configuration", config_page},
        {"environment", environment_page},
        {"errors", errors_page},
        {"exit-status", exit_page},
        {"experiments", experiments_page},
        {"schemas", schemas_page},
};

void reference_pages(struct strv *ret)
{
	for (size_t i = 0; i < NELEMS(pages); i++)
		strv_push(ret, pages[i].name);
}

bool reference_page(const char *name, struct buf *out)
{
	for (size_t i = 0; i < NELEMS(pages); i++) {
		if (strcmp(pages[i].name, name) == 0) {
			pages[i].write(out);
			return true;
		}
	}
	return false;
}
