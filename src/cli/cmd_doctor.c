#include <stdarg.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/doctor.h"

const char *const doctor_states[] = {"ok", "warn", "bad", NULL};

void doctor_row(struct doctor *d, const char *check, enum doctor_state state, const char *fix,
        const char *fmt, ...)
{
	json_t *row = json_object();
	char *says = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&says, fmt, ap) < 0)
		abort();
	va_end(ap);
	json_put_text(row, "check", check);
	json_put_text(row, "state", doctor_states[state]);
	json_put_text(row, "says", says);
	json_put_text(row, "fix", fix);
	json_array_append_new(d->checks, row);
	d->count[state]++;
	free(says);
}

void doctor_refusal(
        struct doctor *d, const char *check, enum doctor_state state, const struct err *err)
{
	doctor_row(d, check, state, err->hints.n ? err->hints.v[0] : NULL, "%s", err->message);
}

static void (*const checks[])(struct doctor *d) = {
        doctor_git,
        doctor_repository,
        doctor_history,
        doctor_trunk,
        doctor_configuration,
        doctor_identity,
        doctor_watching,
        doctor_store,
        doctor_worktrees,
        doctor_locks,
        doctor_remotes,
};

static int run(struct call *c, struct result *res, struct err *err)
{
	struct doctor d = {.p = &c->project, .data = result_data(res), .checks = json_array()};

	json_put(d.data, "checks", d.checks);
	for (size_t i = 0; i < NELEMS(checks); i++) {
		if (stop_check(err) < 0)
			return -1;
		checks[i](&d);
	}
	json_put_int(d.data, "warn", d.count[DOCTOR_WARN]);
	json_put_int(d.data, "bad", d.count[DOCTOR_BAD]);
	res->status = d.count[DOCTOR_BAD] ? 1 : 0;
	return 0;
}

static void render_row(struct call *c, const json_t *row, struct buf *out)
{
	const char *state = json_text(row, "state");
	const char *fix = json_text(row, "fix");
	enum style style = strcmp(state, "ok") == 0 ? STYLE_GREEN
	        : strcmp(state, "bad") == 0         ? STYLE_RED
	                                            : STYLE_YELLOW;

	out_printf(c, out, style, "%-4s", state);
	out_printf(c, out, STYLE_BOLD, "  %-14s", json_text(row, "check"));
	out_text(c, out, STYLE_PLAIN, json_text(row, "says"));
	buf_putc(out, '\n');
	if (!fix)
		return;
	buf_printf(out, "%20s", "");
	out_printf(c, out, STYLE_DIM, "→ %s", fix);
	buf_putc(out, '\n');
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(res->data, "checks"), i, row)
		render_row(c, row, out);
}

static const char *const backends[] = {"files", "reftable", NULL};
static const char *const formats[] = {"sha1", "sha256", NULL};
static const char *const wakes[] = {"events", "polling", NULL};

static const struct field check_fields[] = {
        {"check", "string", true, "what was looked at"},
        {"state", "string", true, "how it is", .only = doctor_states},
        {"says", "string", true, "what was found and what it means"},
        {"fix", "string", false, "what to do about it"},
        {0},
};
static const struct field store_fields[] = {
        {"path", "string", true, "the folder"},
        {"exists", "boolean", true, "whether it was made yet"},
        {"bytes", "integer", false, "size of the database with its log"},
        {"version", "integer", false, "of its format"},
        {"file_system", "string", true, "what it lies on"},
        {"local", "boolean", true, "false: on a network or in user space"},
        {0},
};
static const struct field remote_fields[] = {
        {"remote", "string", true, "its name"},
        {"fetches", "boolean", true, "whether `git fetch` brings the receipts where they belong"},
        {"pushes", "boolean", true, "whether `git push` sends them"},
        {"fetch_refspec", "string", true, "the refspec that fetches them"},
        {"push_refspec", "string", true, "the refspec that pushes them"},
        {0},
};
static const struct field lock_fields[] = {
        {"path", "string", true, "the lock file"},
        {"age_ms", "integer", true, "how old it is"},
        {"holders", "array", true, "processes that hold it or work there: pid and name"},
        {0},
};

const struct command cmd_doctor = {
        .name = "doctor",
        .summary = "check git, the repository, file watching and the store",
        .usage = "doctor",
        .details =
                "Says what is as it should be, what degrades and what breaks, and how to mend it. "
                "It changes nothing.\n\n"
                "ok: as it should be. warn: all works, but slower, or with less than there could "
                "be. bad: some verb will refuse or fail. The exit status is 1 when anything is "
                "bad, "
                "else 0.",
        .examples = "abide doctor          # how it is here\n"
                    "abide doctor --json   # with facts for programs",
        .options = (const struct option[]){{0}},
        .data =
                (const struct field[]){
                        {"checks", "array", true, "one row each", .of = check_fields},
                        {"warn", "integer", true, "rows that warn"},
                        {"bad", "integer", true, "rows that are bad"},
                        {"git_version", "string", false, "the version of git"},
                        {"refs", "string", false, "how refs are kept", .only = backends},
                        {"object_format", "string", false, "the hash", .only = formats},
                        {"bare", "boolean", false, "no main checkout"},
                        {"shallow", "boolean", false, "history is cut"},
                        {"partial", "boolean", false, "objects are fetched when needed"},
                        {"sparse", "boolean", false, "this checkout holds a part of the files"},
                        {"submodules", "integer", false, "submodules of the trunk's tip"},
                        {"trunk", "string", false, "the trunk"},
                        {"trunk_source", "string", false, "what names it"},
                        {"wake", "string", false, "how waits notice changes", .only = wakes},
                        {"store", "object", false, "abide's own folder", .of = store_fields},
                        {"locks", "array", false, "lock files of git that stand",
                                .of = lock_fields},
                        {"remotes", "array", false, "whether receipts travel", .of = remote_fields},
                        {0},
                },
        .run = run,
        .render = render,
};
