#include "wait/condition.h"

#include <string.h>

/*
 * Ref names are bytes, JSON is UTF-8: a name that is not UTF-8 is kept as
 * "hex:" and its bytes. Full names begin with "refs/", so the two never meet.
 */
static json_t *pack_name(const char *name)
{
	AUTOBUF hex = {0};

	if (text_is_utf8(name, strlen(name)))
		return json_string(name);
	buf_puts(&hex, "hex:");
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		buf_printf(&hex, "%02x", *p);
	return json_string(buf_str(&hex));
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NULL when it is no full branch name. */
static char *unpack_name(const char *text)
{
	AUTOBUF name = {0};

	if (!text)
		return NULL;
	if (!text_starts(text, "hex:")) {
		buf_puts(&name, text);
	} else {
		for (const char *p = text + 4; *p; p += 2) {
			int high = hex_digit(p[0]), low = p[1] ? hex_digit(p[1]) : -1;
			if (high < 0 || low < 0)
				return NULL;
			buf_putc(&name, (char)(high << 4 | low));
		}
	}
	if (!text_starts(buf_str(&name), "refs/heads/") ||
	        !git_branch_name_ok(buf_str(&name) + strlen("refs/heads/")))
		return NULL;
	return buf_take(&name);
}

static void put_oid(json_t *o, const char *key, const struct oid *oid)
{
	if (oid_is_set(oid))
		json_put_text(o, key, oid->hex);
}

static bool get_oid(const json_t *o, const char *key, struct oid *ret)
{
	const char *hex = json_text(o, key);

	return !hex || oid_parse(ret, hex);
}

static const char *const mode_texts[] = {
        [WAIT_ONE] = "one",
        [WAIT_ANY] = "any",
        [WAIT_ALL] = "all",
};

static json_t *write_condition(const struct condition *c)
{
	json_t *o = json_object();
	json_t *refs = json_array();

	json_put_text(o, "condition", condition_text(c->id));
	for (size_t i = 0; i < c->f.refs_n; i++)
		json_array_append_new(refs, pack_name(c->f.refs[i]));
	json_put(o, "refs", refs);
	put_oid(o, "tip", &c->f.tip);
	json_put_bool(o, "armed", c->f.armed);
	put_oid(o, "armed_tip", &c->f.armed_tip);
	json_put_int(o, "told_run", c->told_run);
	json_put_int(o, "told_landing", c->told_landing);
	if (c->held)
		json_put(o, "held", json_incref(c->observed));
	return o;
}

json_t *record_write(const struct scene *s)
{
	json_t *o = json_object();
	json_t *list = json_array();

	json_put_text(o, "mode", mode_texts[s->mode]);
	json_put_bool(o, "may_start", s->may_start);
	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(list, write_condition(&s->c[i]));
	json_put(o, "conditions", list);
	return o;
}

static bool read_condition(const json_t *o, struct condition *c)
{
	const char *text = json_text(o, "condition");
	const json_t *refs = json_object_get(o, "refs");
	json_t *held = json_object_get(o, "held");

	c->id = CONDITION_COUNT;
	for (int id = 0; text && id < CONDITION_COUNT; id++)
		if (strcmp(condition_text((enum condition_id)id), text) == 0)
			c->id = (enum condition_id)id;
	if (c->id == CONDITION_COUNT || json_array_size(refs) > NELEMS(c->f.refs))
		return false;
	for (size_t i = 0; i < json_array_size(refs); i++) {
		c->f.refs[i] = unpack_name(json_string_value(json_array_get(refs, i)));
		if (!c->f.refs[i])
			return false;
		c->f.refs_n = i + 1;
	}
	if (condition_kind(c->id)->takes_branch != (c->f.refs_n > 0))
		return false;
	c->f.armed = json_flag(o, "armed");
	c->told_run = json_int(o, "told_run", 0);
	c->told_landing = json_int(o, "told_landing", 0);
	if (json_is_object(held)) {
		c->held = true;
		c->observed = json_incref(held);
	}
	return get_oid(o, "tip", &c->f.tip) && get_oid(o, "armed_tip", &c->f.armed_tip);
}

bool record_read(const json_t *record, struct scene *ret)
{
	const json_t *list = json_object_get(record, "conditions");
	const char *mode = json_text(record, "mode");
	size_t n = json_array_size(list);

	if (!mode || n < 1 || n > 256)
		return false;
	ret->mode = strcmp(mode, "any") == 0 ? WAIT_ANY
	        : strcmp(mode, "all") == 0   ? WAIT_ALL
	                                     : WAIT_ONE;
	ret->may_start = json_flag(record, "may_start");
	ret->c = xcalloc(n, sizeof(*ret->c));
	for (size_t i = 0; i < n; i++) {
		ret->n = i + 1;
		if (!read_condition(json_array_get(list, i), &ret->c[i]))
			return false;
	}
	return true;
}

char *record_question(const struct scene *s)
{
	AUTOSTRV parts = {0};
	AUTOBUF text = {0};

	for (size_t i = 0; i < s->n; i++) {
		AUTOJSON json_t *name = s->c[i].f.refs_n ? pack_name(s->c[i].f.refs[0]) : NULL;
		strv_printf(&parts, "%s %s", condition_text(s->c[i].id),
		        name ? json_string_value(name) : "");
	}
	strv_sort(&parts);
	buf_puts(&text, mode_texts[s->mode]);
	for (size_t i = 0; i < parts.n; i++)
		buf_printf(&text, "\n%s", parts.v[i]);
	return buf_take(&text);
}
