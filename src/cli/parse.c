#include "cli/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct option global_options[] = {
        {"json", OPT_FLAG, NULL, "print one JSON object instead of text"},
        {"color", OPT_TEXT, "auto|always|never", "when to use colour"},
        {"help", OPT_FLAG, NULL, "show help (also -h)"},
        {"version", OPT_FLAG, NULL, "print the version"},
        {"surface", OPT_TEXT, "cli|mcp", "which face asks: how hints are spelled", .hidden = true},
        {"tool-timeout", OPT_TEXT, "SECONDS|unlimited",
                "the longest tool call that the client of the MCP server allows", .hidden = true},
        {"watch-stdin", OPT_FLAG, NULL, "end when stdin closes", .hidden = true},
        {0},
};

/* Everything that reading the words needs to know. */
struct parser {
	struct call *call;
	const char *color, *surface, *tool_timeout;
	bool help, version;
	struct err *err;
};

static int usage(struct parser *p, const char *hint_verb, const char *fmt, ...) PRINTF(3, 4);

static int usage(struct parser *p, const char *hint_verb, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	err_set(p->err, ERR_INVALID_ARGUMENTS, "%s", text);
	free(text);
	err_hint(p->err, "See `abide help%s%s`.", hint_verb ? " " : "", hint_verb ? hint_verb : "");
	return -1;
}

static const struct option *find_option(const struct option *list, const char *name, size_t len)
{
	for (; list && list->name; list++)
		if (strlen(list->name) == len && memcmp(list->name, name, len) == 0)
			return list;
	return NULL;
}

/* Options of the frame itself. */
static int take_global(struct parser *p, const struct option *o, const char *value)
{
	if (strcmp(o->name, "json") == 0)
		p->call->json = true;
	else if (strcmp(o->name, "help") == 0)
		p->help = true;
	else if (strcmp(o->name, "version") == 0)
		p->version = true;
	else if (strcmp(o->name, "color") == 0)
		p->color = value;
	else if (strcmp(o->name, "surface") == 0)
		p->surface = value;
	else if (strcmp(o->name, "tool-timeout") == 0)
		p->tool_timeout = value;
	else if (strcmp(o->name, "watch-stdin") == 0)
		p->call->watch_stdin = true;
	return 0;
}

static int take_own(struct parser *p, const struct option *o, const char *value)
{
	struct call *c = p->call;
	int64_t n;

	if (o->kind == OPT_INT && !text_int(value, o->min, o->max ? o->max : INT64_MAX, &n))
		return usage(p, c->cmd->name, "--%s takes a whole number from %lld%s, not `%s`.",
		        o->name, (long long)o->min, o->max ? " on, within reason" : " on", value);
	for (size_t i = 0; o->kind != OPT_LIST && i < c->given_n; i++)
		if (c->given[i].option == o)
			return usage(p, c->cmd->name, "--%s is given twice.", o->name);
	c->given = xreallocarray(c->given, c->given_n + 1, sizeof(*c->given));
	c->given[c->given_n].option = o;
	c->given[c->given_n++].value = value;
	return 0;
}

/* "--name", "--name=value" or "--name value"; *AT moves over what was used. */
static int take_option(struct parser *p, char **argv, int argc, int *at)
{
	const struct command *cmd = p->call->cmd;
	const char *word = argv[*at] + 2;
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const struct option *o = find_option(global_options, word, len);
	const struct option *own = cmd ? find_option(cmd->options, word, len) : NULL;
	const char *value = equals ? equals + 1 : NULL;

	if (!o && !own) {
		if (!cmd)
			return usage(p, NULL, "There is no option `--%.*s` before the verb.",
			        (int)len, word);
		return usage(
		        p, cmd->name, "`%s` has no option `--%.*s`.", cmd->name, (int)len, word);
	}
	o = own ? own : o;
	if (o->kind == OPT_FLAG && value)
		return usage(p, cmd ? cmd->name : NULL, "--%s takes no value.", o->name);
	if (o->kind != OPT_FLAG && !value) {
		if (*at + 1 >= argc)
			return usage(p, cmd ? cmd->name : NULL, "--%s needs a value: %s.", o->name,
			        o->value);
		value = argv[++*at];
	}
	return own ? take_own(p, own, value) : take_global(p, o, value);
}

/* The command nearest to WORD by its first letters or one slip, or NULL. */
static const char *nearest_verb(const char *word)
{
	const char *best = NULL;

	for (const struct command *const *c = commands; *c; c++) {
		const char *name = (*c)->name;
		size_t same = 0;
		while (name[same] && name[same] == word[same])
			same++;
		if (!(*c)->hidden && same >= 2 && !best)
			best = name;
	}
	return best;
}

static int take_verb(struct parser *p, const char *word)
{
	const char *near = nearest_verb(word);

	p->call->cmd = command_find(word);
	if (p->call->cmd)
		return 0;
	usage(p, NULL, "There is no verb `%s`.", word);
	if (near)
		err_hint(p->err, "Did you mean `abide %s`?", near);
	return -1;
}

static int take_word(struct parser *p, const char *word)
{
	struct call *c = p->call;

	if (!c->cmd)
		return take_verb(p, word);
	if ((int)c->words.n >= c->cmd->max_words) {
		if (!c->cmd->max_words)
			return usage(p, c->cmd->name, "`%s` takes no word such as `%s`.",
			        c->cmd->name, word);
		return usage(
		        p, c->cmd->name, "`%s` is one word too many for `%s`.", word, c->cmd->name);
	}
	strv_push(&c->words, word);
	return 0;
}

static int take_all(struct parser *p, int argc, char **argv)
{
	bool plain = false;

	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		int rc;

		if (plain || word[0] != '-' || !word[1]) {
			rc = take_word(p, word);
		} else if (strcmp(word, "--") == 0) {
			plain = true;
			rc = 0;
		} else if (strcmp(word, "-h") == 0) {
			p->help = true;
			rc = 0;
		} else if (strncmp(word, "-C", 2) == 0) {
			if (!word[2] && i + 1 >= argc)
				return usage(p, NULL, "-C needs a folder.");
			mem_set(&p->call->dir, xstrdup(word[2] ? word + 2 : argv[++i]));
			rc = 0;
		} else if (word[1] == '-') {
			rc = take_option(p, argv, argc, &i);
		} else {
			rc = usage(p, p->call->cmd ? p->call->cmd->name : NULL,
			        "There is no option `%s`.", word);
		}
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int settle_color(struct parser *p)
{
	bool terminal = isatty(STDOUT_FILENO);
	const char *term = env_text(ENV_TERM);
	bool dumb = !term || strcmp(term, "dumb") == 0;

	if (!p->color || strcmp(p->color, "auto") == 0)
		p->call->color = terminal && !dumb && !env_text(ENV_NO_COLOR);
	else if (strcmp(p->color, "always") == 0)
		p->call->color = true;
	else if (strcmp(p->color, "never") != 0)
		return usage(p, NULL, "--color takes auto, always or never, not `%s`.", p->color);
	p->call->live = isatty(STDERR_FILENO) && !dumb;
	return 0;
}

static int settle_surface(struct parser *p)
{
	int64_t n;

	if (p->surface && strcmp(p->surface, "mcp") == 0)
		result_surface = SURFACE_MCP;
	else if (p->surface && strcmp(p->surface, "cli") != 0)
		return usage(p, NULL, "--surface takes cli or mcp, not `%s`.", p->surface);
	if (!p->tool_timeout)
		return 0;
	if (strcmp(p->tool_timeout, "unlimited") == 0)
		p->call->tool_timeout_s = -1;
	else if (text_int(p->tool_timeout, 1, 1000000000, &n))
		p->call->tool_timeout_s = n;
	else
		return usage(p, NULL,
		        "--tool-timeout takes a positive number of seconds or `unlimited`, "
		        "not `%s`.",
		        p->tool_timeout);
	return 0;
}

int parse_call(int argc, char **argv, struct call *ret, enum parse_want *want, struct err *err)
{
	struct parser p = {.call = ret, .err = err};
	const struct command *cmd;

	*want = PARSE_RUN;
	/* Looked for first: whatever else is wrong is then told in JSON. */
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			ret->json = true;
	if (take_all(&p, argc, argv) < 0 || settle_color(&p) < 0 || settle_surface(&p) < 0)
		return -1;
	cmd = ret->cmd;
	if (p.version || p.help) {
		*want = p.version ? PARSE_VERSION : PARSE_HELP;
		return 0;
	}
	if (!cmd)
		return usage(&p, NULL, "A verb is missing.");
	if ((int)ret->words.n < cmd->min_words)
		return usage(&p, cmd->name, "`%s` needs %s.", cmd->name, cmd->word);
	return 0;
}

/* --- Reading what was given -------------------------------------------------- */

const char *opt_text(const struct call *c, const char *name)
{
	for (size_t i = c->given_n; i-- > 0;)
		if (strcmp(c->given[i].option->name, name) == 0)
			return c->given[i].value ? c->given[i].value : "";
	return NULL;
}

bool opt_given(const struct call *c, const char *name)
{
	return opt_text(c, name) != NULL;
}

bool opt_flag(const struct call *c, const char *name)
{
	return opt_given(c, name);
}

int64_t opt_int(const struct call *c, const char *name, int64_t or_else)
{
	const char *s = opt_text(c, name);
	int64_t n;

	return s && text_int(s, INT64_MIN, INT64_MAX, &n) ? n : or_else;
}

void opt_list(const struct call *c, const char *name, struct strv *ret)
{
	for (size_t i = 0; i < c->given_n; i++)
		if (strcmp(c->given[i].option->name, name) == 0)
			strv_push(ret, c->given[i].value);
}
