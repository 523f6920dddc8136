#include "store/landing.h"
#include "wait/condition.h"

#include <string.h>

/*
 * Asked from the branch's own worktree: the one who must mend it is told that
 * the newest accept was refused. A state, told once per watch.
 */
static int settle(struct scene *s, struct condition *c, struct err *err)
{
	AUTOLANDING l = {0};
	bool going = false;
	const char *own;
	int rc;

	if (!s->p->store || c->f.refs_n != 1)
		return 0;
	rc = landing_newest(s->p->store, c->f.refs[0], &l, &going, err);
	if (rc != 0 || going || l.state != LANDING_REFUSED || l.id <= c->told_landing)
		return rc < 0 ? -1 : 0;
	own = scene_own_branch(s);
	if (!own || strcmp(own, c->f.refs[0]) != 0)
		return 0;
	c->verdict = SETTLED;
	c->settled = "refused";
	c->told_landing = l.id;
	s->changed = true;
	json_decref(c->settled_detail);
	c->settled_detail = json_object();
	json_put_text(c->settled_detail, "error", l.slug);
	json_put(c->settled_detail, "files", json_incref(json_object_get(l.detail, "files")));
	return 0;
}

static int judge(struct scene *s, struct condition *c, struct err *err)
{
	if (follow_judge(s, &c->f, &c->via, &c->commit, err) < 0)
		return -1;
	if (c->via != VIA_NONE) {
		c->verdict = HOLDS;
		return 0;
	}
	return settle(s, c, err);
}

static char *untrue(const struct scene *s, const struct condition *c)
{
	const char *name = condition_branch(c);

	if (!oid_is_set(&s->trunk))
		return xasprintf(
		        "`%s` has not landed: the trunk `%s` is missing", name, s->p->trunk);
	if (!oid_is_set(&c->f.tip))
		return xasprintf("`%s` does not exist yet", name);
	if (!oid_is_set(&c->f.live))
		return xasprintf("`%s` has not landed: the branch is gone and nothing proves that "
		                 "its work reached `%s`",
		        name, s->p->trunk);
	if (!c->f.armed)
		return xasprintf(
		        "`%s` has not landed: it has no work beyond `%s` yet", name, s->p->trunk);
	return xasprintf("`%s` has not landed: its work is not on `%s` yet", name, s->p->trunk);
}

static int observe(
        const struct scene *s, const struct condition *c, json_t *observed, struct err *err)
{
	(void)err;
	observe_follow(s, c, observed);
	return 0;
}

const struct condition_kind condition_landed = {
        .text = "landed",
        .takes_branch = true,
        .judge = judge,
        .untrue = untrue,
        .observe = observe,
};
