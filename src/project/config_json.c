#include "project/config.h"

#include "project/config_keys.h"

/* --- Values ------------------------------------------------------------------- */

static json_t *gate_json(const struct config *c)
{
	json_t *jobs = json_array();

	for (size_t i = 0; i < c->gate_n; i++) {
		json_t *o = json_object();
		json_put_text(o, "name", c->gate[i].name);
		json_put_text(o, "run", c->gate[i].run);
		if (c->gate[i].timeout_ms)
			json_put_int(o, "timeout_ms", c->gate[i].timeout_ms);
		json_put(o, "needs", json_text_list(&c->gate[i].needs, 0));
		json_array_append_new(jobs, o);
	}
	return jobs;
}

static json_t *choice(const char *key, int value)
{
	return json_string(config_key_find(key)->choices[value]);
}

json_t *config_json(const struct config *policy, const struct config *work)
{
	json_t *o = json_object();
	json_t *accept = json_object();

	json_put_text(o, "trunk", policy->trunk);
	json_put_text(o, "branch_prefix", policy->branch_prefix);
	json_put_text(o, "worktrees", policy->worktrees);
	json_put(o, "copy", json_text_list(&work->copy, 0));
	json_put(o, "setup", json_text_list(&work->setup, 0));
	json_put(o, "gate", gate_json(work));
	if (policy->gate_parallel)
		json_put_int(o, "gate_parallel", policy->gate_parallel);
	json_put(accept, "require", choice("accept.require", (int)policy->require));
	json_put(accept, "gate_changes", choice("accept.gate_changes", (int)policy->gate_changes));
	json_put_text(accept, "integrate", "refuse");
	json_put_bool(accept, "keep", policy->keep);
	json_put(o, "accept", accept);
	json_put_bool(o, "logbook", policy->logbook);
	return o;
}

json_t *config_json_value(const json_t *whole, const struct config_key *key)
{
	const char *dot = strchr(key->path, '.');
	AUTOFREE char *head = dot ? xstrndup(key->path, (size_t)(dot - key->path)) : NULL;

	return dot ? json_object_get(json_object_get(whole, head), dot + 1)
	           : json_object_get(whole, key->path);
}

/* --- The published schema ------------------------------------------------------- */

static json_t *node(const struct config_key *key);

static void put_children(json_t *to, const char *parent)
{
	size_t n;
	const struct config_key *keys = config_keys(&n);
	json_t *properties = json_object();
	json_t *required = json_array();

	for (size_t i = 0; i < n; i++) {
		if (!config_key_in(&keys[i], parent))
			continue;
		json_put(properties, config_key_name(&keys[i]), node(&keys[i]));
		if (keys[i].required)
			json_array_append_new(required, json_string(config_key_name(&keys[i])));
	}
	json_put_text(to, "type", "object");
	json_put(to, "properties", properties);
	if (json_array_size(required))
		json_object_set(to, "required", required);
	json_decref(required);
	json_put_bool(to, "additionalProperties", false);
}

static void put_list(json_t *to, const struct config_key *key)
{
	AUTOFREE char *item = xasprintf("%s[]", key->path);

	json_put_text(to, "type", "array");
	json_put(to, "items", node(config_key_find(item)));
	json_put_int(to, "maxItems", key->max);
}

static void put_choices(json_t *to, const struct config_key *key)
{
	json_t *list = json_array();

	for (size_t i = 0; key->choices[i]; i++)
		json_array_append_new(list, json_string(key->choices[i]));
	json_put_text(to, "type", "string");
	json_put(to, "enum", list);
}

static void put_text(json_t *to, const struct config_key *key)
{
	json_put_text(to, "type", "string");
	if (key->min)
		json_put_int(to, "minLength", key->min);
	json_put_int(to, "maxLength", key->max);
	if (key->pattern)
		json_put_text(to, "pattern", key->pattern);
}

/* `run: true` reads as a command, whatever an editor takes it for. */
static void put_command(json_t *to, const struct config_key *key)
{
	json_t *text = json_object();

	put_text(text, key);
	json_put(to, "anyOf",
	        json_pack("[o, {s:s}, {s:s}]", text, "type", "boolean", "type", "number"));
}

static void put_default(json_t *to, const struct config_key *key)
{
	if (!key->by_default)
		return;
	if (key->type == CONFIG_BOOL)
		json_put_bool(to, "default", strcmp(key->by_default, "true") == 0);
	else
		json_put_text(to, "default", key->by_default);
}

static json_t *node(const struct config_key *key)
{
	json_t *o = json_object();

	switch (key->type) {
	case CONFIG_MAP:
		put_children(o, key->path);
		break;
	case CONFIG_LIST:
		put_list(o, key);
		break;
	case CONFIG_BOOL:
		json_put_text(o, "type", "boolean");
		break;
	case CONFIG_INT:
		json_put_text(o, "type", "integer");
		json_put_int(o, "minimum", key->min);
		json_put_int(o, "maximum", key->max);
		break;
	case CONFIG_CHOICE:
		put_choices(o, key);
		break;
	case CONFIG_COMMAND:
		put_command(o, key);
		break;
	case CONFIG_TEXT:
	case CONFIG_DURATION:
		put_text(o, key);
		break;
	}
	put_default(o, key);
	json_put_text(o, "description", key->help);
	return o;
}

json_t *config_schema(void)
{
	json_t *o = json_object();

	put_children(o, "");
	return o;
}
