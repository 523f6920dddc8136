#include "git/git.h"

#include <string.h>

int git_is_ancestor(
        const struct git *g, const struct oid *a, const struct oid *b, bool *ret, struct err *err)
{
	AUTOPROC p = {0};

	if (oid_equal(a, b)) {
		*ret = true;
		return 0;
	}
	if (git_run(git_at_common(g), &p, GIT_WORDS("merge-base", "--is-ancestor", a->hex, b->hex),
	            err) < 0)
		return -1;
	if (p.status != 0 && p.status != 1)
		return git_complain(&p, "The ancestry of two commits could not be read", err);
	*ret = p.status == 0;
	return 0;
}

int git_ahead_behind(const struct git *g, const struct oid *tip, const struct oid *trunk,
        int64_t *ret_ahead, int64_t *ret_behind, struct err *err)
{
	AUTOPROC p = {0};
	AUTOFREE char *range = xasprintf("%s...%s", tip->hex, trunk->hex);
	char *end;

	if (git_run(git_at_common(g), &p,
	            GIT_WORDS(
	                    "rev-list", "--left-right", "--count", "--end-of-options", range, "--"),
	            err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "Commits could not be counted", err);
	*ret_ahead = strtoll(buf_str(&p.out), &end, 10);
	*ret_behind = strtoll(end, NULL, 10);
	return 0;
}

int git_resolve_commit(const struct git *g, const char *word, struct oid *ret, struct err *err)
{
	AUTOPROC p = {0};
	AUTOFREE char *peeled = xasprintf("%s^{commit}", word);
	AUTOFREE char *heads = xasprintf("refs/heads/%s", word);
	AUTOFREE char *shown = text_visible(word);

	/* A branch first, by its exact name: it can't be mistaken for anything. */
	if (git_refs(g, (const char *const[]){heads, NULL}, ret, err) < 0)
		return -1;
	if (oid_is_set(ret))
		return 0;
	if (*word && *word != '-') {
		if (git_run(git_at_common(g), &p,
		            GIT_WORDS(
		                    "rev-parse", "--verify", "--quiet", "--end-of-options", peeled),
		            err) < 0)
			return -1;
		/* Since 2.30 rev-parse echoes --end-of-options before the answer. */
		if (p.status == 0 && p.out.len) {
			AUTOFREE char *line = xstrndup(buf_str(&p.out), p.out.len - 1);
			char *last = strrchr(line, '\n');
			if (oid_parse(ret, last ? last + 1 : line))
				return 0;
		}
	}
	err_set(err, ERR_UNKNOWN_TARGET, "`%s` is no branch, tag or commit of this repository.",
	        shown);
	err_hint(err, "See what there is with `git branch --all`, and name one of those.");
	return -1;
}

int git_tree_of(const struct git *g, const struct oid *commit, struct oid *ret, struct err *err)
{
	AUTOPROC p = {0};
	AUTOFREE char *word = xasprintf("%s^{tree}", commit->hex);

	if (git_run(git_at_common(g), &p, GIT_WORDS("rev-parse", "--verify", word), err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The tree of a commit could not be read", err);
	p.out.data[strcspn(p.out.data, "\n")] = '\0';
	if (!oid_parse(ret, p.out.data))
		return git_complain(&p, "git printed no object id", err);
	return 0;
}

static int diff_paths(const struct git *g, const char *from, const char *to, const char *merge_base,
        struct strv *ret, struct err *err)
{
	AUTOPROC p = {0};
	AUTOSTRV words = {0};

	strv_push(&words, merge_base ? "diff" : "diff-tree");
	if (!merge_base)
		strv_push(&words, "-r");
	strv_push(&words, "--no-ext-diff");
	strv_push(&words, "--no-renames");
	strv_push(&words, "--ignore-submodules=none");
	strv_push(&words, "--name-only");
	strv_push(&words, "-z");
	if (merge_base)
		strv_push(&words, "--merge-base");
	strv_push(&words, from);
	strv_push(&words, to);
	strv_push(&words, "--");
	if (git_run(git_at_common(g), &p, (const char *const *)words.v, err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "Changed files could not be listed", err);
	strv_split_nul(ret, buf_str(&p.out), p.out.len);
	strv_sort(ret);
	return 0;
}

int git_changed_paths(const struct git *g, const struct oid *from, const struct oid *to,
        struct strv *ret, struct err *err)
{
	return diff_paths(g, from->hex, to->hex, NULL, ret, err);
}

int git_incoming_paths(const struct git *g, const struct oid *from, const struct oid *to,
        struct strv *ret, struct err *err)
{
	return diff_paths(g, from->hex, to->hex, "yes", ret, err);
}

int git_file_at(const struct git *g, const struct oid *commit, const char *path, size_t cap,
        struct buf *ret, struct err *err)
{
	AUTOFREE char *ask = xasprintf("%s:%s\n", commit->hex, path);
	AUTOPROC p = {.in = ask, .in_len = strlen(ask), .out_cap = cap + 256};
	char *nl;
	AUTOFREE char *head = NULL;
	const char *type;
	size_t size;

	if (git_run(git_at_common(g), &p, GIT_WORDS("cat-file", "--batch"), err) < 0)
		return -1;
	nl = p.out.len ? memchr(p.out.data, '\n', p.out.len) : NULL;
	if (p.status != 0 || !nl)
		return git_complain(&p, "A committed file could not be read", err);
	/* "<oid> blob <size>", or "<what was asked> missing". */
	head = xstrndup(p.out.data, (size_t)(nl - p.out.data));
	type = strchr(head, ' ');
	if (!type || !text_starts(type, " blob "))
		return 1;
	size = strtoull(type + strlen(" blob "), NULL, 10);
	if (size > cap || p.out.len < (size_t)(nl - p.out.data) + 1 + size) {
		err_set(err, ERR_READ_FAILED, "%s is larger than abide accepts (%zu bytes).", path,
		        cap);
		err_hint(err, "Make %s smaller and commit it.", path);
		return -1;
	}
	buf_reset(ret);
	buf_add(ret, nl + 1, size);
	return 0;
}
