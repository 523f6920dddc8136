#include "fleet/fleet.h"

#include <string.h>

size_t fleet_lead(const struct flight *v, size_t n)
{
	size_t lead = n;
	int64_t longest = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t left = v[i].prior.p90_ms - v[i].elapsed_ms;
		if (v[i].prior.samples && (lead == n || left > longest)) {
			lead = i;
			longest = left;
		}
	}
	return lead == n && n ? 0 : lead;
}

/* Milliseconds as seconds, to the millisecond. */
static json_t *seconds(int64_t ms)
{
	return json_real((double)ms / 1000);
}

json_t *fleet_flight_json(const struct logbook_event *e, const struct flight *f)
{
	json_t *o = json_object();

	json_put_text(o, "verb", e->verb);
	if (*e->branch)
		json_put_text(o, "branch", git_branch_short(e->branch));
	json_put_int(o, "elapsed_ms", f->elapsed_ms);
	if (f->prior.samples) {
		json_put(o, "median_s", seconds(f->prior.median_ms));
		json_put(o, "p90_s", seconds(f->prior.p90_ms));
		json_put_int(o, "samples", (int64_t)f->prior.samples);
	}
	return o;
}

void fleet_flight(struct store *s, const struct logbook_event *e, struct flight *ret)
{
	int64_t elapsed = clock_wall_ms() - e->begun_at;

	*ret = (struct flight){.verb = e->verb, .elapsed_ms = elapsed > 0 ? elapsed : 0};
	logbook_prior(s, e->verb, e->gate_digest, &ret->prior, NULL);
}

/* A logbook that was turned off is not read, either. */
static bool logbook_on(struct project *p)
{
	const struct config *policy;

	if (!p->store && project_store(p, STORE_READ, NULL) < 0)
		return false;
	return p->store && (project_policy(p, &policy, NULL) < 0 || policy->logbook);
}

void fleet_running(struct project *p, const char *branch, json_t **ret)
{
	AUTOLOGBOOK events = {0};
	AUTOFREE struct flight *flights = NULL;
	AUTOJSON json_t *list = json_array();
	json_t *block;
	size_t n = 0;

	*ret = NULL;
	if (!logbook_on(p) || logbook_in_flight(p->store, branch, &events, NULL) < 0)
		return;
	flights = xcalloc(events.n + 1, sizeof(*flights));
	for (size_t i = 0; i < events.n; i++) {
		if (strcmp(events.v[i].verb, "await") == 0)
			continue;
		fleet_flight(p->store, &events.v[i], &flights[n]);
		json_array_append_new(list, fleet_flight_json(&events.v[i], &flights[n]));
		n++;
	}
	if (!n)
		return;
	block = json_object();
	json_put(block, "lead", json_incref(json_array_get(list, fleet_lead(flights, n))));
	json_put(block, "in_flight", STEAL(list));
	*ret = block;
}
