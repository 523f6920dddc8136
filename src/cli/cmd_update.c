#include "cli/commands.h"

#include "task/task.h"

static void tell(void *ctx, const char *what, const char *line)
{
	say(ctx, "%s: %s", what, line);
}

static void put_updated(json_t *data, const struct task *t, const struct task_updated *u)
{
	json_put_text(data, "id", t->id);
	json_put_text(data, "branch", git_branch_short(t->branch));
	json_put_text(data, "path", t->worktree);
	json_put_text(data, "from", u->from);
	json_put_bool(data, "merged", u->merged);
	json_put_text(data, "before", u->before.hex);
	json_put_text(data, "after", u->after.hex);
	json_put_int(data, "commits", u->commits);
	json_put(data, "files", json_text_list(&u->files, 1000));
	json_put_int(data, "files_total", (int64_t)u->files.n);
	json_put(data, "overlap", json_text_list(&u->overlap, 1000));
}

static int run(struct call *c, struct result *res, struct err *err)
{
	const struct task_progress progress = {.tell = tell, .ctx = c};
	AUTOTASK t = {0};
	AUTOUPDATED u = {0};

	if (task_place(&c->project, c->dir, c->dir != NULL || c->words.n, err) < 0)
		return -1;
	call_recover(c);
	if (task_resolve(&c->project, c->words.n ? c->words.v[0] : NULL, &t, err) < 0 ||
	        call_begin(c, true, t.branch, &t.tip, NULL, NULL, err) < 0 ||
	        task_update(&c->project, &t, opt_text(c, "from"), &progress, &u, err) < 0)
		return -1;
	put_updated(result_data(res), &t, &u);
	strv_extend(&res->warnings, &u.warnings);
	if (u.merged) {
		AUTOFREE char *done = call_text("done", "", t.id, NULL);
		result_hint(res, "A new commit needs a new proof: `%s`.", done);
	}
	return 0;
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *d = res->data;
	int64_t commits = json_int(d, "commits", 0);
	int64_t files = json_int(d, "files_total", 0);
	const json_t *overlap = json_object_get(d, "overlap");
	size_t i;
	json_t *path;

	out_text(c, out, STYLE_BOLD, json_text(d, "branch"));
	if (!json_flag(d, "merged")) {
		buf_puts(out, " contains ");
		out_text(c, out, STYLE_PLAIN, json_text(d, "from"));
		buf_puts(out, " already\n");
		return;
	}
	buf_puts(out, " got ");
	out_printf(c, out, STYLE_PLAIN, "%lld commit%s, %lld file%s from ", (long long)commits,
	        commits == 1 ? "" : "s", (long long)files, files == 1 ? "" : "s");
	out_text(c, out, STYLE_PLAIN, json_text(d, "from"));
	buf_puts(out, ", now at ");
	out_oid(c, out, json_text(d, "after"));
	buf_putc(out, '\n');
	json_array_foreach (overlap, i, path) {
		buf_puts(out, i ? "    " : "  changed on both sides:\n    ");
		out_text(c, out, STYLE_YELLOW, json_string_value(path));
		buf_putc(out, '\n');
	}
}

static const struct option options[] = {
        {"from", OPT_TEXT, "REF", "merge REF instead of the trunk", COMPLETE_BRANCH},
        {0},
};

static const struct field candidate_fields[] = {
        {"branch", "string", true, "its branch, short"},
        {"id", "string", true, "its id"},
        {"path", "string", true, "its worktree"},
        {0},
};

static const struct field data[] = {
        {"id", "string", true, "the task's id"},
        {"branch", "string", true, "its branch, short"},
        {"path", "string", true, "its worktree"},
        {"from", "string", true, "what was merged: the trunk or REF"},
        {"merged", "boolean", true, "false: the task contained it already"},
        {"before", "oid", true, "the branch's tip before"},
        {"after", "oid", true, "the branch's tip now"},
        {"commits", "integer", true, "how many commits came in"},
        {"files", "array", true,
                "paths that came in, at most 1,000; of a refusal: those that conflict or are in "
                "the way"},
        {"files_total", "integer", true, "how many paths came in"},
        {"overlap", "array", true, "those of them that the task changes itself, at most 1,000"},
        {"command", "string", false, "of a failed setup: the command"},
        {"exit", "integer", false, "of a failed setup: the command's exit status"},
        {"unfinished", "boolean", false, "the merge was cut short and could not be taken back yet"},
        {"candidates", "array", false, "tasks that the word may mean", .of = candidate_fields},
        {0},
};

const struct command cmd_update = {
        .name = "update",
        .summary = "bring the trunk into a task",
        .usage = "update [TASK] [--from REF]",
        .details =
                "Merges the trunk, or REF, into the task's branch, with the repository's hooks and "
                "signing. The tracked files have to be clean. When it would conflict, or files "
                "that git does not track are in the way, the files are listed and nothing is "
                "changed: index and files are as before. Nothing to merge is success.\n"
                "\n"
                "When something was merged, the `setup` commands run again.",
        .examples = "  abide update                    # in a task's worktree\n"
                    "  abide update fix-login          # from anywhere\n"
                    "  abide update --from agent/api   # another task's work",
        .options = options,
        .data = data,
        .word = "TASK",
        .complete = COMPLETE_TASK,
        .max_words = 1,
        .run = run,
        .render = render,
};
