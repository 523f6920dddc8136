#include "cli/commands.h"

#include <string.h>

#include "task/task.h"

static void tell(void *ctx, const char *what, const char *line)
{
	say(ctx, "%s: %s", what, line);
}

static void put_started(json_t *data, const struct task_started *s, bool dry_run)
{
	json_put_text(data, "id", s->task.id);
	json_put_text(data, "branch", git_branch_short(s->task.branch));
	json_put_text(data, "path", s->task.worktree);
	json_put_text(data, "base", s->task.base.hex);
	json_put_text(data, "from", s->from);
	if (s->task.port)
		json_put_int(data, "port", s->task.port);
	json_put_bool(data, "adopted", s->adopted);
	json_put(data, "copied", json_text_list(&s->copied, 0));
	json_put_bool(data, "dry_run", dry_run);
}

static int run(struct call *c, struct result *res, struct err *err)
{
	struct task_start how = {
	        .name = c->words.n ? c->words.v[0] : NULL,
	        .from = opt_text(c, "from"),
	        .branch = opt_text(c, "branch"),
	        .exact = opt_flag(c, "exact"),
	        .dry_run = opt_flag(c, "dry-run"),
	        .surface = call_surface(),
	        .progress = {.tell = tell, .ctx = c},
	};
	AUTOSTARTED s = {0};

	if (task_place(&c->project, c->dir, c->dir != NULL, err) < 0 ||
	        project_need_trunk(&c->project, err) < 0)
		return -1;
	if (!how.dry_run) {
		if (call_begin(c, true, NULL, NULL, NULL, NULL, err) < 0)
			return -1;
		call_recover(c);
		call_recover(c);
	}
	if (task_start(&c->project, &how, &s, err) < 0)
		return -1;
	put_started(result_data(res), &s, how.dry_run);
	strv_extend(&res->warnings, &s.warnings);
	if (!how.dry_run) {
		AUTOFREE char *quoted = text_shell_quote(s.task.worktree);
		AUTOFREE char *done = call_text("done", "", s.task.id, NULL);
		result_hint(res, "Work there (`cd %s`), commit, then validate with `%s`.", quoted,
		        done);
	}
	return 0;
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *d = res->data;
	bool dry = json_flag(d, "dry_run");

	buf_puts(out, dry ? "Would start " : "Started ");
	out_text(c, out, STYLE_BOLD, json_text(d, "branch"));
	buf_puts(out, " from ");
	out_text(c, out, STYLE_PLAIN, json_text(d, "from"));
	buf_puts(out, " at ");
	out_oid(c, out, json_text(d, "base"));
	buf_puts(out, "\n  ");
	out_text(c, out, STYLE_PLAIN, json_text(d, "path"));
	if (json_int(d, "port", 0))
		out_printf(c, out, STYLE_DIM, "  (port %d)", (int)json_int(d, "port", 0));
	buf_putc(out, '\n');
}

static const struct option options[] = {
        {"from", OPT_TEXT, "REF", "begin the branch at REF instead of the trunk's tip",
                COMPLETE_BRANCH},
        {"branch", OPT_TEXT, "B",
                "adopt the branch B, which has no worktree, instead of making one",
                COMPLETE_BRANCH},
        {"exact", OPT_FLAG, NULL,
                "take NAME as it is, without a suffix, and refuse when it is taken"},
        {"dry-run", OPT_FLAG, NULL, "say what would be made, and make nothing"},
        {0},
};

static const struct field data[] = {
        {"taken_by", "string", false, "of a refused name: what has it already"},
        {"worktree", "string", false, "of a refused --branch: where it is checked out"},
        {"command", "string", false, "of a failed setup: the command"},
        {"exit", "integer", false, "of a failed setup: the command's exit status"},
        {"id", "string", true, "the task's id, also its folder's name"},
        {"branch", "string", true, "its branch, short"},
        {"path", "string", true, "its worktree, absolute"},
        {"base", "oid", true,
                "the commit that it begins at; of an adopted branch, where it left the trunk"},
        {"from", "string", true, "the word for the base: the trunk, REF, or the adopted branch"},
        {"port", "integer", false, "a port that no other live task has; absent in a dry run"},
        {"adopted", "boolean", true, "whether the branch was there before"},
        {"copied", "array", true, "ignored files that were copied from the main checkout"},
        {"dry_run", "boolean", true, "whether this only says what would be made"},
        {0},
};

const struct command cmd_start = {
        .name = "start",
        .summary = "make a task: a branch, a worktree and an identity",
        .usage = "start [NAME] [--from REF | --branch B] [--exact] [--dry-run]",
        .details =
                "Makes a branch (`branch_prefix` and the task's id) and a worktree of its own, "
                "from the trunk's tip or from --from. The id is NAME as a folder name with a "
                "short random suffix, or two words when NAME is absent. --exact takes NAME as it "
                "is and refuses when it is taken, so that others can wait for a name they know: "
                "`abide await --landed NAME --may-start`.\n"
                "\n"
                "Then the ignored files named in `copy` are copied from the main checkout, the "
                "task gets a port from 20000 to 29999 that no other live task has, and the "
                "`setup` commands run in the worktree with ABIDE_ID, ABIDE_BRANCH, "
                "ABIDE_WORKTREE, ABIDE_PORT and ABIDE_TASK_TRUNK set.\n"
                "\n"
                "It fails whole: after a failure, an interrupt or a crash there is no branch, no "
                "folder and no registration (after a crash, once the next verb has looked). Any "
                "number of starts may run at once.",
        .examples = "  abide start fix-login            # agent/fix-login-k3tw\n"
                    "  abide start fix-login --exact    # agent/fix-login\n"
                    "  abide start --branch old-idea    # unlanded work that has no worktree\n"
                    "  abide start ui --from agent/api  # on top of another task",
        .options = options,
        .data = data,
        .word = "NAME",
        .max_words = 1,
        .run = run,
        .render = render,
};
