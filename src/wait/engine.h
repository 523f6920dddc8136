/*
 * One call of `await` from its begin to its answer. Internal to this folder.
 */
#ifndef ABIDE_WAIT_ENGINE_H
#define ABIDE_WAIT_ENGINE_H

#include "wait/condition.h"

enum ending {
	END_MET,
	END_SETTLED,
	END_BOUND,
	END_SIGNAL,   /* SIGINT, SIGTERM */
	END_ORPHANED, /* whoever asked is gone */
	END_STOPPED,  /* somebody ended the watch for good */
	END_REPLAYED, /* an earlier answer, told again */
};

struct call_of_wait {
	struct project *p;
	const struct wait_ask *ask;
	const struct wait_hooks *hooks;
	struct scene scene;
	struct watch watch; /* id 0: not kept in the store */
	struct bound bound;
	int64_t begun_mono_ms;
	const char *wake; /* "events", "polling", "none" */
	enum ending ending;
	json_t *continued; /* data.continued, or NULL */
};

void call_of_wait_release(struct call_of_wait *w);

/* begin.c: the scene of a new or a resumed watch, an earlier one continued, or
   an earlier answer found (ending END_REPLAYED, watch.answer is it). */
int begin_resumed(struct call_of_wait *w, struct err *err);
int begin_fresh(struct call_of_wait *w, struct err *err);
/* After the first look at the refs of a fresh question: 1 when an earlier watch
   of the same question takes over (scene and watch are replaced). */
int begin_earlier(struct call_of_wait *w, struct err *err);

/* answer.c: data, hints and status from how the call ended. */
int answer_compose(struct call_of_wait *w, struct result *res, struct err *err);
/* The data of a met answer: what the watch keeps. To be released. */
int answer_met(struct call_of_wait *w, json_t **ret, struct err *err);
/* "feat-x to land or trunk to move". To be freed. */
char *answer_what(const struct scene *s);

#endif
