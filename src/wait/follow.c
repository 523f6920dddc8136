#include "wait/condition.h"

#include <string.h>

/*
 * Whether A is reachable from B, where A may have been pruned since it was
 * seen: what is gone is reachable from nothing.
 */
static int reaches(
        const struct git *g, const struct oid *a, const struct oid *b, bool *ret, struct err *err)
{
	AUTOPROC p = {0};
	AUTOERR trouble = {0};

	if (git_is_ancestor(g, a, b, ret, &trouble) == 0)
		return 0;
	if (git_run(git_at_common(g), &p, GIT_WORDS("cat-file", "-e", a->hex), err) < 0)
		return -1;
	if (p.status == 0)
		return err_move(err, &trouble);
	*ret = false;
	return 0;
}

/* The tip's ancestry, asked only when tip or trunk are others than last time. */
static int look_up_ancestry(struct scene *s, struct follow *f, struct err *err)
{
	const struct git *g = &s->p->git;
	struct oid before = f->armed_tip;
	bool contains;

	if (!oid_is_set(&f->tip) || !oid_is_set(&s->trunk) ||
	        (oid_equal(&f->tip, &f->seen_tip) && oid_equal(&s->trunk, &f->seen_trunk)))
		return 0;
	if (reaches(g, &f->tip, &s->trunk, &f->reached, err) < 0)
		return -1;
	f->seen_tip = f->tip;
	f->seen_trunk = s->trunk;
	if (!f->reached) {
		s->changed |= !f->armed || !oid_equal(&f->armed_tip, &f->tip);
		f->armed = true;
		f->armed_tip = f->tip;
		return 0;
	}
	/* Reset to the trunk, work abandoned: a tip without the work has not landed it. */
	if (f->armed && !oid_equal(&before, &f->tip)) {
		if (reaches(g, &before, &f->tip, &contains, err) < 0)
			return -1;
		if (!contains) {
			f->armed = false;
			s->changed = true;
		}
	}
	return 0;
}

/* Of two possible names the I-th is it. */
static void take_name(struct follow *f, size_t i)
{
	if (i > 0)
		mem_set(&f->refs[0], STEAL(f->refs[i]));
	f->refs_n = 1;
}

/* Receipts after the baseline, looked for only when trunk or notes moved. */
static int look_up_receipt(struct scene *s, struct follow *f, struct err *err)
{
	struct receipt found = {0};
	int rc;

	if (!oid_is_set(&s->trunk) || !oid_is_set(&s->notes) ||
	        oid_equal(&s->trunk, &s->baseline) ||
	        (oid_equal(&s->trunk, &f->searched_trunk) &&
	                oid_equal(&s->notes, &f->searched_notes)))
		return 0;
	for (size_t i = 0; i < f->refs_n && !f->receipt.branch; i++) {
		rc = receipt_find(&s->p->git, s->p->trunk, &s->baseline, &s->trunk,
		        git_branch_short(f->refs[i]), &found, &s->warnings, err);
		if (rc < 0)
			return -1;
		if (rc == 0) {
			f->receipt = found;
			take_name(f, i);
		}
	}
	f->searched_trunk = s->trunk;
	f->searched_notes = s->notes;
	return 0;
}

int follow_judge(struct scene *s, struct follow *f, enum via *ret_via, struct oid *ret_commit,
        struct err *err)
{
	*ret_via = VIA_NONE;
	if (oid_is_set(&f->live) && !oid_equal(&f->live, &f->tip)) {
		f->tip = f->live;
		s->changed = true;
	}
	if (look_up_ancestry(s, f, err) < 0)
		return -1;
	if (f->armed && f->reached && oid_is_set(&s->trunk)) {
		*ret_via = VIA_ANCESTRY;
		*ret_commit = f->tip;
		return 0;
	}
	if (!f->receipt.branch && look_up_receipt(s, f, err) < 0)
		return -1;
	if (f->receipt.branch && oid_is_set(&s->trunk)) {
		*ret_via = VIA_RECEIPT;
		*ret_commit = f->receipt.head;
	}
	return 0;
}

/* --- A fresh call ---------------------------------------------------------- */

/* The newest receipt for any name that F may have; 1: none. */
static int newest_receipt(struct scene *s, struct follow *f, struct receipt *ret, struct err *err)
{
	if (!oid_is_set(&s->notes))
		return 1;
	for (size_t i = 0; i < f->refs_n; i++) {
		int rc = receipt_newest(&s->p->git, s->p->trunk, &s->trunk,
		        git_branch_short(f->refs[i]), ret, &s->warnings, err);
		if (rc <= 0)
			return rc;
	}
	return 1;
}

static int unknown_target(const char *name, const struct condition *c, struct err *err)
{
	AUTOFREE char *later =
	        call_text("await", condition_text(c->id), name, "may_start", NULL, NULL);
	AUTOFREE char *status = call_text("status", NULL);

	err_set(err, ERR_UNKNOWN_TARGET,
	        "Nothing is called `%s`: it is no branch and no task, and no receipt on the trunk "
	        "names it.",
	        name);
	err_hint(err, "See what there is with `%s`; for work that will be started later ask `%s`.",
	        status, later);
	return -1;
}

static int held_by_no_worktree(struct scene *s, const struct follow *f, bool *ret, struct err *err)
{
	AUTOWORKTREES trees = {0};

	*ret = true;
	if (git_worktrees(&s->p->git, &trees, err) < 0)
		return -1;
	for (size_t i = 0; i < trees.n && *ret; i++) {
		const char *what;
		AUTOFREE char *held = NULL;
		/* A rebasing worktree is detached, but still holds its branch. */
		if (!trees.v[i].branch && trees.v[i].git_dir &&
		        git_parked(&s->p->git, trees.v[i].git_dir, &what, &held, NULL) < 0)
			continue;
		if (strcmp(trees.v[i].branch ? trees.v[i].branch
		                    : held   ? held
		                             : "",
		            f->refs[0]) == 0)
			*ret = false;
	}
	return 0;
}

static int nobody_can_make_green(const struct condition *c, struct err *err)
{
	const char *name = condition_branch(c);
	AUTOFREE char *landed = call_text("await", "landed", name, NULL);

	err_set(err, ERR_UNKNOWN_TARGET,
	        "No worktree holds `%s` and no receipt names it, so nothing can make it green.",
	        name);
	err_hint(err, "To wait for its work to reach the trunk, ask `%s`.", landed);
	return -1;
}

int follow_begin(struct scene *s, struct condition *c, const char *name, struct err *err)
{
	struct follow *f = &c->f;
	bool present = oid_is_set(&f->live), orphan;
	AUTORECEIPT receipt = {0};
	int rc = newest_receipt(s, f, &receipt, err);

	if (rc < 0)
		return -1;
	/* A branch that stands: only a receipt for this very work answers. */
	if (rc == 0 && (!present || oid_equal(&receipt.tip, &f->live))) {
		f->receipt = receipt;
		receipt = (struct receipt){0};
		return 0;
	}
	if (!present)
		return s->may_start ? 0 : unknown_target(name, c, err);
	if (c->id != CONDITION_GREEN || s->may_start)
		return 0;
	if (held_by_no_worktree(s, f, &orphan, err) < 0)
		return -1;
	return orphan ? nobody_can_make_green(c, err) : 0;
}

void observe_follow(const struct scene *s, const struct condition *c, json_t *observed)
{
	const struct follow *f = &c->f;
	static const char *const vias[] = {
	        [VIA_NONE] = NULL,
	        [VIA_PROOF] = "proof",
	        [VIA_ANCESTRY] = "ancestry",
	        [VIA_RECEIPT] = "receipt",
	        [VIA_TRUNK] = "trunk",
	};
	bool landed = c->via == VIA_ANCESTRY || c->via == VIA_RECEIPT;
	const struct oid *tip = oid_is_set(&f->tip) ? &f->tip : &f->receipt.tip;

	if (oid_is_set(tip))
		json_put_text(observed, "tip", tip->hex);
	json_put_bool(observed, "armed", f->armed);
	json_put_bool(observed, "landed", landed);
	if (vias[c->via])
		json_put_text(observed, "via", vias[c->via]);
	if (landed)
		json_put_text(observed, "landed_commit", c->commit.hex);
	if (!oid_is_set(&f->live))
		json_put_bool(observed, "branch_missing", true);
	if (oid_is_set(&s->trunk))
		json_put_text(observed, "trunk_head", s->trunk.hex);
	else
		json_put_bool(observed, "trunk_missing", true);
}
