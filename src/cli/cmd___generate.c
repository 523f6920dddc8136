/*
 * Writes everything that is generated from the tables below a folder:
 * schema/, reference/, man/, completion/. For scripts/generate and the
 * installation.
 */
#include "cli/completion.h"
#include "cli/reference.h"
#include "cli/schema.h"

static int write_page(const char *dir, const char *folder, const char *name, const char *text,
        json_t *files, struct err *err)
{
	AUTOFREE char *below = path_join(dir, folder);
	AUTOFREE char *path = path_join(below, name);
	AUTOFREE char *shown = path_join(folder, name);

	if (fs_mkdirs(below, 0755, err) < 0 ||
	        fs_write_atomic(path, text, strlen(text), 0644, err) < 0)
		return -1;
	json_array_append_new(files, json_string(shown));
	return 0;
}

static int schemas(const char *dir, json_t *files, struct err *err)
{
	AUTOSTRV names = {0};

	schema_names(&names);
	for (size_t i = 0; i < names.n; i++) {
		AUTOJSON json_t *schema = schema_named(names.v[i], false);
		AUTOFREE char *text = json_pretty(schema);
		AUTOFREE char *file = schema_file(names.v[i]);
		if (write_page(dir, "schema", path_base(file), text, files, err) < 0)
			return -1;
	}
	return 0;
}

static int references(const char *dir, json_t *files, struct err *err)
{
	AUTOSTRV names = {0};

	reference_pages(&names);
	for (size_t i = 0; i < names.n; i++) {
		AUTOBUF text = {0};
		AUTOFREE char *file = xasprintf("%s.md", names.v[i]);
		reference_page(names.v[i], &text);
		if (write_page(dir, "reference", file, buf_str(&text), files, err) < 0)
			return -1;
	}
	return 0;
}

static int manuals(const char *dir, json_t *files, struct err *err)
{
	AUTOSTRV names = {0};

	man_pages(&names);
	for (size_t i = 0; i < names.n; i++) {
		AUTOBUF text = {0};
		man_page(names.v[i], &text);
		if (write_page(dir, "man", names.v[i], buf_str(&text), files, err) < 0)
			return -1;
	}
	return 0;
}

/* Under the names by which the shells look for them. */
static int completions(const char *dir, json_t *files, struct err *err)
{
	static const struct {
		const char *shell, *file;
	} rows[] = {{"bash", "abide"}, {"zsh", "_abide"}, {"fish", "abide.fish"}};

	for (size_t i = 0; i < NELEMS(rows); i++)
		if (write_page(dir, "completion", rows[i].file, completion_script(rows[i].shell),
		            files, err) < 0)
			return -1;
	return 0;
}

static int run(struct call *c, struct result *res, struct err *err)
{
	const char *dir = c->words.v[0];
	json_t *files = json_array();

	json_put(result_data(res), "files", files);
	if (schemas(dir, files, err) < 0 || references(dir, files, err) < 0 ||
	        manuals(dir, files, err) < 0 || completions(dir, files, err) < 0)
		return -1;
	return 0;
}

const struct command cmd___generate = {
        .name = "__generate",
        .summary = "write what is generated from the tables",
        .usage = "__generate DIR",
        .options = (const struct option[]){{0}},
        .data = (const struct field[]){{"files", "array", true, "what was written below DIR"}, {0}},
        .word = "DIR",
        .complete = COMPLETE_DIR,
        .min_words = 1,
        .max_words = 1,
        .outside = true,
        .hidden = true,
        .run = run,
};
