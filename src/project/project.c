#include "project/project.h"

#include <string.h>

void project_release(struct project *p)
{
	if (!p)
		return;
	store_close(p->store);
	config_release(&p->policy);
	git_release(&p->git);
	free(p->trunk);
	free(p->trunk_ref);
	*p = (struct project){0};
}

bool project_in_main(const struct project *p)
{
	return !p->git.worktree || strcmp(p->git.git_dir, p->git.common) == 0;
}

/* --- Which branch is the trunk -------------------------------------------- */

/* A name that may be the default branch, and where it comes from. */
struct candidate {
	const char *source;
	char *ref;
	struct oid tip;
};

enum { MAX_CANDIDATES = 4 };

/* In order of authority; those that exist have a tip. */
static int default_branches(
        const struct git *g, struct candidate *ret, size_t *ret_n, struct err *err)
{
	const char *init = git_config(g, "init.defaultbranch", false);
	AUTOREFS refs = {0};
	AUTOREFS remote = {0};
	size_t n = 0;

	if (git_refs_under(
	            g, (const char *const[]){"refs/remotes/origin/HEAD", NULL}, &remote, err) < 0)
		return -1;
	if (remote.n == 1 && remote.v[0].symref &&
	        text_starts(remote.v[0].symref, "refs/remotes/origin/"))
		ret[n++] = (struct candidate){.source = "origin/HEAD",
		        .ref = git_branch_ref(remote.v[0].symref + strlen("refs/remotes/origin/"))};
	if (init && git_branch_name_ok(init))
		ret[n++] = (struct candidate){
		        .source = "git config init.defaultBranch", .ref = git_branch_ref(init)};
	ret[n++] =
	        (struct candidate){.source = "its usual name", .ref = xstrdup("refs/heads/main")};
	ret[n++] =
	        (struct candidate){.source = "its usual name", .ref = xstrdup("refs/heads/master")};
	*ret_n = n;
	{
		const char *names[MAX_CANDIDATES + 1] = {0};
		struct oid tips[MAX_CANDIDATES];
		for (size_t i = 0; i < n; i++)
			names[i] = ret[i].ref;
		if (git_refs(g, names, tips, err) < 0)
			return -1;
		for (size_t i = 0; i < n; i++)
			ret[i].tip = tips[i];
	}
	return 0;
}

static int take_trunk(struct project *p, const char *name, const char *source, struct err *err)
{
	p->trunk_ref = git_branch_ref(name);
	p->trunk = xstrdup(git_branch_short(p->trunk_ref));
	p->trunk_source = source;
	if (!git_branch_name_ok(p->trunk)) {
		err_set(err, ERR_NO_TRUNK,
		        "`%s`, named as the trunk by %s, can be no branch's name.", p->trunk,
		        source);
		err_hint(err, "Give the name of a local branch, such as `main`.");
		return -1;
	}
	return project_refresh_trunk(p, err);
}

int project_refresh_trunk(struct project *p, struct err *err)
{
	if (!p->trunk_ref)
		return 0;
	return git_refs(&p->git, (const char *const[]){p->trunk_ref, NULL}, &p->trunk_tip, err);
}

/* The default branch's file may name another trunk than itself. */
static int from_default_branch(struct project *p, struct err *err)
{
	struct candidate c[MAX_CANDIDATES] = {0};
	const struct candidate *found = NULL;
	AUTOCONFIG config = {0};
	size_t n = 0;
	int rc = default_branches(&p->git, c, &n, err);

	for (size_t i = 0; i < n && !found; i++)
		if (oid_is_set(&c[i].tip))
			found = &c[i];
	/* A file that is wrong is told by whoever needs more of it than this. */
	if (rc == 0 && found && config_at(&p->git, &found->tip, &config, NULL) == 0 && config.trunk)
		rc = take_trunk(p, config.trunk, "abide.yaml", err);
	else if (rc == 0 && found)
		rc = take_trunk(p, found->ref, found->source, err);
	for (size_t i = 0; i < n; i++)
		free(c[i].ref);
	return rc;
}

static int find_trunk(struct project *p, struct err *err)
{
	const char *env = env_text(ENV_TRUNK);
	const char *configured = git_config(&p->git, "abide.trunk", false);

	if (env)
		return take_trunk(p, env, "ABIDE_TRUNK", err);
	if (configured)
		return take_trunk(p, configured, "git config abide.trunk", err);
	return from_default_branch(p, err);
}

int project_open(const char *dir, struct project *ret, struct err *err)
{
	AUTOPROJECT p = {0};

	if (git_open(dir, &p.git, err) < 0 || find_trunk(&p, err) < 0)
		return -1;
	*ret = p;
	p = (struct project){0};
	return 0;
}

int project_need_trunk(const struct project *p, struct err *err)
{
	AUTOREFS any = {0};

	if (p->trunk && oid_is_set(&p->trunk_tip))
		return 0;
	if (git_refs_under(&p->git, (const char *const[]){"refs/heads", NULL}, &any, err) < 0)
		return -1;
	if (!any.n) {
		err_set(err, ERR_NO_COMMITS, "The repository has no commit yet.");
		err_hint(err,
		        "Make a first commit on the trunk: `git commit --allow-empty -m 'Begin'`.");
		return -1;
	}
	if (p->trunk)
		err_set(err, ERR_NO_TRUNK,
		        "The trunk `%s` (named by %s) is no branch of this repository.", p->trunk,
		        p->trunk_source);
	else
		err_set(err, ERR_NO_TRUNK,
		        "No branch could be taken for the trunk: there is no main, no master, and "
		        "nothing "
		        "names another.");
	err_hint(err, "Name the trunk once for this repository: `git config abide.trunk BRANCH`.");
	return -1;
}

/* --- Store and policy ------------------------------------------------------ */

int project_store(struct project *p, enum store_mode mode, struct err *err)
{
	if (p->store && (mode == STORE_READ || !store_is_read_only(p->store)))
		return 0;
	store_close(STEAL(p->store));
	return store_open(p->git.common, mode, &p->store, err);
}

int project_policy(struct project *p, const struct config **ret, struct err *err)
{
	if (!p->policy_read) {
		if (config_at(&p->git, &p->trunk_tip, &p->policy, err) < 0)
			return -1;
		p->policy_read = true;
	}
	*ret = &p->policy;
	return 0;
}
