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

/* One argument as a shell would take it back, fit for a terminal. */
static void cli_argument(struct buf *out, const char *opt, const char *value)
{
	AUTOFREE char *quoted = NULL;

	if (*opt && *opt != '=') {
		AUTOFREE char *dashed = xstrdup(opt);
		for (char *c = dashed; *c; c++)
			if (*c == '_')
				*c = '-';
		buf_printf(out, " --%s", dashed);
	}
	if (!value)
		return;
	quoted = text_shell_quote(value);
	buf_printf(out, " %s%s", !*opt || *opt == '=' ? (*value == '-' ? "-- " : "") : "", quoted);
}

static void mcp_argument(json_t *args, const char *opt, const char *value)
{
	const char *key = *opt == '=' ? opt + 1 : *opt ? opt : "path";
	int64_t n;

	if (!value)
		json_put_bool(args, key, true);
	else if (strcmp(key, "timeout") == 0 && text_int(value, 0, INT64_MAX, &n))
		json_put_int(args, key, n);
	else
		json_put_text(args, key, value);
}

char *call_text(const char *verb, ...)
{
	struct buf out = {0};
	AUTOJSON json_t *args = json_object();
	const char *opt;
	va_list ap;

	if (result_surface == SURFACE_CLI)
		buf_printf(&out, "abide %s", verb);
	va_start(ap, verb);
	while ((opt = va_arg(ap, const char *))) {
		const char *value = va_arg(ap, const char *);
		if (result_surface == SURFACE_CLI)
			cli_argument(&out, opt, value);
		else
			mcp_argument(args, opt, value);
	}
	va_end(ap);
	if (result_surface == SURFACE_MCP) {
		AUTOFREE char *line = json_line(args);
		buf_printf(&out, "%s %s", verb, line);
	}
	return buf_take(&out);
}
