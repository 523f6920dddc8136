#include "cli/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int write_all(const char *text, size_t len)
{
	if (seam_fails("output")) {
		errno = EIO;
		return -1;
	}
	while (len) {
		ssize_t n = write(STDOUT_FILENO, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

bool output_write(const char *text, size_t len)
{
	if (write_all(text, len) == 0)
		return true;
	fprintf(stderr, "abide: the answer could not be written to stdout: %s.\n", strerror(errno));
	return false;
}

char *output_envelope(const char *verb, const struct result *res, const struct err *err)
{
	AUTOJSON json_t *e = json_object();
	bool failed = err && err->code != ERR_NONE;
	AUTOSTRV hints = {0};
	AUTOFREE char *line = NULL;

	json_put_bool(e, "ok", !failed);
	json_put_text(e, "verb", verb);
	if (failed && err->data)
		json_put(e, "data", json_incref(err->data));
	else if (res && res->data)
		json_put(e, "data", json_incref(res->data));
	if (failed)
		strv_extend(&hints, &err->hints);
	else
		strv_extend(&hints, &res->hints);
	json_put(e, "hints", json_text_list(&hints, 0));
	json_put(e, "warnings", res ? json_text_list(&res->warnings, 0) : json_array());
	if (failed) {
		json_put_text(e, "error", err_slug(err->code));
		json_put_text(e, "message", err->message);
	}
	line = json_line(e);
	return xasprintf("%s\n", line);
}

/* Warnings and hints are for people on stderr; answers alone go to stdout. */
static void stderr_line(const char *label, const char *text)
{
	AUTOFREE char *shown = text_visible(text);

	fprintf(stderr, "%s%s\n", label, shown);
}

static bool output_json(struct call *c, const struct result *res, const struct err *err)
{
	AUTOFREE char *line = output_envelope(c->cmd ? c->cmd->name : "", res, err);

	return output_write(line, strlen(line));
}

bool output_result(struct call *c, const struct result *res)
{
	AUTOBUF out = {0};
	bool written;

	if (c->json) {
		for (size_t i = 0; i < res->warnings.n; i++)
			stderr_line("warning: ", res->warnings.v[i]);
		return output_json(c, res, NULL);
	}
	if (c->cmd->render)
		c->cmd->render(c, res, &out);
	written = output_write(buf_str(&out), out.len);
	for (size_t i = 0; i < res->warnings.n; i++)
		stderr_line("warning: ", res->warnings.v[i]);
	for (size_t i = 0; i < res->hints.n; i++)
		stderr_line("next: ", res->hints.v[i]);
	return written;
}

bool output_error(struct call *c, const struct result *res, const struct err *err)
{
	if (c->json)
		return output_json(c, res, err);
	for (size_t i = 0; i < res->warnings.n; i++)
		stderr_line("warning: ", res->warnings.v[i]);
	stderr_line("abide: ", err->message);
	for (size_t i = 0; i < err->hints.n; i++)
		stderr_line("next: ", err->hints.v[i]);
	return true;
}

/* --- Text for people -------------------------------------------------------- */

static const char *const styles[] = {
        [STYLE_PLAIN] = "",
        [STYLE_BOLD] = "\033[1m",
        [STYLE_DIM] = "\033[2m",
        [STYLE_GREEN] = "\033[32m",
        [STYLE_RED] = "\033[31m",
        [STYLE_YELLOW] = "\033[33m",
};

void out_text(const struct call *c, struct buf *out, enum style style, const char *text)
{
	AUTOFREE char *shown = text_visible(text);
	bool styled = c->color && style != STYLE_PLAIN;

	buf_printf(out, "%s%s%s", styled ? styles[style] : "", shown, styled ? "\033[0m" : "");
}

void out_printf(const struct call *c, struct buf *out, enum style style, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	out_text(c, out, style, text);
	free(text);
}

void out_oid(const struct call *c, struct buf *out, const char *hex)
{
	out_printf(c, out, STYLE_YELLOW, "%.10s", hex);
}

static bool live_shown;

static void say_text(const char *fmt, va_list ap, bool live)
{
	char *text = NULL;
	AUTOFREE char *shown = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	shown = text_visible(text);
	free(text);
	if (live_shown)
		fputs("\r\033[K", stderr);
	live_shown = live && *shown;
	if (*shown || !live)
		fprintf(stderr, "%s%s", shown, live ? "" : "\n");
	fflush(stderr);
}

void say(const struct call *c, const char *fmt, ...)
{
	va_list ap;

	(void)c;
	va_start(ap, fmt);
	say_text(fmt, ap, false);
	va_end(ap);
}

void say_live(const struct call *c, const char *fmt, ...)
{
	va_list ap;

	if (!c->live)
		return;
	va_start(ap, fmt);
	say_text(fmt, ap, true);
	va_end(ap);
}
