/*
 * Verbs that go on telling: what --follow shares.
 */
#ifndef ABIDE_CLI_FOLLOW_H
#define ABIDE_CLI_FOLLOW_H

#include "cli/command.h"
#include "wake/wake.h"

/*
 * One thing that is told again and again. TELL looks and prints; *RET_REFS and
 * *RET_FILES get the full names of refs, and the files, whose change is a
 * reason to look again (NULL-terminated lists, added to). False: stdout is gone.
 */
struct follow {
	int (*tell)(struct call *c, void *ctx, struct strv *ret_refs, struct strv *ret_files,
	        bool *ret_written, struct err *err);
	void *ctx;
	bool bell; /* runs and watches matter, too */
};

/*
 * Tells at once and after each wake, and at the latest every 30 s, until a
 * signal comes, the caller is gone or stdout is. Never oftener than is worth
 * it: telling takes at most a third of the time. The frame says nothing more.
 */
int follow_run(struct call *c, const struct follow *f, struct result *res, struct err *err);

#endif
