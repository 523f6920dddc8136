/*
 * The keeper of one job: started by the gate's runner with its descriptors in
 * place.
 */
#include "cli/command.h"
#include "gate/gate.h"

static int run(struct call *c, struct result *res, struct err *err)
{
	(void)err;
	res->status =
	        gate_shepherd(c->words.v[0], c->words.v[1], SHEPHERD_OWNER_FD, SHEPHERD_REPORT_FD);
	return 0;
}

const struct command cmd___shepherd = {
        .name = "__shepherd",
        .summary = "keep one job of a gate (called by abide itself)",
        .usage = "__shepherd FOLDER SCRIPT",
        .details = "Not for use by hand.",
        .options = (const struct option[]){{0}},
        .data = (const struct field[]){{0}},
        .word = "FOLDER",
        .min_words = 2,
        .max_words = 2,
        .outside = true,
        .hidden = true,
        .run = run,
};
