/*
 * wait: one blocking question about git, proofs and receipts, and its durable
 * continuation. See docs/guide/wait-for-another-task.md for how it looks from
 * outside; condition.h for what holds when; engine.c for the order of things.
 */
#ifndef ABIDE_WAIT_WAIT_H
#define ABIDE_WAIT_WAIT_H

#include "project/project.h"
#include "store/watch.h"
#include "wait/bound.h"

/* X(name, text = option and condition in JSON, takes a branch) */
#define CONDITION_TABLE(X)                                                                         \
	X(GREEN, "green", true)                                                                    \
	X(LANDED, "landed", true)                                                                  \
	X(TRUNK_MOVED, "trunk-moved", false)

enum condition_id {
#define X(name, text, branch) CONDITION_##name,
	CONDITION_TABLE(X)
#undef X
	        CONDITION_COUNT
};
const char *condition_text(enum condition_id id);

enum wait_mode { WAIT_ONE, WAIT_ANY, WAIT_ALL };

/* What the caller asked. */
struct wait_ask {
	struct wait_ask_condition {
		enum condition_id id;
		const char *name; /* a branch or a task's id; NULL for trunk-moved */
	} * conditions;
	size_t n;
	bool any, all, fresh, may_start;
	const char *resume; /* a handle; excludes everything above */
	int64_t timeout_s;  /* explicit, or -1 */
	struct bound_caller caller;
	bool watch_stdin;
};

/* How a wait looks while it holds; for a live line. */
struct wait_view {
	const char *what;   /* "feat-x to land" */
	const char *branch; /* full ref of the only condition, or NULL */
	const char *handle; /* as people write it, NULL without a store */
	int64_t elapsed_ms, timeout_s;
};

struct wait_hooks {
	void *ctx;
	/* What is known of the work on BRANCH (full ref; NULL: of the fleet); NULL: nothing. */
	json_t *(*running)(void *ctx, const char *branch);
	int tick_ms; /* how often to show, 0: never */
	void (*show)(void *ctx, const struct wait_view *view);
};

/* What the call has to do once its answer was written, or not. */
struct wait_end {
	int64_t watch;      /* 0: none */
	enum watch_end end; /* if it was written */
};

/*
 * Asks and holds. On 0, RES has data, hints, warnings and status (0 holds, 124
 * not yet), and RET_END is for wait_delivered(). On -1 no watch was left behind
 * by a fresh call that was refused.
 */
int wait_run(struct project *p, const struct wait_ask *ask, const struct wait_hooks *hooks,
        struct result *res, struct wait_end *ret_end, struct err *err);
void wait_delivered(struct project *p, const struct wait_end *end, bool written);

/* `await --list`: data.watches. */
int wait_list(struct project *p, struct result *res, struct err *err);
/* `await --stop HANDLE`. */
int wait_stop(struct project *p, const char *handle, struct result *res, struct err *err);

#endif
