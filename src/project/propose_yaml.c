#include "project/propose.h"

#include <ctype.h>

#include "project/config_keys.h"

/* --- Writing YAML ----------------------------------------------------------------- */

/* Whether S stands for itself without quotes, whatever reads it. */
static bool is_plain(const char *s)
{
	static const char *const words[] = {
	        "true", "false", "yes", "no", "on", "off", "null", "y", "n", "none", "~"};

	if (!isalpha((unsigned char)*s) && *s != '.' && *s != '/' && *s != '_')
		return false;
	if (*s == '.' && isdigit((unsigned char)s[1]))
		return false;
	for (size_t i = 0; i < NELEMS(words); i++)
		if (strcasecmp(s, words[i]) == 0)
			return false;
	for (const char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._/+-", *p) &&
		        !(strchr(" &|={}()$@;,<>*?", *p) && p[1]))
			return false;
	return true;
}

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

static void put_scalar(struct buf *out, const char *s)
{
	if (is_plain(s)) {
		buf_puts(out, s);
	} else if (is_printable(s)) {
		buf_putc(out, '\'');
		for (; *s; s++)
			buf_printf(out, *s == '\'' ? "''" : "%c", *s);
		buf_putc(out, '\'');
	} else {
		buf_putc(out, '"');
		for (; *s; s++)
			if ((unsigned char)*s < 0x20 || *s == 0x7f)
				buf_printf(out, "\\x%02x", (unsigned char)*s);
			else
				buf_printf(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
		buf_putc(out, '"');
	}
}

/* A command: on its own lines where it has several. */
static void put_command(struct buf *out, const char *run, const char *indent)
{
	if (!strchr(run, '\n')) {
		put_scalar(out, run);
		buf_putc(out, '\n');
		return;
	}
	buf_puts(out, "|\n");
	while (*run) {
		size_t n = strcspn(run, "\n");
		buf_printf(out, "%s%.*s\n", indent, (int)n, run);
		run += n + (run[n] == '\n');
	}
}

static void put_list(struct buf *out, const char *key, const struct strv *list)
{
	buf_printf(out, "%s:\n", key);
	for (size_t i = 0; i < list->n; i++) {
		buf_puts(out, "  - ");
		put_command(out, list->v[i], "    ");
	}
}

/* --- The file ------------------------------------------------------------------------ */

static void put_gate(struct buf *out, const struct proposal *p)
{
	buf_puts(out,
	        "\n# Jobs that have to pass before work lands. Those that do not need one another "
	        "run at once.\n");
	if (!p->jobs_n) {
		buf_puts(out,
		        "# None was recognized here; without one, nothing is proven:\n"
		        "# gate:\n"
		        "#   - name: test\n"
		        "#     run: make check\n"
		        "#     timeout: 10m\n");
		return;
	}
	buf_puts(out, "gate:\n");
	for (size_t i = 0; i < p->jobs_n; i++) {
		buf_puts(out, "  - name: ");
		put_scalar(out, p->jobs[i].name);
		buf_puts(out, "\n    run: ");
		put_command(out, p->jobs[i].run, "      ");
		if (p->jobs[i].needs)
			buf_printf(out, "    needs: [%s]\n", p->jobs[i].needs);
	}
}

static size_t first_clause(const char *help)
{
	static const char *const ends[] = {"; ", ". ", NULL};
	size_t n = strlen(help);

	for (size_t i = 0; ends[i]; i++) {
		const char *end = strstr(help, ends[i]);
		if (end && (size_t)(end - help) < n)
			n = (size_t)(end - help);
	}
	return n;
}

static void put_rest_of(struct buf *out, const char *parent, const char *indent)
{
	size_t n;
	const struct config_key *keys = config_keys(&n);

	for (size_t i = 0; i < n; i++) {
		AUTOFREE char *line = NULL;
		if (!config_key_in(&keys[i], parent))
			continue;
		if (keys[i].type == CONFIG_MAP) {
			buf_printf(out, "# %s:\n", keys[i].path);
			put_rest_of(out, keys[i].path, "  ");
		} else if (keys[i].by_default) {
			line = xasprintf("# %s%s: %s", indent, config_key_name(&keys[i]),
			        keys[i].by_default);
			buf_printf(out, "%-34s # %.*s\n", line, (int)first_clause(keys[i].help),
			        keys[i].help);
		}
	}
}

char *proposal_yaml(const struct proposal *p, const char *trunk)
{
	AUTOBUF out = {0};

	buf_puts(&out,
	        "# What abide knows of this project. Every key may be left out; `abide config` "
	        "shows "
	        "what holds\n"
	        "# and `abide config --check` what is wrong. Commands here are code of this "
	        "repository.\n\n");
	if (trunk) {
		buf_puts(&out, "# The branch that work lands on.\ntrunk: ");
		put_scalar(&out, trunk);
		buf_puts(&out, "\n");
	}
	if (p->copy.n) {
		buf_puts(&out, "\n# Ignored by git; each new worktree gets its own copy.\n");
		put_list(&out, "copy", &p->copy);
	}
	if (p->setup.n) {
		buf_puts(&out, "\n# Run in each new worktree.\n");
		put_list(&out, "setup", &p->setup);
	}
	put_gate(&out, p);
	buf_puts(&out, "\n# Everything else, with its default:\n");
	put_rest_of(&out, "", "");
	return buf_take(&out);
}
