#include "fleet/fleet.h"

#include <string.h>

#include "wait/wait.h"

/* Branches without a worktree that are named; all are counted. */
enum { BRANCHES_NAMED = 20 };

/* A failure that only makes the answer poorer. */
static void warn_of(struct result *res, struct err *err)
{
	if (err->code != ERR_NONE)
		result_warn(res, "%s", err->message);
	err_clear(err);
}

/* --- Branches without a worktree ---------------------------------------------------- */

static bool held(const struct fleet_trees *trees, const char *ref)
{
	for (size_t i = 0; i < trees->n; i++)
		if (strcmp(trees->v[i].task.branch, ref) == 0)
			return true;
	return false;
}

/* Leaves in REFS those that no worktree holds. */
static void keep_free(struct git_ref_list *refs, const struct fleet_trees *trees)
{
	size_t n = 0;

	for (size_t i = 0; i < refs->n; i++) {
		struct git_ref r = refs->v[i];
		if (r.symref || held(trees, r.name)) {
			free(r.name);
			free(r.symref);
			continue;
		}
		refs->v[n++] = r;
	}
	refs->n = n;
}

static json_t *branch_row(const struct git_ref *r, const struct git_count *c)
{
	json_t *row = json_object();

	json_put_text(row, "branch", git_branch_short(r->name));
	json_put_text(row, "tip", r->oid.hex);
	if (c->known) {
		json_put_int(row, "ahead", c->ahead);
		json_put_int(row, "behind", c->behind);
	}
	json_put_int(row, "committed_at", r->committed_ms);
	return row;
}

/* --- Ahead and behind, for all at once ---------------------------------------------------- */

/* One walk for the worktrees and the branches that are named. */
static void count_all(const struct project *p, struct fleet_trees *trees,
        const struct git_ref_list *refs, json_t *branches, struct result *res)
{
	size_t named = refs->n < BRANCHES_NAMED ? refs->n : BRANCHES_NAMED;
	AUTOFREE struct git_count *v = xcalloc(trees->n + named + 1, sizeof(*v));
	AUTOERR err = {0};

	for (size_t i = 0; i < trees->n; i++)
		if (trees->v[i].is_task)
			v[i].tip = trees->v[i].task.tip;
	for (size_t i = 0; i < named; i++)
		v[trees->n + i].tip = refs->v[i].oid;
	if (git_counts(&p->git, &p->trunk_tip, v, trees->n + named, &err) < 0)
		warn_of(res, &err);
	for (size_t i = 0; i < trees->n; i++)
		trees->v[i].count = v[i];
	for (size_t i = 0; i < named; i++)
		json_array_append_new(branches, branch_row(&refs->v[i], &v[trees->n + i]));
}

/* --- Trunk, queue, worktrees ----------------------------------------------------------- */

static const struct fleet_tree *trunk_checkout(const struct project *p, const struct fleet_trees *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].task.branch, p->trunk_ref) == 0)
			return &l->v[i];
	return NULL;
}

static void put_upstream(const struct project *p, json_t *trunk)
{
	AUTOFREE char *upstream = NULL;
	int64_t ahead, behind;

	if (git_upstream(&p->git, p->trunk_ref, &upstream, &ahead, &behind, NULL) < 0 || !upstream)
		return;
	json_put_text(trunk, "upstream", upstream);
	json_put_int(trunk, "ahead_of_upstream", ahead);
	json_put_int(trunk, "behind_upstream", behind);
}

static json_t *trunk_block(const struct project *p, const struct fleet_trees *trees)
{
	json_t *trunk = json_object();
	const struct fleet_tree *at = trunk_checkout(p, trees);

	json_put_text(trunk, "name", p->trunk);
	if (oid_is_set(&p->trunk_tip))
		json_put_text(trunk, "tip", p->trunk_tip.hex);
	put_upstream(p, trunk);
	if (at) {
		json_put_text(trunk, "path", at->task.worktree);
		if (at->read)
			json_put_int(trunk, "changed", (int64_t)at->status.tracked.n);
		json_put_text(trunk, "parked", at->parked);
	}
	return trunk;
}

/* A worktree that is no task: on the trunk, or detached. */
static json_t *other_row(const struct fleet_tree *t)
{
	json_t *row = json_object();

	json_put_text(row, "path", t->task.worktree);
	if (*t->task.branch)
		json_put_text(row, "branch", git_branch_short(t->task.branch));
	if (oid_is_set(&t->task.tip))
		json_put_text(row, "head", t->task.tip.hex);
	json_put_text(row, "state", fleet_state_text(t->state));
	json_put_text(row, "message", t->message);
	json_put_text(row, "locked", t->task.locked);
	json_put_text(row, "parked", t->parked);
	if (t->task.main)
		json_put_bool(row, "main", true);
	if (t->here)
		json_put_bool(row, "here", true);
	if (t->read) {
		json_put_int(row, "changed", (int64_t)t->status.tracked.n);
		json_put_int(row, "untracked", (int64_t)t->status.untracked.n);
	}
	return row;
}

static json_t *landing_queue(struct store *s)
{
	AUTOPLACES places = {0};
	json_t *queue = json_array();

	place_list(s, "landing", &places, NULL);
	for (size_t i = 0; i < places.n; i++) {
		json_t *row = json_object();
		json_put_text(row, "branch", git_branch_short(places.v[i].what));
		json_put_int(row, "since", places.v[i].since);
		json_array_append_new(queue, row);
	}
	return queue;
}

/* --- The whole ----------------------------------------------------------------------------- */

static json_t *open_watches(struct project *p, struct result *res)
{
	AUTORESULT listed = {0};
	AUTOERR err = {0};

	if (!p->store)
		return json_array();
	if (wait_list(p, &listed, &err) < 0)
		warn_of(res, &err);
	return json_incref(json_object_get(result_data(&listed), "watches"));
}

/* Store and configuration are memory and wishes: without them there still is a fleet. */
static void open_what_can_be(struct project *p, struct fleet_memory *m, struct result *res)
{
	const struct config *policy;
	AUTOERR err = {0};

	if (project_store(p, STORE_READ, &err) < 0)
		warn_of(res, &err);
	if (project_policy(p, &policy, &err) < 0)
		warn_of(res, &err);
	m->store = p->store;
	m->logbook = fleet_logbook(p);
	if (m->logbook && logbook_in_flight(m->store, NULL, &m->in_flight, &err) < 0)
		warn_of(res, &err);
	m->watches = open_watches(p, res);
}

static void memory_release(struct fleet_memory *m)
{
	logbook_list_release(&m->in_flight);
	json_decref(m->watches);
}

int fleet_status(struct project *p, bool here, struct result *res, struct err *err)
{
	CLEANUP(memory_release) struct fleet_memory m = {0};
	AUTOTREES trees = {0};
	AUTOREFS refs = {0};
	AUTOERR bad = {0};
	json_t *data = result_data(res);
	json_t *tasks, *others, *branches;
	const struct fleet_tree *mine = NULL;
	bool trunk = p->trunk_ref && oid_is_set(&p->trunk_tip);

	open_what_can_be(p, &m, res);
	if (fleet_trees(p, here, &trees, err) < 0)
		return -1;
	tasks = json_array();
	others = json_array();
	branches = json_array();
	if (trunk && !here && git_branches_beyond(&p->git, &p->trunk_tip, &refs, &bad) < 0)
		warn_of(res, &bad);
	keep_free(&refs, &trees);
	if (trunk)
		count_all(p, &trees, &refs, branches, res);
	if (p->trunk_ref)
		json_put(data, "trunk", trunk_block(p, &trees));
	for (size_t i = 0; i < trees.n; i++) {
		if (trees.v[i].here)
			mine = &trees.v[i];
		if (trees.v[i].is_task)
			json_array_append_new(tasks, fleet_row(&m, &trees.v[i]));
		else
			json_array_append_new(others, other_row(&trees.v[i]));
	}
	json_put(data, "tasks", tasks);
	json_put(data, "worktrees", others);
	json_put(data, "branches", branches);
	json_put_int(data, "branches_total", (int64_t)refs.n);
	json_put(data, "watches", json_incref(m.watches));
	json_put(data, "landing_queue", landing_queue(m.store));
	fleet_next(p, mine, data, res);
	return 0;
}
