#include "wait/wait.h"

#include <string.h>

#include "wait/condition.h"
#include "wait/engine.h"
#include "wait/handle.h"

enum { LISTED = 200 };

static json_t *list_row(struct project *p, const struct watch *k)
{
	struct handle h = {.kind = 'w'};
	AUTOSCENE s = {.p = p};
	AUTOFREE char *handle = NULL;
	AUTOFREE char *what = NULL;
	json_t *row = json_object();

	memcpy(h.symbols, k->handle, sizeof(h.symbols));
	handle = handle_text(&h);
	json_put_text(row, "resume", handle);
	if (k->version == WATCH_VERSION && record_read(k->record, &s))
		what = answer_what(&s);
	json_put_text(row, "waits_for", what ? what : "(written by another version of abide)");
	json_put_text(row, "trunk", k->trunk);
	json_put_text(row, "worktree", k->worktree);
	json_put_bool(row, "held", store_alive(p->store, ALIVE_WATCH, k->id));
	json_put_int(row, "begun_at", k->begun_at);
	json_put_int(row, "used_at", k->used_at);
	return row;
}

int wait_list(struct project *p, struct result *res, struct err *err)
{
	AUTOWATCHES open = {0};
	json_t *list = json_array();

	json_put(result_data(res), "watches", list);
	if (project_store(p, STORE_READ, err) < 0 ||
	        watch_open_list(p->store, LISTED, &open, err) < 0)
		return -1;
	for (size_t i = 0; i < open.n; i++)
		json_array_append_new(list, list_row(p, &open.v[i]));
	return 0;
}

int wait_stop(struct project *p, const char *text, struct result *res, struct err *err)
{
	AUTOWATCH k = {0};
	AUTOFREE char *shown = NULL;
	struct handle h;
	bool tombstone;
	int rc;

	if (handle_read(text, 'w', &h, err) < 0 || project_store(p, STORE_WRITE, err) < 0)
		return -1;
	shown = handle_text(&h);
	rc = watch_load(p->store, h.symbols, &k, &tombstone, err);
	if (rc < 0)
		return -1;
	if (rc == 1) {
		err_set(err, tombstone ? ERR_HANDLE_EXPIRED : ERR_HANDLE_UNKNOWN,
		        tombstone ? "The watch %s has been put away already."
		                  : "The handle %s is of no watch of this repository.",
		        shown);
		err_hint(err, "`abide await --list` shows the watches that are open here.");
		return -1;
	}
	if (k.version > WATCH_VERSION) {
		err_set(err, ERR_NEWER_FORMAT,
		        "The watch %s was written by a newer abide; it was left as it is.", shown);
		err_hint(err, "Stop it with the newer abide.");
		return -1;
	}
	if (k.state == WATCH_OPEN && watch_stop(p->store, k.id, err) < 0)
		return -1;
	json_put_text(result_data(res), "stopped", shown);
	json_put_bool(result_data(res), "was_open", k.state == WATCH_OPEN);
	return 0;
}
