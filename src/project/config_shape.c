#include "project/config_shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <yaml.h>

#include "project/config.h"

/* As deep as the table goes: file, gate, job, needs. */
enum { MAX_DEPTH = 4, PEEK_DEPTH = 64, PEEK_CAP = 1024 * 1024 };

/* A map or a list that is open. */
struct frame {
	const struct config_key *key; /* NULL: the file itself */
	bool map;
	size_t line;
	size_t items; /* of a list, begun */
	uint64_t seen;
	const struct config_key *pending; /* a map's key whose value comes next */
	size_t pending_line;
};

struct walk {
	const char *name;
	yaml_parser_t parser;
	struct frame stack[MAX_DEPTH];
	size_t depth;
	size_t documents;
	struct config_shape shape;
};

void config_shape_release(struct config_shape *s)
{
	free(s->v);
	*s = (struct config_shape){0};
}

int config_bad(
        struct err *err, const char *name, size_t line, const char *key, const char *fmt, ...)
{
	AUTOFREE char *where = line ? xasprintf(" line %zu", line) : xstrdup("");
	AUTOFREE char *text = NULL;
	AUTOFREE char *check = call_text("config", "check", NULL, NULL);
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	err_set(err, ERR_CONFIG_INVALID, "%s%s: %s", name, where, text);
	err_hint(err, "Correct it there; `%s` tells whether it is right.", check);
	err_data(err, "file", json_string(name));
	if (line)
		err_data(err, "line", json_integer((json_int_t)line));
	if (key) {
		AUTOJSON json_t *shown = json_object();
		json_put_text(shown, "key", key);
		err_data(err, "key", json_incref(json_object_get(shown, "key")));
	}
	return -1;
}

size_t config_line(const struct config_shape *s, const char *path, size_t job, size_t item)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].job == job && s->v[i].item == item &&
		        strcmp(s->v[i].key->path, path) == 0)
			return s->v[i].line;
	return 0;
}

static size_t row(const struct config_key *key)
{
	size_t n;

	return (size_t)(key - config_keys(&n));
}

static struct frame *top(struct walk *w)
{
	return w->depth ? &w->stack[w->depth - 1] : NULL;
}

/* The open path with its numbers, KEY added: "gate[1].needs". To be freed. */
static char *shown_path(const struct walk *w, const char *key)
{
	AUTOBUF out = {0};

	for (size_t i = 1; i < w->depth; i++) {
		const struct frame *f = &w->stack[i];
		if (w->stack[i - 1].map)
			buf_printf(&out, "%s%s", out.len ? "." : "", config_key_name(f->key));
		if (!f->map && (f->items || key))
			buf_printf(&out, "[%zu]", f->items ? f->items - 1 : 0);
	}
	if (key && *key)
		buf_printf(&out, "%s%s", out.len ? "." : "", key);
	return buf_take(&out);
}

static int bad_value(struct walk *w, const struct config_key *key, size_t line, const char *found,
        struct err *err)
{
	struct frame *f = top(w);
	AUTOFREE char *path = shown_path(w, f && f->map ? config_key_name(key) : "");

	return config_bad(
	        err, w->name, line, path, "`%s` is %s, but has to be %s.", path, found, key->want);
}

/* --- Where the next value belongs ------------------------------------------- */

/* The row of the value that comes now; NULL for the file itself. */
static int value_key(struct walk *w, size_t line, const struct config_key **ret, struct err *err)
{
	struct frame *f = top(w);
	size_t n;
	const struct config_key *keys = config_keys(&n);

	*ret = NULL;
	if (!f)
		return 0;
	if (f->map) {
		*ret = STEAL(f->pending);
		return 0;
	}
	for (size_t i = 0; i < n && !*ret; i++)
		if (config_key_in(&keys[i], f->key->path))
			*ret = &keys[i];
	if ((int64_t)f->items++ >= f->key->max) {
		AUTOFREE char *path = NULL;
		f->items = 0;
		path = shown_path(w, NULL);
		return config_bad(err, w->name, line, path,
		        "`%s` has more than %d entries, which is more than abide takes.", path,
		        (int)f->key->max);
	}
	return 0;
}

static int take_key(struct walk *w, const char *word, size_t line, struct err *err)
{
	struct frame *f = top(w);
	const char *parent = f->key ? f->key->path : "";
	size_t n;
	const struct config_key *keys = config_keys(&n);
	AUTOFREE char *path = shown_path(w, word);
	AUTOBUF known = {0};

	for (size_t i = 0; i < n; i++) {
		if (!config_key_in(&keys[i], parent))
			continue;
		buf_printf(&known, "%s`%s`", known.len ? ", " : "", config_key_name(&keys[i]));
		if (strcmp(config_key_name(&keys[i]), word) == 0)
			f->pending = &keys[i];
	}
	if (!f->pending) {
		config_bad(
		        err, w->name, line, path, "this abide does not know the key `%s`.", path);
		err_hint(err, "The keys that may stand there are %s.", buf_str(&known));
		return -1;
	}
	if (f->seen & (UINT64_C(1) << row(f->pending)))
		return config_bad(
		        err, w->name, line, path, "the key `%s` stands there a second time.", path);
	f->seen |= UINT64_C(1) << row(f->pending);
	f->pending_line = line;
	return 0;
}

/* --- Values ------------------------------------------------------------------ */

/* Whether a plain scalar says that there is no value. */
static bool is_null(const yaml_event_t *e)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
	const char *s = (const char *)e->data.scalar.value;

	if (e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = 0; i < NELEMS(nulls); i++)
		if (strcmp(s, nulls[i]) == 0)
			return true;
	return false;
}

static bool is_choice(const struct config_key *key, const char *s)
{
	for (size_t i = 0; key->choices[i]; i++)
		if (strcmp(key->choices[i], s) == 0)
			return true;
	return false;
}

static bool scalar_ok(const struct config_key *key, const char *s, size_t len)
{
	int64_t n;

	switch (key->type) {
	case CONFIG_BOOL:
	case CONFIG_CHOICE:
		return is_choice(key, s);
	case CONFIG_INT:
		return text_int(s, key->min, key->max, &n);
	case CONFIG_TEXT:
	case CONFIG_COMMAND:
	case CONFIG_DURATION:
		return (int64_t)len >= key->min && (int64_t)len <= key->max &&
		        (!key->ok || key->ok(s));
	case CONFIG_MAP:
	case CONFIG_LIST:
		break;
	}
	return false;
}

static void note_place(struct walk *w, const struct config_key *key, size_t line)
{
	struct config_shape *s = &w->shape;
	struct config_place p = {.key = key, .line = line};
	size_t lists = 0;

	for (size_t i = 0; i < w->depth; i++)
		if (!w->stack[i].map && w->stack[i].items)
			*(strcmp(w->stack[i].key->path, "gate") == 0 ? &p.job : &p.item) =
			        w->stack[i].items - 1,
			                                                        lists++;
	s->given |= UINT64_C(1) << row(key);
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 16;
		s->v = xreallocarray(s->v, s->cap, sizeof(*s->v));
	}
	s->v[s->n++] = p;
}

static int take_scalar(struct walk *w, const yaml_event_t *e, size_t line, struct err *err)
{
	const char *s = (const char *)e->data.scalar.value;
	size_t len = e->data.scalar.length;
	struct frame *f = top(w);
	const struct config_key *key;

	if (strlen(s) != len)
		return config_bad(err, w->name, line, NULL, "a NUL character stands there.");
	if (f && f->map && !f->pending)
		return take_key(w, s, line, err);
	if (value_key(w, line, &key, err) < 0)
		return -1;
	if (!key && is_null(e)) {
		w->shape.empty = true;
		return 0;
	}
	if (!key)
		return config_bad(err, w->name, line, NULL,
		        "the file has to hold keys with values, such as `trunk: main`.");
	if (is_null(e))
		return bad_value(w, key, line, "without a value", err);
	if (key->type == CONFIG_MAP || key->type == CONFIG_LIST)
		return bad_value(w, key, line, "a single value", err);
	if (!scalar_ok(key, s, len)) {
		AUTOFREE char *found =
		        len > 80 ? xasprintf("`%.60s…` (%zu bytes)", s, len) : xasprintf("`%s`", s);
		return bad_value(w, key, line, found, err);
	}
	note_place(w, key, line);
	return 0;
}

static int open_frame(struct walk *w, bool map, size_t line, struct err *err)
{
	struct frame *f = top(w);
	const struct config_key *key;
	enum config_type type;

	if (f && f->map && !f->pending)
		return config_bad(err, w->name, line, NULL, "a key has to be one word.");
	if (value_key(w, line, &key, err) < 0)
		return -1;
	type = key ? key->type : CONFIG_MAP;
	if (!key && !map)
		return config_bad(err, w->name, line, NULL,
		        "the file has to hold keys with values, such as `trunk: main`, not a "
		        "list.");
	if (key && type != (map ? CONFIG_MAP : CONFIG_LIST))
		return bad_value(w, key, line, map ? "a group of keys" : "a list", err);
	if (w->depth == MAX_DEPTH)
		return config_bad(err, w->name, line, NULL, "values are nested too deep.");
	if (key)
		note_place(w, key, line);
	w->stack[w->depth++] = (struct frame){.key = key, .map = map, .line = line};
	return 0;
}

static int close_frame(struct walk *w, struct err *err)
{
	struct frame *f = top(w);
	size_t n;
	const struct config_key *keys = config_keys(&n);

	for (size_t i = 0; f->map && i < n; i++)
		if (keys[i].required && config_key_in(&keys[i], f->key ? f->key->path : "") &&
		        !(f->seen & (UINT64_C(1) << i))) {
			AUTOFREE char *path = shown_path(w, config_key_name(&keys[i]));
			return config_bad(err, w->name, f->line, path,
			        "`%s` is missing; it has to be %s.", path, keys[i].want);
		}
	w->depth--;
	return 0;
}

/* --- Events ------------------------------------------------------------------ */

/* Aliases, anchors and tags make a text mean other than it reads. */
static int refuse_marks(struct walk *w, const yaml_event_t *e, size_t line, struct err *err)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	switch (e->type) {
	case YAML_ALIAS_EVENT:
		return config_bad(err, w->name, line, NULL,
		        "a YAML alias (`*%.60s`) stands there, which abide does not take; write "
		        "the value out.",
		        (const char *)e->data.alias.anchor);
	case YAML_SCALAR_EVENT:
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
		break;
	default:
		break;
	}
	if (anchor)
		return config_bad(err, w->name, line, NULL,
		        "a YAML anchor (`&%.60s`) stands there, which abide does not take.",
		        (const char *)anchor);
	if (tag)
		return config_bad(err, w->name, line, NULL,
		        "a YAML tag (`%.60s`) stands there, which abide does not take.",
		        (const char *)tag);
	return 0;
}

static int take_event(struct walk *w, const yaml_event_t *e, struct err *err)
{
	size_t line = e->start_mark.line + 1;

	if (refuse_marks(w, e, line, err) < 0)
		return -1;
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (w->documents++)
			return config_bad(err, w->name, line, NULL,
			        "a second YAML document begins there; only one is read.");
		return 0;
	case YAML_SCALAR_EVENT:
		return take_scalar(w, e, line, err);
	case YAML_SEQUENCE_START_EVENT:
		return open_frame(w, false, line, err);
	case YAML_MAPPING_START_EVENT:
		return open_frame(w, true, line, err);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_frame(w, err);
	default:
		return 0;
	}
}

/* libyaml's reader knows an offset only; lines are counted up to it. */
static size_t problem_line(const yaml_parser_t *p, const char *data, size_t len)
{
	size_t line = 1;

	if (p->error != YAML_READER_ERROR)
		return p->problem_mark.line + 1;
	for (size_t i = 0; i < len && i < p->problem_offset; i++)
		line += data[i] == '\n';
	return line;
}

static int walk_events(struct walk *w, const char *data, size_t len, struct err *err)
{
	for (;;) {
		yaml_event_t e;
		bool end;
		int rc;

		if (!yaml_parser_parse(&w->parser, &e))
			return config_bad(err, w->name, problem_line(&w->parser, data, len), NULL,
			        "it is no YAML: %s%s%s.",
			        w->parser.context ? w->parser.context : "",
			        w->parser.context ? ", " : "",
			        w->parser.problem ? w->parser.problem : "it cannot be read");
		end = e.type == YAML_STREAM_END_EVENT;
		rc = take_event(w, &e, err);
		yaml_event_delete(&e);
		if (rc < 0 || end)
			return rc;
	}
}

int config_shape(
        const char *data, size_t len, const char *name, struct config_shape *ret, struct err *err)
{
	struct walk w = {.name = name};
	int rc;

	if (!yaml_parser_initialize(&w.parser))
		abort();
	yaml_parser_set_encoding(&w.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&w.parser, (const unsigned char *)data, len);
	rc = walk_events(&w, data, len, err);
	yaml_parser_delete(&w.parser);
	if (!w.documents)
		w.shape.empty = true;
	if (rc == 0) {
		*ret = w.shape;
		w.shape = (struct config_shape){0};
	}
	config_shape_release(&w.shape);
	return rc;
}

/* --- One key of a file that may be wrong ------------------------------------------ */

/* Events until the value of the root's key `trunk`; copies it. 1: go on. */
static int peek_event(const yaml_event_t *e, int *depth, bool *key_next, bool *found, char **ret)
{
	const char *s = e->type == YAML_SCALAR_EVENT ? (const char *)e->data.scalar.value : NULL;

	switch (e->type) {
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		if (*found || (*depth == 0 && e->type == YAML_SEQUENCE_START_EVENT))
			return 0;
		if (++*depth == 1)
			*key_next = true;
		break;
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		if (--*depth == 1)
			*key_next = !*key_next;
		break;
	case YAML_SCALAR_EVENT:
	case YAML_ALIAS_EVENT:
		if (*depth != 1)
			break;
		if (*found && s)
			*ret = xstrdup(s);
		if (*found)
			return 0;
		*found = *key_next && s && strcmp(s, "trunk") == 0;
		*key_next = !*key_next;
		break;
	default:
		break;
	}
	return 1;
}

char *config_peek_trunk(const char *data, size_t len)
{
	const struct config_key *key = config_key_find("trunk");
	yaml_parser_t parser;
	AUTOFREE char *name = NULL;
	bool key_next = false, found = false;
	int depth = 0, more = 1;

	if (len > PEEK_CAP)
		return NULL;
	if (!yaml_parser_initialize(&parser))
		abort();
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)data, len);
	while (more > 0) {
		yaml_event_t e;
		if (!yaml_parser_parse(&parser, &e))
			break;
		more = depth < PEEK_DEPTH ? peek_event(&e, &depth, &key_next, &found, &name) : 0;
		yaml_event_delete(&e);
	}
	yaml_parser_delete(&parser);
	return name && *name && key->ok(name) ? STEAL(name) : NULL;
}
