#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *slug;
	int exit_status;
	bool retryable;
	const char *meaning;
} table[ERR_COUNT] = {
#define X(name, slug, exit, retry, text) [ERR_##name] = {slug, exit, retry, text},
        ERR_TABLE(X)
#undef X
};

void err_release(struct err *e)
{
	if (!e)
		return;
	free(e->message);
	strv_release(&e->hints);
	json_decref(e->data);
	*e = (struct err){0};
}

void err_clear(struct err *e)
{
	err_release(e);
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;

	if (!e)
		return -1;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	err_release(e);
	e->code = code;
	e->message = text;
	return -1;
}

void err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;

	if (!e)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	strv_take(&e->hints, text);
}

void err_data(struct err *e, const char *key, json_t *value)
{
	if (!e) {
		json_decref(value);
		return;
	}
	if (!e->data)
		e->data = json_object();
	json_object_set_new(e->data, key, value);
}

int err_move(struct err *to, struct err *from)
{
	if (to) {
		err_release(to);
		*to = *from;
		*from = (struct err){0};
	} else {
		err_release(from);
	}
	return -1;
}

const char *err_slug(enum err_code code)
{
	return code > ERR_NONE && code < ERR_COUNT ? table[code].slug : "internal";
}

int err_exit_status(enum err_code code)
{
	return code > ERR_NONE && code < ERR_COUNT ? table[code].exit_status : 70;
}

bool err_retryable(enum err_code code)
{
	return code > ERR_NONE && code < ERR_COUNT && table[code].retryable;
}

const char *err_meaning(enum err_code code)
{
	return code > ERR_NONE && code < ERR_COUNT ? table[code].meaning : "";
}

enum err_code err_from_slug(const char *slug)
{
	for (int i = ERR_NONE + 1; i < ERR_COUNT; i++)
		if (strcmp(table[i].slug, slug) == 0)
			return (enum err_code)i;
	return ERR_NONE;
}
