#include "base/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

enum surface result_surface = SURFACE_CLI;

void result_release(struct result *r)
{
	if (!r)
		return;
	json_decref(r->data);
	strv_release(&r->hints);
	strv_release(&r->warnings);
	*r = (struct result){0};
}

json_t *result_data(struct result *r)
{
	if (!r->data)
		r->data = json_object();
	return r->data;
}

void result_hint(struct result *r, const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	strv_take(&r->hints, text);
}

void result_warn(struct result *r, const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	strv_take(&r->warnings, text);
}

/* A positional word: the parser is told by "--" that it is no option. */
static bool is_word(const char *opt)
{
	return !*opt || *opt == '=';
}

/* One argument as a shell would take it back; words are kept apart. */
static void cli_argument(struct buf *out, struct strv *words, const char *opt, const char *value)
{
	AUTOFREE char *quoted = value ? text_shell_quote(value) : NULL;

	if (is_word(opt)) {
		if (value)
			strv_push(words, value);
		return;
	}
	buf_puts(out, " --");
	for (const char *c = opt; *c; c++)
		buf_putc(out, *c == '_' ? '-' : *c);
	if (quoted)
		buf_printf(out, " %s", quoted);
}

/* Words first, as people write them; last after "--" when one looks like an option. */
static char *cli_call(const char *verb, const struct buf *options, const struct strv *words)
{
	AUTOBUF text = {0};
	bool dashed = false;

	for (size_t i = 0; i < words->n; i++) {
		AUTOFREE char *quoted = text_shell_quote(words->v[i]);
		dashed = dashed || words->v[i][0] == '-';
		buf_printf(&text, " %s", quoted);
	}
	return dashed ? xasprintf("abide %s%s --%s", verb, buf_str(options), buf_str(&text))
	              : xasprintf("abide %s%s%s", verb, buf_str(&text), buf_str(options));
}

/* One argument of a tool call; the same name again makes it a list. */
static void mcp_argument(json_t *args, const char *opt, const char *value)
{
	AUTOFREE char *key = xstrdup(*opt == '=' ? opt + 1 : *opt ? opt : "path");
	AUTOJSON json_t *one = json_object();
	json_t *before;
	int64_t n;

	for (char *c = key; *c; c++)
		if (*c == '-')
			*c = '_';
	before = json_object_get(args, key);
	if (!value)
		json_put_bool(one, key, true);
	else if (strcmp(key, "timeout") == 0 && text_int(value, 0, INT64_MAX, &n))
		json_put_int(one, key, n);
	else
		json_put_text(one, key, value);
	if (before && !json_is_array(before)) {
		json_t *list = json_array();
		json_array_append(list, before);
		json_object_set_new(args, key, list);
		before = list;
	}
	if (before)
		json_array_append(before, json_object_get(one, key));
	else
		json_object_update(args, one);
}

char *call_text(const char *verb, ...)
{
	AUTOBUF options = {0};
	AUTOSTRV words = {0};
	AUTOJSON json_t *args = json_object();
	AUTOFREE char *line = NULL;
	const char *opt;
	va_list ap;

	va_start(ap, verb);
	while ((opt = va_arg(ap, const char *))) {
		const char *value = va_arg(ap, const char *);
		if (result_surface == SURFACE_CLI)
			cli_argument(&options, &words, opt, value);
		else
			mcp_argument(args, opt, value);
	}
	va_end(ap);
	if (result_surface == SURFACE_CLI)
		return cli_call(verb, &options, &words);
	line = json_line(args);
	return xasprintf("%s %s", verb, line);
}
