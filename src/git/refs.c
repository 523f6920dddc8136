#include "git/git.h"

#include <string.h>

void git_ref_list_release(struct git_ref_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].symref);
	}
	free(l->v);
	*l = (struct git_ref_list){0};
}

/* for-each-ref over PATTERNS (options may stand before them); prefixes match whole levels. */
static int for_each_ref(
        const struct git *g, const char *const *patterns, struct git_ref_list *ret, struct err *err)
{
	AUTOPROC p = {0};
	AUTOSTRV words = {0};
	AUTOSTRV fields = {0};
	size_t n = 0;

	strv_push(&words, "for-each-ref");
	strv_push(&words,
	        "--format=%(refname)%00%(objectname)%00%(symref)%00%(committerdate:unix)%00");
	for (; *patterns; patterns++)
		strv_push(&words, *patterns);
	if (git_run(git_at_common(g), &p, (const char *const *)words.v, err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The refs could not be read", err);
	strv_split_nul(&fields, buf_str(&p.out), p.out.len);
	/* Four fields a ref; the newline that ends a line starts the next name. */
	ret->v = xcalloc(fields.n / 4 + 1, sizeof(*ret->v));
	for (size_t i = 0; i + 3 < fields.n; i += 4) {
		struct git_ref *r = &ret->v[n];
		const char *name = fields.v[i] + (fields.v[i][0] == '\n');

		if (!oid_parse(&r->oid, fields.v[i + 1]))
			continue;
		r->name = xstrdup(name);
		r->symref = *fields.v[i + 2] ? xstrdup(fields.v[i + 2]) : NULL;
		r->committed_ms = strtoll(fields.v[i + 3], NULL, 10) * 1000;
		ret->n = ++n;
	}
	return 0;
}

int git_refs_under(
        const struct git *g, const char *const *prefixes, struct git_ref_list *ret, struct err *err)
{
	return for_each_ref(g, prefixes, ret, err);
}

int git_branches_beyond(
        const struct git *g, const struct oid *trunk, struct git_ref_list *ret, struct err *err)
{
	AUTOFREE char *not_in = xasprintf("--no-merged=%s", trunk->hex);

	return for_each_ref(g, GIT_WORDS(not_in, "--sort=-committerdate", "refs/heads/"), ret, err);
}

int git_refs(const struct git *g, const char *const *names, struct oid *ret, struct err *err)
{
	AUTOREFS refs = {0};

	for (size_t i = 0; names[i]; i++)
		ret[i] = (struct oid){0};
	if (!names[0])
		return 0;
	if (for_each_ref(g, names, &refs, err) < 0)
		return -1;
	/* A missing refs/heads/a lists refs/heads/a/...: only equal names count. */
	for (size_t i = 0; names[i]; i++)
		for (size_t k = 0; k < refs.n; k++)
			if (strcmp(refs.v[k].name, names[i]) == 0)
				ret[i] = refs.v[k].oid;
	return 0;
}

/* The rules of git-check-ref-format, for a branch's name. */
bool git_branch_name_ok(const char *name)
{
	const char *level = name;

	if (!*name || *name == '-' || strlen(name) > 240 || strcmp(name, "@") == 0 ||
	        strcmp(name, "HEAD") == 0 || text_ends(name, ".") || text_ends(name, "/"))
		return false;
	for (const char *p = name; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (c < 0x20 || c == 0x7f || strchr(" ~^:?*[\\", c))
			return false;
		if ((p[0] == '.' && p[1] == '.') || (p[0] == '@' && p[1] == '{'))
			return false;
	}
	for (;;) {
		size_t n = strcspn(level, "/");
		if (n == 0 || *level == '.' || (n >= 5 && strncmp(level + n - 5, ".lock", 5) == 0))
			return false;
		if (!level[n])
			return true;
		level += n + 1;
	}
}

char *git_branch_ref(const char *name)
{
	return text_starts(name, "refs/heads/") ? xstrdup(name) : xasprintf("refs/heads/%s", name);
}

const char *git_branch_short(const char *ref)
{
	return text_starts(ref, "refs/heads/") ? ref + strlen("refs/heads/") : ref;
}

/* The value that stands for "no object" in this repository. */
static const char *or_zeros(const struct git *g, const struct oid *o, char *room)
{
	if (oid_is_set(o))
		return o->hex;
	memset(room, '0', g->hex);
	room[g->hex] = '\0';
	return room;
}

/* Whether REF now is WANT ("" = missing). */
static int ref_is(
        const struct git *g, const char *ref, const struct oid *want, bool *ret, struct err *err)
{
	struct oid now;

	if (git_refs(g, (const char *const[]){ref, NULL}, &now, err) < 0)
		return -1;
	*ret = oid_equal(&now, want);
	return 0;
}

static int changed_meanwhile(const char *ref, struct err *err)
{
	err_set(err, ERR_BUSY, "%s was changed by somebody else meanwhile; nothing was done to it.",
	        git_branch_short(ref));
	err_hint(err, "Run the same command again.");
	return -1;
}

int git_update_ref(const struct git *g, const char *ref, const struct oid *new_value,
        const struct oid *old, const char *message, struct err *err)
{
	AUTOPROC p = {0};
	char zeros[OID_MAX + 1];
	bool as_expected;

	if (git_run(git_at_common(g), &p,
	            GIT_WORDS("update-ref", "-m", message, ref, new_value->hex,
	                    or_zeros(g, old, zeros)),
	            err) < 0)
		return -1;
	if (p.status == 0)
		return 0;
	/* Ours after all (a hook may fail after the ref moved), another's, or git's refusal. */
	if (ref_is(g, ref, new_value, &as_expected, err) < 0)
		return -1;
	if (as_expected)
		return 0;
	if (ref_is(g, ref, old, &as_expected, err) < 0)
		return -1;
	return as_expected ? git_complain(&p, "The ref could not be updated", err)
	                   : changed_meanwhile(ref, err);
}

int git_delete_ref(const struct git *g, const char *ref, const struct oid *old, struct err *err)
{
	AUTOPROC p = {0};
	bool gone, as_expected;

	if (git_run(git_at_common(g), &p, GIT_WORDS("update-ref", "-d", ref, old->hex), err) < 0)
		return -1;
	if (p.status == 0)
		return 0;
	if (ref_is(g, ref, &(struct oid){0}, &gone, err) < 0)
		return -1;
	if (gone)
		return 0;
	if (ref_is(g, ref, old, &as_expected, err) < 0)
		return -1;
	return as_expected ? git_complain(&p, "The ref could not be deleted", err)
	                   : changed_meanwhile(ref, err);
}
