/*
 * The checks of `abide doctor`: each looks at one thing and adds its rows.
 * They change nothing, and none stops another.
 */
#ifndef ABIDE_CLI_DOCTOR_H
#define ABIDE_CLI_DOCTOR_H

#include "cli/command.h"

enum doctor_state { DOCTOR_OK, DOCTOR_WARN, DOCTOR_BAD };
extern const char *const doctor_states[]; /* "ok", "warn", "bad", NULL */

struct doctor {
	struct project *p;
	json_t *data;   /* facts for programs, beside the rows */
	json_t *checks; /* the rows */
	int count[3];   /* rows by state */
};

/* Adds a row. FIX: what to do, one sentence with the command in full, or NULL. */
void doctor_row(struct doctor *d, const char *check, enum doctor_state state, const char *fix,
        const char *fmt, ...) PRINTF(5, 6);
/* A row from an error: its message, and its first hint as the fix. */
void doctor_refusal(
        struct doctor *d, const char *check, enum doctor_state state, const struct err *err);

/* doctor_git.c */
void doctor_git(struct doctor *d);        /* the program and its version */
void doctor_repository(struct doctor *d); /* its shape */
void doctor_history(struct doctor *d);    /* large without a commit-graph */
void doctor_trunk(struct doctor *d);
void doctor_configuration(struct doctor *d);
void doctor_identity(struct doctor *d); /* who commits and writes receipts */
/* doctor_place.c */
void doctor_watching(struct doctor *d); /* file events or polling, and why */
void doctor_store(struct doctor *d);
void doctor_worktrees(struct doctor *d);
void doctor_locks(struct doctor *d);
/* doctor_remotes.c */
void doctor_remotes(struct doctor *d); /* do receipts travel */

#endif
