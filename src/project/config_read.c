#include "project/config.h"

#include <cyaml/cyaml.h>
#include <stdio.h>

#include "project/config_shape.h"

/* --- libcyaml's schema, from the table ---------------------------------------- */

enum { MAX_ROWS = 64, MAX_CHOICES = 4, JOB_TIMEOUT_MS = 600000 };

struct schema {
	cyaml_schema_field_t fields[MAX_ROWS];
	cyaml_schema_value_t items[MAX_ROWS];
	cyaml_strval_t choices[MAX_ROWS][MAX_CHOICES];
	size_t fields_n, items_n, choices_n;
};

static void schema_value(struct schema *s, const struct config_key *key, cyaml_schema_value_t *ret);

/* The fields of a map, with the end mark. */
static const cyaml_schema_field_t *schema_fields(struct schema *s, const char *parent)
{
	size_t n, count = 0;
	const struct config_key *keys = config_keys(&n);
	cyaml_schema_field_t *first = &s->fields[s->fields_n];

	for (size_t i = 0; i < n; i++)
		count += config_key_in(&keys[i], parent);
	s->fields_n += count + 1;
	if (s->fields_n > MAX_ROWS)
		abort();
	for (size_t i = 0, at = 0; i < n; i++) {
		if (!config_key_in(&keys[i], parent))
			continue;
		first[at] = (cyaml_schema_field_t){
		        .key = config_key_name(&keys[i]),
		        .data_offset = keys[i].at,
		        .count_offset = keys[i].count_at,
		        .count_size = keys[i].type == CONFIG_LIST ? sizeof(unsigned) : 0,
		};
		schema_value(s, &keys[i], &first[at].value);
		if (!keys[i].required)
			first[at].value.flags |= CYAML_FLAG_OPTIONAL;
		at++;
	}
	return first;
}

static const cyaml_schema_value_t *schema_items(struct schema *s, const struct config_key *list)
{
	size_t n;
	const struct config_key *keys = config_keys(&n);
	cyaml_schema_value_t *item = &s->items[s->items_n++];

	for (size_t i = 0; i < n; i++)
		if (config_key_in(&keys[i], list->path))
			schema_value(s, &keys[i], item);
	return item;
}

static void schema_choices(
        struct schema *s, const struct config_key *key, cyaml_schema_value_t *ret)
{
	cyaml_strval_t *list = s->choices[s->choices_n++];
	uint32_t n = 0;

	for (; key->choices[n] && n < MAX_CHOICES; n++)
		list[n] = (cyaml_strval_t){key->choices[n], n + 1};
	*ret = (cyaml_schema_value_t){.type = CYAML_ENUM,
	        .flags = CYAML_FLAG_STRICT,
	        .data_size = sizeof(int),
	        .enumeration = {list, n}};
}

static void schema_value(struct schema *s, const struct config_key *key, cyaml_schema_value_t *ret)
{
	switch (key->type) {
	case CONFIG_MAP:
		*ret = (cyaml_schema_value_t){.type = CYAML_MAPPING,
		        .data_size = key->item_size,
		        .mapping.fields = schema_fields(s, key->path)};
		return;
	case CONFIG_LIST:
		*ret = (cyaml_schema_value_t){.type = CYAML_SEQUENCE,
		        .flags = CYAML_FLAG_POINTER,
		        .data_size = key->item_size ? key->item_size : sizeof(char *),
		        .sequence = {schema_items(s, key), 0, (uint32_t)key->max}};
		return;
	case CONFIG_BOOL:
	case CONFIG_CHOICE:
		schema_choices(s, key, ret);
		return;
	case CONFIG_INT:
		*ret = (cyaml_schema_value_t){.type = CYAML_INT, .data_size = sizeof(int64_t)};
		return;
	case CONFIG_TEXT:
	case CONFIG_COMMAND:
	case CONFIG_DURATION:
		*ret = (cyaml_schema_value_t){.type = CYAML_STRING,
		        .flags = CYAML_FLAG_POINTER,
		        .data_size = sizeof(char),
		        .string = {(uint32_t)key->min, (uint32_t)key->max}};
		return;
	}
}

/* --- Loading ------------------------------------------------------------------- */

static void *cyaml_memory(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	if (!size) {
		free(ptr);
		return NULL;
	}
	return xrealloc(ptr, size);
}

/* Keeps the first line, which says what is wrong; the rest is where. */
static void first_complaint(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	char **first = ctx;

	(void)level;
	if (*first)
		return;
	if (vasprintf(first, fmt, args) < 0)
		abort();
	(*first)[strcspn(*first, "\n")] = '\0';
}

/* NULL when it cannot be read. */
static struct config_file *load(
        const char *data, size_t len, const char *name, struct schema *s, struct err *err)
{
	AUTOFREE char *why = NULL;
	cyaml_config_t how = {.log_fn = first_complaint,
	        .log_ctx = &why,
	        .mem_fn = cyaml_memory,
	        .log_level = CYAML_LOG_ERROR,
	        .flags = CYAML_CFG_NO_ALIAS};
	cyaml_schema_value_t root = {.type = CYAML_MAPPING,
	        .flags = CYAML_FLAG_POINTER,
	        .data_size = sizeof(struct config_file),
	        .mapping.fields = schema_fields(s, "")};
	cyaml_data_t *loaded = NULL;
	cyaml_err_t rc = cyaml_load_data((const uint8_t *)data, len, &how, &root, &loaded, NULL);

	if (rc == CYAML_OK)
		return loaded ? loaded : xcalloc(1, sizeof(struct config_file));
	config_bad(err, name, 0, NULL, "it cannot be read: %s.", why ? why : cyaml_strerror(rc));
	return NULL;
}

static void file_release(struct config_file **at)
{
	struct config_file *f = *at;

	if (!f)
		return;
	for (unsigned i = 0; i < f->gate_n; i++) {
		for (unsigned k = 0; k < f->gate[i].needs_n; k++)
			free(f->gate[i].needs[k]);
		free(f->gate[i].needs);
		free(f->gate[i].name);
		free(f->gate[i].run);
		free(f->gate[i].timeout);
	}
	for (unsigned i = 0; i < f->copy_n; i++)
		free(f->copy[i]);
	for (unsigned i = 0; i < f->setup_n; i++)
		free(f->setup[i]);
	free(f->gate);
	free(f->copy);
	free(f->setup);
	free(f->trunk);
	free(f->branch_prefix);
	free(f->worktrees);
	free(f);
}

/* --- What the file says, into what abide works with ---------------------------- */

static void take_text(char **ret, char **from)
{
	if (*from)
		mem_set(ret, STEAL(*from));
}

static void take_list(struct strv *ret, char **v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		strv_take(ret, STEAL(v[i]));
}

static void take_job(struct gate_job *ret, struct config_file_job *from)
{
	*ret = (struct gate_job){.timeout_ms = JOB_TIMEOUT_MS};
	take_text(&ret->name, &from->name);
	take_text(&ret->run, &from->run);
	if (from->timeout && !text_duration(from->timeout, &ret->timeout_ms))
		ret->timeout_ms = 0;
	take_list(&ret->needs, from->needs, from->needs_n);
}

static void take_over(struct config *ret, struct config_file *from)
{
	take_text(&ret->trunk, &from->trunk);
	take_text(&ret->branch_prefix, &from->branch_prefix);
	take_text(&ret->worktrees, &from->worktrees);
	take_list(&ret->copy, from->copy, from->copy_n);
	take_list(&ret->setup, from->setup, from->setup_n);
	ret->gate_n = from->gate_n;
	ret->gate = xcalloc(from->gate_n, sizeof(*ret->gate));
	for (unsigned i = 0; i < from->gate_n; i++)
		take_job(&ret->gate[i], &from->gate[i]);
	ret->gate_parallel = (int)from->gate_parallel;
	/* A choice is its place in the table's list from 1; 0 is not given. */
	if (from->accept.require)
		ret->require = (enum accept_require)(from->accept.require - 1);
	if (from->accept.gate_changes)
		ret->gate_changes = (enum gate_changes)(from->accept.gate_changes - 1);
	if (from->accept.keep)
		ret->keep = from->accept.keep == 2;
	if (from->logbook)
		ret->logbook = from->logbook == 2;
}

/* --- The gate as a whole --------------------------------------------------------- */

static size_t job_index(const struct config *c, const char *name)
{
	size_t i = 0;

	while (i < c->gate_n && strcmp(c->gate[i].name, name) != 0)
		i++;
	return i;
}

/* A way from job to job along their needs. */
struct way {
	const struct config *c;
	bool *on;    /* jobs on the way */
	bool *done;  /* jobs from which no way leads in a circle */
	size_t *job; /* the way, in order */
	size_t n;
};

static void tell_cycle(const struct way *w, size_t job, struct buf *tell)
{
	size_t from = 0;

	while (w->job[from] != job)
		from++;
	for (; from < w->n; from++)
		buf_printf(tell, "%s → ", w->c->gate[w->job[from]].name);
	buf_puts(tell, w->c->gate[job].name);
}

/* Goes on to JOB. A job met again closes a cycle, which TELL gets as "a → b → a". */
static bool closes_cycle(struct way *w, size_t job, struct buf *tell)
{
	const struct strv *needs = &w->c->gate[job].needs;
	bool found = false;

	if (w->done[job])
		return false;
	if (w->on[job]) {
		tell_cycle(w, job, tell);
		return true;
	}
	w->on[job] = true;
	w->job[w->n++] = job;
	for (size_t k = 0; k < needs->n && !found; k++)
		found = closes_cycle(w, job_index(w->c, needs->v[k]), tell);
	w->n--;
	w->on[job] = false;
	w->done[job] = true;
	return found;
}

static int check_cycles(
        const struct config *c, const struct config_shape *s, const char *name, struct err *err)
{
	AUTOFREE bool *on = xcalloc(c->gate_n, sizeof(*on));
	AUTOFREE bool *done = xcalloc(c->gate_n, sizeof(*done));
	AUTOFREE size_t *job = xcalloc(c->gate_n, sizeof(*job));
	struct way way = {.c = c, .on = on, .done = done, .job = job};
	AUTOBUF cycle = {0};

	for (size_t i = 0; i < c->gate_n; i++)
		if (closes_cycle(&way, i, &cycle)) {
			AUTOFREE char *path = xasprintf("gate[%zu].needs", i);
			return config_bad(err, name, config_line(s, "gate[].needs", i, 0), path,
			        "the jobs need each other in a circle: %s.", buf_str(&cycle));
		}
	return 0;
}

static int check_needs(
        const struct config *c, const struct config_shape *s, const char *name, struct err *err)
{
	for (size_t i = 0; i < c->gate_n; i++)
		for (size_t k = 0; k < c->gate[i].needs.n; k++) {
			const char *need = c->gate[i].needs.v[k];
			AUTOFREE char *path = xasprintf("gate[%zu].needs[%zu]", i, k);
			if (job_index(c, need) == c->gate_n)
				return config_bad(err, name, config_line(s, "gate[].needs[]", i, k),
				        path, "the job `%s` needs `%s`, but there is no such job.",
				        c->gate[i].name, need);
		}
	return 0;
}

static int check_gate(
        const struct config *c, const struct config_shape *s, const char *name, struct err *err)
{
	for (size_t i = 0; i < c->gate_n; i++)
		if (job_index(c, c->gate[i].name) != i) {
			AUTOFREE char *path = xasprintf("gate[%zu].name", i);
			return config_bad(err, name, config_line(s, "gate[].name", i, 0), path,
			        "two jobs have the name `%s`.", c->gate[i].name);
		}
	return check_needs(c, s, name, err) < 0 ? -1 : check_cycles(c, s, name, err);
}

int config_parse(
        const char *data, size_t len, const char *name, struct config *ret, struct err *err)
{
	AUTOSHAPE shape = {0};
	AUTOCONFIG c = {0};
	AUTOFREE struct schema *schema = xcalloc(1, sizeof(*schema));
	CLEANUP(file_release) struct config_file *file = NULL;

	if (len > CONFIG_CAP)
		return config_bad(
		        err, name, 0, NULL, "the file is larger than %d KiB.", CONFIG_CAP / 1024);
	if (config_shape(data, len, name, &shape, err) < 0)
		return -1;
	config_defaults(&c);
	c.present = true;
	c.given = shape.given;
	if (!shape.empty) {
		file = load(data, len, name, schema, err);
		if (!file)
			return -1;
		take_over(&c, file);
	}
	if (check_gate(&c, &shape, name, err) < 0)
		return -1;
	*ret = c;
	c = (struct config){0};
	return 0;
}
