/*
 * All receipts with their verdicts.
 */
#include <string.h>

#include "project/receipt_own.h"

void receipt_rows_release(struct receipt_rows *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++) {
		receipt_release(&l->v[i].r);
		free(l->v[i].why);
	}
	free(l->v);
	*l = (struct receipt_rows){0};
}

/* Takes what R and WHY hold. */
static void push(struct receipt_rows *l, const struct oid *carrier, struct receipt *r, char *why)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 32;
		l->v = xreallocarray(l->v, l->cap, sizeof(*l->v));
	}
	l->v[l->n++] = (struct receipt_row){.carrier = *carrier, .r = *r, .why = why};
	*r = (struct receipt){0};
}

static void take(void *ctx, const struct oid *carrier, const char *note, size_t len)
{
	struct receipt_rows *l = ctx;
	AUTORECEIPTS all = {0};
	AUTORECEIPT none = {0};
	char *why = NULL;

	if (receipt_parse_all(note, len, &all, &why) == 1) {
		push(l, carrier, &none, why);
		return;
	}
	for (size_t i = 0; i < all.n; i++)
		push(l, carrier, &all.v[i], NULL);
}

/* "commit tree parents" of the whole history, sorted by commit. */
static int read_history(const struct git *g, const struct oid *to, struct strv *lines,
        struct receipt_node **ret, size_t *ret_n, struct err *err)
{
	AUTOPROC p = {.out_cap = (size_t)1 << 30};
	struct receipt_node *v;
	size_t n = 0;

	if (git_run(git_at_common(g), &p,
	            GIT_WORDS("log", "--no-notes", "--no-show-signature", "--no-color", "-z",
	                    "--format=%H %T %P", to->hex, "--"),
	            err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The trunk's history could not be read", err);
	strv_split_nul(lines, buf_str(&p.out), p.out.len);
	v = xcalloc(lines->n + 1, sizeof(*v));
	for (size_t i = 0; i < lines->n; i++) {
		char *tree = strchr(lines->v[i], ' ');
		char *parents = tree ? strchr(tree + 1, ' ') : NULL;

		if (!parents)
			continue;
		*tree++ = *parents++ = '\0';
		v[n++] =
		        (struct receipt_node){.hex = lines->v[i], .tree = tree, .parents = parents};
	}
	qsort(v, n, sizeof(*v), receipt_node_order);
	*ret = v;
	*ret_n = n;
	return 0;
}

/* Why R does not hold, or NULL. */
static const char *judge(
        const struct receipt_row *row, struct receipt_node *v, size_t n, const char *trunk)
{
	const struct receipt_node *node = receipt_node_of(v, n, row->carrier.hex);
	const char *why;
	struct oid tree;

	if (!node)
		return "its commit is not on the trunk";
	if (!oid_parse(&tree, node->tree))
		return "its commit cannot be read";
	why = receipt_check(&row->r, &row->carrier, &tree, trunk);
	if (!why && receipt_reaches(v, n, &row->r.base, &row->r.head) != 1)
		why = "its base is no ancestor of it";
	return why;
}

static int newest_first(const void *a, const void *b)
{
	const struct receipt_row *x = a, *y = b;

	if (x->r.landed_at != y->r.landed_at)
		return x->r.landed_at < y->r.landed_at ? 1 : -1;
	return strcmp(x->carrier.hex, y->carrier.hex);
}

int receipt_all(const struct git *g, const char *ref, const char *trunk, const struct oid *to,
        struct receipt_rows *ret, struct err *err)
{
	AUTOROWS rows = {0};
	AUTOSTRV lines = {0};
	AUTOFREE struct receipt_node *v = NULL;
	struct oid there;
	size_t n = 0;

	if (git_refs(g, (const char *const[]){ref, NULL}, &there, err) < 0)
		return -1;
	*ret = rows;
	if (!oid_is_set(&there))
		return 0;
	if (receipt_notes(g, there.hex, take, &rows, err) < 0 ||
	        read_history(g, to, &lines, &v, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < rows.n; i++)
		if (rows.v[i].r.raw)
			rows.v[i].why = xstrdup(judge(&rows.v[i], v, n, trunk));
	if (rows.n)
		qsort(rows.v, rows.n, sizeof(*rows.v), newest_first);
	*ret = rows;
	rows = (struct receipt_rows){0};
	return 0;
}
