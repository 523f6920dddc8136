#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "land/own.h"

enum { LOOK_US = 20000 };

void landed_release(struct landed *l)
{
	if (!l)
		return;
	json_decref(l->receipt);
	run_release(&l->run);
	task_removed_release(&l->removed);
	strv_release(&l->warnings);
	*l = (struct landed){0};
}

/* One call. */
struct accept {
	struct project *p;
	const struct land_options *o;
	struct task task; /* as it is when its turn has come */
	struct landing l; /* the journal */
	struct land_view view;
	struct landed *out;
	int64_t place;   /* in the queue; 0: none */
	bool waited;     /* others were before it */
	bool unfinished; /* the journal stays open: the next one that looks settles it */
};

static void accept_release(struct accept *a)
{
	if (a->place)
		place_leave(a->p->store, a->place);
	task_release(&a->task);
	landing_release(&a->l);
	land_view_release(&a->view);
}

/* --- The queue --------------------------------------------------------------------------- */

static bool stdin_ended(void)
{
	struct pollfd p = {.fd = STDIN_FILENO};

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static int gave_up(struct err *err)
{
	AUTOFREE char *accept = call_text("accept", NULL);

	err_set(err, ERR_CANCELLED, "The wait for the turn to land was ended.");
	err_hint(err, "Run `%s` again to queue anew.", accept);
	return -1;
}

/* First come, first served. What cannot land is told at once, not when its turn comes. */
static int take_turn(struct accept *a, struct err *err)
{
	struct store *s = a->p->store;
	int64_t begun = clock_mono_ms();
	size_t ahead, told = SIZE_MAX;

	if (place_join(s, LAND_QUEUE, a->l.branch, &a->place, err) < 0)
		return -1;
	for (;;) {
		if (place_ahead(s, LAND_QUEUE, a->place, &ahead, err) < 0)
			return -1;
		if (!ahead)
			break;
		if (told == SIZE_MAX) {
			AUTOVIEW v = {0};
			if (land_check(a->p, &a->task, &v, err) < 0)
				return -1;
		}
		if (a->o->queued && ahead != told)
			a->o->queued(a->o->ctx, ahead);
		told = ahead;
		if (stop_signal || (a->o->watch_stdin && stdin_ended()))
			return gave_up(err);
		random_pause_us(LOOK_US / 2, LOOK_US);
	}
	a->waited = told != SIZE_MAX;
	if (a->waited) {
		a->out->queued_ms = clock_mono_ms() - begun;
		if (a->o->queued)
			a->o->queued(a->o->ctx, 0);
	}
	seam_point("land:turn");
	return 0;
}

/* --- When the turn has come ---------------------------------------------------------------- */

/*
 * The newest landing of the branch whose work is on the trunk: one that ended
 * so, or one that only has its worktree to remove yet. 1: none.
 */
static int newest_landed(struct accept *a, struct landing *ret, struct err *err)
{
	AUTOLANDINGS live = {0};

	if (landing_live(a->p->store, &live, err) < 0)
		return -1;
	for (size_t i = 0; i < live.n; i++) {
		struct landing *l = &live.v[i];

		if (l->id == a->l.id || strcmp(l->branch, a->l.branch) != 0 ||
		        strcmp(l->step, land_step_text(LAND_REMOVING)) != 0)
			continue;
		*ret = *l;
		*l = (struct landing){0};
		return 0;
	}
	return landing_landed(a->p->store, a->l.branch, ret, err);
}

/* Whether this very tip landed by another call while this one waited. 1: no. */
static int landed_already(struct accept *a, const struct oid *tip, struct err *err)
{
	AUTOLANDING l = {0};
	bool there;
	int rc = newest_landed(a, &l, err);

	if (rc != 0)
		return rc;
	if (!oid_equal(&l.tip, tip) || strcmp(l.trunk, a->p->trunk) != 0)
		return 1;
	if (git_is_ancestor(&a->p->git, tip, &a->p->trunk_tip, &there, err) < 0)
		return -1;
	if (!there)
		return 1;
	a->out->already = true;
	a->out->commit = l.tip;
	a->out->trunk_before = l.old;
	a->out->receipt = json_incref(json_object_get(l.detail, "receipt"));
	return git_tree_of(&a->p->git, tip, &a->out->tree, err);
}

/*
 * The task as it is now: while others landed it may have gained commits, may
 * have landed by another call, or be gone. 0, or 1 when it has landed.
 */
static int look_again(struct accept *a, struct err *err)
{
	struct oid asked = a->task.tip;
	AUTOERR gone = {0};
	AUTOTASK now = {0};
	int rc;

	if (a->waited && project_refresh_trunk(a->p, err) < 0)
		return -1;
	rc = landed_already(a, &asked, err);
	if (rc <= 0)
		return rc < 0 ? -1 : 1;
	if (!a->waited)
		return 0;
	if (task_resolve(a->p, a->l.branch, &now, &gone) < 0)
		return err_move(err, &gone);
	if (!oid_equal(&now.tip, &asked)) {
		struct land_view v = {.look = {.commit = asked}};
		return land_check_refs(a->p, &now, &v, err);
	}
	task_release(&a->task);
	a->task = now;
	now = (struct task){0};
	return 0;
}

/* The proof that is there, or a run of the gate. */
static int prove(struct accept *a, struct err *err)
{
	struct gate_look *look = &a->view.look;
	AUTOOUTCOME outcome = {0};
	struct gate_options o = a->o->gate;
	int rc;

	o.detach_after_ms = -1;
	o.rerun = false;
	o.watch_stdin = a->o->watch_stdin;
	if (!look->proven && land_step(a->p, &a->l, LAND_GATING, err) < 0)
		return -1;
	rc = gate_validate(a->p, &a->task, look, &o, &outcome, err);
	a->out->gate_ran = outcome.gate_ran;
	a->out->waited_ms += outcome.waited_ms;
	a->out->run = outcome.run;
	outcome.run = (struct run){0};
	if (rc < 0)
		return -1;
	seam_point("land:proven");
	/* Time has passed: what was clear may be so no longer. */
	if (outcome.gate_ran && land_check_checkout(a->p, &look->commit, &a->view, err) < 0)
		return -1;
	return stop_check(err);
}

/* --- Receipt, then trunk ------------------------------------------------------------------- */

/* What of a task goes after it landed is decided by policy and by who made it. */
static bool keeps(struct project *p, const struct task *t, const struct land_options *o)
{
	const struct config *policy;

	return o->keep || t->main || !t->recorded ||
	        (project_policy(p, &policy, NULL) == 0 && policy->keep);
}

static int write_receipt(struct accept *a, struct err *err)
{
	AUTOJSON json_t *receipt =
	        land_receipt(a->p, &a->task, &a->view, &a->out->run, a->o->surface);
	const struct git_checkout *c = &a->view.checkout;
	AUTOERR why = {0};

	a->l.old = a->p->trunk_tip;
	a->l.keep = keeps(a->p, &a->task, a->o);
	mem_set(&a->l.checkout, xstrdup(c->path ? c->path : ""));
	if (!a->l.detail)
		a->l.detail = json_object();
	json_put(a->l.detail, "receipt", json_incref(receipt));
	json_put_text(a->l.detail, "checkout_git_dir", c->git_dir);
	if (land_step(a->p, &a->l, LAND_RECEIPT, err) < 0)
		return -1;
	seam_point("land:receipt");
	if (land_receipt_write(a->p, receipt, &why) == 0) {
		a->out->receipt = json_incref(receipt);
		seam_point("land:receipt-written");
		return 0;
	}
	json_object_del(a->l.detail, "receipt");
	strv_printf(&a->out->warnings,
	        "There is no receipt of this landing (%s): once the branch is gone, `await` and "
	        "`receipts` cannot prove that `%s` landed; that its commit is on `%s` can be seen "
	        "by its id alone.",
	        why.message, git_branch_short(a->l.branch), a->p->trunk);
	return 0;
}

static int move_trunk(struct accept *a, struct err *err)
{
	AUTOMOVE m = {0};
	int rc;

	if (land_step(a->p, &a->l, LAND_MOVING, err) < 0)
		return -1;
	seam_point("land:moving");
	land_move_of(a->p, &a->l, &m);
	rc = git_fast_forward(&a->p->git, &m.ff, err);
	strv_extend(&a->out->warnings, &m.ff.warnings);
	if (rc < 0) {
		a->unfinished = err && err->data && json_flag(err->data, "unfinished");
		return -1;
	}
	seam_point("land:moved");
	a->out->commit = a->l.tip;
	a->out->tree = a->view.look.tree;
	a->out->trunk_before = a->l.old;
	a->out->gate_changed = a->view.look.gate_changed;
	return 0;
}

/* 0: the trunk has moved; 1: it had before. */
static int land(struct accept *a, struct err *err)
{
	int rc;

	if (take_turn(a, err) < 0 || land_recover_held(a->p, err) < 0)
		return -1;
	rc = look_again(a, err);
	if (rc != 0)
		return rc;
	if (land_step(a->p, &a->l, LAND_CHECKING, err) < 0 ||
	        land_check(a->p, &a->task, &a->view, err) < 0)
		return -1;
	seam_point("land:checked");
	if (stop_check(err) < 0 || prove(a, err) < 0 ||
	        land_check_refs(a->p, &a->task, &a->view, err) < 0 || write_receipt(a, err) < 0)
		return -1;
	return move_trunk(a, err);
}

/* --- Afterwards ------------------------------------------------------------------------------ */

static void tell_submodules(const struct accept *a)
{
	AUTOBUF names = {0};

	for (size_t i = 0; i < a->view.submodules.n; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", a->view.submodules.v[i]);
	if (names.len)
		strv_printf(&a->out->warnings,
		        "Submodules are not moved: in %s, `git submodule update` brings %s to "
		        "where "
		        "the trunk wants it.",
		        a->l.checkout, buf_str(&names));
}

static void tell_upstream(const struct accept *a)
{
	AUTOFREE char *upstream = NULL;
	int64_t ahead, behind;

	if (git_upstream(&a->p->git, a->p->trunk_ref, &upstream, &ahead, &behind, NULL) == 0 &&
	        upstream && behind)
		strv_printf(&a->out->warnings,
		        "The trunk `%s` is %lld commit%s behind %s as last fetched; nothing was "
		        "fetched now.",
		        a->p->trunk, (long long)behind, behind == 1 ? "" : "s", upstream);
}

static void after(struct accept *a)
{
	AUTOERR why = {0};

	/* The store may refuse now; the trunk has moved all the same. */
	if (land_step(a->p, &a->l, LAND_REMOVING, &why) < 0)
		strv_printf(&a->out->warnings, "The journal of this landing: %s", why.message);
	seam_point("land:removing");
	/* Others need not wait for files to be removed. */
	place_leave(a->p->store, a->place);
	a->place = 0;
	tell_submodules(a);
	tell_upstream(a);
	land_finish(a->p, &a->task, &a->l, &a->out->removed, &a->out->warnings);
}

static void close_journal(struct accept *a, const struct err *why)
{
	if (a->unfinished)
		return;
	land_undo(a->p, &a->l,
	        why->code == ERR_CANCELLED || why->code == ERR_INTERRUPTED ? LANDING_UNDONE
	                                                                   : LANDING_REFUSED,
	        why);
}

/* The row of a call that had nothing left to do. */
static int close_idle(struct accept *a, struct err *err)
{
	mem_set(&a->l.slug, xstrdup("already_landed"));
	return landing_end(a->p->store, &a->l, LANDING_UNDONE, err);
}

static int begin(struct accept *a, const struct task *t, struct err *err)
{
	if (project_need_trunk(a->p, err) < 0 || project_store(a->p, STORE_WRITE, err) < 0)
		return -1;
	a->l = (struct landing){
	        .task = xstrdup(t->recorded ? t->id : ""),
	        .branch = xstrdup(t->branch),
	        .worktree = xstrdup(t->worktree),
	        .git_dir = xstrdup(t->git_dir),
	        .trunk = xstrdup(a->p->trunk),
	        .tip = t->tip,
	        .step = xstrdup(land_step_text(LAND_QUEUED)),
	        .keep = a->o->keep,
	        .surface = xstrdup(a->o->surface),
	        .detail = json_object(),
	};
	if (landing_begin(a->p->store, &a->l, err) < 0)
		return -1;
	seam_point("land:journalled");
	return 0;
}

/* What would happen. */
static int only_say(struct accept *a, struct err *err)
{
	AUTOPLACES queue = {0};
	const struct gate_look *look = &a->view.look;

	if (project_need_trunk(a->p, err) < 0 || project_store(a->p, STORE_READ, err) < 0 ||
	        place_list(a->p->store, LAND_QUEUE, &queue, err) < 0 ||
	        land_check(a->p, &a->task, &a->view, err) < 0)
		return -1;
	a->out->commit = look->commit;
	a->out->tree = look->tree;
	a->out->trunk_before = a->p->trunk_tip;
	a->out->gate_changed = look->gate_changed;
	a->out->gate_needed = !look->proven;
	a->out->would_keep = keeps(a->p, &a->task, a->o);
	a->out->ahead = queue.n;
	tell_submodules(a);
	tell_upstream(a);
	return 0;
}

/* A copy of what land_accept() was given: it may be read anew in its turn. */
static void copy_task(const struct task *t, struct task *ret)
{
	*ret = *t;
	ret->id = xstrdup(t->id);
	ret->branch = xstrdup(t->branch);
	ret->worktree = xstrdup(t->worktree);
	ret->git_dir = xstrdup(t->git_dir);
	ret->locked = xstrdup(t->locked);
}

int land_accept(struct project *p, const struct task *t, const struct land_options *o,
        struct landed *ret, struct err *err)
{
	CLEANUP(accept_release) struct accept a = {.p = p, .o = o, .out = ret};
	AUTOERR why = {0};
	int rc;

	copy_task(t, &a.task);
	if (o->dry_run)
		return only_say(&a, err);
	if (begin(&a, t, err) < 0)
		return -1;
	rc = land(&a, &why);
	if (rc == 0)
		after(&a);
	else if (rc == 1)
		return close_idle(&a, err);
	else
		close_journal(&a, &why);
	return rc < 0 ? err_move(err, &why) : 0;
}
