/*
 * Landings whose process died.
 */
#include <string.h>

#include "land/own.h"

static bool at(const struct landing *l, enum land_step step)
{
	return strcmp(l->step, land_step_text(step)) == 0;
}

/* Whether the trunk REF holds TIP. What git has forgotten cannot be there. */
static int is_landed(
        struct project *p, const char *ref, const struct oid *tip, bool *ret, struct err *err)
{
	struct oid now, tree;
	AUTOERR why = {0};

	*ret = false;
	if (git_refs(&p->git, (const char *const[]){ref, NULL}, &now, err) < 0)
		return -1;
	if (!oid_is_set(&now) || git_is_ancestor(&p->git, tip, &now, ret, &why) == 0)
		return 0;
	return git_tree_of(&p->git, tip, &tree, NULL) < 0 ? 0 : err_move(err, &why);
}

/* Whether the trunk holds the work, after anything half-way was put back. */
static int settle(struct project *p, struct landing *l, bool *ret_moved, struct err *err)
{
	AUTOMOVE m = {0};

	land_move_of(p, l, &m);
	if (at(l, LAND_MOVING)) {
		int rc = git_ff_settle(&p->git, &m.ff, ret_moved, err);
		if (m.ff.warnings.n)
			json_put(l->detail, "warnings", json_text_list(&m.ff.warnings, 0));
		return rc;
	}
	return is_landed(p, m.ref, &l->tip, ret_moved, err);
}

/* The landed task, where it is still there. 1: it is not. */
static int task_of(struct project *p, const struct landing *l, struct task *ret, struct err *err)
{
	AUTOTASKS all = {0};

	if (task_list(p, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.n; i++) {
		struct task *t = &all.v[i];
		if (strcmp(t->branch, l->branch) != 0 || strcmp(t->worktree, l->worktree) != 0)
			continue;
		*ret = *t;
		*t = (struct task){0};
		return 0;
	}
	return 1;
}

static int finish(struct project *p, struct landing *l, struct err *err)
{
	AUTOREMOVED removed = {0};
	AUTOSTRV warnings = {0};
	AUTOTASK t = {0};
	int rc = task_of(p, l, &t, err);

	if (rc < 0)
		return -1;
	if (rc == 0 && !t.recorded)
		l->keep = true;
	land_finish(p, rc == 0 ? &t : NULL, l, &removed, &warnings);
	return 0;
}

static void undo(struct project *p, struct landing *l)
{
	AUTOERR why = {0};

	err_set(&why, ERR_INTERRUPTED,
	        "The process that was landing `%s` ended before the trunk moved.",
	        git_branch_short(l->branch));
	land_undo(p, l, LANDING_UNDONE, &why);
}

/* L is this process's for now. Somebody else may have put it right before. */
static int put_right(struct project *p, int64_t id, struct err *err)
{
	AUTOLANDING row = {0};
	struct landing *l = &row;
	int rc = landing_by_id(p->store, id, l, err);
	bool moved;

	if (rc != 0 || l->state != LANDING_GOING)
		return rc < 0 ? -1 : 0;
	moved = at(l, LAND_REMOVING);
	if ((at(l, LAND_RECEIPT) || at(l, LAND_MOVING)) && settle(p, l, &moved, err) < 0)
		return -1;
	seam_point("land:settled");
	if (moved)
		return finish(p, l, err);
	undo(p, l);
	return 0;
}

int land_recover_held(struct project *p, struct err *err)
{
	AUTOLANDINGS dead = {0};
	AUTOERR first = {0};

	if (landing_dead(p->store, &dead, err) < 0)
		return -1;
	for (size_t i = 0; i < dead.n; i++) {
		struct landing *l = &dead.v[i];
		AUTOERR e = {0};

		if (!landing_adopt(p->store, l))
			continue;
		if (put_right(p, l->id, &e) < 0 && first.code == ERR_NONE)
			err_move(&first, &e);
		store_alive_free(p->store, ALIVE_LANDING, l->id);
	}
	return first.code == ERR_NONE ? 0 : err_move(err, &first);
}

int land_recover(struct project *p, struct err *err)
{
	AUTOLANDINGS dead = {0};
	int64_t place;
	size_t ahead;
	int rc;

	if (project_store(p, STORE_READ, err) < 0 || landing_dead(p->store, &dead, err) < 0)
		return -1;
	if (!dead.n)
		return 0;
	if (project_store(p, STORE_WRITE, err) < 0) {
		/* What could be read before still can. */
		project_store(p, STORE_READ, NULL);
		return -1;
	}
	if (place_join(p->store, LAND_QUEUE, dead.v[0].branch, &place, err) < 0)
		return -1;
	rc = place_ahead(p->store, LAND_QUEUE, place, &ahead, err);
	/* Whoever is before us does it in its turn. */
	if (rc == 0 && !ahead)
		rc = land_recover_held(p, err);
	place_leave(p->store, place);
	return rc;
}
