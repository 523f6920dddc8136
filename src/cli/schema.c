#include "cli/schema.h"

#include "project/config.h"
#include "project/receipt.h"

enum { DEEPEST = 8 };
static const char DIALECT[] = "https://json-schema.org/draft/2020-12/schema";

static json_t *typed(const char *type)
{
	json_t *s = json_object();

	json_put_text(s, "type", type);
	return s;
}

static json_t *list_of(json_t *items)
{
	json_t *s = typed("array");

	json_put(s, "items", items);
	return s;
}

static json_t *words(const char *const *list)
{
	json_t *a = json_array();

	for (; *list; list++)
		json_array_append_new(a, json_string(*list));
	return a;
}

/* --- From a table of fields --------------------------------------------------- */

static json_t *object_of(const struct field *fields, bool strict, bool required, int depth);

static json_t *plain_string(const struct field *f)
{
	json_t *s = typed("string");

	if (f->only)
		json_put(s, "enum", words(f->only));
	return s;
}

static json_t *oid_string(void)
{
	json_t *s = typed("string");

	json_put_text(s, "pattern", "^([0-9a-f]{40}|[0-9a-f]{64})$");
	return s;
}

static json_t *value_of(const struct field *f, bool strict, int depth)
{
	bool deep = f->of && depth < DEEPEST;
	json_t *s;

	if (strcmp(f->type, "oid") == 0)
		s = oid_string();
	else if (strcmp(f->type, "time") == 0)
		s = typed("integer");
	else if (strcmp(f->type, "string") == 0)
		s = plain_string(f);
	else if (strcmp(f->type, "object") == 0)
		s = deep ? object_of(f->of, strict, true, depth + 1) : typed("object");
	else if (strcmp(f->type, "array") == 0)
		s = list_of(deep ? object_of(f->of, strict, true, depth + 1)
		                 : typed(f->of ? "object" : "string"));
	else if (strcmp(f->type, "integers") == 0)
		s = list_of(typed("integer"));
	else if (strcmp(f->type, "any") == 0)
		s = json_object();
	else
		s = typed(f->type);
	json_put_text(s, "description", f->help);
	return s;
}

static json_t *required_of(const struct field *fields)
{
	json_t *names = json_array();

	for (; fields && fields->name; fields++)
		if (fields->required)
			json_array_append_new(names, json_string(fields->name));
	return names;
}

/* Whatever is no UTF-8 has its exact bytes beside it. */
static void close_object(json_t *s)
{
	json_t *bytes = json_object();

	json_put(bytes, "_bytes$", typed("string"));
	json_put(s, "patternProperties", bytes);
	json_put(s, "additionalProperties", json_false());
}

static json_t *object_of(const struct field *fields, bool strict, bool required, int depth)
{
	json_t *s = typed("object");
	json_t *properties = json_object();
	json_t *names = required_of(fields);

	for (; fields && fields->name; fields++)
		json_put(properties, fields->name, value_of(fields, strict, depth));
	if (json_object_size(properties))
		json_put(s, "properties", properties);
	else
		json_decref(properties);
	if (required && json_array_size(names))
		json_put(s, "required", names);
	else
		json_decref(names);
	if (strict)
		close_object(s);
	return s;
}

/* --- The envelope -------------------------------------------------------------- */

static json_t *slugs(void)
{
	json_t *s = typed("string");
	json_t *list = json_array();

	for (int code = ERR_NONE + 1; code < ERR_COUNT; code++)
		json_array_append_new(list, json_string(err_slug((enum err_code)code)));
	json_put(s, "enum", list);
	json_put_text(s, "description", "why it was refused or failed; stable");
	return s;
}

static json_t *sentences(const char *about)
{
	json_t *item = typed("string");
	json_t *s;

	json_put_int(item, "minLength", 1);
	s = list_of(item);
	json_put_text(s, "description", about);
	return s;
}

static json_t *described(const char *type, const char *about)
{
	json_t *s = typed(type);

	json_put_text(s, "description", about);
	return s;
}

/* {"required": [NAME]} */
static json_t *has(const char *name)
{
	json_t *s = json_object();

	json_put(s, "required", json_pack("[s]", name));
	return s;
}

static json_t *when_ok(const struct command *cmd)
{
	json_t *s = json_object();
	json_t *names = required_of(cmd ? cmd->data : NULL);

	json_put(s, "not", json_pack("{s:[o,o]}", "anyOf", has("error"), has("message")));
	if (json_array_size(names)) {
		json_put(s, "required", json_pack("[s]", "data"));
		json_put(s, "properties",
		        json_pack("{s:{s:s,s:O}}", "data", "type", "object", "required", names));
	}
	json_decref(names);
	return s;
}

static json_t *when_refused(void)
{
	return json_pack("{s:[s,s,s],s:{s:{s:s,s:i}}}", "required", "error", "message", "hints",
	        "properties", "hints", "type", "array", "minItems", 1);
}

/* What a refusal by any verb may tell of a file that is wrong. */
static const struct field refusal_fields[] = {
        {"file", "string", false, "of a refusal: the file that is wrong"},
        {"line", "integer", false, "of a refusal: its line, from 1"},
        {"key", "string", false, "of a refusal: the key that is wrong"},
        {"commit", "oid", false, "of a refusal: the commit that holds the file"},
        {0},
};

static json_t *data_of(const struct command *cmd, bool strict)
{
	json_t *s = object_of(cmd->data, strict, false, 0);
	json_t *properties = json_object_get(s, "properties");

	if (!properties) {
		json_put(s, "properties", json_object());
		properties = json_object_get(s, "properties");
	}
	for (const struct field *f = refusal_fields; f->name; f++)
		if (!cmd->outside && !json_object_get(properties, f->name))
			json_put(properties, f->name, value_of(f, strict, 0));
	return s;
}

/* CMD NULL: what all verbs share. */
static json_t *envelope(const struct command *cmd, bool strict)
{
	json_t *s = typed("object");
	json_t *p = json_object();

	json_put(p, "ok", described("boolean", "whether the request was carried out"));
	json_put(p, "verb",
	        described("string",
	                cmd ? "the verb that answers"
	                    : "the verb that answers; empty when none was told"));
	if (cmd)
		json_put_text(json_object_get(p, "verb"), "const", cmd->name);
	json_put(p, "data",
	        cmd ? data_of(cmd, strict) : described("object", "what the verb found or did"));
	json_put(p, "hints", sentences("one next step each, with the command in full"));
	json_put(p, "warnings", sentences("what the caller should know besides"));
	json_put(p, "error", slugs());
	json_put(p, "message", described("string", "what happened and what it means"));
	json_put(s, "properties", p);
	json_put(s, "required", json_pack("[s,s]", "ok", "verb"));
	if (strict)
		close_object(s);
	json_put(s, "if", json_pack("{s:{s:{s:b}}}", "properties", "ok", "const", 1));
	json_put(s, "then", when_ok(cmd));
	json_put(s, "else", when_refused());
	return s;
}

/* --- The receipt ---------------------------------------------------------------- */

static const char *const strategies[] = {"merge", "squash", "rebase", NULL};
static const char *const surfaces[] = {"cli", "mcp", NULL};

static const struct field job_fields[] = {
        {"name", "string", true, "the job"},
        {"exit", "integer", true, "its exit status"},
        {"ms", "integer", true, "how long it ran, in milliseconds"},
        {0},
};
static const struct field proof_fields[] = {
        {"gate_digest", "string", true, "names the gate that was run"},
        {"jobs", "array", true, "what was run", .of = job_fields},
        {"finished_at", "time", true, "when the gate had passed"},
        {0},
};
static const struct field accepted_fields[] = {
        {"by", "string", true, "who landed it"},
        {"surface", "string", true, "where it was asked for", .only = surfaces},
        {"ask", "string", false, "the decision that allowed it"},
        {0},
};
static const struct field receipt_fields[] = {
        {"abide_receipt", "integer", true, "the format's major version: 1"},
        {"branch", "string", true, "the task's branch, short"},
        {"head", "oid", true, "the landed commit, which carries this note"},
        {"tree", "oid", true, "its tree"},
        {"base", "oid", true, "where the trunk stood before"},
        {"tip", "oid", true, "the branch's tip that was landed"},
        {"strategy", "string", true, "how the work was put on the trunk", .only = strategies},
        {"trunk", "string", true, "the trunk, short"},
        {"gate_changed", "boolean", true, "whether the work changed the gate"},
        {"proof", "object", true, "what passed", .of = proof_fields},
        {"accepted", "object", true, "who landed it and how", .of = accepted_fields},
        {"landed_at", "time", true, "when"},
        {"writer", "string", true, "the program and its version"},
        {0},
};

/* --- By name --------------------------------------------------------------------- */

static json_t *receipt_schema(const struct command *cmd, bool strict)
{
	json_t *s = object_of(receipt_fields, strict, true, 0);
	json_t *version = json_object_get(json_object_get(s, "properties"), "abide_receipt");

	(void)cmd;
	json_put_int(version, "const", RECEIPT_MAJOR);
	return s;
}

static json_t *project_schema(const struct command *cmd, bool strict)
{
	(void)cmd;
	(void)strict;
	return config_schema();
}

/* What is no verb's answer. FILE without the ending. */
static const struct {
	const char *name, *file, *title, *about;
	json_t *(*make)(const struct command *cmd, bool strict);
} others[] = {
        {"abide.yaml", "abide", "abide.yaml",
                "What abide knows of a project: committed in the root of the repository.",
                project_schema},
        {"envelope", "envelope", "abide: the result envelope",
                "What every verb prints with --json, on one line.", envelope},
        {"receipt", "receipt", "abide: a receipt",
                "One JSON object in a note of refs/notes/abide, on the landed commit.",
                receipt_schema},
};

void schema_names(struct strv *ret)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			strv_push(ret, (*c)->name);
	for (size_t i = 0; i < NELEMS(others); i++)
		strv_push(ret, others[i].name);
	strv_sort(ret);
}

char *schema_file(const char *name)
{
	for (size_t i = 0; i < NELEMS(others); i++)
		if (strcmp(others[i].name, name) == 0)
			name = others[i].file;
	return xasprintf("schema/%s.schema.json", name);
}

static json_t *headed(const char *file, const char *title, const char *about, json_t *rest)
{
	json_t *s = json_object();

	json_put_text(s, "$schema", DIALECT);
	json_put(s, "$id", json_sprintf("urn:abide:schema:1:%s", file));
	json_put_text(s, "title", title);
	json_put_text(s, "description", about);
	json_object_update(s, rest);
	json_decref(rest);
	return s;
}

json_t *schema_named(const char *name, bool strict)
{
	const struct command *cmd = command_find(name);

	for (size_t i = 0; i < NELEMS(others); i++)
		if (strcmp(others[i].name, name) == 0)
			return headed(others[i].file, others[i].title, others[i].about,
			        others[i].make(NULL, strict));
	if (cmd && !cmd->hidden) {
		AUTOFREE char *title = xasprintf("abide %s --json", cmd->name);
		AUTOFREE char *about =
		        xasprintf("The answer of `abide %s`: %s.", cmd->name, cmd->summary);
		return headed(cmd->name, title, about, envelope(cmd, strict));
	}
	return NULL;
}
