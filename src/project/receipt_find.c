/*
 * Finding receipts: along a range of history, or by way of the notes tree.
 */
#include "project/receipt_own.h"

#include <string.h>

/* Notes that people attach are small; past this, the careful way is taken. */
static const size_t OUT_CAP = 16u << 20;

struct candidate {
	struct receipt r;
	size_t order; /* as it was found: newest history first */
};

/* What is looked for, and what was found so far. */
struct search {
	const struct git *g;
	const char *trunk, *branch;
	const struct oid *from, *to;
	struct candidate *v;
	size_t n, cap, newer;
};

static void search_release(struct search *s)
{
	for (size_t i = 0; i < s->n; i++)
		receipt_release(&s->v[i].r);
	free(s->v);
	s->v = NULL;
	s->n = s->cap = s->newer = 0;
}

/* Whether a note can name the branch at all: most can be told without parsing. */
static bool may_name(const struct search *s, const char *note, size_t len)
{
	if (!s->branch || !text_is_utf8(s->branch, strlen(s->branch)))
		return true;
	return memmem(note, len, s->branch, strlen(s->branch)) || memchr(note, '\\', len);
}

/* Keeps the receipts of a note that may answer; TREE "" is judged later. */
static void take_note(struct search *s, const struct oid *carrier, const struct oid *tree,
        const char *note, size_t len)
{
	AUTORECEIPTS all = {0};
	AUTOFREE char *why = NULL;

	if (!may_name(s, note, len))
		return;
	if (receipt_parse_all(note, len, &all, &why) == 1)
		s->newer += strcmp(why, RECEIPT_NEWER) == 0;
	for (size_t i = 0; i < all.n; i++) {
		struct receipt *r = &all.v[i];
		const struct oid *its = oid_is_set(tree) ? tree : &r->tree;

		if ((s->branch && strcmp(r->branch, s->branch) != 0) ||
		        receipt_check(r, carrier, its, s->trunk))
			continue;
		if (s->n == s->cap) {
			s->cap = s->cap ? 2 * s->cap : 16;
			s->v = xreallocarray(s->v, s->cap, sizeof(*s->v));
		}
		s->v[s->n] = (struct candidate){.r = *r, .order = s->n};
		s->n++;
		*r = (struct receipt){0};
	}
}

static int newest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->r.landed_at != y->r.landed_at)
		return x->r.landed_at < y->r.landed_at ? 1 : -1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_candidates(struct search *s)
{
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), newest_first);
}

static void tell_newer(const struct search *s, struct strv *warnings)
{
	if (s->newer && warnings)
		strv_printf(warnings,
		        "%zu note(s) on %s were written by a newer abide; what they prove is "
		        "not known to this one.",
		        s->newer, RECEIPT_REF);
}

static int found(struct candidate *c, struct receipt *ret)
{
	*ret = c->r;
	c->r = (struct receipt){0};
	return 0;
}

/* --- A range of history ---------------------------------------------------- */

int receipt_node_order(const void *a, const void *b)
{
	return strcmp(((const struct receipt_node *)a)->hex, ((const struct receipt_node *)b)->hex);
}

struct receipt_node *receipt_node_of(struct receipt_node *v, size_t n, const char *hex)
{
	const struct receipt_node key = {.hex = hex};

	return n ? bsearch(&key, v, n, sizeof(*v), receipt_node_order) : NULL;
}

int receipt_reaches(
        struct receipt_node *v, size_t n, const struct oid *base, const struct oid *head)
{
	AUTOFREE struct receipt_node **todo = xcalloc(n + 1, sizeof(struct receipt_node *));
	struct receipt_node *at = receipt_node_of(v, n, head->hex);
	size_t n_todo = 0;

	if (oid_equal(base, head))
		return 1;
	for (size_t i = 0; i < n; i++)
		v[i].seen = false;
	if (at) {
		at->seen = true;
		todo[n_todo++] = at;
	}
	while (n_todo) {
		const char *p = todo[--n_todo]->parents;
		while (*p) {
			struct oid parent = {0};
			size_t len = strcspn(p, " ");

			if (len <= OID_MAX)
				memcpy(parent.hex, p, len);
			p += len + (p[len] == ' ');
			if (oid_equal(&parent, base))
				return 1;
			at = receipt_node_of(v, n, parent.hex);
			if (at && !at->seen) {
				at->seen = true;
				todo[n_todo++] = at;
			}
		}
	}
	return receipt_node_of(v, n, base->hex) ? 0 : -1;
}

/* -1 of git_is_ancestor by git's own refusal (a missing object) is a no. */
static int base_holds(const struct git *g, const struct receipt *r, bool *ret, struct err *err)
{
	AUTOERR e = {0};

	if (git_is_ancestor(g, &r->base, &r->head, ret, &e) == 0)
		return 0;
	if (e.code != ERR_GIT_FAILED)
		return err_move(err, &e);
	*ret = false;
	return 0;
}

/* The next NUL-terminated field of OUT from *AT on, or NULL. */
static const char *next_field(const struct buf *out, size_t *at, size_t *ret_len)
{
	const char *field = buf_str(out) + *at, *end;

	if (*at >= out->len)
		return NULL;
	end = memchr(field, '\0', out->len - *at);
	*ret_len = end ? (size_t)(end - field) : out->len - *at;
	*at += *ret_len + 1;
	return field;
}

/* Reads "commit, parents, tree, note" records. Git turns a NUL inside a note
   into a line end, so a note cannot add a record. */
static struct receipt_node *read_range(struct search *s, const struct buf *out, size_t *ret_n)
{
	struct receipt_node *v = NULL;
	size_t n = 0, cap = 0, at = 0, len;
	const char *hex, *parents, *tree, *note;

	while ((hex = next_field(out, &at, &len)) && (parents = next_field(out, &at, &len)) &&
	        (tree = next_field(out, &at, &len)) && (note = next_field(out, &at, &len))) {
		struct oid carrier, tree_oid;

		if (n == cap) {
			cap = cap ? 2 * cap : 64;
			v = xreallocarray(v, cap, sizeof(*v));
		}
		v[n++] = (struct receipt_node){.hex = hex, .parents = parents};
		if (len && oid_parse(&carrier, hex) && oid_parse(&tree_oid, tree))
			take_note(s, &carrier, &tree_oid, note, len);
	}
	if (n)
		qsort(v, n, sizeof(*v), receipt_node_order);
	*ret_n = n;
	return v;
}

static int search_tree(
        struct search *s, struct receipt *ret, struct strv *warnings, struct err *err);

int receipt_find(const struct git *g, const char *trunk, const struct oid *from,
        const struct oid *to, const char *branch, struct receipt *ret, struct strv *warnings,
        struct err *err)
{
	CLEANUP(search_release)
	struct search s = {.g = g, .trunk = trunk, .branch = branch, .from = from, .to = to};
	AUTOFREE char *range =
	        oid_is_set(from) ? xasprintf("%s..%s", from->hex, to->hex) : xstrdup(to->hex);
	AUTOPROC p = {.out_cap = OUT_CAP};
	AUTOFREE struct receipt_node *nodes = NULL;
	AUTOERR e = {0};
	size_t n;

	/* Neither notes.displayRef, core.notesRef nor the user's log settings count here. */
	if (git_run(git_at_common(g), &p,
	            GIT_WORDS("log", "--no-notes", "--notes=" RECEIPT_REF, "--no-show-signature",
	                    "--no-color", "--encoding=UTF-8", "-z", "--format=%H%x00%P%x00%T%x00%N",
	                    range, "--"),
	            &e) < 0 &&
	        e.code != ERR_READ_FAILED)
		return err_move(err, &e);
	/* A blob that a partial clone lacks, or notes of absurd size: the careful way. */
	if (e.code != ERR_NONE || p.status != 0)
		return search_tree(&s, ret, warnings, err);
	nodes = read_range(&s, &p.out, &n);
	sort_candidates(&s);
	tell_newer(&s, warnings);
	for (size_t i = 0; i < s.n; i++) {
		struct receipt *r = &s.v[i].r;
		int inside = receipt_reaches(nodes, n, &r->base, &r->head);
		bool holds = inside == 1;

		if (inside < 0 && base_holds(g, r, &holds, err) < 0)
			return -1;
		if (holds)
			return found(&s.v[i], ret);
	}
	return 1;
}

/* --- The notes tree -------------------------------------------------------- */

/* The commit that a path of the notes tree stands for, whatever its fan-out. */
static bool carrier_of(const struct git *g, const char *path, size_t len, struct oid *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (path[i] == '/')
			continue;
		if (n == g->hex)
			return false;
		ret->hex[n++] = path[i];
	}
	ret->hex[n] = '\0';
	return n == g->hex && text_is_hex(ret->hex, n);
}

/*
 * "refs/notes/abide:PATH NUL line LF"...: all notes by one process. Lines of
 * one path follow one another. 1: not to be had this way.
 */
static int by_grep(struct search *s, struct err *err)
{
	AUTOPROC p = {.out_cap = OUT_CAP};
	AUTOERR e = {0};
	AUTOBUF note = {0};
	struct oid carrier = {0};
	static const char prefix[] = RECEIPT_REF ":";
	size_t at = 0;

	if (git_run(git_at_common(s->g), &p,
	            GIT_WORDS("-c", "grep.threads=1", "grep", "-z", "--text", "--no-color",
	                    "--no-line-number", "--no-column", "--full-name",
	                    "--no-recurse-submodules", "-e", "", RECEIPT_REF, "--"),
	            &e) < 0)
		return e.code == ERR_READ_FAILED ? 1 : err_move(err, &e);
	if (p.status == 1 && !p.out.len)
		return 0;
	if (p.status != 0)
		return 1;
	while (at < p.out.len) {
		const char *line = p.out.data + at;
		const char *end = memchr(line, '\n', p.out.len - at);
		size_t len = end ? (size_t)(end - line) : p.out.len - at;
		const char *nul = memchr(line, '\0', len);
		struct oid here = {0};

		at += len + 1;
		if (!nul || !text_starts(line, prefix) ||
		        !carrier_of(s->g, line + strlen(prefix),
		                (size_t)(nul - line) - strlen(prefix), &here))
			continue;
		if (!oid_equal(&here, &carrier)) {
			take_note(s, &carrier, &(struct oid){0}, buf_str(&note), note.len);
			buf_reset(&note);
			carrier = here;
		}
		/* What is too large stays too large, but does not grow. */
		if (note.len <= RECEIPT_CAP) {
			buf_add(&note, nul + 1, len - (size_t)(nul + 1 - line));
			buf_putc(&note, '\n');
		}
	}
	take_note(s, &carrier, &(struct oid){0}, buf_str(&note), note.len);
	return 0;
}

/* The small blobs of the notes tree, "PATH" and "id LF" side by side. */
static int list_blobs(
        const struct git *g, const char *ref, struct strv *paths, struct buf *ids, struct err *err)
{
	AUTOPROC p = {0};
	AUTOSTRV entries = {0};

	if (git_run(git_at_common(g), &p, GIT_WORDS("ls-tree", "-r", "-l", "-z", ref), err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The notes that hold receipts could not be listed", err);
	strv_split_nul(&entries, buf_str(&p.out), p.out.len);
	for (size_t i = 0; i < entries.n; i++) {
		/* "100644 blob ID SIZE\tPATH" */
		const char *tab = strchr(entries.v[i], '\t');
		const char *type = strstr(entries.v[i], " blob ");
		struct oid id = {0};
		int64_t size;

		if (!tab || !type || type > tab)
			continue;
		memcpy(id.hex, type + 6,
		        strspn(type + 6, "0123456789abcdef") == g->hex ? g->hex : 0);
		size = strtoll(type + 6 + strlen(id.hex), NULL, 10);
		if (!oid_is_set(&id) || size <= 0 || size > RECEIPT_CAP)
			continue;
		strv_push(paths, tab + 1);
		buf_printf(ids, "%s\n", id.hex);
	}
	return 0;
}

int receipt_notes(
        const struct git *g, const char *ref, receipt_note_fn take, void *ctx, struct err *err)
{
	AUTOSTRV paths = {0};
	AUTOBUF ids = {0};
	AUTOPROC p = {0};
	size_t at = 0;

	if (list_blobs(g, ref, &paths, &ids, err) < 0)
		return -1;
	p.in = buf_str(&ids);
	p.in_len = ids.len;
	p.out_cap = paths.n * (RECEIPT_CAP + 200) + 1;
	if (git_run(git_at_common(g), &p, GIT_WORDS("cat-file", "--batch", "--buffer"), err) < 0)
		return -1;
	for (size_t i = 0; i < paths.n && at < p.out.len; i++) {
		const char *line = p.out.data + at;
		const char *end = memchr(line, '\n', p.out.len - at);
		const char *blob = end ? strstr(line, " blob ") : NULL;
		struct oid carrier;
		size_t size;

		if (!end)
			break;
		at += (size_t)(end - line) + 1;
		/* "ID missing": a blob that a partial clone lacks. */
		if (!blob || blob > end)
			continue;
		size = strtoull(blob + 6, NULL, 10);
		if (size > p.out.len - at)
			break;
		if (carrier_of(g, paths.v[i], strlen(paths.v[i]), &carrier))
			take(ctx, &carrier, p.out.data + at, size);
		at += size + 1;
	}
	return 0;
}

static void take_blob(void *ctx, const struct oid *carrier, const char *note, size_t len)
{
	take_note(ctx, carrier, &(struct oid){0}, note, len);
}

/*
 * The three questions on a candidate, side by side: is its commit in the
 * history of TO (and not of FROM), and is BASE an ancestor of it with that tree.
 */
static int judge(const struct search *s, const struct receipt *r, bool *ret, struct err *err)
{
	AUTOFREE char *span = oid_equal(&r->base, &r->head)
	        ? xstrdup(r->head.hex)
	        : xasprintf("%s..%s", r->base.hex, r->head.hex);
	AUTOFREE char *want = xasprintf("%s %s\n", r->head.hex, r->tree.hex);
	struct git_at at = git_at_common(s->g);
	struct git_job jobs[] = {
	        {at, GIT_WORDS("merge-base", "--is-ancestor", r->head.hex, s->to->hex), {0}},
	        {at,
	                GIT_WORDS("log", "-1", "--no-show-signature", "--no-color", "--no-notes",
	                        "--format=%H %T", "--ancestry-path", span, "--"),
	                {0}},
	        {at, GIT_WORDS("merge-base", "--is-ancestor", r->head.hex, s->from->hex), {0}},
	};
	bool after = oid_is_set(s->from);
	int rc = git_run_all(jobs, after ? 3 : 2, err);

	if (rc == 0)
		*ret = jobs[0].p.status == 0 && strcmp(buf_str(&jobs[1].p.out), want) == 0 &&
		        (!after || jobs[2].p.status == 1);
	for (size_t i = 0; i < NELEMS(jobs); i++)
		proc_release(&jobs[i].p);
	return rc;
}

static int read_notes(struct search *s, struct err *err)
{
	AUTOERR e = {0};
	struct oid notes;
	int rc = by_grep(s, err);

	if (rc <= 0)
		return rc;
	search_release(s);
	if (receipt_notes(s->g, RECEIPT_REF, take_blob, s, &e) == 0)
		return 0;
	/* Without the ref there are no notes; that is no failure. */
	if (git_refs(s->g, (const char *const[]){RECEIPT_REF, NULL}, &notes, err) < 0)
		return -1;
	return oid_is_set(&notes) ? err_move(err, &e) : 0;
}

static int search_tree(
        struct search *s, struct receipt *ret, struct strv *warnings, struct err *err)
{
	if (read_notes(s, err) < 0)
		return -1;
	sort_candidates(s);
	tell_newer(s, warnings);
	for (size_t i = 0; i < s->n; i++) {
		bool holds = false;

		if (judge(s, &s->v[i].r, &holds, err) < 0)
			return -1;
		if (holds)
			return found(&s->v[i], ret);
	}
	return 1;
}

int receipt_newest(const struct git *g, const char *trunk, const struct oid *to, const char *branch,
        struct receipt *ret, struct strv *warnings, struct err *err)
{
	const struct oid none = {{0}};
	CLEANUP(search_release)
	struct search s = {.g = g, .trunk = trunk, .branch = branch, .from = &none, .to = to};

	return search_tree(&s, ret, warnings, err);
}
