#include "cli/status_view.h"

#include <stdio.h>
#include <string.h>

#include "cli/table.h"

static int64_t since(const json_t *obj, const char *key)
{
	int64_t ms = clock_wall_ms() - json_int(obj, key, 0);

	return ms > 0 ? ms : 0;
}

static bool is(const json_t *obj, const char *key, const char *text)
{
	const char *value = json_text(obj, key);

	return value && strcmp(value, text) == 0;
}

/* A heading of a part, with an empty line before it. */
static void heading(const struct call *c, struct buf *out, const char *text)
{
	buf_putc(out, '\n');
	out_text(c, out, STYLE_BOLD, text);
	buf_putc(out, '\n');
}

/* --- The trunk ------------------------------------------------------------------------ */

static void view_trunk(const struct call *c, const json_t *trunk, struct buf *out)
{
	int64_t behind = json_int(trunk, "behind_upstream", 0);
	const char *tip = json_text(trunk, "tip"), *parked = json_text(trunk, "parked");

	if (!trunk) {
		buf_puts(out, "No trunk.\n");
		return;
	}
	buf_puts(out, "Trunk ");
	out_text(c, out, STYLE_BOLD, json_text(trunk, "name"));
	buf_putc(out, ' ');
	if (tip)
		out_oid(c, out, tip);
	else
		buf_puts(out, "(no commit yet)");
	if (behind)
		out_printf(c, out, STYLE_YELLOW, ", %lld behind %s as last fetched",
		        (long long)behind, json_text(trunk, "upstream"));
	if (parked)
		out_printf(c, out, STYLE_YELLOW, ", its checkout is in a %s", parked);
	else if (json_int(trunk, "changed", 0))
		out_printf(c, out, STYLE_YELLOW, ", %lld changed in its checkout",
		        (long long)json_int(trunk, "changed", 0));
	buf_putc(out, '\n');
}

/* --- Tasks -------------------------------------------------------------------------------- */

static void put_distance(struct table *t, const json_t *row)
{
	int64_t ahead = json_int(row, "ahead", -1), behind = json_int(row, "behind", -1);

	if (ahead < 0)
		table_put(t, STYLE_DIM, "?");
	else if (!ahead && !behind)
		table_put(t, STYLE_DIM, "even");
	else if (!behind)
		table_printf(t, STYLE_PLAIN, "+%lld", (long long)ahead);
	else if (!ahead)
		table_printf(t, STYLE_YELLOW, "-%lld", (long long)behind);
	else
		table_printf(t, STYLE_YELLOW, "+%lld -%lld", (long long)ahead, (long long)behind);
}

static void put_tree(struct table *t, const json_t *row)
{
	const json_t *dirty = json_object_get(row, "dirty");
	int64_t tracked = json_int(dirty, "tracked", 0),
	        untracked = json_int(dirty, "untracked", 0);
	int64_t conflicts = json_int(dirty, "conflicts", 0);

	if (!dirty)
		table_put(t, STYLE_DIM, "?");
	else if (conflicts)
		table_printf(t, STYLE_RED, "%lld in conflict", (long long)conflicts);
	else if (tracked && untracked)
		table_printf(t, STYLE_YELLOW, "%lld changed, %lld new", (long long)tracked,
		        (long long)untracked);
	else if (tracked || untracked)
		table_printf(t, STYLE_YELLOW, "%lld %s", (long long)(tracked + untracked),
		        tracked ? "changed" : "new");
	else
		table_put(t, STYLE_PLAIN, "clean");
}

static void put_proof(struct table *t, const json_t *row)
{
	const json_t *proof = json_object_get(row, "proof");
	const json_t *failing = json_object_get(proof, "failing");
	const char *first = json_string_value(json_array_get(failing, 0));

	if (is(proof, "status", "honoured"))
		table_put(t, STYLE_GREEN, "green");
	else if (is(proof, "status", "red") && first)
		table_printf(t, STYLE_RED, json_array_size(failing) > 1 ? "red: %s, …" : "red: %s",
		        first);
	else if (is(proof, "status", "red"))
		table_put(t, STYLE_RED, "red");
	else if (is(proof, "status", "stale"))
		table_put(t, STYLE_YELLOW, "stale");
	else
		table_put(t, STYLE_DIM, "none");
}

/* "done 12 s, typically 40 s" */
static char *timed(const char *what, const json_t *timing)
{
	AUTOFREE char *elapsed = text_ago(json_int(timing, "elapsed_ms", 0));
	const json_t *median = json_object_get(timing, "median_s");
	AUTOFREE char *typically =
	        median ? text_ago((int64_t)(json_number_value(median) * 1000)) : NULL;

	return xasprintf("%s %s%s%s", what, elapsed, typically ? ", typically " : "",
	        typically ? typically : "");
}

static char *now_waiting(const json_t *waiting)
{
	const json_t *first = json_array_get(waiting, 0);
	AUTOFREE char *elapsed = text_ago(since(first, "begun_at"));

	return xasprintf("waits for %s, %s%s", json_text(first, "for"), elapsed,
	        json_array_size(waiting) > 1 ? ", …" : "");
}

static void put_now(struct table *t, const json_t *row)
{
	const char *state = json_text(row, "state"), *parked = json_text(row, "parked");
	const json_t *gate = json_object_get(row, "gate"),
	             *running = json_object_get(row, "running");
	const json_t *waiting = json_object_get(row, "waiting");
	AUTOFREE char *text = NULL;
	enum style style = STYLE_PLAIN;

	if (strcmp(state, "ok") != 0) {
		text = xasprintf("%s", is(row, "state", "leaving") ? "landed, leaving" : state);
		style = is(row, "state", "leaving") || is(row, "state", "unborn") ? STYLE_DIM
		                                                                  : STYLE_RED;
	} else if (parked) {
		text = xasprintf("in a %s", parked);
		style = STYLE_YELLOW;
	} else if (gate) {
		text = timed("gate", gate);
	} else if (running && !is(running, "verb", "await")) {
		text = timed(json_text(running, "verb"), running);
	} else if (json_array_size(waiting)) {
		text = now_waiting(waiting);
	} else if (running) {
		text = timed(json_text(running, "verb"), running);
	} else if (json_object_get(row, "landed_at")) {
		AUTOFREE char *ago = text_ago(since(row, "landed_at"));
		text = xasprintf("landed %s ago", ago);
		style = STYLE_DIM;
	} else if (json_object_get(row, "idle_since")) {
		AUTOFREE char *ago = text_ago(since(row, "idle_since"));
		text = xasprintf("idle %s", ago);
		style = STYLE_DIM;
	}
	if (json_object_get(row, "locked")) {
		char *both = xasprintf("locked%s%s", text ? ", " : "", text ? text : "");
		mem_set(&text, both);
	}
	table_put(t, style, text ? text : "");
}

static void view_tasks(const struct call *c, const json_t *tasks, struct buf *out)
{
	static const char *const heads[] = {
	        "", "TASK", "BRANCH", "TRUNK", "TREE", "PROOF", "NOW", "PATH"};
	AUTOTABLE t = {.columns = NELEMS(heads)};
	const json_t *row;
	size_t i;

	buf_putc(out, '\n');
	if (!json_array_size(tasks)) {
		out_text(c, out, STYLE_DIM, opt_flag(c, "here") ? "No task here." : "No tasks.");
		buf_putc(out, '\n');
		return;
	}
	for (i = 0; i < NELEMS(heads); i++)
		table_put(&t, STYLE_DIM, heads[i]);
	json_array_foreach (tasks, i, row) {
		table_put(&t, STYLE_BOLD, json_flag(row, "here") ? "*" : " ");
		table_put(&t, STYLE_BOLD, json_text(row, "id"));
		table_put(&t, STYLE_PLAIN, json_text(row, "branch"));
		put_distance(&t, row);
		put_tree(&t, row);
		put_proof(&t, row);
		put_now(&t, row);
		table_put(&t, STYLE_DIM, json_text(row, "path"));
	}
	table_print(c, &t, "", out);
}

/* --- What else there is ------------------------------------------------------------------ */

/* Worktrees that are no tasks and of which something has to be said. */
static void view_others(const struct call *c, const json_t *others, struct buf *out)
{
	AUTOTABLE t = {.columns = 3};
	const json_t *row;
	size_t i;

	json_array_foreach (others, i, row) {
		const char *parked = json_text(row, "parked"), *branch = json_text(row, "branch");
		bool ok = is(row, "state", "ok");

		if (ok && branch && !parked && !json_object_get(row, "locked"))
			continue;
		table_put(&t, STYLE_PLAIN, json_flag(row, "here") ? "*" : " ");
		if (!ok)
			table_put(&t, STYLE_RED, json_text(row, "state"));
		else if (parked)
			table_printf(&t, STYLE_YELLOW, "in a %s", parked);
		else if (!branch)
			table_printf(&t, STYLE_PLAIN, "detached at %.10s", json_text(row, "head"));
		else
			table_put(&t, STYLE_PLAIN, "locked");
		table_put(&t, STYLE_DIM, json_text(row, "path"));
	}
	if (!t.n)
		return;
	heading(c, out, "Other worktrees");
	table_print(c, &t, "", out);
}

static void view_queue(const struct call *c, const json_t *queue, struct buf *out)
{
	AUTOTABLE t = {.columns = 3};
	const json_t *row;
	size_t i;

	if (!json_array_size(queue))
		return;
	heading(c, out, "Landing queue");
	json_array_foreach (queue, i, row) {
		AUTOFREE char *ago = text_ago(since(row, "since"));
		table_printf(&t, STYLE_PLAIN, "%zu", i + 1);
		table_put(&t, STYLE_PLAIN, json_text(row, "branch"));
		table_put(&t, STYLE_DIM, ago);
	}
	table_print(c, &t, "  ", out);
}

static void view_watches(const struct call *c, const json_t *watches, struct buf *out)
{
	AUTOTABLE t = {.columns = 4};
	const json_t *row;
	size_t i;

	if (!json_array_size(watches))
		return;
	heading(c, out, "Open watches");
	json_array_foreach (watches, i, row) {
		AUTOFREE char *ago = text_ago(since(row, "begun_at"));
		table_put(&t, STYLE_PLAIN, json_text(row, "resume"));
		table_put(&t, STYLE_PLAIN, json_text(row, "waits_for"));
		table_printf(
		        &t, STYLE_DIM, "%s %s", json_flag(row, "held") ? "held," : "begun", ago);
		table_put(&t, STYLE_DIM, json_text(row, "worktree"));
	}
	table_print(c, &t, "  ", out);
}

static void view_branches(const struct call *c, const json_t *data, struct buf *out)
{
	const json_t *branches = json_object_get(data, "branches"), *row;
	int64_t more = json_int(data, "branches_total", 0) - (int64_t)json_array_size(branches);
	AUTOTABLE t = {.columns = 3};
	size_t i;

	if (!json_array_size(branches))
		return;
	heading(c, out, "Unlanded work without a worktree");
	json_array_foreach (branches, i, row) {
		AUTOFREE char *ago = text_ago(since(row, "committed_at"));
		table_put(&t, STYLE_PLAIN, json_text(row, "branch"));
		put_distance(&t, row);
		table_printf(&t, STYLE_DIM, "%s ago", ago);
	}
	table_print(c, &t, "  ", out);
	if (more > 0)
		out_printf(c, out, STYLE_DIM, "  and %lld more", (long long)more);
	if (more > 0)
		buf_putc(out, '\n');
}

static void view_messages(const struct call *c, const json_t *rows, struct buf *out)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *message = json_text(row, "message"), *id = json_text(row, "id");
		if (!message)
			continue;
		buf_putc(out, '\n');
		out_printf(
		        c, out, STYLE_PLAIN, "%s: %s", id ? id : json_text(row, "path"), message);
		buf_putc(out, '\n');
	}
}

void status_view(const struct call *c, const json_t *data, struct buf *out)
{
	const json_t *tasks = json_object_get(data, "tasks");
	const json_t *others = json_object_get(data, "worktrees");

	view_trunk(c, json_object_get(data, "trunk"), out);
	view_tasks(c, tasks, out);
	view_others(c, others, out);
	view_queue(c, json_object_get(data, "landing_queue"), out);
	view_watches(c, json_object_get(data, "watches"), out);
	view_branches(c, data, out);
	view_messages(c, tasks, out);
	view_messages(c, others, out);
}
