/*
 * The gate's runner: started by gate_validate() with its descriptors in place.
 */
#include "cli/command.h"
#include "gate/gate.h"

static int run(struct call *c, struct result *res, struct err *err)
{
	int64_t id;

	(void)res;
	if (!text_int(c->words.v[0], 1, INT64_MAX, &id)) {
		err_set(err, ERR_INVALID_ARGUMENTS, "`%s` is no run.", c->words.v[0]);
		err_hint(err, "This is called by abide alone; use `abide done`.");
		return -1;
	}
	return gate_runner(&c->project, id, RUNNER_OWNER_FD, RUNNER_ALIVE_FD, err);
}

const struct command cmd___gate = {
        .name = "__gate",
        .summary = "run the jobs of one gate run (called by abide itself)",
        .usage = "__gate RUN",
        .details = "Not for use by hand.",
        .options = (const struct option[]){{0}},
        .data = (const struct field[]){{0}},
        .word = "RUN",
        .min_words = 1,
        .max_words = 1,
        .hidden = true,
        .run = run,
};
