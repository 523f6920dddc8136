/*
 * Receipts that were fetched from another clone, put together with one's own.
 */
#include <string.h>

#include "git/notes.h"
#include "land/own.h"

struct together {
	struct project *p;
	const struct receipt_rows *fetched;
	size_t added;
};

/* Whether the note says that very thing already. */
static bool has(const struct buf *note, const json_t *receipt)
{
	for (size_t at = 0; at < note->len;) {
		const char *line = note->data + at;
		const char *end = memchr(line, '\n', note->len - at);
		size_t n = end ? (size_t)(end - line) : note->len - at;
		AUTOJSON json_t *o = n ? json_read(line, n, NULL) : NULL;

		if (o && json_equal(o, receipt))
			return true;
		at += n + 1;
	}
	return false;
}

/* The note that the list holds for a commit already, or a new one as it stands now. */
static int note_of(const struct together *t, const struct oid *at, const struct oid *commit,
        struct git_note_list *l, struct buf *ret, struct git_note **ret_note, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!oid_equal(&l->v[i].commit, commit))
			continue;
		buf_puts(ret, l->v[i].text);
		*ret_note = &l->v[i];
		return 0;
	}
	*ret_note = NULL;
	return git_note_read(&t->p->git, at, commit, RECEIPT_CAP, ret, err);
}

static int compose(void *ctx, const struct oid *at, struct git_note_list *ret, struct err *err)
{
	struct together *t = ctx;

	t->added = 0;
	for (size_t i = 0; i < t->fetched->n; i++) {
		const struct receipt_row *row = &t->fetched->v[i];
		struct git_note *note;
		AUTOBUF text = {0};
		AUTOFREE char *line = NULL;

		if (row->why)
			continue;
		if (note_of(t, at, &row->carrier, ret, &text, &note, err) < 0)
			return -1;
		line = json_line(row->r.raw);
		if (has(&text, row->r.raw) || text.len + strlen(line) + 2 > RECEIPT_CAP)
			continue;
		buf_printf(&text, "%s%s\n",
		        text.len && !text_ends(buf_str(&text), "\n") ? "\n" : "", line);
		if (note)
			mem_set(&note->text, buf_take(&text));
		else
			git_note_list_push(ret, &row->carrier, buf_str(&text));
		t->added++;
	}
	return 0;
}

int land_receipts_union(struct project *p, const char *remote, const struct receipt_rows *fetched,
        size_t *ret_added, struct err *err)
{
	struct together t = {.p = p, .fetched = fetched};
	AUTOFREE char *lock = path_join(store_dir(p->store), "notes.lck");
	AUTOFREE char *message = xasprintf("abide: receipts of %s", remote);

	if (git_notes_change(&p->git, RECEIPT_REF, lock, message, compose, &t, err) < 0)
		return -1;
	*ret_added = t.added;
	return 0;
}
