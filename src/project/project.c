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

/* In order of authority: the first that exists is the default branch. */
enum { FROM_ORIGIN, FROM_INIT, FROM_MAIN, FROM_MASTER, CANDIDATES };

#define ORIGIN "refs/remotes/origin/"

/* Reads the tips of all candidates, and what origin/HEAD points to. */
static int read_tips(const struct git *g, struct candidate *c, char **ret_origin, struct err *err)
{
	const char *names[CANDIDATES + 2] = {ORIGIN "HEAD"};
	AUTOREFS refs = {0};
	size_t n = 1;

	for (size_t i = 0; i < CANDIDATES; i++)
		if (c[i].ref)
			names[n++] = c[i].ref;
	if (git_refs_under(g, names, &refs, err) < 0)
		return -1;
	for (size_t k = 0; k < refs.n; k++) {
		const struct git_ref *r = &refs.v[k];
		if (strcmp(r->name, ORIGIN "HEAD") == 0 && r->symref &&
		        text_starts(r->symref, ORIGIN))
			mem_set(ret_origin, git_branch_ref(r->symref + strlen(ORIGIN)));
		for (size_t i = 0; i < CANDIDATES; i++)
			if (c[i].ref && strcmp(r->name, c[i].ref) == 0)
				c[i].tip = r->oid;
	}
	return 0;
}

/*
 * Fills the candidates. One process; a second only when origin/HEAD points at
 * a name that none of the others has.
 */
static int default_branches(const struct git *g, struct candidate *c, struct err *err)
{
	const char *init = git_config(g, "init.defaultbranch", false);
	struct candidate *origin = &c[FROM_ORIGIN];

	c[FROM_ORIGIN] = (struct candidate){.source = "origin/HEAD"};
	c[FROM_INIT] = (struct candidate){.source = "git config init.defaultBranch"};
	c[FROM_MAIN] = (struct candidate){.source = "its usual name"};
	c[FROM_MASTER] = (struct candidate){.source = "its usual name"};
	if (init && git_branch_name_ok(init))
		c[FROM_INIT].ref = git_branch_ref(init);
	c[FROM_MAIN].ref = xstrdup("refs/heads/main");
	c[FROM_MASTER].ref = xstrdup("refs/heads/master");
	if (read_tips(g, c, &origin->ref, err) < 0)
		return -1;
	if (!origin->ref)
		return 0;
	for (size_t i = FROM_INIT; i < CANDIDATES; i++)
		if (c[i].ref && strcmp(c[i].ref, origin->ref) == 0) {
			origin->tip = c[i].tip;
			return 0;
		}
	return git_refs(g, (const char *const[]){origin->ref, NULL}, &origin->tip, err);
}

static int name_trunk(struct project *p, const char *name, const char *source, struct err *err)
{
	p->trunk_ref = git_branch_ref(name);
	p->trunk = xstrdup(git_branch_short(p->trunk_ref));
	p->trunk_source = source;
	if (git_branch_name_ok(p->trunk))
		return 0;
	err_set(err, ERR_NO_TRUNK, "`%s`, named as the trunk by %s, can be no branch's name.",
	        p->trunk, source);
	err_hint(err, "Give the name of a local branch, such as `main`.");
	return -1;
}

int project_refresh_trunk(struct project *p, struct err *err)
{
	if (!p->trunk_ref)
		return 0;
	return git_refs(&p->git, (const char *const[]){p->trunk_ref, NULL}, &p->trunk_tip, err);
}

static int take_trunk(struct project *p, const char *name, const char *source, struct err *err)
{
	if (name_trunk(p, name, source, err) < 0)
		return -1;
	return project_refresh_trunk(p, err);
}

static void keep_policy(struct project *p, struct config *c)
{
	config_release(&p->policy);
	p->policy = *c;
	p->policy_read = true;
	p->policy_of = p->trunk_tip;
	*c = (struct config){0};
}

/*
 * The default branch's file may name another trunk than itself, even a file
 * that is wrong elsewhere: whoever needs more of it tells that.
 */
static int from_file(struct project *p, const struct candidate *found, struct err *err)
{
	AUTOCONFIG config = {0};
	AUTOBUF text = {0};
	AUTOFREE char *named = NULL;
	int rc = config_text_at(&p->git, &found->tip, &text, err);
	bool good;

	if (rc < 0)
		return -1;
	good = rc == 0 && config_parse(buf_str(&text), text.len, CONFIG_FILE, &config, NULL) == 0;
	named = good ? xstrdup(config.trunk) : config_peek_trunk(buf_str(&text), text.len);
	if (named && strcmp(git_branch_short(named), git_branch_short(found->ref)) != 0)
		return take_trunk(p, named, CONFIG_FILE, err);
	if (name_trunk(p, found->ref, named ? CONFIG_FILE : found->source, err) < 0)
		return -1;
	p->trunk_tip = found->tip;
	if (rc == 1)
		config_defaults(&config);
	if (rc == 1 || good)
		keep_policy(p, &config);
	return 0;
}

static int from_default_branch(struct project *p, struct err *err)
{
	struct candidate c[CANDIDATES] = {0};
	const struct candidate *found = NULL;
	int rc = default_branches(&p->git, c, err);

	for (size_t i = 0; i < CANDIDATES && !found; i++)
		if (oid_is_set(&c[i].tip))
			found = &c[i];
	if (rc == 0 && found)
		rc = from_file(p, found, err);
	for (size_t i = 0; i < CANDIDATES; i++)
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
	AUTOCONFIG c = {0};

	if (!p->policy_read || !oid_equal(&p->policy_of, &p->trunk_tip)) {
		if (config_at(&p->git, &p->trunk_tip, &c, err) < 0)
			return -1;
		keep_policy(p, &c);
	}
	*ret = &p->policy;
	return 0;
}
