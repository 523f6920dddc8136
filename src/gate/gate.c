#include "gate/own.h"

static const char *const job_states[] = {
#define X(name, text, over) [GATE_JOB_##name] = text,
        GATE_JOB_STATES(X)
#undef X
};

const char *gate_job_state_text(enum gate_job_state state)
{
	return job_states[state];
}

void gate_look_release(struct gate_look *l)
{
	if (!l)
		return;
	config_release(&l->config);
	free(l->digest);
	run_release(&l->proof);
	*l = (struct gate_look){0};
}

void gate_outcome_release(struct gate_outcome *o)
{
	if (!o)
		return;
	run_release(&o->run);
	*o = (struct gate_outcome){0};
}

char *gate_call(const struct project *p, const struct task *t, const char *verb, const char *option)
{
	const char *branch = git_branch_short(t->branch);
	bool inside = p->git.worktree && strcmp(p->git.git_dir, t->git_dir) == 0;

	if (option && inside)
		return call_text(verb, option, NULL, NULL);
	if (option)
		return call_text(verb, option, NULL, "=task", branch, NULL);
	return inside ? call_text(verb, NULL) : call_text(verb, "=task", branch, NULL);
}

/* --- Before anything runs --------------------------------------------------- */

enum { FILES_TOLD = 50 };
static const char example[] = "gate: [{name: test, run: make check}]";

static int behind_trunk(
        const struct project *p, const struct task *t, int64_t behind, struct err *err)
{
	AUTOFREE char *update = call_text("update", NULL);

	err_set(err, ERR_BEHIND_TRUNK,
	        "`%s` is %lld commit%s behind `%s`, so its gate would judge a tree that cannot "
	        "land.",
	        git_branch_short(t->branch), (long long)behind, behind == 1 ? "" : "s", p->trunk);
	err_hint(err, "Bring the trunk in with `%s` (in %s), then ask again.", update, t->worktree);
	err_data(err, "behind", json_integer(behind));
	err_data(err, "trunk_tip", json_string(p->trunk_tip.hex));
	return -1;
}

static int no_work(const struct project *p, const struct task *t, struct err *err)
{
	err_set(err, ERR_NO_COMMITS,
	        "`%s` has no commit beyond `%s`, so there is nothing to judge.",
	        git_branch_short(t->branch), p->trunk);
	err_hint(err, "Commit the work in %s first: `git add -A && git commit`.", t->worktree);
	return -1;
}

/* HEAD is somewhere else: in the middle of a rebase, or switched since T was read. */
static int not_on_branch(
        const struct project *p, const struct task *t, const struct git_status *s, struct err *err)
{
	const char *doing = NULL;
	AUTOFREE char *done = gate_call(p, t, "done", NULL);

	git_parked(&p->git, t->git_dir, &doing, NULL, NULL);
	err_set(err, ERR_NOT_ON_TASK, "%s does not stand on the tip of `%s`: %s%s.", t->worktree,
	        git_branch_short(t->branch),
	        doing                  ? "it is in the middle of a "
	                : !s->branch   ? "its HEAD is detached"
	                : s->branch[0] ? "something moved it just now"
	                               : "",
	        doing ? doing : "");
	err_hint(err, "Finish or abort what goes on there (`git status` tells), then `%s`.", done);
	return -1;
}

static int dirty(const struct task *t, const struct git_status *s, struct err *err)
{
	AUTOSTRV files = {0};
	AUTOFREE char *first = NULL;

	strv_extend(&files, &s->tracked);
	strv_extend(&files, &s->untracked);
	first = text_visible(files.v[0]);
	err_set(err, ERR_DIRTY_WORKTREE,
	        "%s holds %zu uncommitted file%s (%s%s); a proof is about a commit, so nothing "
	        "else may be there.",
	        t->worktree, files.n, files.n == 1 ? "" : "s", first, files.n > 1 ? ", …" : "");
	err_hint(err,
	        "Commit them (`git add -A && git commit`), or let .gitignore name what is no "
	        "part of the work.");
	err_data(err, "files", json_text_list(&files, FILES_TOLD));
	err_data(err, "files_total", json_integer((json_int_t)files.n));
	return -1;
}

static int gate_undefined(const struct task *t, const struct config *c, struct err *err)
{
	AUTOFREE char *init = call_text("init", NULL);

	err_set(err, ERR_GATE_UNDEFINED,
	        "%s in the tip of `%s` %s, so nothing says when work is good; nothing is green by "
	        "default.",
	        CONFIG_FILE, git_branch_short(t->branch),
	        c->present ? "declares no `gate`" : "is missing");
	err_hint(err, "Add a line such as `%s` to %s/%s and commit it.", example, t->worktree,
	        CONFIG_FILE);
	err_hint(err, "Let `%s` propose one that fits the project.", init);
	err_data(err, "example", json_string(example));
	return -1;
}

static int check_worktree(const struct project *p, const struct task *t, bool work, struct err *err)
{
	AUTOSTATUS s = {0};
	struct git_at at;

	if (task_at(p, t, &at, err) < 0 || git_status(at, true, &s, err) < 0)
		return -1;
	if (!s.branch || strcmp(s.branch, t->branch) != 0 || !oid_equal(&s.head, &t->tip))
		return not_on_branch(p, t, &s, err);
	if (s.tracked.n || s.untracked.n)
		return dirty(t, &s, err);
	return work ? 0 : no_work(p, t, err);
}

/* Whether the trunk's gate is another one; a trunk whose file is wrong has no such gate. */
static bool differs(struct project *p, const char *digest)
{
	const struct config *policy;
	AUTOFREE char *trunk = NULL;

	if (project_policy(p, &policy, NULL) < 0)
		return true;
	trunk = config_gate_digest(policy);
	return strcmp(trunk, digest) != 0;
}

static int find_proof(struct project *p, struct gate_look *l, struct err *err)
{
	AUTORUN proof = {0};
	int rc;

	if (project_store(p, STORE_READ, err) < 0)
		return -1;
	rc = run_proof(p->store, &l->commit, &proof, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	/* An older abide may have digested the gate otherwise: that is no proof of this one. */
	if (strcmp(proof.gate_digest, l->digest) != 0)
		return 0;
	l->proven = true;
	l->proof = proof;
	proof = (struct run){0};
	return 0;
}

int gate_look(struct project *p, const struct task *t, struct gate_look *ret, struct err *err)
{
	CLEANUP(gate_look_release) struct gate_look l = {.commit = t->tip};
	int64_t behind;

	if (project_need_trunk(p, err) < 0)
		return -1;
	if (!oid_is_set(&t->tip))
		return no_work(p, t, err);
	if (git_ahead_behind(&p->git, &t->tip, &p->trunk_tip, &l.ahead, &behind, err) < 0)
		return -1;
	if (behind)
		return behind_trunk(p, t, behind, err);
	if (check_worktree(p, t, l.ahead > 0, err) < 0 ||
	        config_at(&p->git, &l.commit, &l.config, err) < 0)
		return -1;
	if (!l.config.gate_n)
		return gate_undefined(t, &l.config, err);
	l.digest = config_gate_digest(&l.config);
	l.gate_changed = differs(p, l.digest);
	if (find_proof(p, &l, err) < 0)
		return -1;
	if (l.proven)
		l.tree = l.proof.tree;
	else if (git_tree_of(&p->git, &l.commit, &l.tree, err) < 0)
		return -1;
	*ret = l;
	l = (struct gate_look){0};
	return 0;
}

/* --- The jobs' environment ----------------------------------------------------- */

/* By these, clients configure git from outside; abide's own git keeps them. */
static bool configures_git(const char *entry)
{
	return text_starts(entry, "GIT_CONFIG_COUNT=") || text_starts(entry, "GIT_CONFIG_KEY_") ||
	        text_starts(entry, "GIT_CONFIG_VALUE_");
}

void gate_environment(const struct project *p, const struct task *t, struct strv *ret)
{
	AUTOSTRV all = {0};

	task_environment(p, t, &all);
	for (size_t i = 0; i < all.n; i++)
		if (!configures_git(all.v[i]))
			strv_push(ret, all.v[i]);
}

/* --- Telling ----------------------------------------------------------------- */

/* The jobs of a runner that died stand where it left them; they are over with it. */
static json_t *jobs_of(const struct run *run)
{
	json_t *jobs = json_deep_copy(run->jobs), *job;
	size_t i;

	if (run->state != RUN_INTERRUPTED)
		return jobs;
	json_array_foreach (jobs, i, job) {
		const char *state = json_text(job, "state");
		if (state &&
		        (strcmp(state, job_states[GATE_JOB_WAITING]) == 0 ||
		                strcmp(state, job_states[GATE_JOB_RUNNING]) == 0))
			json_put_text(job, "state", job_states[GATE_JOB_ENDED]);
	}
	return jobs;
}

void gate_run_data(const struct run *run, json_t *data)
{
	static const char *const details[] = {"dirtied_by", "dirtied", "dirtied_total", "reason"};

	json_put_int(data, "run", run->id);
	json_put_text(data, "branch", git_branch_short(run->branch));
	json_put_text(data, "commit", run->commit.hex);
	json_put_text(data, "tree", run->tree.hex);
	json_put_text(data, "verdict", run_state_text(run->state));
	json_put_text(data, "gate_digest", run->gate_digest);
	json_put_int(data, "begun_at", run->begun_at);
	if (run->ended_at)
		json_put_int(data, "ended_at", run->ended_at);
	json_put_text(data, "log_dir", run->log_dir);
	json_put(data, "jobs", jobs_of(run));
	for (size_t i = 0; i < NELEMS(details); i++)
		json_put(data, details[i], json_incref(json_object_get(run->detail, details[i])));
}
