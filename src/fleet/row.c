#include "fleet/fleet.h"

#include <string.h>
#include <sys/stat.h>

#include "store/landing.h"
#include "store/run.h"

/* So many changed files are named, and looked at for when they changed. */
enum { PATHS_NAMED = 20, PATHS_LOOKED_AT = 50 };

/* --- The tree ------------------------------------------------------------------- */

static void put_dirty(json_t *row, const struct git_status *s)
{
	json_t *dirty = json_object();
	AUTOSTRV paths = {0};

	strv_extend(&paths, &s->tracked);
	strv_extend(&paths, &s->untracked);
	json_put_int(dirty, "tracked", (int64_t)s->tracked.n);
	json_put_int(dirty, "untracked", (int64_t)s->untracked.n);
	json_put_int(dirty, "conflicts", (int64_t)s->unmerged.n);
	json_put(dirty, "paths", json_text_list(&paths, PATHS_NAMED));
	json_put(row, "dirty", dirty);
}

static void put_tree(json_t *row, const struct fleet_tree *t)
{
	json_put_text(row, "state", fleet_state_text(t->state));
	json_put_text(row, "message", t->message);
	if (t->here)
		json_put_bool(row, "here", true);
	if (t->task.main)
		json_put_bool(row, "main", true);
	if (t->task.recorded)
		json_put_bool(row, "owned", true);
	if (t->task.port)
		json_put_int(row, "port", t->task.port);
	json_put_text(row, "locked", t->task.locked);
	json_put_text(row, "parked", t->parked);
	if (t->count.known) {
		json_put_int(row, "ahead", t->count.ahead);
		json_put_int(row, "behind", t->count.behind);
	}
	if (t->read)
		put_dirty(row, &t->status);
}

/* --- Proofs ------------------------------------------------------------------------ */

static void put_failing(json_t *proof, const struct run *run)
{
	json_t *failing = json_array(), *job;
	size_t i;

	json_array_foreach (run->jobs, i, job) {
		const char *state = json_text(job, "state");
		if (state && (strcmp(state, "failed") == 0 || strcmp(state, "timed_out") == 0))
			json_array_append(failing, json_object_get(job, "name"));
	}
	json_put(proof, "failing", failing);
	if (*run->log_dir)
		json_put_text(proof, "log_dir", run->log_dir);
}

static void put_proof(json_t *row, struct store *s, const struct fleet_tree *t)
{
	json_t *proof = json_object();
	const char *status = "missing";
	AUTORUN run = {0};

	if (run_newest_verdict(s, &t->task.tip, &run, NULL) == 0)
		status = run.state == RUN_PASSED ? "honoured" : "red";
	else if (run_branch_proof(s, t->task.branch, &run, NULL) == 0)
		status = "stale";
	json_put_text(proof, "status", status);
	if (run.id) {
		json_put_text(proof, "commit", run.commit.hex);
		json_put_int(proof, "finished_at", run.ended_at);
	}
	if (run.id && run.state == RUN_RED)
		put_failing(proof, &run);
	json_put(row, "proof", proof);
}

/* A gate that runs, whoever began it and whether anybody watches it. */
static bool put_gate(json_t *row, const struct fleet_memory *m, const struct fleet_tree *t)
{
	AUTORUN run = {0};
	struct prior prior = {0};
	json_t *gate;

	if (run_live_on(m->store, t->task.branch, &run, NULL) != 0)
		return false;
	if (m->logbook)
		logbook_prior(m->store, "done", run.gate_digest, &prior, NULL);
	gate = fleet_timed_json(clock_wall_ms() - run.begun_at, &prior);
	json_put_int(gate, "run", run.id);
	json_put_text(gate, "commit", run.commit.hex);
	json_put_bool(gate, "detached", run.detached);
	json_put(row, "gate", gate);
	return true;
}

static void put_landed(json_t *row, struct store *s, const struct fleet_tree *t)
{
	AUTOLANDING landed = {0};

	if (landing_landed(s, t->task.branch, &landed, NULL) == 0 && oid_is_set(&t->task.tip) &&
	        oid_equal(&landed.tip, &t->task.tip))
		json_put_int(row, "landed_at", landed.ended_at);
}

/* --- What goes on ---------------------------------------------------------------- */

static void put_in_flight(json_t *row, const struct fleet_memory *m, const struct fleet_tree *t)
{
	json_t *all = json_array();

	for (size_t i = 0; i < m->in_flight.n; i++) {
		const struct logbook_event *e = &m->in_flight.v[i];
		struct flight flight;

		if (strcmp(e->branch, t->task.branch) != 0)
			continue;
		fleet_flight(m->store, e, &flight);
		json_array_append_new(all, fleet_flight_json(e, &flight));
	}
	if (json_array_size(all))
		json_put(
		        row, "running", json_incref(json_array_get(all, json_array_size(all) - 1)));
	json_put(row, "in_flight", all);
}

/* What calls that were made there wait for now. */
static void put_waiting(json_t *row, const struct fleet_memory *m, const struct fleet_tree *t)
{
	json_t *waiting = json_array(), *watch;
	AUTOFREE char *real = path_real(t->task.worktree);
	size_t i;

	json_array_foreach (m->watches, i, watch) {
		const char *asked = json_text(watch, "worktree");
		json_t *o;

		if (!json_flag(watch, "held") || !asked ||
		        (strcmp(asked, t->task.worktree) != 0 &&
		                (!real || strcmp(asked, real) != 0)))
			continue;
		o = json_object();
		json_put(o, "for", json_incref(json_object_get(watch, "waits_for")));
		json_put(o, "resume", json_incref(json_object_get(watch, "resume")));
		json_put(o, "begun_at", json_incref(json_object_get(watch, "begun_at")));
		json_array_append_new(waiting, o);
	}
	json_put(row, "waiting", waiting);
}

static void later_of(int64_t *ms, const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && (int64_t)st.st_mtime * 1000 > *ms)
		*ms = (int64_t)st.st_mtime * 1000;
}

static void later_of_files(int64_t *ms, const char *dir, const struct strv *names)
{
	for (size_t i = 0; i < names->n && i < PATHS_LOOKED_AT; i++) {
		AUTOFREE char *path = path_join(dir, names->v[i]);
		later_of(ms, path);
	}
}

/* When anybody last did something there: verbs, git, or a change of a file. */
static int64_t last_active(const struct fleet_memory *m, const struct fleet_tree *t)
{
	static const char *const git_files[] = {"HEAD", "index", "logs/HEAD"};
	int64_t ms = 0;

	if (m->logbook)
		logbook_last_active(m->store, t->task.branch, &ms, NULL);
	for (size_t i = 0; *t->task.git_dir && i < NELEMS(git_files); i++) {
		AUTOFREE char *path = path_join(t->task.git_dir, git_files[i]);
		later_of(&ms, path);
	}
	later_of_files(&ms, t->task.worktree, &t->status.tracked);
	later_of_files(&ms, t->task.worktree, &t->status.untracked);
	return ms;
}

json_t *fleet_row(const struct fleet_memory *m, const struct fleet_tree *t)
{
	json_t *row = json_object();
	bool gate;

	json_put_text(row, "id", t->task.id);
	json_put_text(row, "branch", git_branch_short(t->task.branch));
	json_put_text(row, "path", t->task.worktree);
	if (oid_is_set(&t->task.tip))
		json_put_text(row, "tip", t->task.tip.hex);
	put_tree(row, t);
	put_proof(row, m->store, t);
	put_landed(row, m->store, t);
	gate = put_gate(row, m, t);
	put_in_flight(row, m, t);
	put_waiting(row, m, t);
	if (!gate && !json_object_get(row, "running") &&
	        !json_array_size(json_object_get(row, "waiting"))) {
		int64_t since = last_active(m, t);
		if (since)
			json_put_int(row, "idle_since", since);
	}
	return row;
}
