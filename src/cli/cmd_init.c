#include "cli/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "project/propose.h"

/* One call's work. */
struct init {
	struct call *call;
	char *path;
	char *text;
	struct git_status status;
	struct proposal proposal;
};

static void init_release(struct init *w)
{
	free(w->path);
	free(w->text);
	git_status_release(&w->status);
	proposal_release(&w->proposal);
}

/* --- What speaks against it ----------------------------------------------------------- */

static int open_place(struct init *w, struct err *err)
{
	const struct git *g = &w->call->project.git;

	if (g->worktree)
		return git_status(git_at_recorded(g->git_dir, g->worktree), false, &w->status, err);
	err_set(err, ERR_WORKTREE_MISSING,
	        "There is no working tree here to write " CONFIG_FILE " into.");
	err_hint(err, "Stand in a checkout of this repository: `git worktree list` shows them.");
	return -1;
}

static int check_place(struct init *w, struct err *err)
{
	struct project *p = &w->call->project;
	AUTOFREE char *check = call_text("config", "check", NULL, NULL);
	AUTOBUF text = {0};
	int rc;

	w->path = path_join(p->git.worktree, CONFIG_FILE);
	if (fs_exists(w->path)) {
		err_set(err, ERR_WOULD_LOSE, "%s is there already; it was left as it is.", w->path);
		err_hint(err, "See whether it is right with `%s`.", check);
		return -1;
	}
	if (strv_has(&w->status.tracked, CONFIG_FILE)) {
		err_set(err, ERR_WOULD_LOSE,
		        CONFIG_FILE " is committed here and was deleted since.");
		err_hint(err,
		        "Take it back with `git restore " CONFIG_FILE
		        "`, or commit that it is gone.");
		return -1;
	}
	rc = oid_is_set(&p->trunk_tip) ? config_text_at(&p->git, &p->trunk_tip, &text, err) : 1;
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	err_set(err, ERR_WOULD_LOSE, "The trunk `%s` has an " CONFIG_FILE " already.", p->trunk);
	err_hint(err, "Bring it here with `git merge %s`.", p->trunk);
	return -1;
}

/* Before a commit: nothing of the caller's may be in reach of it. */
static int check_commit(struct init *w, struct err *err)
{
	const struct git *g = &w->call->project.git;
	struct git_at at = git_at_recorded(g->git_dir, g->worktree);
	AUTOPROC p = {0};
	const char *parked;

	if (git_parked(g, g->git_dir, &parked, NULL, err) < 0)
		return -1;
	if (parked) {
		err_set(err, ERR_DIRTY_WORKTREE,
		        "This checkout is in the middle of a %s, so nothing can be committed "
		        "beside it.",
		        parked);
		err_hint(err, "Finish or abort the %s, or leave out --commit.", parked);
		return -1;
	}
	if (!w->status.branch) {
		err_set(err, ERR_NOT_ON_TASK,
		        "HEAD is detached here: a commit would be on no branch.");
		err_hint(err, "Stand on a branch (`git switch BRANCH`), or leave out --commit.");
		return -1;
	}
	/* Exit status 1: something is staged. */
	if (git_run(at, &p, GIT_WORDS("diff", "--cached", "--quiet", "--no-ext-diff"), err) < 0)
		return -1;
	if (p.status == 0)
		return 0;
	if (p.status != 1)
		return git_complain(&p, "What is staged could not be told", err);
	err_set(err, ERR_DIRTY_WORKTREE,
	        "Changes are staged here; " CONFIG_FILE " is to be committed alone.");
	err_hint(err,
	        "Commit or unstage them first (`git restore --staged .`), or leave out --commit.");
	return -1;
}

static const char message[] = "Say how work lands here, in " CONFIG_FILE;

/* --- Writing and committing --------------------------------------------------------------- */

static int commit_failed(const struct proc *p, struct err *err)
{
	AUTOFREE char *said = proc_complaint(p);
	bool signing = strstr(buf_str(&p->err), "failed to sign") != NULL ||
	        strstr(buf_str(&p->err), "gpg failed") != NULL;

	if (p->stopped)
		err_set(err, ERR_CANCELLED, "The commit was interrupted; nothing was changed.");
	else
		err_set(err, signing ? ERR_SIGNING_FAILED : ERR_GIT_FAILED,
		        CONFIG_FILE " was not committed, and nothing was changed; git said: %s",
		        said);
	err_hint(err,
	        "Put that right and run the same command again, or write the file without "
	        "--commit.");
	return -1;
}

/* The file is ours alone until it is committed: it goes again. */
static void take_back(struct init *w)
{
	const struct git *g = &w->call->project.git;
	AUTOPROC p = {0};

	git_run(git_at_recorded(g->git_dir, g->worktree), &p,
	        GIT_WORDS("rm", "--cached", "--force", "--quiet", "--ignore-unmatch", "--",
	                CONFIG_FILE),
	        NULL);
	unlink(w->path);
}

/* By its path alone, with the caller's hooks and signing, as the caller would. */
static int commit_file(struct init *w, struct oid *ret, struct err *err)
{
	const struct git *g = &w->call->project.git;
	struct git_at at = git_at_recorded(g->git_dir, g->worktree);
	AUTOPROC add = {0};
	AUTOPROC commit = {.stoppable = true};
	AUTOSTATUS after = {0};
	int rc = git_run(at, &add, GIT_WORDS("add", "--", CONFIG_FILE), err);

	seam_point("init:added");
	if (rc == 0 && add.status != 0)
		rc = commit_failed(&add, err);
	if (rc == 0)
		rc = git_run(at, &commit,
		        GIT_WORDS("commit", "--quiet", "--only", "-m", message, "--", CONFIG_FILE),
		        err);
	if (rc == 0 && commit.status != 0)
		rc = commit_failed(&commit, err);
	if (rc < 0) {
		take_back(w);
		return -1;
	}
	if (git_status(at, false, &after, err) < 0)
		return -1;
	*ret = after.head;
	return 0;
}

/* The text has to hold by our own reader; anything else is a bug here. */
static int check_text(const struct init *w, struct err *err)
{
	AUTOCONFIG c = {0};
	AUTOERR wrong = {0};

	if (config_parse(w->text, strlen(w->text), CONFIG_FILE, &c, &wrong) == 0)
		return 0;
	return err_set(err, ERR_INTERNAL, "The proposed file is wrong: %s", wrong.message);
}

/* --- The answer ------------------------------------------------------------------------------ */

static void put_answer(const struct init *w, const char *trunk, json_t *data)
{
	const struct proposal *p = &w->proposal;
	json_t *jobs = json_array();

	for (size_t i = 0; i < p->jobs_n; i++) {
		json_t *job = json_object();
		json_put_text(job, "name", p->jobs[i].name);
		json_put_text(job, "run", p->jobs[i].run);
		json_put_text(job, "needs", p->jobs[i].needs);
		json_array_append_new(jobs, job);
	}
	json_put_text(data, "path", w->path);
	json_put_text(data, "text", w->text);
	json_put_text(data, "trunk", trunk);
	json_put(data, "found", json_text_list(&p->found, 0));
	json_put(data, "jobs", jobs);
	json_put(data, "setup", json_text_list(&p->setup, 0));
	json_put(data, "copy", json_text_list(&p->copy, 0));
	json_put_bool(data, "written", false);
}

static void warn(const struct init *w, struct result *res)
{
	if (!w->proposal.jobs_n)
		result_warn(res,
		        "No command that tests this project was recognized; the gate is left "
		        "out.");
	for (size_t i = 0; i < w->proposal.litter.n; i++)
		result_warn(res,
		        "%s is made by these commands and not ignored by git; it would leave each "
		        "worktree with untracked files.",
		        w->proposal.litter.v[i]);
}

static void hint(
        const struct init *w, const char *trunk, bool written, bool committed, struct result *res)
{
	const char *branch = w->status.branch ? git_branch_short(w->status.branch) : NULL;
	AUTOFREE char *start = call_text("start", "", "NAME", NULL);
	AUTOFREE char *write = call_text("init", NULL);

	if (!written)
		result_hint(res, "Write it with `%s`.", write);
	else if (!committed)
		result_hint(res,
		        "Look through it and commit it: `git add " CONFIG_FILE
		        " && git commit -m 'Add " CONFIG_FILE "' -- " CONFIG_FILE "`.");
	else if (trunk && branch && strcmp(trunk, branch) != 0)
		result_hint(res, "Its policy counts once it has landed on `%s`.", trunk);
	else
		result_hint(res, "Begin a task with `%s`.", start);
}

static int run_with(struct init *w, struct result *res, struct err *err)
{
	struct call *c = w->call;
	struct project *p = &c->project;
	const struct git *g = &p->git;
	bool dry = opt_flag(c, "dry-run"), commit = opt_flag(c, "commit");
	const char *trunk;
	struct oid made = {0};

	if (dry && commit) {
		err_set(err, ERR_INVALID_ARGUMENTS, "--dry-run and --commit do not go together.");
		err_hint(err, "Look with `abide init --dry-run`, then run `abide init --commit`.");
		return -1;
	}
	if (open_place(w, err) < 0 || check_place(w, err) < 0 ||
	        (commit && check_commit(w, err) < 0) || propose(g, &w->proposal, err) < 0)
		return -1;
	/* Without a commit there is no trunk yet; the branch to be is as good. */
	trunk = p->trunk ? p->trunk
	        : !oid_is_set(&w->status.head) && w->status.branch
	        ? git_branch_short(w->status.branch)
	        : NULL;
	w->text = proposal_yaml(&w->proposal, trunk);
	if (check_text(w, err) < 0)
		return -1;
	put_answer(w, trunk, result_data(res));
	warn(w, res);
	if (!dry) {
		if (call_begin(c, false, w->status.branch, &w->status.head, NULL, NULL, err) < 0 ||
		        fs_write_atomic(w->path, w->text, strlen(w->text), 0644, err) < 0)
			return -1;
		seam_point("init:written");
		if (commit && commit_file(w, &made, err) < 0)
			return -1;
		json_put_bool(result_data(res), "written", true);
	}
	if (oid_is_set(&made))
		json_put_text(result_data(res), "commit", made.hex);
	hint(w, trunk, !dry, oid_is_set(&made), res);
	return 0;
}

static int run(struct call *c, struct result *res, struct err *err)
{
	CLEANUP(init_release) struct init w = {.call = c};

	return run_with(&w, res, err);
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *d = res->data;
	const char *commit = json_text(d, "commit");
	size_t i;
	json_t *line;

	if (!json_flag(d, "written")) {
		buf_puts(out, json_text(d, "text"));
		return;
	}
	json_array_foreach (json_object_get(d, "found"), i, line) {
		out_text(c, out, STYLE_PLAIN, json_string_value(line));
		buf_putc(out, '\n');
	}
	out_printf(
	        c, out, STYLE_BOLD, "%s %s", commit ? "Committed" : "Wrote", json_text(d, "path"));
	if (commit) {
		buf_puts(out, " as ");
		out_oid(c, out, commit);
	}
	buf_putc(out, '\n');
}

static const struct field job_fields[] = {
        {"name", "string", true, "the job's name"},
        {"run", "string", true, "its command, for the shell"},
        {"needs", "string", false, "the job that has to pass before"},
        {0},
};

const struct command cmd_init = {
        .name = "init",
        .summary = "look at the project, propose and write abide.yaml",
        .usage = "init [--dry-run | --commit]",
        .details =
                "Looks at the files in the root (package.json, Makefile, meson.build, Cargo.toml, "
                "go.mod, pyproject.toml and others), proposes setup commands, a gate, and copies "
                "of "
                ".env files that git ignores, and writes them as abide.yaml with comments. Nothing "
                "of the project is run.\n\n"
                "A file that is there is never replaced. --commit commits that file alone, with "
                "the repository's hooks and signing; it refuses while something else is staged.",
        .examples = "  abide init --dry-run   # see the proposal\n"
                    "  abide init             # write it\n"
                    "  abide init --commit    # write and commit it",
        .options = (const struct option[]){{"dry-run", OPT_FLAG, NULL,
                                                   "print the file and write nothing"},
                {"commit", OPT_FLAG, NULL, "commit the file, and it alone"}, {0}},
        .data =
                (const struct field[]){
                        {"path", "string", false, "where the file is or would be, absolute"},
                        {"text", "string", false, "its text"},
                        {"trunk", "string", false, "the trunk that it names"},
                        {"found", "array", false, "the files that told something, and what"},
                        {"jobs", "array", false, "the proposed jobs", .of = job_fields},
                        {"setup", "array", false, "the proposed setup commands"},
                        {"copy", "array", false, "the files to be copied"},
                        {"written", "boolean", false, "whether the file was written"},
                        {"commit", "oid", false, "the commit that was made"},
                        {0},
                },
        .run = run,
        .render = render,
};
