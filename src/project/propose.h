/*
 * What an abide.yaml for a project could say, told from the files in its root.
 * Guesses by well-known names only: nothing of the project is run.
 */
#ifndef ABIDE_PROJECT_PROPOSE_H
#define ABIDE_PROJECT_PROPOSE_H

#include "git/git.h"

struct proposed_job {
	char *name, *run;
	char *needs; /* another's name, or NULL */
};
struct proposal {
	struct proposed_job *jobs;
	size_t jobs_n;
	struct strv setup, copy;
	struct strv found;  /* "package.json: npm's lint, test": a file and what it told */
	struct strv litter; /* folders that jobs or setup make and git does not ignore */
};
void proposal_release(struct proposal *p);
#define AUTOPROPOSAL CLEANUP(proposal_release) struct proposal

/* Looks at the working tree that G was opened in. */
int propose(const struct git *g, struct proposal *ret, struct err *err);
/* The file's text, with comments; TRUNK may be NULL. To be freed. */
char *proposal_yaml(const struct proposal *p, const char *trunk);

#endif
