#include "fleet/fleet.h"

#include <string.h>

#include "store/task.h"

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

static void put_timed(json_t *o, int64_t elapsed_ms, const struct prior *prior)
{
	json_put_int(o, "elapsed_ms", elapsed_ms > 0 ? elapsed_ms : 0);
	if (!prior->samples)
		return;
	json_put(o, "median_s", seconds(prior->median_ms));
	json_put(o, "p90_s", seconds(prior->p90_ms));
	json_put_int(o, "samples", (int64_t)prior->samples);
}

json_t *fleet_timed_json(int64_t elapsed_ms, const struct prior *prior)
{
	json_t *o = json_object();

	put_timed(o, elapsed_ms, prior);
	return o;
}

json_t *fleet_flight_json(const struct logbook_event *e, const struct flight *f)
{
	json_t *o = json_object();

	json_put_text(o, "verb", e->verb);
	if (*e->branch)
		json_put_text(o, "branch", git_branch_short(e->branch));
	if (*e->about)
		json_put_text(o, "about", e->about);
	put_timed(o, f->elapsed_ms, &f->prior);
	return o;
}

void fleet_flight(struct store *s, const struct logbook_event *e, struct flight *ret)
{
	int64_t elapsed = clock_wall_ms() - e->begun_at;

	*ret = (struct flight){.verb = e->verb, .elapsed_ms = elapsed > 0 ? elapsed : 0};
	logbook_prior(s, e->verb, e->gate_digest, &ret->prior, NULL);
}

bool fleet_logbook(struct project *p)
{
	const struct config *policy;

	if (!p->store && project_store(p, STORE_READ, NULL) < 0)
		return false;
	return p->store && (project_policy(p, &policy, NULL) < 0 || policy->logbook);
}

/* E names its branch; the task that has it is named, too, where `start` made it. */
static json_t *flight_of_task(const struct logbook_event *e, const struct flight *f,
        const struct task_record_list *records)
{
	json_t *o = fleet_flight_json(e, f);

	for (size_t i = 0; *e->branch && i < records->n; i++)
		if (strcmp(records->v[i].branch, e->branch) == 0)
			json_put_text(o, "task", records->v[i].id);
	return o;
}

void fleet_running(struct project *p, const char *branch, json_t **ret)
{
	AUTOLOGBOOK events = {0};
	AUTORECORDS records = {0};
	AUTOFREE struct flight *flights = NULL;
	AUTOJSON json_t *list = json_array();
	json_t *block;
	size_t n = 0;

	*ret = NULL;
	if (!fleet_logbook(p) || logbook_in_flight(p->store, branch, &events, NULL) < 0)
		return;
	task_records(p->store, &records, NULL);
	flights = xcalloc(events.n + 1, sizeof(*flights));
	for (size_t i = 0; i < events.n; i++) {
		if (strcmp(events.v[i].verb, "await") == 0)
			continue;
		fleet_flight(p->store, &events.v[i], &flights[n]);
		json_array_append_new(list, flight_of_task(&events.v[i], &flights[n++], &records));
	}
	if (!n)
		return;
	block = json_object();
	json_put(block, "lead", json_incref(json_array_get(list, fleet_lead(flights, n))));
	json_put(block, "in_flight", STEAL(list));
	*ret = block;
}
