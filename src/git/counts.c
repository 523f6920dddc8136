/*
 * Ahead and behind of many branches from one walk.
 *
 * git lists commits with their parents, newest first; here each commit gets one
 * bit for the trunk and one for each tip that reaches it. The walk may stop as
 * soon as no commit that is named as a parent, but was not listed yet, is
 * reached by only one side of a pair: everything behind it is common to both.
 */
#include "git/git.h"

#include <stdio.h>
#include <string.h>

/* Tips of one walk; the trunk's bit comes before theirs. */
enum { TIPS = 255, WORDS = (TIPS + 1 + 63) / 64 };

/* How many commits are asked for at first, and when that did not do. */
static const int64_t batches[] = {500, 20000, 300000};

struct node {
	struct oid oid;
	uint64_t bits[WORDS];
	uint32_t *parents;
	uint32_t n_parents;
	bool listed;
};

struct walk {
	struct node *v;
	size_t n, cap;
	uint32_t *table; /* open addressing; index + 1, 0 free */
	size_t slots;    /* a power of two */
};

static void walk_release(struct walk *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i].parents);
	free(w->v);
	free(w->table);
	*w = (struct walk){0};
}

/* Object ids are random enough by themselves. */
static size_t slot_of(const struct walk *w, const char *hex)
{
	uint64_t h = 0;

	for (int i = 0; i < 16; i++)
		h = h << 4 | (uint64_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
	return h & (w->slots - 1);
}

static void grow_table(struct walk *w)
{
	w->slots = w->slots ? 2 * w->slots : 4096;
	free(w->table);
	w->table = xcalloc(w->slots, sizeof(*w->table));
	for (size_t i = 0; i < w->n; i++) {
		size_t s = slot_of(w, w->v[i].oid.hex);
		while (w->table[s])
			s = (s + 1) & (w->slots - 1);
		w->table[s] = (uint32_t)i + 1;
	}
}

/* The node of OID, made when it is new. */
static uint32_t node_of(struct walk *w, const struct oid *oid)
{
	size_t s;

	if (w->n * 2 >= w->slots)
		grow_table(w);
	for (s = slot_of(w, oid->hex); w->table[s]; s = (s + 1) & (w->slots - 1))
		if (oid_equal(&w->v[w->table[s] - 1].oid, oid))
			return w->table[s] - 1;
	if (w->n == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 1024;
		w->v = xreallocarray(w->v, w->cap, sizeof(*w->v));
	}
	w->v[w->n] = (struct node){.oid = *oid};
	w->table[s] = (uint32_t)++w->n;
	return (uint32_t)w->n - 1;
}

/* Gives FROM's bits to N and, where N was listed before (its clock was ahead), to all below it. */
static void paint(struct walk *w, uint32_t n, const uint64_t *from)
{
	AUTOFREE uint32_t *todo = NULL;
	size_t left = 0, cap = 0;
	uint32_t at = n;

	for (;;) {
		struct node *node = &w->v[at];
		bool news = false;

		for (int i = 0; i < WORDS; i++) {
			news |= (from[i] & ~node->bits[i]) != 0;
			node->bits[i] |= from[i];
		}
		for (uint32_t i = 0; news && i < node->n_parents; i++) {
			if (left == cap) {
				cap = cap ? 2 * cap : 64;
				todo = xreallocarray(todo, cap, sizeof(*todo));
			}
			todo[left++] = node->parents[i];
		}
		if (!left)
			return;
		at = todo[--left];
	}
}

/* One line: "<commit> <parent>…". */
static void take_line(struct walk *w, char *line)
{
	uint32_t parents[64], n = 0, at;
	struct oid oid;
	char *save = NULL, *word = strtok_r(line, " ", &save);
	uint64_t bits[WORDS];

	if (!word || !oid_parse(&oid, word))
		return;
	at = node_of(w, &oid);
	while ((word = strtok_r(NULL, " ", &save)) && n < NELEMS(parents))
		if (oid_parse(&oid, word))
			parents[n++] = node_of(w, &oid);
	w->v[at].listed = true;
	w->v[at].n_parents = n;
	w->v[at].parents = xcalloc(n + 1, sizeof(*parents));
	memcpy(w->v[at].parents, parents, n * sizeof(*parents));
	memcpy(bits, w->v[at].bits, sizeof(bits));
	for (uint32_t i = 0; i < n; i++)
		paint(w, parents[i], bits);
}

static bool bit(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

/* Fills what is certain of V; true when that is all of it. */
static bool count(const struct walk *w, struct git_count *v, size_t n, bool whole)
{
	uint64_t open[WORDS] = {0};
	bool all = true;

	for (size_t i = 0; i < n; i++)
		v[i].ahead = v[i].behind = 0;
	for (size_t k = 0; k < w->n; k++) {
		const uint64_t *bits = w->v[k].bits;
		bool in_trunk = bit(bits, 0);

		for (int i = 0; i < WORDS; i++)
			open[i] |= w->v[k].listed ? 0 : in_trunk ? ~bits[i] : bits[i];
		for (size_t i = 0; w->v[k].listed && i < n; i++) {
			bool in_tip = bit(bits, i + 1);
			v[i].ahead += in_tip && !in_trunk;
			v[i].behind += in_trunk && !in_tip;
		}
	}
	for (size_t i = 0; i < n; i++) {
		v[i].known = oid_is_set(&v[i].tip) && (whole || !bit(open, i + 1));
		all &= v[i].known || !oid_is_set(&v[i].tip);
	}
	return all;
}

static int list_commits(const struct git *g, const struct oid *trunk, const struct git_count *v,
        size_t n, int64_t limit, struct proc *p, struct err *err)
{
	AUTOFREE char *max = xasprintf("--max-count=%lld", (long long)limit);
	AUTOBUF in = {0};
	int rc;

	buf_printf(&in, "%s\n", trunk->hex);
	for (size_t i = 0; i < n; i++)
		if (oid_is_set(&v[i].tip))
			buf_printf(&in, "%s\n", v[i].tip.hex);
	p->in = in.data;
	p->in_len = in.len;
	rc = git_run(git_at_common(g), p,
	        GIT_WORDS("rev-list", "--parents", max, "--ignore-missing", "--stdin"), err);
	p->in = NULL;
	if (rc == 0 && p->status != 0)
		return git_complain(p, "Commits could not be listed", err);
	return rc;
}

/* Lists at most LIMIT commits. 1: that was enough for all, 0: not. */
static int try_walk(const struct git *g, const struct oid *trunk, struct git_count *v, size_t n,
        int64_t limit, struct err *err)
{
	CLEANUP(walk_release) struct walk w = {0};
	AUTOPROC p = {0};
	uint64_t bits[WORDS] = {0};
	char *save = NULL;
	int64_t lines = 0;

	if (list_commits(g, trunk, v, n, limit, &p, err) < 0)
		return -1;
	bits[0] = 1;
	paint(&w, node_of(&w, trunk), bits);
	for (size_t i = 0; i < n; i++) {
		if (!oid_is_set(&v[i].tip))
			continue;
		memset(bits, 0, sizeof(bits));
		bits[(i + 1) / 64] = UINT64_C(1) << ((i + 1) % 64);
		paint(&w, node_of(&w, &v[i].tip), bits);
	}
	for (char *line = p.out.len ? strtok_r(p.out.data, "\n", &save) : NULL; line;
	        line = strtok_r(NULL, "\n", &save), lines++)
		take_line(&w, line);
	return count(&w, v, n, lines < limit) ? 1 : 0;
}

int git_counts(const struct git *g, const struct oid *trunk, struct git_count *v, size_t n,
        struct err *err)
{
	for (; n; v += n < TIPS ? n : TIPS, n -= n < TIPS ? n : TIPS) {
		int rc = 0;
		for (size_t i = 0; i < NELEMS(batches) && rc == 0; i++)
			rc = try_walk(g, trunk, v, n < TIPS ? n : TIPS, batches[i], err);
		if (rc < 0)
			return -1;
	}
	return 0;
}
