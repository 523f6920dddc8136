/*
 * project: the repository at hand as abide sees it: trunk, configuration by
 * scope, store, and the receipts that git holds.
 */
#ifndef ABIDE_PROJECT_PROJECT_H
#define ABIDE_PROJECT_PROJECT_H

#include "git/git.h"
#include "store/store.h"

#include "project/config.h"
#include "project/receipt.h"

struct project {
	struct git git;
	char *trunk;     /* short name; NULL when there is none */
	char *trunk_ref; /* refs/heads/… */
	struct oid trunk_tip;
	const char *trunk_source; /* "ABIDE_TRUNK", "git config abide.trunk", "abide.yaml", … */
	struct store *store;      /* NULL until project_store(), or where there is none */
	struct config policy;     /* read from the trunk's tip by project_policy() */
	bool policy_read;
	struct oid policy_of; /* the tip that it was read from */
};
void project_release(struct project *p);
#define AUTOPROJECT CLEANUP(project_release) struct project

/*
 * Opens the repository of DIR (NULL: working directory) and finds its trunk:
 * ABIDE_TRUNK, else git config abide.trunk, else `trunk:` of the default
 * branch's abide.yaml, else origin/HEAD, init.defaultBranch, main, master. A
 * repository without any of them leaves trunk NULL, which is no error here.
 */
int project_open(const char *dir, struct project *ret, struct err *err);
/* NO_TRUNK, with the ways to name one, when there is no trunk branch; NO_COMMITS in an
   unborn repository. */
int project_need_trunk(const struct project *p, struct err *err);
/* Reads the trunk's tip again. */
int project_refresh_trunk(struct project *p, struct err *err);
/* Opens the store once; later calls return at once. */
int project_store(struct project *p, enum store_mode mode, struct err *err);
/*
 * The policy keys, from the trunk's tip (defaults without a file); borrowed
 * until the next call after the trunk has moved. CONFIG_INVALID.
 */
int project_policy(struct project *p, const struct config **ret, struct err *err);
/* Whether the caller stands in the main checkout (or in a bare place). */
bool project_in_main(const struct project *p);

#endif
