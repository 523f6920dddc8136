#include "cli/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/suggest.h"

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
	const char *color, *surface, *tool_timeout; /* NULL: not given */
	bool help, version;
	struct err *err;
};

static int usage(struct parser *p, const char *hint_verb, const char *fmt, ...) PRINTF(3, 4);

static int usage(struct parser *p, const char *hint_verb, const char *fmt, ...)
{
	AUTOFREE char *help = call_text("help", "", hint_verb, NULL);
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	err_set(p->err, ERR_INVALID_ARGUMENTS, "%s", text);
	free(text);
	if (result_surface == SURFACE_MCP)
		err_hint(p->err, "See the tool's description for its arguments.");
	else
		err_hint(p->err, "See `%s`.", help);
	return -1;
}

/* The verb whose help is the next thing to read, or NULL. */
static const char *verb_of(const struct parser *p)
{
	return p->call->cmd ? p->call->cmd->name : NULL;
}

static const struct option *find_option(const struct option *list, const char *name, size_t len)
{
	for (; list && list->name; list++)
		if (strlen(list->name) == len && memcmp(list->name, name, len) == 0)
			return list;
	return NULL;
}

/* A value of the frame's own options: each once. */
static int take_once(
        struct parser *p, const struct option *o, const char **where, const char *value)
{
	if (*where)
		return usage(p, verb_of(p), "--%s is given twice.", o->name);
	*where = value;
	return 0;
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
	else if (strcmp(o->name, "watch-stdin") == 0)
		p->call->watch_stdin = true;
	else if (strcmp(o->name, "color") == 0)
		return take_once(p, o, &p->color, value);
	else if (strcmp(o->name, "surface") == 0)
		return take_once(p, o, &p->surface, value);
	else if (strcmp(o->name, "tool-timeout") == 0)
		return take_once(p, o, &p->tool_timeout, value);
	return 0;
}

static int wrong_number(struct parser *p, const struct option *o, const char *value)
{
	if (o->max && o->max < INT32_MAX)
		return usage(p, verb_of(p),
		        "--%s takes a whole number from %lld to %lld, not `%s`.", o->name,
		        (long long)o->min, (long long)o->max, value);
	return usage(p, verb_of(p), "--%s takes a whole number, %lld or more, not `%s`.", o->name,
	        (long long)o->min, value);
}

static int take_own(struct parser *p, const struct option *o, const char *value)
{
	struct call *c = p->call;
	int64_t n;

	if (o->kind == OPT_INT && !text_int(value, o->min, o->max ? o->max : INT64_MAX, &n))
		return wrong_number(p, o, value);
	for (size_t i = 0; o->kind != OPT_LIST && i < c->given_n; i++)
		if (c->given[i].option == o)
			return usage(p, c->cmd->name, "--%s is given twice.", o->name);
	c->given = xreallocarray(c->given, c->given_n + 1, sizeof(*c->given));
	c->given[c->given_n].option = o;
	c->given[c->given_n++].value = value;
	return 0;
}

static void add_names(const struct option *list, struct strv *ret)
{
	for (; list && list->name; list++)
		if (!list->hidden)
			strv_push(ret, list->name);
}

/* WORD is "--NAME" without the dashes; it stands for no option of this call. */
static int unknown_option(struct parser *p, const char *word, size_t len)
{
	AUTOFREE char *name = xstrndup(word, len);
	AUTOSTRV names = {0};
	const char *near;

	add_names(p->call->cmd ? p->call->cmd->options : NULL, &names);
	add_names(global_options, &names);
	near = suggest(name, &names);
	if (p->call->cmd)
		usage(p, verb_of(p), "`%s` has no option `--%s`.", verb_of(p), name);
	else
		usage(p, NULL, "There is no option `--%s` that may stand before the verb.", name);
	if (near)
		err_hint(p->err, "Did you mean `--%s`?", near);
	return -1;
}

/* Whether WORD is, letter by letter, an option that this call could have. */
static bool is_option(const struct parser *p, const char *word)
{
	size_t len;

	if (strcmp(word, "--") == 0 || strcmp(word, "-h") == 0)
		return true;
	if (strncmp(word, "--", 2) != 0)
		return false;
	len = strcspn(word + 2, "=");
	return find_option(global_options, word + 2, len) ||
	        (p->call->cmd && find_option(p->call->cmd->options, word + 2, len));
}

static int missing_value(struct parser *p, const struct option *o, const char *instead)
{
	usage(p, verb_of(p), "--%s needs a value: %s.", o->name, o->value);
	if (instead)
		err_hint(p->err, "If `%s` is meant as the value, write `--%s=%s`.", instead,
		        o->name, instead);
	return -1;
}

/* "--name", "--name=value" or "--name value"; *AT moves over what was used. */
static int take_option(struct parser *p, char **argv, int argc, int *at)
{
	const struct command *cmd = p->call->cmd;
	const char *word = argv[*at] + 2;
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const struct option *global = find_option(global_options, word, len);
	const struct option *own = cmd ? find_option(cmd->options, word, len) : NULL;
	const struct option *o = own ? own : global;
	const char *value = equals ? equals + 1 : NULL;

	if (!o)
		return unknown_option(p, word, len);
	if (o->kind == OPT_FLAG && value)
		return usage(p, verb_of(p), "--%s takes no value.", o->name);
	if (o->kind != OPT_FLAG && !value) {
		/* A forgotten value must not swallow the option that follows. */
		if (*at + 1 >= argc || is_option(p, argv[*at + 1]))
			return missing_value(p, o, *at + 1 < argc ? argv[*at + 1] : NULL);
		value = argv[++*at];
	}
	return own ? take_own(p, own, value) : take_global(p, global, value);
}

static int take_verb(struct parser *p, const char *word)
{
	AUTOSTRV names = {0};
	const char *near;

	p->call->cmd = command_find(word);
	if (p->call->cmd)
		return 0;
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			strv_push(&names, (*c)->name);
	near = suggest(word, &names);
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

static int take_dir(struct parser *p, const char *value)
{
	if (!value)
		return usage(p, verb_of(p), "-C needs a folder.");
	if (p->call->dir)
		return usage(p, verb_of(p), "-C is given twice.");
	p->call->dir = xstrdup(value);
	return 0;
}

static int take_one(struct parser *p, char **argv, int argc, int *at)
{
	const char *word = argv[*at];

	if (word[0] != '-' || !word[1])
		return take_word(p, word);
	if (word[1] == '-')
		return take_option(p, argv, argc, at);
	if (strcmp(word, "-h") == 0) {
		p->help = true;
		return 0;
	}
	if (word[1] == 'C') {
		if (word[2])
			return take_dir(p, word + 2);
		return take_dir(p, *at + 1 < argc ? argv[++*at] : NULL);
	}
	usage(p, verb_of(p), "There is no option `%s`.", word);
	err_hint(p->err, "A word that begins with a dash stands after `--`.");
	return -1;
}

static int take_all(struct parser *p, int argc, char **argv)
{
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (take_one(p, argv, argc, &i) < 0)
			return -1;
	/* After "--" everything is a word. */
	for (i++; i < argc; i++)
		if (take_word(p, argv[i]) < 0)
			return -1;
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

/* The call becomes `help VERB`, whatever else was given. */
static void turn_to_help(struct call *c)
{
	strv_release(&c->words);
	if (c->cmd && c->cmd != &cmd_help)
		strv_push(&c->words, c->cmd->name);
	c->cmd = &cmd_help;
	c->given_n = 0;
}

/* Looked for before all else: how what is wrong with the rest is told. */
static bool stands_there(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], word) == 0)
			return true;
	return false;
}

int parse_call(int argc, char **argv, struct call *ret, enum parse_want *want, struct err *err)
{
	struct parser p = {.call = ret, .err = err};
	int rc;

	*want = PARSE_RUN;
	ret->json = stands_there(argc, argv, "--json");
	if (stands_there(argc, argv, "--surface=mcp"))
		result_surface = SURFACE_MCP;
	rc = take_all(&p, argc, argv);
	if (p.help || (rc == 0 && p.version)) {
		*want = p.help ? PARSE_RUN : PARSE_VERSION;
		err_clear(err);
		turn_to_help(ret);
		return settle_color(&p);
	}
	if (rc < 0 || settle_surface(&p) < 0 || settle_color(&p) < 0)
		return -1;
	if (!ret->cmd)
		return usage(&p, NULL, "A verb is missing.");
	if ((int)ret->words.n < ret->cmd->min_words)
		return usage(
		        &p, verb_of(&p), "`%s` needs a word: %s.", ret->cmd->name, ret->cmd->word);
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
