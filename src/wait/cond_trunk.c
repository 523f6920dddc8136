#include "wait/condition.h"

/* The trunk differs from where it was when the watch began, in whichever direction. */
static int judge(struct scene *s, struct condition *c, struct err *err)
{
	(void)err;
	if (oid_is_set(&s->trunk) && !oid_equal(&s->trunk, &s->baseline)) {
		c->verdict = HOLDS;
		c->via = VIA_TRUNK;
		c->commit = s->trunk;
	}
	return 0;
}

static char *untrue(const struct scene *s, const struct condition *c)
{
	(void)c;
	if (!oid_is_set(&s->trunk))
		return xasprintf("the trunk `%s` is missing", s->p->trunk);
	return xasprintf("the trunk `%s` still is at %.10s", s->p->trunk, s->baseline.hex);
}

static int observe(
        const struct scene *s, const struct condition *c, json_t *observed, struct err *err)
{
	(void)err;
	if (c->via == VIA_TRUNK)
		json_put_text(observed, "via", "trunk");
	json_put_text(observed, "trunk_start", s->baseline.hex);
	if (oid_is_set(&s->trunk))
		json_put_text(observed, "trunk_head", s->trunk.hex);
	else
		json_put_bool(observed, "trunk_missing", true);
	return 0;
}

const struct condition_kind condition_trunk_moved = {
        .text = "trunk-moved",
        .judge = judge,
        .untrue = untrue,
        .observe = observe,
};
