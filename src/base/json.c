#include "base/json.h"

#include <string.h>

#include "base/text.h"

json_t *json_read(const char *data, size_t len, char **ret_why)
{
	json_error_t e;
	json_t *v = json_loadb(data, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);

	if (!v && ret_why) {
		AUTOFREE char *text = text_visible(e.text);
		*ret_why = xasprintf("line %d, column %d: %s", e.line, e.column, text);
	}
	return v;
}

char *json_line(const json_t *v)
{
	char *s = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

	if (!s)
		abort();
	return s;
}

char *json_pretty(const json_t *v)
{
	AUTOFREE char *s =
	        json_dumps(v, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

	if (!s)
		abort();
	return xasprintf("%s\n", s);
}

void json_put_text(json_t *obj, const char *key, const char *s)
{
	if (!s)
		return;
	if (text_is_utf8(s, strlen(s))) {
		json_object_set_new(obj, key, json_string(s));
	} else {
		AUTOFREE char *clean = text_to_utf8(s, strlen(s));
		AUTOFREE char *bytes = text_base64(s, strlen(s));
		AUTOFREE char *sibling = xasprintf("%s_bytes", key);
		json_object_set_new(obj, key, json_string(clean));
		json_object_set_new(obj, sibling, json_string(bytes));
	}
}

void json_put_int(json_t *obj, const char *key, int64_t n)
{
	json_object_set_new(obj, key, json_integer(n));
}

void json_put_bool(json_t *obj, const char *key, bool b)
{
	json_object_set_new(obj, key, json_boolean(b));
}

void json_put(json_t *obj, const char *key, json_t *v)
{
	if (v)
		json_object_set_new(obj, key, v);
}

json_t *json_text_list(const struct strv *l, size_t max)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n && (!max || i < max); i++) {
		AUTOFREE char *clean = text_to_utf8(l->v[i], strlen(l->v[i]));
		json_array_append_new(a, json_string(clean));
	}
	return a;
}

const char *json_text(const json_t *obj, const char *key)
{
	return json_string_value(json_object_get(obj, key));
}

int64_t json_int(const json_t *obj, const char *key, int64_t or_else)
{
	const json_t *v = json_object_get(obj, key);

	return json_is_integer(v) ? json_integer_value(v) : or_else;
}

bool json_flag(const json_t *obj, const char *key)
{
	return json_is_true(json_object_get(obj, key));
}
