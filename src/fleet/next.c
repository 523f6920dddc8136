/*
 * The next step for whoever asked: told by where it stands and by what is true
 * there. The first thing that has to be done, and nothing beyond it.
 */
#include "fleet/fleet.h"

#include <string.h>

/* Of tasks that could be landed from the main checkout, so many are named. */
enum { READY_NAMED = 3 };

static bool is(const json_t *row, const char *key, const char *text)
{
	const char *value = json_text(row, key);

	return value && strcmp(value, text) == 0;
}

static int64_t dirt(const json_t *row)
{
	const json_t *dirty = json_object_get(row, "dirty");

	return json_int(dirty, "tracked", 0) + json_int(dirty, "untracked", 0);
}

static bool proof_is(const json_t *row, const char *status)
{
	return is(json_object_get(row, "proof"), "status", status);
}

/* LEAD, and a verb that works where the caller stands. */
static void hint_here(struct result *res, const char *verb, const char *lead)
{
	AUTOFREE char *call = call_text(verb, NULL);

	result_hint(res, "%s `%s`.", lead, call);
}

static void next_of_parked(const char *what, struct result *res)
{
	if (strcmp(what, "bisect") == 0)
		result_hint(res, "A bisect is going on here: end it with `git bisect reset`.");
	else
		result_hint(res,
		        "A %s is going on here: finish it with `git %s --continue`, or give it up "
		        "with `git %s --abort`.",
		        what, what, what);
}

/* --- In a task -------------------------------------------------------------------------- */

static void next_of_red(const json_t *row, struct result *res)
{
	const json_t *proof = json_object_get(row, "proof");
	const char *logs = json_text(proof, "log_dir");
	const char *job = json_string_value(json_array_get(json_object_get(proof, "failing"), 0));
	AUTOFREE char *call = call_text("done", NULL);

	if (job && logs)
		result_hint(res,
		        "Job `%s` failed on this commit: read %s/%s.log, mend it, commit, and run "
		        "`%s` again.",
		        job, logs, job, call);
	else
		result_hint(res,
		        "The gate failed on this commit: mend it, commit, and run `%s` again.",
		        call);
}

static void next_of_gate(const json_t *row, struct result *res)
{
	AUTOFREE char *wait = call_text("await", "green", json_text(row, "branch"), NULL);

	result_hint(
	        res, "The gate is running on this branch; `%s` returns when it is green.", wait);
}

static void next_in_task(const struct fleet_tree *t, const json_t *row, struct result *res)
{
	int64_t ahead = json_int(row, "ahead", -1), behind = json_int(row, "behind", 0);

	if (t->parked)
		next_of_parked(t->parked, res);
	else if (json_object_get(row, "gate") && !dirt(row))
		next_of_gate(row, res);
	else if (dirt(row))
		hint_here(res, "done", "Commit what belongs to the task, then run");
	else if (json_object_get(row, "landed_at") && ahead == 0)
		hint_here(res, "start", "This task has landed; begin the next one with");
	else if (behind > 0)
		hint_here(res, "update", "The trunk has moved on: bring it in with");
	else if (ahead == 0)
		hint_here(res, "done", "Commit work here, then run");
	else if (proof_is(row, "red"))
		next_of_red(row, res);
	else if (proof_is(row, "honoured"))
		hint_here(res, "accept", "This commit is green: land it with");
	else
		hint_here(res, "done", "Prove this commit with");
}

/* --- Elsewhere ----------------------------------------------------------------------------- */

static bool could_land(const json_t *row)
{
	return is(row, "state", "ok") && proof_is(row, "honoured") && !dirt(row) &&
	        json_int(row, "ahead", 0) > 0 && json_int(row, "behind", 1) == 0 &&
	        !json_object_get(row, "locked");
}

/* Over MCP a task is named by its folder. */
static const char *name_of(const json_t *row)
{
	return json_text(row, result_surface == SURFACE_MCP ? "path" : "id");
}

static void next_elsewhere(const struct project *p, const json_t *data, struct result *res)
{
	const json_t *tasks = json_object_get(data, "tasks"), *row;
	const json_t *branches = json_object_get(data, "branches");
	size_t i, named = 0;

	json_array_foreach (tasks, i, row) {
		if (!could_land(row) || named == READY_NAMED)
			continue;
		AUTOFREE char *call = call_text("accept", "", name_of(row), NULL);
		result_hint(res, "`%s` is green: land it with `%s`.", json_text(row, "id"), call);
		named++;
	}
	if (named || !p->trunk_ref)
		return;
	if (json_array_size(tasks) == 0 && json_array_size(branches)) {
		AUTOFREE char *call = call_text(
		        "start", "branch", json_text(json_array_get(branches, 0), "branch"), NULL);
		result_hint(
		        res, "Give unlanded work a worktree again, for example with `%s`.", call);
	} else if (json_array_size(tasks) == 0) {
		hint_here(res, "start", "Begin a task with");
	}
}

/* --- Wrong everywhere ------------------------------------------------------------------------ */

static void next_of_trunk(const struct project *p, struct result *res)
{
	if (!p->trunk_ref)
		result_hint(res,
		        "No branch is known to land on: name one with `git config abide.trunk "
		        "BRANCH`.");
	else if (!oid_is_set(&p->trunk_tip))
		result_hint(res, "The trunk `%s` has no commit yet: make the first one there.",
		        p->trunk);
}

void fleet_next(
        const struct project *p, const struct fleet_tree *t, const json_t *data, struct result *res)
{
	const json_t *tasks = json_object_get(data, "tasks"), *row;
	size_t i;

	next_of_trunk(p, res);
	if (t)
		strv_extend(&res->hints, &t->hints);
	if (res->hints.n)
		return;
	json_array_foreach (tasks, i, row) {
		if (t && t->is_task && json_flag(row, "here") && oid_is_set(&p->trunk_tip)) {
			next_in_task(t, row, res);
			return;
		}
	}
	next_elsewhere(p, data, res);
}
