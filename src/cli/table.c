#include "cli/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Columns that one cell may take, and what stands between two. */
enum { CELL_MAX = 44, GAP = 2 };

void table_release(struct table *t)
{
	for (size_t i = 0; t && i < t->n; i++)
		free(t->v[i].text);
	if (t)
		free(t->v);
}

/* TEXT with its middle left out, so that it takes at most CELL_MAX columns. */
static char *fitted(const char *text)
{
	size_t head = 0, tail = strlen(text);
	AUTOFREE char *start = NULL;

	if (text_width(text) <= CELL_MAX)
		return xstrdup(text);
	/* From both ends, whole characters, until there is no more room. */
	for (;;) {
		size_t next = head + 1;
		while ((text[next] & 0xc0) == 0x80)
			next++;
		AUTOFREE char *cut = xstrndup(text, next);
		if (text_width(cut) > CELL_MAX / 2)
			break;
		head = next;
	}
	for (;;) {
		size_t next = tail - 1;
		while ((text[next] & 0xc0) == 0x80)
			next--;
		if (text_width(text + next) > CELL_MAX / 2 - 1)
			break;
		tail = next;
	}
	start = xstrndup(text, head);
	return xasprintf("%s…%s", start, text + tail);
}

void table_put(struct table *t, enum style style, const char *text)
{
	AUTOFREE char *shown = text_visible(text);
	bool last = t->n % t->columns == t->columns - 1;

	t->v = xreallocarray(t->v, t->n + 1, sizeof(*t->v));
	t->v[t->n++] = (struct cell){.text = last ? STEAL(shown) : fitted(shown), .style = style};
}

void table_printf(struct table *t, enum style style, const char *fmt, ...)
{
	AUTOFREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	table_put(t, style, text);
}

void table_print(const struct call *c, const struct table *t, const char *indent, struct buf *out)
{
	AUTOFREE size_t *widths = xcalloc(t->columns, sizeof(*widths));

	for (size_t i = 0; i < t->n; i++) {
		size_t width = text_width(t->v[i].text);
		if (width > widths[i % t->columns])
			widths[i % t->columns] = width;
	}
	for (size_t i = 0; i < t->n; i++) {
		size_t column = i % t->columns;
		size_t pad = widths[column] - text_width(t->v[i].text) + GAP;

		if (column == 0)
			buf_puts(out, indent);
		out_text(c, out, t->v[i].style, t->v[i].text);
		if (column == t->columns - 1) {
			/* No spaces at the end of a line whose last cells are empty. */
			while (out->len && out->data[out->len - 1] == ' ')
				out->data[--out->len] = '\0';
			buf_putc(out, '\n');
		} else if (widths[column]) {
			buf_printf(out, "%*s", (int)pad, "");
		}
	}
}
