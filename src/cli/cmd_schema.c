#include "cli/command.h"
#include "cli/schema.h"
#include "cli/suggest.h"

static int unknown(const char *name, const struct strv *names, struct err *err)
{
	const char *near = suggest(name, names);

	err_set(err, ERR_UNKNOWN_TARGET, "No schema has the name `%s`.", name);
	err_hint(err, "See the names with `abide schema`.");
	if (near)
		err_hint(err, "Did you mean `abide schema %s`?", near);
	return -1;
}

static int run(struct call *c, struct result *res, struct err *err)
{
	const char *name = c->words.n ? c->words.v[0] : NULL;
	AUTOSTRV names = {0};
	AUTOFREE char *file = NULL;
	json_t *schema;

	schema_names(&names);
	if (!name) {
		json_put(result_data(res), "names", json_text_list(&names, 0));
		return 0;
	}
	schema = schema_named(name, opt_flag(c, "strict"));
	if (!schema)
		return unknown(name, &names, err);
	file = schema_file(name);
	json_put_text(result_data(res), "name", name);
	json_put_text(result_data(res), "file", file);
	json_put(result_data(res), "schema", schema);
	return 0;
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *schema = json_object_get(res->data, "schema");
	const json_t *names = json_object_get(res->data, "names");
	const json_t *name;
	size_t i;

	(void)c;
	if (schema) {
		AUTOFREE char *text = json_pretty(schema);
		buf_puts(out, text);
	}
	json_array_foreach ((json_t *)names, i, name)
		buf_printf(out, "%s\n", json_string_value(name));
}

const struct command cmd_schema = {
        .name = "schema",
        .summary = "print a published JSON Schema",
        .usage = "schema [NAME]",
        .details = "Prints the JSON Schema (2020-12) of a verb's answer with --json, of the "
                   "`envelope` that all answers share, of `abide.yaml`, or of the `receipt` that a "
                   "landing leaves. Without NAME: the names.\n\n"
                   "Within a major version keys are only added; so the schemas allow keys that "
                   "they do not name.",
        .examples = "abide schema               # which there are\n"
                    "abide schema await         # what `abide await --json` prints\n"
                    "abide schema receipt       # what a landing leaves in refs/notes/abide",
        .options =
                (const struct option[]){{"strict", OPT_FLAG, NULL, "allow no key that is not named",
                                                .hidden = true},
                        {0}},
        .data = (const struct field[]){{"names", "array", false, "without NAME: every name"},
                {"name", "string", false, "the schema's name"},
                {"file", "string", false, "where it is published in the repository"},
                {"schema", "object", false, "the schema itself"}, {0}},
        .word = "NAME",
        .complete = COMPLETE_SCHEMA,
        .max_words = 1,
        .outside = true,
        .run = run,
        .render = render,
};
