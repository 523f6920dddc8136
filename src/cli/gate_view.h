/*
 * A gate as people see it while it runs: each job's end on a line, and one line
 * that is drawn again and again.
 */
#ifndef ABIDE_CLI_GATE_VIEW_H
#define ABIDE_CLI_GATE_VIEW_H

#include "cli/command.h"
#include "store/run.h"

struct gate_view {
	struct call *call;
	int64_t run;      /* that was told of */
	struct strv told; /* jobs whose end was told */
	char *line;       /* what is drawn on the terminal, NULL: nothing */
};
void gate_view_release(struct gate_view *v);
/* For gate_options.note; CTX is the view. */
void gate_view_note(void *ctx, const struct run *run, bool joined);
/* The end of RUN; where it FAILED, the last lines of what failed. */
void gate_view_end(struct gate_view *v, const struct run *run, bool failed);

/* The keys of a job in `data`. */
extern const struct field gate_job_fields[];

#endif
