#include "cli/command.h"

#include "land/land.h"
#include "store/logbook.h"
#include "task/task.h"

const char *call_surface(void)
{
	return result_surface == SURFACE_MCP ? "mcp" : "cli";
}

int call_begin(struct call *c, bool need, const char *branch, const struct oid *head,
        const char *about, const char *gate_digest, struct err *err)
{
	const struct config *policy;
	struct logbook_entry e = {
	        .verb = c->cmd->name,
	        .surface = call_surface(),
	        .branch = branch,
	        .head = head,
	        .about = about,
	        .gate_digest = gate_digest,
	};

	if (project_store(&c->project, STORE_WRITE, need ? err : NULL) < 0)
		return need ? -1 : 0;
	/* A configuration that is wrong is told by the verb that needs it. */
	if (project_policy(&c->project, &policy, NULL) == 0 && !policy->logbook)
		return 0;
	c->event = logbook_begin(c->project.store, &e);
	return 0;
}

void call_recover(struct call *c)
{
	task_recover(&c->project, NULL);
	land_recover(&c->project, NULL);
}
