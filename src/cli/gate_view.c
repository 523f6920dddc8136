#include "cli/gate_view.h"

#include "gate/gate.h"

/* JSON is read by programs; they get the same as data. */
static bool quiet(const struct call *c)
{
	return c->json && !c->live;
}

static bool is(const json_t *job, enum gate_job_state state)
{
	const char *text = json_text(job, "state");

	return text && strcmp(text, gate_job_state_text(state)) == 0;
}

static const struct {
	enum gate_job_state state;
	const char *word;
} ends[] = {
        {GATE_JOB_PASSED, "passed"},
        {GATE_JOB_FAILED, "failed"},
        {GATE_JOB_TIMED_OUT, "timed out"},
        {GATE_JOB_SKIPPED, "skipped"},
        {GATE_JOB_ENDED, "ended"},
        {GATE_JOB_INFRASTRUCTURE, "not run"},
};

static const char *end_word(const json_t *job)
{
	for (size_t i = 0; i < NELEMS(ends); i++)
		if (is(job, ends[i].state))
			return ends[i].word;
	return NULL;
}

static void say_end(const struct call *c, const json_t *job)
{
	const json_t *ms = json_object_get(job, "ms");
	AUTOFREE char *took = text_ago(json_integer_value(ms));
	AUTOFREE char *status = is(job, GATE_JOB_FAILED)
	        ? xasprintf(", exit status %lld", (long long)json_int(job, "exit", 0))
	        : xstrdup("");
	const char *trouble = json_text(job, "trouble");

	say(c, "  %-9s  %s%s%s%s%s%s", end_word(job), json_text(job, "name"), ms ? "  " : "",
	        ms ? took : "", status, trouble ? ": " : "", trouble ? trouble : "");
}

/* "test 12 s, lint 3 s, 2 waiting" on the line that is drawn again and again. */
static void draw(struct gate_view *p, const struct run *run)
{
	AUTOBUF line = {0};
	int64_t now = clock_wall_ms();
	size_t waiting = 0, i;
	json_t *job;

	json_array_foreach (run->jobs, i, job) {
		int64_t begun = json_int(job, "begun_at", now);
		AUTOFREE char *took = text_ago((now - begun) / 1000 * 1000);
		bool long_enough = now - begun >= 1000;
		if (is(job, GATE_JOB_RUNNING))
			buf_printf(&line, "%s%s%s%s", line.len ? ", " : "", json_text(job, "name"),
			        long_enough ? " " : "", long_enough ? took : "");
		waiting += is(job, GATE_JOB_WAITING);
	}
	if (waiting)
		buf_printf(&line, "%s%zu waiting", line.len ? ", " : "", waiting);
	if (run->state != RUN_RUNNING)
		buf_reset(&line);
	if (p->line && strcmp(p->line, buf_str(&line)) == 0)
		return;
	say_live(p->call, "%s", buf_str(&line));
	mem_set(&p->line, xstrdup(buf_str(&line)));
}

static void say_begin(struct gate_view *p, const struct run *run, bool joined)
{
	AUTOFREE char *ago = text_ago(clock_wall_ms() - run->begun_at);

	p->run = run->id;
	strv_release(&p->told);
	p->told = (struct strv){0};
	if (joined)
		say(p->call, "gate of %.10s: run %lld goes on already, begun %s ago",
		        run->commit.hex, (long long)run->id, ago);
	else
		say(p->call, "gate of %.10s: %zu job%s", run->commit.hex,
		        json_array_size(run->jobs), json_array_size(run->jobs) == 1 ? "" : "s");
}

void gate_view_note(void *ctx, const struct run *run, bool joined)
{
	struct gate_view *p = ctx;
	json_t *job;
	size_t i;

	if (quiet(p->call))
		return;
	if (p->run != run->id)
		say_begin(p, run, joined);
	json_array_foreach (run->jobs, i, job) {
		const char *name = json_text(job, "name");
		if (!name || !end_word(job) || strv_has(&p->told, name))
			continue;
		strv_push(&p->told, name);
		say_end(p->call, job);
		mem_set(&p->line, NULL); /* what was said stands in its place */
	}
	draw(p, run);
}

/* A line of output without what colours it and moves the cursor. */
static char *plain(const char *line, size_t len)
{
	AUTOBUF out = {0};

	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\033' && i + 1 < len && line[i + 1] == '[') {
			for (i += 2; i < len && (line[i] < '@' || line[i] > '~'); i++)
				;
		} else if (line[i] == '\t') {
			buf_puts(&out, "        ");
		} else if (line[i] != '\r' || i + 1 < len) {
			buf_putc(&out, line[i]);
		}
	}
	return buf_take(&out);
}

static void say_tail(const struct call *c, const json_t *job)
{
	const char *tail = json_text(job, "tail");
	const char *log = json_text(job, "log");

	if (!tail || (!is(job, GATE_JOB_FAILED) && !is(job, GATE_JOB_TIMED_OUT)))
		return;
	say(c, "%s", "");
	say(c, "last lines of %s (all of it: %s)", json_text(job, "name"), log ? log : "no log");
	while (*tail) {
		size_t len = strcspn(tail, "\n");
		AUTOFREE char *line = plain(tail, len);
		say(c, "    %s", line ? line : "");
		tail += len + (tail[len] == '\n');
	}
	say(c, "%s", "");
}

void gate_view_end(struct gate_view *p, const struct run *run, bool failed)
{
	json_t *job;
	size_t i;

	say_live(p->call, "%s", "");
	json_array_foreach (run->jobs, i, job)
		if (failed && !quiet(p->call))
			say_tail(p->call, job);
}

void gate_view_release(struct gate_view *p)
{
	strv_release(&p->told);
	free(p->line);
}

/* --- What data tells of jobs ----------------------------------------------------- */

static const char *const job_states[] = {
#define X(name, text, over) text,
        GATE_JOB_STATES(X)
#undef X
                NULL,
};

const struct field gate_job_fields[] = {
        {"name", "string", true, "as in abide.yaml"},
        {"state", "string", true, "what became of it", .only = job_states},
        {"exit", "integer", false, "exit status; 128 and more: a signal"},
        {"ms", "integer", false, "how long it ran"},
        {"begun_at", "time", false, "when it began"},
        {"log", "string", false, "file with its output (head and tail where it is long)"},
        {"tail", "string", false, "last 40 lines of a job that did not pass"},
        {"trouble", "string", false, "why it could not be started, or was lost"},
        {0},
};
