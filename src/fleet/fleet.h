/*
 * fleet: what is true now across all tasks, composed from git, the store and
 * the logbook for people and agents to read. Nothing here decides anything.
 */
#ifndef ABIDE_FLEET_FLEET_H
#define ABIDE_FLEET_FLEET_H

#include "project/project.h"
#include "store/logbook.h"

/* --- What runs (running.c) -------------------------------------------------- */

/* One verb in flight, with what is known of earlier runs of it. */
struct flight {
	const char *verb;
	int64_t elapsed_ms;
	struct prior prior;
};
/*
 * Which of N flights will last longest: the one with the longest estimated
 * remainder (p90 - elapsed) among those with samples; the first without
 * samples only when none has any. On a tie the older (lower) one. N when N is 0.
 */
size_t fleet_lead(const struct flight *v, size_t n);

/* E as a flight of now. */
void fleet_flight(struct store *s, const struct logbook_event *e, struct flight *ret);
/* {verb, branch, elapsed_ms, median_s?, p90_s?, samples?}. The caller's. */
json_t *fleet_flight_json(const struct logbook_event *e, const struct flight *f);

/*
 * The `running` block: {in_flight: [{verb, branch, elapsed_ms,
 * median_s?, p90_s?, samples?}, …] oldest first, lead: one of them}, of BRANCH
 * (full ref) or of the whole fleet when NULL. `await` is never in it. *RET is
 * NULL when nothing runs, the logbook is off, or it could not be read: what
 * runs is told where it is known and never fails anything. Opens the store for
 * reading when it is not open. The reference is the caller's.
 */
void fleet_running(struct project *p, const char *branch, json_t **ret);

#endif
