#include "wait/condition.h"

#include <string.h>

static const char *const texts[] = {
#define X(name, text, branch) [CONDITION_##name] = text,
        CONDITION_TABLE(X)
#undef X
};

const char *condition_text(enum condition_id id)
{
	return texts[id];
}

const struct condition_kind *condition_kind(enum condition_id id)
{
	switch (id) {
	case CONDITION_GREEN:
		return &condition_green;
	case CONDITION_LANDED:
		return &condition_landed;
	case CONDITION_TRUNK_MOVED:
		return &condition_trunk_moved;
	case CONDITION_COUNT:
		break;
	}
	return NULL;
}

void condition_release(struct condition *c)
{
	for (size_t i = 0; i < NELEMS(c->f.refs); i++)
		free(c->f.refs[i]);
	receipt_release(&c->f.receipt);
	json_decref(c->observed);
	json_decref(c->settled_detail);
	*c = (struct condition){0};
}

void scene_release(struct scene *s)
{
	for (size_t i = 0; i < s->n; i++)
		condition_release(&s->c[i]);
	free(s->c);
	free(s->own_branch);
	strv_release(&s->warnings);
	*s = (struct scene){0};
}

const char *condition_branch(const struct condition *c)
{
	return c->f.refs_n ? git_branch_short(c->f.refs[0]) : "";
}

static bool take(struct oid *where, const struct oid *now)
{
	bool changed = !oid_equal(where, now);

	*where = *now;
	return changed;
}

int scene_look(struct scene *s, struct err *err)
{
	const struct project *p = s->p;
	size_t max = 2 + s->n * NELEMS(s->c->f.refs), n = 0, at = 2;
	AUTOFREE const char **names = xcalloc(max + 1, sizeof(*names));
	AUTOFREE struct oid *oids = xcalloc(max, sizeof(*oids));

	names[n++] = p->trunk_ref;
	names[n++] = RECEIPT_REF;
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->c[i].f.refs_n; k++)
			names[n++] = s->c[i].f.refs[k];
	if (git_refs(&p->git, names, oids, err) < 0)
		return -1;
	s->found = take(&s->trunk, &oids[0]);
	s->found |= take(&s->notes, &oids[1]);
	for (size_t i = 0; i < s->n; i++) {
		struct follow *f = &s->c[i].f;
		struct oid live = {0};
		size_t n_refs = f->refs_n;

		for (size_t k = 0; k < n_refs; k++, at++) {
			if (!oid_is_set(&oids[at]) || oid_is_set(&live))
				continue;
			live = oids[at];
			/* Of two possible names the one that appears first is it. */
			if (n_refs > 1 && k == 1)
				mem_set(&f->refs[0], STEAL(f->refs[1]));
			f->refs_n = 1;
		}
		s->found |= take(&f->live, &live);
	}
	return 0;
}

const char *scene_own_branch(struct scene *s)
{
	const struct git *g = &s->p->git;
	AUTOPROC p = {0};

	if (s->own_known)
		return s->own_branch;
	s->own_known = true;
	if (git_run((struct git_at){.git_dir = g->git_dir}, &p,
	            GIT_WORDS("symbolic-ref", "-q", "HEAD"), NULL) == 0 &&
	        p.status == 0 && p.out.len)
		s->own_branch = xstrndup(buf_str(&p.out), p.out.len - 1);
	return s->own_branch;
}

int scene_judge(struct scene *s, struct err *err)
{
	for (size_t i = 0; i < s->n; i++) {
		struct condition *c = &s->c[i];

		if (c->held) {
			c->verdict = HOLDS;
			continue;
		}
		c->verdict = NOT_YET;
		c->via = VIA_NONE;
		if (condition_kind(c->id)->judge(s, c, err) < 0)
			return -1;
		if (c->verdict == HOLDS) {
			json_decref(c->observed);
			c->observed = json_object();
			if (condition_kind(c->id)->observe(s, c, c->observed, err) < 0)
				return -1;
			c->held = s->changed = true;
		}
	}
	return 0;
}
