#include "land/own.h"

#include <string.h>

void land_view_release(struct land_view *v)
{
	if (!v)
		return;
	gate_look_release(&v->look);
	git_checkout_release(&v->checkout);
	strv_release(&v->submodules);
	*v = (struct land_view){0};
}

/* Trunk and policy as they are now, not as they were when the call began. */
static int read_anew(struct project *p, struct err *err)
{
	const struct oid before = p->trunk_tip;

	if (project_refresh_trunk(p, err) < 0 || project_need_trunk(p, err) < 0)
		return -1;
	if (!oid_equal(&before, &p->trunk_tip) && p->policy_read) {
		config_release(&p->policy);
		p->policy_read = false;
	}
	return 0;
}

static int locked(const struct task *t, struct err *err)
{
	AUTOFREE char *quoted = text_shell_quote(t->worktree);

	err_set(err, ERR_WORKTREE_LOCKED, "%s is locked%s%s, so it is not to be landed.",
	        t->worktree, *t->locked ? ": " : "", t->locked);
	err_hint(err, "When it may be: `git worktree unlock %s`, then run the same command again.",
	        quoted);
	return -1;
}

/* --- Policy -------------------------------------------------------------------------- */

static int needs_person(const struct project *p, const struct task *t, const char *key,
        const char *what, struct err *err)
{
	err_set(err, ERR_APPROVAL_REQUIRED,
	        "%s, and `%s` on `%s` wants a person to agree first. There is no such consent.",
	        what, key, p->trunk);
	err_data(err, "reason", json_string(key));
	err_hint(err,
	        "Let a person decide: they can land it by hand (`git merge --ff-only %.10s` on "
	        "`%s`), or change `%s` in %s on `%s`.",
	        t->tip.hex, p->trunk, key, CONFIG_FILE, p->trunk);
	return -1;
}

static int check_policy(
        struct project *p, const struct task *t, const struct gate_look *look, struct err *err)
{
	const struct config *policy;

	if (project_policy(p, &policy, err) < 0)
		return -1;
	if (policy->require == REQUIRE_HUMAN)
		return needs_person(
		        p, t, "accept.require", "Every landing is to be agreed to", err);
	if (!look->gate_changed)
		return 0;
	switch (policy->gate_changes) {
	case GATE_CHANGES_ALLOW:
		return 0;
	case GATE_CHANGES_ASK:
		return needs_person(p, t, "accept.gate_changes",
		        "The gate of this task is another one than the trunk's", err);
	case GATE_CHANGES_REFUSE:
		break;
	}
	err_set(err, ERR_GATE_CHANGED,
	        "The gate of `%s` is another one than the trunk's, and `accept.gate_changes` is "
	        "`refuse`.",
	        git_branch_short(t->branch));
	err_hint(err,
	        "Land the work without the change of the gate: `git checkout %s -- %s`, commit, "
	        "and "
	        "validate it again.",
	        p->trunk, CONFIG_FILE);
	return -1;
}

/* --- The trunk's checkout -------------------------------------------------------------- */

static void put_text(struct err *err, const char *key, const char *text)
{
	AUTOJSON json_t *o = json_object();
	const char *k;
	json_t *v;

	json_put_text(o, key, text);
	json_object_foreach (o, k, v)
		err_data(err, k, json_incref(v));
}

static int parked(const struct project *p, const struct git_checkout *c, struct err *err)
{
	AUTOFREE char *quoted = text_shell_quote(c->path);

	err_set(err, ERR_TRUNK_PARKED, "%s, where `%s` is checked out, is in the middle of a %s.",
	        c->path, p->trunk, c->parked ? c->parked : "rebase");
	put_text(err, "checkout", c->path);
	put_text(err, "parked", c->parked);
	err_hint(err, "Finish or abort it there (`git -C %s status` says how), then try again.",
	        quoted);
	return -1;
}

static int several(const struct project *p, const struct git_checkout *c, struct err *err)
{
	err_set(err, ERR_BUSY,
	        "`%s` is checked out in %zu worktrees (%s, %s%s), which cannot all follow a "
	        "landing.",
	        p->trunk, c->paths.n, c->paths.v[0], c->paths.v[1], c->paths.n > 2 ? ", …" : "");
	err_hint(err, "Switch all but one of them to something else, then try again.");
	return -1;
}

int land_check_checkout(
        struct project *p, const struct oid *tip, struct land_view *v, struct err *err)
{
	AUTOOBSTACLES o = {0};
	struct git_checkout *c = &v->checkout;

	git_checkout_release(c);
	strv_release(&v->submodules);
	if (git_checkout_of(&p->git, p->trunk_ref, c, err) < 0)
		return -1;
	if (c->paths.n > 1)
		return several(p, c, err);
	if (!c->path)
		return 0;
	if (c->parked || c->detached)
		return parked(p, c, err);
	if (git_obstacles(&p->git, c, &p->trunk_tip, tip, &o, err) < 0)
		return -1;
	strv_extend(&v->submodules, &o.submodules);
	if (o.changed.n || o.untracked.n)
		return git_ff_in_the_way(c->path, &o, err);
	return 0;
}

/* --- All of it --------------------------------------------------------------------------- */

int land_check(struct project *p, const struct task *t, struct land_view *ret, struct err *err)
{
	AUTOVIEW v = {0};

	if (read_anew(p, err) < 0)
		return -1;
	if (t->locked)
		return locked(t, err);
	if (gate_look(p, t, &v.look, err) < 0 || check_policy(p, t, &v.look, err) < 0 ||
	        land_check_checkout(p, &t->tip, &v, err) < 0)
		return -1;
	*ret = v;
	v = (struct land_view){0};
	return 0;
}

static int branch_moved(const struct task *t, const struct oid *now, struct err *err)
{
	AUTOFREE char *accept = call_text("accept", NULL);

	err_set(err, ERR_TICKET_LOST,
	        "`%s` %s while it was about to land, and what was not validated does not land.",
	        git_branch_short(t->branch),
	        oid_is_set(now) ? "moved to another commit" : "was deleted");
	err_hint(err, "Run `%s` again for the commit that is meant now.", accept);
	return -1;
}

static int trunk_moved(const struct project *p, const struct task *t, struct err *err)
{
	AUTOFREE char *update = call_text("update", NULL);
	AUTOFREE char *accept = call_text("accept", NULL);

	err_set(err, ERR_BEHIND_TRUNK,
	        "`%s` moved while `%s` was about to land, without a landing; the work was not "
	        "validated on top of that.",
	        p->trunk, git_branch_short(t->branch));
	err_hint(err, "Bring the trunk in with `%s` (in %s), then run `%s` again.", update,
	        t->worktree, accept);
	return -1;
}

int land_check_refs(
        struct project *p, const struct task *t, const struct land_view *v, struct err *err)
{
	struct oid now[2];

	if (git_refs(&p->git, (const char *const[]){p->trunk_ref, t->branch, NULL}, now, err) < 0)
		return -1;
	if (!oid_equal(&now[1], &v->look.commit))
		return branch_moved(t, &now[1], err);
	return oid_equal(&now[0], &p->trunk_tip) ? 0 : trunk_moved(p, t, err);
}
