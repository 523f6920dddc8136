#include "wait/engine.h"

#include <string.h>

#include "wait/handle.h"

enum { OVERLAP_CLI = 20, OVERLAP_MCP = 3 };

static const char *mode_text(const struct scene *s)
{
	return s->mode == WAIT_ANY ? "any" : "all";
}

static char *handle_of(const struct watch *k)
{
	struct handle h = {.kind = 'w'};

	memcpy(h.symbols, k->handle, sizeof(h.symbols));
	return handle_text(&h);
}

char *answer_what(const struct scene *s)
{
	AUTOBUF text = {0};

	for (size_t i = 0; i < s->n; i++) {
		const struct condition *c = &s->c[i];
		if (c->verdict == HOLDS)
			continue;
		if (text.len)
			buf_puts(&text, s->mode == WAIT_ANY ? " or " : " and ");
		switch (c->id) {
		case CONDITION_GREEN:
			buf_printf(&text, "%s to be green", condition_branch(c));
			break;
		case CONDITION_LANDED:
			buf_printf(&text, "%s to land", condition_branch(c));
			break;
		case CONDITION_TRUNK_MOVED:
			buf_printf(&text, "%s to move", s->p->trunk);
			break;
		case CONDITION_COUNT:
			break;
		}
	}
	return buf_take(&text);
}

/* --- One condition ------------------------------------------------------------ */

static int put_condition(
        struct call_of_wait *w, const struct condition *c, json_t *o, struct err *err)
{
	json_t *observed;

	json_put_text(o, "condition", condition_text(c->id));
	if (condition_kind(c->id)->takes_branch)
		json_put_text(o, "branch", condition_branch(c));
	json_put_bool(o, "met", c->verdict == HOLDS);
	if (c->verdict == HOLDS) {
		observed = json_copy(c->observed);
	} else {
		observed = json_object();
		if (condition_kind(c->id)->observe(&w->scene, c, observed, err) < 0) {
			json_decref(observed);
			return -1;
		}
	}
	json_put(o, "observed", observed);
	if (c->verdict == SETTLED) {
		json_put_text(o, "settled", c->settled);
		if (c->settled_detail)
			json_put(o, "refused", json_incref(c->settled_detail));
	}
	return 0;
}

/* One condition stands at the top; several stand in a list. */
static int put_conditions(struct call_of_wait *w, json_t *data, struct err *err)
{
	struct scene *s = &w->scene;
	json_t *list, *observed;

	if (s->mode == WAIT_ONE)
		return put_condition(w, &s->c[0], data, err);
	json_put_text(data, "condition", mode_text(s));
	observed = json_object();
	json_put_text(observed, "trunk_start", s->baseline.hex);
	if (oid_is_set(&s->trunk))
		json_put_text(observed, "trunk_head", s->trunk.hex);
	else
		json_put_bool(observed, "trunk_missing", true);
	json_put(data, "observed", observed);
	list = json_array();
	json_put(data, "conditions", list);
	for (size_t i = 0; i < s->n; i++) {
		json_t *o = json_object();
		json_array_append_new(list, o);
		if (put_condition(w, &s->c[i], o, err) < 0)
			return -1;
		if (s->c[i].verdict == SETTLED && !json_object_get(data, "settled"))
			json_put_text(data, "settled", s->c[i].settled);
	}
	return 0;
}

/* --- What comes in -------------------------------------------------------------- */

/* The commit that a met answer invites the caller to take: a green tip, else the trunk. */
static const struct oid *incoming(const struct scene *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->c[i].verdict == HOLDS && s->c[i].via == VIA_PROOF)
			return &s->c[i].commit;
	return &s->trunk;
}

/* Own changed files (committed or not) that the incoming work touches, too. */
static void put_overlap(json_t *observed, const struct buf *own, const struct buf *theirs)
{
	AUTOSTRV mine = {0};
	AUTOSTRV in = {0};
	AUTOSTRV both = {0};

	strv_split_nul(&mine, buf_str(own), own->len);
	strv_split_nul(&in, buf_str(theirs), theirs->len);
	strv_sort(&mine);
	strv_sort(&in);
	for (size_t i = 0, k = 0; i < mine.n && k < in.n;) {
		int order = strcmp(mine.v[i], in.v[k]);
		if (order == 0)
			strv_push(&both, mine.v[i]);
		i += order <= 0;
		k += order >= 0;
	}
	if (!both.n)
		return;
	json_put(observed, "incoming_overlap",
	        json_text_list(&both, result_surface == SURFACE_MCP ? OVERLAP_MCP : OVERLAP_CLI));
	json_put_int(observed, "overlap_total", (int64_t)both.n);
}

/*
 * How far the caller's worktree is behind, and where the two meet. Facts for
 * the reader, no verdict: what cannot be told is left out.
 */
static void put_incoming(struct call_of_wait *w, json_t *observed)
{
	const struct git *g = &w->p->git;
	const struct oid *to = incoming(&w->scene);
	AUTOFREE char *range = xasprintf("HEAD..%s", to->hex);
	AUTOFREE char *since = xasprintf("HEAD...%s", to->hex);
	struct git_at at = {.worktree = g->worktree};
	struct git_job jobs[] = {
	        {.at = at, .words = GIT_WORDS("rev-list", "--count", range, "--")},
	        {.at = at,
	                .words = GIT_WORDS("diff", "--name-only", "-z", "--no-renames",
	                        "--no-ext-diff", "--ignore-submodules=dirty", "--merge-base",
	                        to->hex, "--")},
	        {.at = at,
	                .words = GIT_WORDS("diff", "--name-only", "-z", "--no-renames",
	                        "--no-ext-diff", since, "--")},
	};

	if (project_in_main(w->p) || !oid_is_set(to))
		return;
	if (git_run_all(jobs, NELEMS(jobs), NULL) == 0 && jobs[0].p.status == 0)
		json_put_int(observed, "behind", strtoll(buf_str(&jobs[0].p.out), NULL, 10));
	if (jobs[1].p.status == 0 && jobs[2].p.status == 0)
		put_overlap(observed, &jobs[1].p.out, &jobs[2].p.out);
	for (size_t i = 0; i < NELEMS(jobs); i++)
		proc_release(&jobs[i].p);
}

/* Where the work is: the worktree that holds the branch; and that none does. */
static void put_worktree(struct call_of_wait *w, const struct condition *c, json_t *o)
{
	json_t *observed = json_object_get(o, "observed");
	json_t *proof = json_object_get(observed, "proof");
	const char *status = json_text(proof, "status");
	AUTOWORKTREES trees = {0};

	if (c->id != CONDITION_GREEN || c->verdict == HOLDS ||
	        git_worktrees(&w->p->git, &trees, NULL) < 0)
		return;
	for (size_t i = 0; i < trees.n; i++) {
		if (trees.v[i].branch && strcmp(trees.v[i].branch, c->f.refs[0]) == 0) {
			json_put_text(observed, "worktree", trees.v[i].path);
			return;
		}
	}
	if (status && strcmp(status, "red") != 0)
		json_put_text(proof, "status", "no-worktree");
}

static void put_worktrees(struct call_of_wait *w, json_t *data)
{
	json_t *list = json_object_get(data, "conditions");

	for (size_t i = 0; i < w->scene.n; i++)
		put_worktree(w, &w->scene.c[i], list ? json_array_get(list, i) : data);
}

/* --- The answer --------------------------------------------------------------------- */

static void put_call(struct call_of_wait *w, json_t *data)
{
	json_put_int(data, "elapsed_ms", clock_mono_ms() - w->begun_mono_ms);
	json_put_int(data, "timeout_s", w->bound.timeout_s);
	json_put_text(data, "timeout_basis", basis_text(w->bound.basis));
	if (w->bound.requested_s >= 0)
		json_put_int(data, "requested_timeout_s", w->bound.requested_s);
	if (w->continued)
		json_put(data, "continued", json_incref(w->continued));
	json_put_text(data, "wake", w->wake);
}

int answer_met(struct call_of_wait *w, json_t **ret, struct err *err)
{
	json_t *data = json_object();

	json_put_text(data, "trunk", w->p->trunk);
	if (put_conditions(w, data, err) < 0) {
		json_decref(data);
		return -1;
	}
	json_put_bool(data, "met", true);
	put_incoming(w, json_object_get(data, "observed"));
	put_call(w, data);
	*ret = data;
	return 0;
}

/* Whether the met answer is about the branch that the caller stands on. */
static bool about_own_branch(struct call_of_wait *w, const char *branch)
{
	const char *own = scene_own_branch(&w->scene);

	return own && branch && strcmp(git_branch_short(own), branch) == 0;
}

/* A live green proof: its commit, which outlives the branch's name. */
static const char *green_commit(const json_t *o)
{
	const json_t *observed = json_object_get(o, "observed");
	const char *via = json_text(observed, "via");

	if (!json_flag(o, "met") || !via || strcmp(via, "proof") != 0)
		return NULL;
	return json_text(observed, "tip");
}

static void hint_met(struct call_of_wait *w, const json_t *data, struct result *res)
{
	const json_t *list = json_object_get(data, "conditions");
	const json_t *behind = json_object_get(json_object_get(data, "observed"), "behind");
	const char *verb = project_in_main(w->p) ? "start" : "update";
	const char *branch = json_text(data, "branch");
	const char *from = green_commit(data);
	AUTOFREE char *call = NULL;

	for (size_t i = 0; i < json_array_size(list) && !from; i++)
		from = green_commit(json_array_get(list, i));
	if (from && about_own_branch(w, branch)) {
		call = call_text("accept", NULL);
		result_hint(res, "This very task is green: land it with `%s`.", call);
		return;
	}
	call = from ? call_text(verb, "from", from, NULL) : call_text(verb, NULL);
	if (project_in_main(w->p))
		result_hint(res, "Start work that builds on it with `%s`.", call);
	else if (json_is_integer(behind) && json_integer_value(behind) == 0)
		result_hint(res,
		        "This worktree already has it; go on, and check with `%s` any time.", call);
	else
		result_hint(res, "Bring it into this worktree with `%s`.", call);
}

static void hint_not_yet(struct call_of_wait *w, struct result *res)
{
	const struct scene *s = &w->scene;
	AUTOBUF why = {0};

	for (size_t i = 0; i < s->n; i++) {
		AUTOFREE char *one = NULL;
		if (s->c[i].verdict == HOLDS)
			continue;
		one = condition_kind(s->c[i].id)->untrue(s, &s->c[i]);
		buf_printf(&why, "%s%s", why.len ? "; " : "", one);
	}
	if (!w->watch.id) {
		result_hint(res, "Not yet: %s. Ask the same again; this watch could not be kept.",
		        buf_str(&why));
	} else {
		AUTOFREE char *handle = handle_of(&w->watch);
		AUTOFREE char *call = call_text("await", "resume", handle, NULL);
		result_hint(res,
		        "Not yet: %s. Continue with `%s`, as often as it takes: until the "
		        "condition holds or "
		        "the person stops the watch.",
		        buf_str(&why), call);
	}
}

/* What the one who must mend it does next. */
static void hint_settled(struct call_of_wait *w, const json_t *data, struct result *res)
{
	const struct scene *s = &w->scene;
	AUTOFREE char *handle = w->watch.id ? handle_of(&w->watch) : NULL;
	AUTOFREE char *go_on = handle ? call_text("await", "resume", handle, NULL) : NULL;
	AUTOFREE char *done = call_text("done", NULL);
	AUTOFREE char *accept = call_text("accept", NULL);

	(void)data;
	for (size_t i = 0; i < s->n; i++) {
		const struct condition *c = &s->c[i];
		if (c->verdict != SETTLED)
			continue;
		if (strcmp(c->settled, "red") == 0)
			result_hint(res, "The gate on `%s` is red: mend it, commit, and run `%s`.",
			        condition_branch(c), done);
		else
			result_hint(res,
			        "The landing of `%s` was refused (%s): mend that, then run `%s`.",
			        condition_branch(c), json_text(c->settled_detail, "error"), accept);
	}
	if (go_on)
		result_hint(res, "The watch goes on with `%s`.", go_on);
}

static int compose_not_met(struct call_of_wait *w, struct result *res, struct err *err)
{
	json_t *data = result_data(res);
	AUTOFREE char *handle = w->watch.id ? handle_of(&w->watch) : NULL;

	json_put_text(data, "trunk", w->p->trunk);
	if (put_conditions(w, data, err) < 0)
		return -1;
	json_put_bool(data, "met", false);
	put_worktrees(w, data);
	put_call(w, data);
	res->status = 124;
	if (w->ending == END_STOPPED) {
		json_put_text(data, "ended", "stopped");
		result_hint(res,
		        "The watch was stopped for good; ask the question anew if it matters.");
		return 0;
	}
	if (handle)
		json_put_text(data, "resume", handle);
	json_put_int(data, "retry_after_s", w->bound.retry_s);
	json_put_text(data, "retry_basis", basis_text(w->bound.retry_basis));
	if (w->hooks->running) {
		const struct scene *s = &w->scene;
		json_put(data, "running",
		        w->hooks->running(w->hooks->ctx,
		                s->n == 1 && s->c[0].f.refs_n ? s->c[0].f.refs[0] : NULL));
	}
	if (w->ending == END_SIGNAL || w->ending == END_ORPHANED)
		json_put_text(data, "ended", "cancelled");
	else if (w->ending == END_SETTLED)
		hint_settled(w, data, res);
	else
		hint_not_yet(w, res);
	return 0;
}

int answer_compose(struct call_of_wait *w, struct result *res, struct err *err)
{
	json_t *data;

	strv_extend(&res->warnings, &w->scene.warnings);
	if (w->ending != END_MET && w->ending != END_REPLAYED)
		return compose_not_met(w, res, err);
	data = w->watch.answer;
	if (!data) {
		err_set(err, ERR_READ_FAILED,
		        "The answer that the store keeps for this watch is damaged.");
		err_hint(err, "Ask the question anew with --fresh.");
		return -1;
	}
	res->data = json_deep_copy(data);
	if (w->ending == END_REPLAYED) {
		json_put_bool(res->data, "replayed", true);
		/* The facts are the earlier answer's; the call is this one. */
		put_call(w, res->data);
		if (!w->continued)
			json_object_del(res->data, "continued");
	}
	hint_met(w, res->data, res);
	return 0;
}
