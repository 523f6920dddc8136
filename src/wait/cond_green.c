#include "store/run.h"
#include "wait/condition.h"

#include <string.h>

/*
 * Asked from the branch's own worktree: the one who must mend it is told that
 * the newest finished gate on the live tip is red and none is running.
 */
static int settle(struct scene *s, struct condition *c, struct err *err)
{
	AUTORUN red = {0};
	AUTORUN live = {0};
	const char *own;
	int rc = run_newest_verdict(s->p->store, &c->f.live, &red, err);

	if (rc != 0 || red.state != RUN_RED || red.id <= c->told_run)
		return rc < 0 ? -1 : 0;
	rc = run_live(s->p->store, &c->f.live, &live, err);
	if (rc <= 0)
		return rc;
	own = scene_own_branch(s);
	if (!own || strcmp(own, c->f.refs[0]) != 0)
		return 0;
	c->verdict = SETTLED;
	c->settled = "red";
	c->told_run = red.id;
	s->changed = true;
	return 0;
}

static int judge(struct scene *s, struct condition *c, struct err *err)
{
	AUTORUN proof = {0};
	int rc;

	if (follow_judge(s, &c->f, &c->via, &c->commit, err) < 0)
		return -1;
	if (oid_is_set(&c->f.live) && s->p->store) {
		rc = run_proof(s->p->store, &c->f.live, &proof, err);
		if (rc < 0)
			return -1;
		if (rc == 0) {
			c->via = VIA_PROOF;
			c->commit = c->f.live;
		}
	}
	if (c->via != VIA_NONE) {
		c->verdict = HOLDS;
		return 0;
	}
	return oid_is_set(&c->f.live) && s->p->store ? settle(s, c, err) : 0;
}

static char *untrue(const struct scene *s, const struct condition *c)
{
	const char *name = condition_branch(c);

	(void)s;
	if (!oid_is_set(&c->f.tip))
		return xasprintf("`%s` does not exist yet", name);
	if (!oid_is_set(&c->f.live))
		return xasprintf(
		        "`%s` is not green: the branch is gone and no receipt names it", name);
	return xasprintf(
	        "`%s` is not green: its tip %.10s has not passed the gate", name, c->f.live.hex);
}

/* Names of the jobs that failed. */
static json_t *failing_jobs(const struct run *r)
{
	json_t *names = json_array();
	size_t i;
	const json_t *job;

	json_array_foreach (r->jobs, i, job) {
		const char *state = json_text(job, "state");
		if (state && strcmp(state, "passed") != 0 && strcmp(state, "skipped") != 0)
			json_array_append_new(names, json_incref(json_object_get(job, "name")));
	}
	return names;
}

static json_t *proof_block(const char *status, const struct run *r)
{
	json_t *o = json_object();

	json_put_text(o, "status", status);
	if (r) {
		json_put_text(o, "commit", r->commit.hex);
		json_put_int(o, "finished_at", r->ended_at);
		if (r->state == RUN_RED)
			json_put(o, "failing", failing_jobs(r));
	}
	return o;
}

/* honoured, red, stale, missing: what the store holds for the live tip. */
static int observe_proof(
        const struct scene *s, const struct condition *c, json_t *observed, struct err *err)
{
	AUTORUN verdict = {0};
	AUTORUN old = {0};
	int rc;

	if (oid_is_set(&c->f.live)) {
		rc = run_newest_verdict(s->p->store, &c->f.live, &verdict, err);
		if (rc < 0)
			return -1;
		if (rc == 0 && c->via != VIA_PROOF && verdict.state == RUN_RED) {
			json_put(observed, "proof", proof_block("red", &verdict));
			return 0;
		}
		rc = run_proof(s->p->store, &c->f.live, &old, err);
		if (rc < 0)
			return -1;
		if (rc == 0) {
			json_put(observed, "proof", proof_block("honoured", &old));
			return 0;
		}
	}
	rc = run_branch_proof(s->p->store, c->f.refs[0], &old, err);
	if (rc < 0)
		return -1;
	json_put(observed, "proof",
	        rc == 0 ? proof_block("stale", &old) : proof_block("missing", NULL));
	return 0;
}

static int observe(
        const struct scene *s, const struct condition *c, json_t *observed, struct err *err)
{
	observe_follow(s, c, observed);
	return s->p->store ? observe_proof(s, c, observed, err) : 0;
}

const struct condition_kind condition_green = {
        .text = "green",
        .takes_branch = true,
        .judge = judge,
        .untrue = untrue,
        .observe = observe,
};
