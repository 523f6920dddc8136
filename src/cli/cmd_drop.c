#include "cli/commands.h"

#include <string.h>

#include "task/task.h"

static json_t *commit_list(const struct strv *commits)
{
	json_t *list = json_array();

	for (size_t i = 0; i < commits->n; i++) {
		json_t *o = json_object();
		const char *space = strchr(commits->v[i], ' ');
		AUTOFREE char *oid = xstrndup(commits->v[i], strcspn(commits->v[i], " "));
		json_put_text(o, "commit", oid);
		json_put_text(o, "subject", space ? space + 1 : "");
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *losses_json(const struct task_losses *l)
{
	json_t *o = json_object();

	json_put(o, "uncommitted", json_text_list(&l->tracked, 0));
	json_put(o, "untracked", json_text_list(&l->untracked, 0));
	json_put(o, "commits", commit_list(&l->commits));
	json_put(o, "submodules", json_text_list(&l->submodules, 0));
	if (l->parked)
		json_put_text(o, "under_way", l->parked);
	return o;
}

static void put_task(json_t *data, const struct task *t, const struct task_losses *l)
{
	json_put_text(data, "id", t->id);
	if (*t->branch)
		json_put_text(data, "branch", git_branch_short(t->branch));
	json_put_text(data, "path", t->worktree);
	json_put(data, "losses", losses_json(l));
	if (l->inside.n)
		json_put(data, "inside", json_text_list(&l->inside, 0));
}

static int run(struct call *c, struct result *res, struct err *err)
{
	bool force = opt_flag(c, "force");
	AUTOTASK t = {0};
	AUTOLOSSES losses = {0};
	AUTOREMOVED gone = {0};
	json_t *data;

	if (task_place(&c->project, c->dir, c->dir != NULL, err) < 0)
		return -1;
	call_recover(c);
	if (task_drop_find(&c->project, c->words.v[0], &t, err) < 0 ||
	        call_begin(c, true, *t.branch ? t.branch : NULL, &t.tip, NULL, NULL, err) < 0)
		return -1;
	if (task_drop(&c->project, &t, force, &losses, &gone, err) < 0) {
		if (!err->data)
			err->data = json_object();
		put_task(err->data, &t, &losses);
		return -1;
	}
	data = result_data(res);
	put_task(data, &t, &losses);
	json_put_bool(data, "removed", gone.worktree);
	json_put_bool(data, "branch_deleted", gone.branch);
	if (gone.kept.n) {
		json_put(data, "kept", json_text_list(&gone.kept, 0));
		json_put_text(data, "kept_in", gone.kept_dir);
	}
	if (gone.leaving)
		result_warn(res, "Somebody went inside %s; it goes when nobody is there any more.",
		        t.worktree);
	if (force && losses.inside.n)
		result_warn(res, "Processes stood inside %s: %s%s.", t.worktree, losses.inside.v[0],
		        losses.inside.n > 1 ? ", …" : "");
	if (*t.branch && !gone.branch && !gone.leaving)
		result_warn(res, "The branch `%s` stays: it has changed meanwhile or is in use.",
		        git_branch_short(t.branch));
	return 0;
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *d = res->data;
	const char *branch = json_text(d, "branch");
	const char *kept = json_text(d, "kept_in");

	buf_puts(out, "Dropped ");
	out_text(c, out, STYLE_BOLD, branch ? branch : json_text(d, "id"));
	buf_puts(out, "\n  ");
	out_text(c, out, STYLE_PLAIN, json_text(d, "path"));
	buf_puts(out, json_flag(d, "removed") ? " is gone\n" : " is left for now\n");
	if (kept) {
		buf_puts(out, "  its ignored files are kept for 7 days in ");
		out_text(c, out, STYLE_PLAIN, kept);
		buf_putc(out, '\n');
	}
}

static const struct option options[] = {
        {"force", OPT_FLAG, NULL, "drop it although work is lost by that"},
        {0},
};

static const struct field commit_fields[] = {
        {"commit", "oid", true, "its id"},
        {"subject", "string", true, "the first line of its message"},
        {0},
};

static const struct field candidate_fields[] = {
        {"branch", "string", true, "its branch, short"},
        {"id", "string", true, "its id"},
        {"path", "string", true, "its worktree"},
        {0},
};

static const struct field loss_fields[] = {
        {"uncommitted", "array", true, "tracked files with changes"},
        {"untracked", "array", true, "files that git does not know; a folder ends in /"},
        {"commits", "array", true,
                "commits on no other branch, remote branch or tag, at most 1,000",
                .of = commit_fields},
        {"submodules", "array", true, "submodules with commits that no remote has"},
        {"under_way", "string", false, "what the worktree is in the middle of"},
        {0},
};

static const struct field data[] = {
        {"id", "string", true, "the task's id"},
        {"branch", "string", false, "its branch, short; absent when HEAD was detached"},
        {"path", "string", true, "its worktree"},
        {"losses", "object", true, "what is lost with it, or would be", .of = loss_fields},
        {"inside", "array", false, "processes whose working folder is inside: pid and name"},
        {"removed", "boolean", true, "whether the worktree is gone"},
        {"branch_deleted", "boolean", true, "whether the branch is gone"},
        {"kept", "array", false, "ignored files that were moved aside for 7 days"},
        {"kept_in", "string", false, "the folder that they were moved to"},
        {"candidates", "array", false, "tasks that the word may mean", .of = candidate_fields},
        {0},
};

const struct command cmd_drop = {
        .name = "drop",
        .summary = "remove a task that is given up",
        .usage = "drop TASK [--force]",
        .details =
                "Removes the worktree and the branch of a task, from the main checkout. What would "
                "be lost by that (uncommitted changes, untracked files, commits on no other "
                "branch) is named, and nothing is removed without --force. A locked worktree and "
                "one whose .git file was changed are refused always.\n"
                "\n"
                "Without --force single ignored files (an .env, a local database) are kept for "
                "7 days. It is a person's verb: an agent ends its own task with `accept`.",
        .examples = "  abide drop fix-login-k3tw     # refused when work would be lost\n"
                    "  abide drop agent/spike --force",
        .options = options,
        .data = data,
        .word = "TASK",
        .complete = COMPLETE_TASK,
        .min_words = 1,
        .max_words = 1,
        .run = run,
        .render = render,
};
