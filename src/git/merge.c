/*
 * Merging another commit into a checked-out branch. What comes out is worked
 * out first, beside the working tree, so that a conflict touches nothing.
 */
#include <string.h>

#include "git/git.h"

/* After a Ctrl-C: so long git may go on to come out of the middle of writing files. */
enum { MERGE_PATIENCE_MS = 2000, LOCK_PATIENCE_MS = 5000 };

int git_merge_preview(struct git_at at, const struct oid *ours, const struct oid *theirs,
        struct oid *ret_tree, struct strv *ret_conflicts, struct err *err)
{
	AUTOPROC p = {0};
	AUTOSTRV fields = {0};

	if (git_run(at, &p,
	            GIT_WORDS("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages",
	                    ours->hex, theirs->hex),
	            err) < 0)
		return -1;
	strv_split_nul(&fields, buf_str(&p.out), p.out.len);
	/* Exit status 1 means a conflict, or a bad object: then there is no tree. */
	if (p.status > 1 || !fields.n || !oid_parse(ret_tree, fields.v[0]))
		return git_complain(&p, "The merge could not be worked out", err);
	for (size_t i = 1; p.status == 1 && i < fields.n; i++)
		if (*fields.v[i])
			strv_push(ret_conflicts, fields.v[i]);
	return p.status;
}

int git_merge(struct git_at at, const struct oid *theirs, const char *message, struct proc *ret,
        struct err *err)
{
	AUTOSTRV env = {0};
	int rc;

	env_with(&env,
	        (const char *const[]){"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C",
	                "GIT_MERGE_AUTOEDIT=no", NULL});
	ret->env = env.v;
	ret->apart = ret->stoppable = true;
	ret->stop_after_ms = MERGE_PATIENCE_MS;
	rc = git_run(at, ret,
	        GIT_WORDS("-c", "rerere.enabled=false", "merge", "-q", "--no-edit", "--ff",
	                "--commit", "--no-squash", "--no-autostash", "--no-overwrite-ignore",
	                "--no-stat", "-m", message, theirs->hex),
	        err);
	ret->env = NULL;
	return rc;
}

int git_merge_abort(struct git_at at, struct err *err)
{
	int64_t until = clock_mono_ms() + LOCK_PATIENCE_MS;

	for (;;) {
		AUTOPROC p = {.apart = true};

		if (git_run(at, &p, GIT_WORDS("-c", "rerere.enabled=false", "merge", "--abort"),
		            err) < 0)
			return -1;
		if (p.status == 0)
			return 0;
		/* git does not wait for another git's lock on the index. */
		if (!strstr(buf_str(&p.err), "index.lock") || clock_mono_ms() > until)
			return git_complain(&p, "The merge could not be taken back", err);
		random_pause_us(10000, 60000);
	}
}

int git_merge_head(struct git_at at, struct oid *ret, struct err *err)
{
	AUTOPROC p = {0};

	*ret = (struct oid){0};
	if (git_run(at, &p, GIT_WORDS("rev-parse", "--verify", "--quiet", "MERGE_HEAD"), err) < 0)
		return -1;
	if (p.out.len)
		p.out.data[strcspn(p.out.data, "\n")] = '\0';
	if (p.status == 0)
		oid_parse(ret, buf_str(&p.out));
	return 0;
}
