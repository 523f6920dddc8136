#include "wait/engine.h"

#include <string.h>

#include "wait/handle.h"

enum { SAME_LOOKED_AT = 8 };
#define ANSWERED_AGAIN_MS INT64_C(3600000)

/* --- Resuming ---------------------------------------------------------------- */

static int no_such_watch(const struct handle *h, bool expired, struct err *err)
{
	AUTOFREE char *text = handle_text(h);
	AUTOFREE char *list = call_text("await", "list", NULL, NULL);

	if (expired)
		err_set(err, ERR_HANDLE_EXPIRED,
		        "The watch %s was not used for 7 days and has been put away.", text);
	else
		err_set(err, ERR_HANDLE_UNKNOWN, "The handle %s is of no watch of this repository.",
		        text);
	err_hint(err, "Ask the question anew; `%s` shows the watches that are open here.", list);
	return -1;
}

static int cannot_continue(const struct call_of_wait *w, const struct handle *h, struct err *err)
{
	const struct watch *k = &w->watch;
	AUTOFREE char *text = handle_text(h);

	if (k->version > WATCH_VERSION) {
		err_set(err, ERR_NEWER_FORMAT,
		        "The watch %s was written by a newer abide; it was left as it is.", text);
		err_hint(err, "Continue it with the newer abide, or ask the question anew.");
		return -1;
	}
	if (k->state == WATCH_STOPPED) {
		err_set(err, ERR_HANDLE_EXPIRED, "The watch %s was stopped for good.", text);
		err_hint(err, "Ask the question anew if it still matters.");
		return -1;
	}
	/* A trunk that vanished since, and was found by nothing but being there, is still the one.
	 */
	if (!w->p->trunk) {
		w->p->trunk = xstrdup(k->trunk);
		w->p->trunk_ref = git_branch_ref(k->trunk);
	}
	if (strcmp(k->trunk, w->p->trunk) != 0) {
		err_set(err, ERR_INVALID_ARGUMENTS,
		        "The watch %s was asked about the trunk `%s`, but the trunk now is `%s`.",
		        text, k->trunk, w->p->trunk);
		err_hint(err, "Continue it with ABIDE_TRUNK=%s, or ask the question anew.",
		        k->trunk);
		return -1;
	}
	return 0;
}

/* Fills the scene from the record of w->watch. */
static int take_record(struct call_of_wait *w, struct err *err)
{
	struct scene *s = &w->scene;
	struct strv warnings = s->warnings;

	s->warnings = (struct strv){0};
	scene_release(s);
	s->warnings = warnings;
	s->p = w->p;
	s->baseline = w->watch.baseline;
	if (record_read(w->watch.record, s))
		return 0;
	err_set(err, ERR_READ_FAILED, "The watch's record in the store cannot be read.");
	err_hint(err, "Ask the question anew.");
	return -1;
}

int begin_resumed(struct call_of_wait *w, struct err *err)
{
	struct handle h;
	bool tombstone = false;
	int rc;

	if (handle_read(w->ask->resume, 'w', &h, err) < 0)
		return -1;
	rc = watch_load(w->p->store, h.symbols, &w->watch, &tombstone, err);
	if (rc < 0)
		return -1;
	if (rc == 1)
		return no_such_watch(&h, tombstone, err);
	if (cannot_continue(w, &h, err) < 0 || take_record(w, err) < 0)
		return -1;
	if (w->watch.state == WATCH_MET)
		w->ending = END_REPLAYED;
	return 0;
}

/* --- A new question ------------------------------------------------------------ */

/* A name that is no branch may be a task's id: the policy's prefix stands before it. */
static int name_refs(struct call_of_wait *w, const char *name, struct follow *f, struct err *err)
{
	const struct config *policy;
	AUTOERR trouble = {0};
	AUTOFREE char *ref = git_branch_ref(name);
	const char *prefix = "agent/";
	AUTOFREE char *under = NULL;

	if (!git_branch_name_ok(git_branch_short(ref))) {
		err_set(err, ERR_INVALID_ARGUMENTS, "`%s` can be no branch's name.", name);
		err_hint(err,
		        "Give a branch, such as `agent/fix`, or a task's id; `abide status` lists "
		        "them.");
		return -1;
	}
	if (strcmp(ref, w->p->trunk_ref) == 0) {
		AUTOFREE char *moved = call_text("await", "trunk_moved", NULL, NULL);
		err_set(err, ERR_INVALID_ARGUMENTS, "`%s` is the trunk; it lands nowhere.", name);
		err_hint(err, "To wait until the trunk moves, ask `%s`.", moved);
		return -1;
	}
	/* A policy that cannot be read is told by the verbs that obey it. */
	if (project_policy(w->p, &policy, &trouble) == 0)
		prefix = policy->branch_prefix;
	f->refs[f->refs_n++] = xstrdup(ref);
	under = xasprintf("refs/heads/%s%s", prefix, git_branch_short(ref));
	if (*prefix && !text_starts(name, "refs/heads/") &&
	        git_branch_name_ok(git_branch_short(under)))
		f->refs[f->refs_n++] = STEAL(under);
	return 0;
}

static bool asked_before(const struct scene *s, const struct condition *c)
{
	for (size_t i = 0; i < s->n; i++)
		if (&s->c[i] != c && s->c[i].id == c->id &&
		        strcmp(condition_branch(&s->c[i]), condition_branch(c)) == 0)
			return true;
	return false;
}

static int take_conditions(struct call_of_wait *w, struct err *err)
{
	struct scene *s = &w->scene;

	s->c = xcalloc(w->ask->n, sizeof(*s->c));
	for (size_t i = 0; i < w->ask->n; i++) {
		struct condition *c = &s->c[s->n];

		c->id = w->ask->conditions[i].id;
		if (condition_kind(c->id)->takes_branch &&
		        name_refs(w, w->ask->conditions[i].name, &c->f, err) < 0) {
			condition_release(c);
			return -1;
		}
		/* The same twice is once. */
		if (asked_before(s, c))
			condition_release(c);
		else
			s->n++;
	}
	return 0;
}

static const char *caller_worktree(const struct project *p)
{
	return p->git.worktree ? p->git.worktree : p->git.common;
}

int begin_fresh(struct call_of_wait *w, struct err *err)
{
	struct scene *s = &w->scene;

	if (project_need_trunk(w->p, err) < 0)
		return -1;
	s->p = w->p;
	s->fresh = true;
	s->may_start = w->ask->may_start;
	s->baseline = w->p->trunk_tip;
	if (take_conditions(w, err) < 0)
		return -1;
	s->mode = s->n == 1 ? WAIT_ONE : w->ask->any ? WAIT_ANY : WAIT_ALL;
	w->watch.question = record_question(s);
	w->watch.trunk = xstrdup(w->p->trunk);
	w->watch.baseline = s->baseline;
	w->watch.worktree = xstrdup(caller_worktree(w->p));
	return 0;
}

/* --- An earlier call of the same question ----------------------------------------- */

static bool asks_trunk_moved(const struct scene *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->c[i].id == CONDITION_TRUNK_MOVED)
			return true;
	return false;
}

/* Whether the caller's checkout already contains COMMIT. */
static int head_contains(
        const struct project *p, const struct oid *commit, bool *ret, struct err *err)
{
	AUTOPROC head = {0};
	struct oid oid;

	*ret = false;
	if (git_run((struct git_at){.git_dir = p->git.git_dir}, &head,
	            GIT_WORDS("rev-parse", "-q", "--verify", "HEAD^{commit}"), err) < 0)
		return -1;
	if (head.status != 0 || !head.out.len)
		return 0;
	head.out.data[strcspn(head.out.data, "\n")] = '\0';
	return oid_parse(&oid, head.out.data) ? git_is_ancestor(&p->git, commit, &oid, ret, err)
	                                      : 0;
}

/*
 * A move of the trunk matters to a worktree until it has it; in the main
 * checkout, whose HEAD is the trunk, only time can tell whether the same
 * question is meant.
 */
static int still_meant(struct call_of_wait *w, const struct watch *k, bool *ret, struct err *err)
{
	bool contains;

	*ret = true;
	if (!asks_trunk_moved(&w->scene))
		return 0;
	if (project_in_main(w->p)) {
		*ret = clock_wall_ms() - k->used_at < w->bound.retry_s * 1000;
		return 0;
	}
	if (head_contains(w->p, &w->scene.trunk, &contains, err) < 0)
		return -1;
	*ret = !contains;
	return 0;
}

/* An answered watch is answered again only for the very same work, for an hour. */
static int same_answer(struct call_of_wait *w, const struct watch *k, bool *ret, struct err *err)
{
	struct scene then = {.p = w->p};
	const char *head = json_text(json_object_get(k->answer, "observed"), "trunk_head");
	struct oid answered;
	bool contains;

	*ret = false;
	if (clock_wall_ms() - k->ended_at >= ANSWERED_AGAIN_MS)
		return 0;
	if (asks_trunk_moved(&w->scene)) {
		if (project_in_main(w->p) || !head || !oid_parse(&answered, head))
			return 0;
		if (head_contains(w->p, &answered, &contains, err) < 0)
			return -1;
		*ret = !contains;
		return 0;
	}
	*ret = record_read(k->record, &then);
	for (size_t i = 0; *ret && i < then.n; i++) {
		const struct follow *f = &then.c[i].f;
		const struct follow *now = i < w->scene.n ? &w->scene.c[i].f : NULL;
		/* A branch that is gone meanwhile does not change what was answered. */
		if (!now || (oid_is_set(&now->live) && !oid_equal(&now->live, &f->tip)))
			*ret = false;
	}
	scene_release(&then);
	return 0;
}

static void say_continued(struct call_of_wait *w, const struct watch *k)
{
	static const char *const reasons[] = {
	        [WATCH_END_UNKNOWN] = "killed",
	        [WATCH_END_ANSWERED] = "answered",
	        [WATCH_END_INTERRUPTED] = "interrupted",
	        [WATCH_END_CANCELLED] = "cancelled",
	        [WATCH_END_UNDELIVERED] = "undelivered",
	};
	struct handle h = {.kind = 'w'};
	AUTOFREE char *text = NULL;

	memcpy(h.symbols, k->handle, sizeof(h.symbols));
	text = handle_text(&h);
	w->continued = json_object();
	json_put_text(w->continued, "resume", text);
	json_put_int(w->continued, "begun_at", k->begun_at);
	json_put_text(w->continued, "reason", reasons[k->end]);
}

/* Whether K, whose process is gone, is to be continued or told again. */
static int takes_over(struct call_of_wait *w, const struct watch *k, bool *ret, struct err *err)
{
	bool lost = k->end == WATCH_END_UNKNOWN || k->end == WATCH_END_CANCELLED ||
	        k->end == WATCH_END_UNDELIVERED;

	*ret = false;
	if (k->version != WATCH_VERSION || k->state == WATCH_STOPPED)
		return 0;
	if (lost)
		return still_meant(w, k, ret, err);
	return k->state == WATCH_MET ? same_answer(w, k, ret, err) : 0;
}

int begin_earlier(struct call_of_wait *w, struct err *err)
{
	AUTOWATCHES same = {0};
	struct watch *k = NULL;
	bool take;

	if (w->ask->fresh || !w->p->store)
		return 0;
	if (watch_same(w->p->store, w->watch.question, w->watch.trunk, w->watch.worktree,
	            SAME_LOOKED_AT, &same, err) < 0)
		return -1;
	/* Only the newest whose process is gone: what came before it was followed by an answer. */
	for (size_t i = 0; i < same.n && !k; i++)
		if (!store_alive(w->p->store, ALIVE_WATCH, same.v[i].id))
			k = &same.v[i];
	if (!k)
		return 0;
	if (takes_over(w, k, &take, err) < 0)
		return -1;
	if (!take)
		return 0;
	if (k->end != WATCH_END_ANSWERED)
		say_continued(w, k);
	if (k->state == WATCH_MET)
		w->ending = END_REPLAYED;
	watch_release(&w->watch);
	w->watch = *k;
	*k = (struct watch){0};
	return take_record(w, err) < 0 ? -1 : 1;
}
