#include "project/receipt.h"

#include <string.h>

const char RECEIPT_NEWER[] = "newer format";

enum { NAME_CAP = 1024, STRATEGY_CAP = 64 };

void receipt_release(struct receipt *r)
{
	if (!r)
		return;
	free(r->branch);
	free(r->strategy);
	free(r->trunk);
	json_decref(r->raw);
	*r = (struct receipt){0};
}

void receipt_list_release(struct receipt_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		receipt_release(&l->v[i]);
	free(l->v);
	*l = (struct receipt_list){0};
}

/* Takes what R holds. */
static void push(struct receipt_list *l, struct receipt *r)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 4;
		l->v = xreallocarray(l->v, l->cap, sizeof(*l->v));
	}
	l->v[l->n++] = *r;
	*r = (struct receipt){0};
}

/* --- Typed keys ------------------------------------------------------------ */

/* One base64 digit, or -1. */
static int digit(char c)
{
	static const char digits[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Text without NUL bytes from base64, or NULL. */
static char *unbase64(const char *s)
{
	size_t len = strlen(s), n = 0;
	AUTOFREE char *out = xmalloc(len / 4 * 3 + 1);

	if (len % 4)
		return NULL;
	for (size_t i = 0; i < len; i += 4) {
		int pad = i + 4 == len ? (s[i + 3] == '=') + (s[i + 2] == '=') : 0;
		uint32_t word = 0;

		for (int k = 0; k < 4; k++) {
			int d = k >= 4 - pad ? 0 : digit(s[i + (size_t)k]);
			if (d < 0)
				return NULL;
			word = word << 6 | (uint32_t)d;
		}
		for (int k = 0; k < 3 - pad; k++)
			out[n++] = (char)(word >> (16 - 8 * k));
	}
	out[n] = '\0';
	return memchr(out, '\0', n) ? NULL : STEAL(out);
}

/*
 * Whether NAME can be the short name of a branch: git_branch_name_ok() is for
 * names to be made, and stricter than what repositories hold.
 */
static bool name_ok(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > NAME_CAP || *name == '/' || name[len - 1] == '/' || strstr(name, "..") ||
	        strstr(name, "//") || strstr(name, "@{"))
		return false;
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p <= 0x20 || *p == 0x7f || strchr("~^:?*[\\", *p))
			return false;
	return true;
}

/* A branch's name: KEY, or the exact bytes in KEY_bytes. */
static bool take_name(const json_t *o, const char *key, char **ret)
{
	AUTOFREE char *sibling = xasprintf("%s_bytes", key);
	const char *text = json_text(o, key), *bytes = json_text(o, sibling);
	AUTOFREE char *name = NULL;

	/* Longer than base64 of the longest name is no name. */
	if (!text || (bytes && strlen(bytes) > (size_t)2 * NAME_CAP))
		return false;
	name = bytes ? unbase64(bytes) : xstrdup(text);
	if (!name || !name_ok(name))
		return false;
	*ret = STEAL(name);
	return true;
}

static bool take_oid(const json_t *o, const char *key, struct oid *ret)
{
	const char *hex = json_text(o, key);

	return hex && oid_parse(ret, hex);
}

static bool proof_ok(const json_t *proof)
{
	const json_t *jobs = json_object_get(proof, "jobs"), *job;
	size_t i;

	if (!json_text(proof, "gate_digest") || !json_is_array(jobs) ||
	        !json_is_integer(json_object_get(proof, "finished_at")))
		return false;
	json_array_foreach (jobs, i, job) {
		if (!json_text(job, "name") || !json_is_integer(json_object_get(job, "exit")) ||
		        !json_is_integer(json_object_get(job, "ms")))
			return false;
	}
	return true;
}

static bool accepted_ok(const json_t *accepted)
{
	return json_text(accepted, "by") && json_text(accepted, "surface");
}

/* --- One object ------------------------------------------------------------ */

/* NULL when R was filled (it keeps O), else the key that is wrong. */
static const char *take_keys(json_t *o, struct receipt *r)
{
	const json_t *landed = json_object_get(o, "landed_at");
	const char *strategy = json_text(o, "strategy");

	if (!take_name(o, "branch", &r->branch))
		return "branch";
	if (!take_name(o, "trunk", &r->trunk))
		return "trunk";
	if (!take_oid(o, "head", &r->head))
		return "head";
	if (!take_oid(o, "tree", &r->tree))
		return "tree";
	if (!take_oid(o, "base", &r->base))
		return "base";
	if (!take_oid(o, "tip", &r->tip))
		return "tip";
	if (!strategy || strlen(strategy) > STRATEGY_CAP)
		return "strategy";
	if (!json_is_boolean(json_object_get(o, "gate_changed")))
		return "gate_changed";
	if (!json_is_integer(landed) || json_integer_value(landed) < 0)
		return "landed_at";
	if (!proof_ok(json_object_get(o, "proof")))
		return "proof";
	if (!accepted_ok(json_object_get(o, "accepted")))
		return "accepted";
	if (!json_text(o, "writer"))
		return "writer";
	r->strategy = xstrdup(strategy);
	r->gate_changed = json_flag(o, "gate_changed");
	r->landed_at = json_integer_value(landed);
	r->raw = json_incref(o);
	return NULL;
}

/* 0 pushed, 1 *RET_WHY says why not; TEXT is one JSON value. */
static int take_object(const char *text, size_t len, struct receipt_list *ret, char **ret_why)
{
	AUTOJSON json_t *o = json_read(text, len, NULL);
	const json_t *major = json_object_get(o, "abide_receipt");
	AUTORECEIPT r = {0};
	const char *wrong;

	if (!json_is_object(o)) {
		*ret_why = xstrdup("no JSON object");
		return 1;
	}
	if (!json_is_integer(major) || json_integer_value(major) < 1) {
		*ret_why = xstrdup("no receipt");
		return 1;
	}
	if (json_integer_value(major) > RECEIPT_MAJOR) {
		*ret_why = xstrdup(RECEIPT_NEWER);
		return 1;
	}
	wrong = take_keys(o, &r);
	if (wrong) {
		*ret_why = xasprintf("`%s` is missing or wrong", wrong);
		return 1;
	}
	push(ret, &r);
	return 0;
}

/* --- A note ------------------------------------------------------------------ */

/* How much a reason tells: the most telling one of a note's lines is kept. */
static int weight(const char *why)
{
	if (strcmp(why, RECEIPT_NEWER) == 0)
		return 3;
	if (*why == '`')
		return 2;
	return strcmp(why, "no receipt") == 0 ? 1 : 0;
}

static bool is_object(const char *text, size_t len)
{
	AUTOJSON json_t *o = json_read(text, len, NULL);

	return json_is_object(o);
}

int receipt_parse_all(const char *note, size_t len, struct receipt_list *ret, char **ret_why)
{
	AUTOFREE char *why = NULL;
	size_t before = ret->n;

	if (len > RECEIPT_CAP) {
		*ret_why = xasprintf("larger than %d bytes", RECEIPT_CAP);
		return 1;
	}
	if (is_object(note, len))
		return take_object(note, len, ret, ret_why);
	for (size_t at = 0; at < len;) {
		const char *line = note + at;
		const char *end = memchr(line, '\n', len - at);
		size_t n = end ? (size_t)(end - line) : len - at;
		AUTOFREE char *bad = NULL;

		at += n + 1;
		if (n && take_object(line, n, ret, &bad) == 1 &&
		        (!why || weight(bad) > weight(why)))
			mem_set(&why, STEAL(bad));
	}
	if (ret->n > before)
		return 0;
	*ret_why = why ? STEAL(why) : xstrdup("empty");
	return 1;
}

int receipt_parse(const char *note, size_t len, struct receipt *ret, char **ret_why)
{
	AUTORECEIPTS all = {0};

	if (receipt_parse_all(note, len, &all, ret_why) == 1)
		return 1;
	*ret = all.v[0];
	all.v[0] = (struct receipt){0};
	return 0;
}

const char *receipt_check(const struct receipt *r, const struct oid *carrier,
        const struct oid *tree, const char *trunk)
{
	if (!oid_equal(&r->head, carrier))
		return "it names another commit than the one that carries it";
	if (!oid_equal(&r->tree, tree))
		return "its tree is not the commit's tree";
	if (strcmp(r->trunk, trunk) != 0)
		return "it is for another trunk";
	return NULL;
}
