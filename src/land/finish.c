/*
 * The two ends of a landing: finished, or undone.
 */
#include <string.h>

#include "land/own.h"

static const char *const steps[] = {
#define X(name, text, left) [LAND_##name] = text,
        LAND_STEPS(X)
#undef X
};

const char *land_step_text(enum land_step step)
{
	return steps[step];
}

int land_step(struct project *p, struct landing *l, enum land_step step, struct err *err)
{
	mem_set(&l->step, xstrdup(steps[step]));
	return landing_step(p->store, l, err);
}

void land_move_release(struct land_move *m)
{
	if (!m)
		return;
	free(m->ref);
	free(m->message);
	free(m->lock);
	free(m->git_dir);
	strv_release(&m->ff.warnings);
	*m = (struct land_move){0};
}

void land_move_of(const struct project *p, const struct landing *l, struct land_move *ret)
{
	const char *git_dir = json_text(l->detail, "checkout_git_dir");

	*ret = (struct land_move){
	        .ref = git_branch_ref(l->trunk),
	        .message = xasprintf("abide: land %s", git_branch_short(l->branch)),
	        .lock = path_join(store_dir(p->store), "moving.lck"),
	        .git_dir = xstrdup(git_dir),
	};
	ret->ff = (struct git_ff){
	        .ref = ret->ref,
	        .old = l->old,
	        .new_value = l->tip,
	        .message = ret->message,
	        .lock = ret->lock,
	        .lock_id = l->id,
	};
	if (l->checkout && *l->checkout && git_dir) {
		ret->ff.path = l->checkout;
		ret->ff.git_dir = ret->git_dir;
	}
}

/* --- Landed --------------------------------------------------------------------------- */

static json_t *detail_of(struct landing *l)
{
	if (!l->detail)
		l->detail = json_object();
	return l->detail;
}

static void warn(struct strv *warnings, const char *what, const struct err *why)
{
	strv_printf(warnings, "%s: %s", what, why->message ? why->message : "no reason was given");
}

/* A branch that went on after it was landed is somebody's work, and stays with its worktree. */
static bool went_on(struct project *p, const struct task *t, const struct oid *landed)
{
	struct oid now;

	return git_refs(&p->git, (const char *const[]){t->branch, NULL}, &now, NULL) < 0 ||
	        !oid_equal(&now, landed);
}

static void remove_task(struct project *p, const struct task *t, const struct landing *l,
        struct task_removed *ret, struct strv *warnings)
{
	const struct task_removal how = {.tip = l->tip, .why = "landed"};
	AUTOERR why = {0};

	if (went_on(p, t, &l->tip)) {
		ret->stays = xasprintf(
		        "`%s` has moved on since it was landed.", git_branch_short(t->branch));
		return;
	}
	if (task_remove(p, t, &how, ret, &why) < 0)
		warn(warnings, "The work has landed, but its worktree could not be removed", &why);
}

static void put_removed(json_t *detail, const struct task_removed *r)
{
	json_put_bool(detail, "removed", r->worktree);
	json_put_bool(detail, "leaving", r->leaving);
	if (r->kept.n)
		json_put(detail, "kept", json_text_list(&r->kept, 0));
}

void land_finish(struct project *p, const struct task *t, struct landing *l,
        struct task_removed *ret, struct strv *warnings)
{
	AUTOERR why = {0};

	if (t && !l->keep) {
		remove_task(p, t, l, ret, warnings);
		seam_point("land:removed");
	}
	put_removed(detail_of(l), ret);
	if (warnings->n)
		json_put(l->detail, "warnings", json_text_list(warnings, 0));
	if (landing_end(p->store, l, LANDING_LANDED, &why) < 0)
		warn(warnings,
		        "The work has landed, but that could not be recorded (the next abide "
		        "command "
		        "does)",
		        &why);
	seam_point("land:ended");
}

/* --- Not landed ------------------------------------------------------------------------- */

void land_undo(
        struct project *p, struct landing *l, enum landing_state state, const struct err *why)
{
	json_t *detail = detail_of(l);
	json_t *receipt = json_object_get(detail, "receipt");

	if (receipt) {
		/* A note that stays there proves nothing; the next landing replaces it. */
		land_receipt_remove(p, receipt, NULL);
		json_object_del(detail, "receipt");
		seam_point("land:receipt-removed");
	}
	mem_set(&l->slug, xstrdup(err_slug(why->code)));
	json_put_text(detail, "message", why->message);
	json_put(detail, "files", json_incref(json_object_get(why->data, "files")));
	landing_end(p->store, l, state, NULL);
}
