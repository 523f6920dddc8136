/*
 * Whether receipts travel: a remote has to fetch the notes beside the local
 * ones, never onto them, where a forced update would erase local receipts.
 */
#include "cli/doctor.h"

struct remote {
	const char *name;
	bool fetches, pushes;
	const char *overwrites; /* the refspec that would erase local receipts */
};

/* Where SPEC puts REF, or NULL when it does not take it. To be freed. */
static char *mapped(const char *spec, const char *ref)
{
	const char *src = spec + (*spec == '+');
	const char *colon = strchr(src, ':');
	size_t len = colon ? (size_t)(colon - src) : strlen(src);
	const char *star = memchr(src, '*', len);
	const char *dst = colon ? colon + 1 : "";
	size_t before = star ? (size_t)(star - src) : len;
	size_t after = star ? len - before - 1 : 0;
	const char *dst_star = strchr(dst, '*');

	if (*spec == '^')
		return NULL;
	if (!star)
		return strlen(ref) == len && strncmp(src, ref, len) == 0 ? xstrdup(dst) : NULL;
	if (strlen(ref) < before + after || strncmp(src, ref, before) != 0 ||
	        strncmp(star + 1, ref + strlen(ref) - after, after) != 0 || !dst_star)
		return NULL;
	return xasprintf("%.*s%.*s%s", (int)(dst_star - dst), dst,
	        (int)(strlen(ref) - before - after), ref + before, dst_star + 1);
}

static void read_fetch(struct remote *r, const char *spec)
{
	AUTOFREE char *wanted = xasprintf("refs/notes/remotes/%s/abide", r->name);
	AUTOFREE char *to = mapped(spec, RECEIPT_REF);

	if (to && strcmp(to, wanted) == 0)
		r->fetches = true;
	if (to && strcmp(to, RECEIPT_REF) == 0)
		r->overwrites = spec;
}

static void read_push(struct remote *r, const char *spec)
{
	AUTOFREE char *to = mapped(spec, RECEIPT_REF);

	if (to && (!*to || strcmp(to, RECEIPT_REF) == 0))
		r->pushes = true;
}

/* remote.NAME.KEY: NAME may hold dots. False when it is another key. */
static bool split_key(const char *key, char **ret_name, const char **ret_last)
{
	const char *name = key + strlen("remote.");
	const char *dot = strrchr(key, '.');

	if (!text_starts(key, "remote.") || !dot || dot <= name)
		return false;
	*ret_name = xstrndup(name, (size_t)(dot - name));
	*ret_last = dot + 1;
	return true;
}

static void read_remote(const struct strv *config, struct remote *r)
{
	for (size_t i = 0; i < config->n; i++) {
		AUTOFREE char *key = xstrdup(config->v[i]);
		AUTOFREE char *name = NULL;
		char *value = strchr(key, '\n');
		const char *last;

		if (!value)
			continue;
		*value++ = '\0';
		if (!split_key(key, &name, &last) || strcmp(name, r->name) != 0)
			continue;
		/* Points into CONFIG, which outlives R. */
		value = config->v[i] + (value - key);
		if (strcmp(last, "fetch") == 0)
			read_fetch(r, value);
		else if (strcmp(last, "push") == 0)
			read_push(r, value);
		else if (strcmp(last, "mirror") == 0 && strcmp(value, "true") == 0)
			r->pushes = true;
	}
}

static void tell(struct doctor *d, const struct remote *r, const char *fetch, const char *push)
{
	AUTOFREE char *key = xasprintf("remote.%s.fetch", r->name);
	AUTOFREE char *quoted_key = text_shell_quote(key);
	AUTOFREE char *quoted_name = text_shell_quote(r->name);
	AUTOFREE char *fetch_fix =
	        xasprintf("Fetch with `git config --add %s '%s'`.", quoted_key, fetch);
	AUTOFREE char *push_fix = xasprintf("Push with `git push %s %s`.", quoted_name, push);
	AUTOFREE char *both = xasprintf("%s %s", fetch_fix, push_fix);

	if (r->overwrites) {
		AUTOFREE char *quoted = text_shell_quote(r->overwrites);
		AUTOFREE char *fix =
		        xasprintf("Take it out with `git config --unset --fixed-value %s "
		                  "%s`. %s",
		                quoted_key, quoted, fetch_fix);
		doctor_row(d, "remote", DOCTOR_BAD, fix,
		        "%s fetches by %s, which puts its notes onto the local receipts and erases "
		        "those that it lacks.",
		        r->name, r->overwrites);
	} else if (!r->fetches && !r->pushes) {
		doctor_row(d, "remote", DOCTOR_WARN, both,
		        "%s neither fetches nor pushes receipts (refs/notes/abide): other clones "
		        "cannot see what landed here by its receipt.",
		        r->name);
	} else if (!r->fetches) {
		doctor_row(d, "remote", DOCTOR_WARN, fetch_fix,
		        "%s pushes receipts and fetches none.", r->name);
	} else if (!r->pushes) {
		doctor_row(d, "remote", DOCTOR_OK, push_fix,
		        "%s fetches receipts; they are pushed by hand.", r->name);
	} else {
		doctor_row(
		        d, "remote", DOCTOR_OK, NULL, "%s fetches and pushes receipts.", r->name);
	}
}

static void one_remote(struct doctor *d, const struct strv *config, const char *name, json_t *list)
{
	struct remote r = {.name = name};
	AUTOFREE char *fetch = xasprintf("+%s:refs/notes/remotes/%s/abide", RECEIPT_REF, name);
	static const char push[] = RECEIPT_REF ":" RECEIPT_REF;
	json_t *row = json_object();

	read_remote(config, &r);
	json_put_text(row, "remote", name);
	json_put_bool(row, "fetches", r.fetches);
	json_put_bool(row, "pushes", r.pushes);
	json_put_text(row, "fetch_refspec", fetch);
	json_put_text(row, "push_refspec", push);
	json_array_append_new(list, row);
	tell(d, &r, fetch, push);
}

void doctor_remotes(struct doctor *d)
{
	AUTOPROC p = {.out_cap = 1 << 20};
	AUTOSTRV config = {0};
	AUTOSTRV names = {0};
	json_t *list = json_array();

	json_put(d->data, "remotes", list);
	if (git_run(git_at_common(&d->p->git), &p,
	            GIT_WORDS("config", "-z", "--get-regexp",
	                    "^remote\\..*\\.(url|fetch|push|mirror)$"),
	            NULL) < 0 ||
	        p.status != 0)
		return;
	strv_split_nul(&config, buf_str(&p.out), p.out.len);
	for (size_t i = 0; i < config.n; i++) {
		AUTOFREE char *key = xstrndup(config.v[i], strcspn(config.v[i], "\n"));
		AUTOFREE char *name = NULL;
		const char *last;
		if (!split_key(key, &name, &last) || strv_has(&names, name))
			continue;
		strv_push(&names, name);
		one_remote(d, &config, name, list);
	}
}
