#include "cli/doctor.h"

enum { LARGE_HISTORY = 20000, OLDEST_MAJOR = 2, OLDEST_MINOR = 39 };

/* What git prints, without the last newline; NULL when it ends with another status than 0. */
static char *ask(const struct doctor *d, struct git_at at, const char *const *words)
{
	AUTOPROC p = {.out_cap = 1 << 20};
	size_t n;

	(void)d;
	if (git_run(at, &p, words, NULL) < 0 || p.status != 0)
		return NULL;
	n = p.out.len;
	while (n && buf_str(&p.out)[n - 1] == '\n')
		n--;
	return xstrndup(buf_str(&p.out), n);
}

static struct git_at here(const struct doctor *d)
{
	return (struct git_at){.git_dir = d->p->git.git_dir, .worktree = d->p->git.worktree};
}

void doctor_git(struct doctor *d)
{
	AUTOFREE char *said = ask(d, git_at_common(&d->p->git), GIT_WORDS("--version"));
	const char *version = said && text_starts(said, "git version ") ? said + 12 : said;
	char *dot = NULL;
	long major = version ? strtol(version, &dot, 10) : 0;
	long minor = dot && *dot == '.' ? strtol(dot + 1, NULL, 10) : 0;

	if (!major) {
		doctor_row(d, "git", DOCTOR_WARN, NULL, "git did not tell its version.");
		return;
	}
	json_put_text(d->data, "git_version", version);
	if (major > OLDEST_MAJOR || (major == OLDEST_MAJOR && minor >= OLDEST_MINOR))
		doctor_row(d, "git", DOCTOR_OK, NULL, "git %s.", version);
	else
		doctor_row(d, "git", DOCTOR_BAD,
		        "Install git 2.39 or newer and see that it is first on PATH.",
		        "git %s is older than 2.39, which abide needs.", version);
}

/* --- Shape ---------------------------------------------------------------------- */

static bool is_true(const struct doctor *d, struct git_at at, const char *key)
{
	AUTOFREE char *value = ask(d, at, GIT_WORDS("config", "--type=bool", "--get", key));

	return value && strcmp(value, "true") == 0;
}

static bool is_partial(const struct doctor *d)
{
	AUTOFREE char *found = ask(d, git_at_common(&d->p->git),
	        GIT_WORDS("config", "--get-regexp", "^remote\\..*\\.promisor$"));

	return found && *found;
}

/* Gitlinks of the trunk's tip. */
static int64_t count_submodules(const struct doctor *d)
{
	AUTOBUF text = {0};
	int64_t n = 0;

	if (!oid_is_set(&d->p->trunk_tip) ||
	        git_file_at(&d->p->git, &d->p->trunk_tip, ".gitmodules", 1 << 20, &text, NULL) != 0)
		return 0;
	for (const char *at = buf_str(&text); (at = strstr(at, "[submodule ")); at++)
		n++;
	return n;
}

static void shallow_row(struct doctor *d)
{
	AUTOFREE char *file = path_join(d->p->git.common, "shallow");

	if (!fs_exists(file))
		return;
	json_put_bool(d->data, "shallow", true);
	doctor_row(d, "repository", DOCTOR_WARN, "Fetch the rest with `git fetch --unshallow`.",
	        "History is cut off (shallow clone): landings and receipts beyond the cut cannot "
	        "be "
	        "seen.");
}

void doctor_repository(struct doctor *d)
{
	const struct git *g = &d->p->git;
	bool partial = is_partial(d);
	bool sparse = g->worktree && is_true(d, here(d), "core.sparseCheckout");
	int64_t submodules = count_submodules(d);
	AUTOBUF says = {0};

	json_put_text(d->data, "refs", g->reftable ? "reftable" : "files");
	json_put_text(d->data, "object_format", g->hex == 64 ? "sha256" : "sha1");
	json_put_bool(d->data, "bare", !g->main_worktree);
	json_put_bool(d->data, "shallow", false);
	json_put_bool(d->data, "partial", partial);
	json_put_bool(d->data, "sparse", sparse);
	json_put_int(d->data, "submodules", submodules);

	buf_printf(&says, "%s%s, %s", g->main_worktree ? "" : "bare, ",
	        g->hex == 64 ? "SHA-256" : "SHA-1",
	        g->reftable
	                ? "refs in a reftable (one file changes for every ref, so waits look more "
	                  "often)"
	                : "refs in files");
	if (partial)
		buf_puts(&says, ", partial clone (abide fetches nothing)");
	if (sparse)
		buf_puts(&says, ", sparse checkout (new tasks take its patterns over)");
	if (submodules)
		buf_printf(&says, ", %lld submodule%s (a landing moves none of their checkouts)",
		        (long long)submodules, submodules == 1 ? "" : "s");
	doctor_row(d, "repository", DOCTOR_OK, NULL, "%s: %s.", g->common, buf_str(&says));
	shallow_row(d);
}

void doctor_history(struct doctor *d)
{
	AUTOFREE char *graph = path_join(d->p->git.common, "objects/info/commit-graph");
	AUTOFREE char *chain = path_join(d->p->git.common, "objects/info/commit-graphs");
	AUTOFREE char *max = xasprintf("--max-count=%d", LARGE_HISTORY);
	AUTOFREE char *count = NULL;
	int64_t n;

	if (!oid_is_set(&d->p->trunk_tip) || fs_exists(graph) || fs_exists(chain))
		return;
	count = ask(d, git_at_common(&d->p->git),
	        GIT_WORDS("rev-list", "--count", max, d->p->trunk_tip.hex));
	if (!count || !text_int(count, LARGE_HISTORY, INT64_MAX, &n))
		return;
	doctor_row(d, "history", DOCTOR_WARN,
	        "Write one with `git commit-graph write --reachable`, once; `git maintenance` "
	        "keeps "
	        "it up.",
	        "At least %d commits and no commit-graph: questions about far branches take up to "
	        "40 "
	        "times as long.",
	        LARGE_HISTORY);
}

/* --- Trunk, configuration, identity ------------------------------------------------ */

static void parked_row(struct doctor *d)
{
	AUTOWORKTREES list = {0};

	if (git_worktrees(&d->p->git, &list, NULL) < 0)
		return;
	for (size_t i = 0; i < list.n; i++) {
		const struct git_worktree *w = &list.v[i];
		const char *what = NULL;
		AUTOFREE char *branch = NULL;
		bool holds;

		if (w->bare || w->missing || !w->git_dir ||
		        git_parked(&d->p->git, w->git_dir, &what, &branch, NULL) < 0 || !what)
			continue;
		holds = (w->branch && strcmp(w->branch, d->p->trunk_ref) == 0) ||
		        (branch && strcmp(branch, d->p->trunk_ref) == 0);
		if (holds)
			doctor_row(d, "trunk", DOCTOR_WARN, "Finish or abort what was begun there.",
			        "Its checkout %s is in the middle of a %s; until that is over "
			        "nothing "
			        "lands.",
			        w->path, what);
	}
}

void doctor_trunk(struct doctor *d)
{
	AUTOERR err = {0};

	json_put_text(d->data, "trunk", d->p->trunk);
	json_put_text(d->data, "trunk_source", d->p->trunk ? d->p->trunk_source : NULL);
	if (project_need_trunk(d->p, &err) < 0) {
		doctor_refusal(
		        d, "trunk", err.code == ERR_NO_COMMITS ? DOCTOR_WARN : DOCTOR_BAD, &err);
		return;
	}
	doctor_row(d, "trunk", DOCTOR_OK, NULL, "%s at %.10s (%s).", d->p->trunk,
	        d->p->trunk_tip.hex, d->p->trunk_source);
	parked_row(d);
}

void doctor_configuration(struct doctor *d)
{
	const struct config *policy;
	AUTOERR err = {0};
	AUTOERR place = {0};
	const char *main = d->p->git.main_worktree ? d->p->git.main_worktree : d->p->git.common;
	AUTOFREE char *worktrees = NULL;

	if (project_policy(d->p, &policy, &err) < 0) {
		doctor_refusal(d, "configuration", DOCTOR_BAD, &err);
		return;
	}
	worktrees = config_worktrees_dir(policy, main);
	if (config_worktrees_check(&d->p->git, main, worktrees, &place) < 0)
		doctor_refusal(d, "configuration", DOCTOR_BAD, &place);
	if (!policy->present)
		doctor_row(d, "configuration", DOCTOR_WARN,
		        "Write one with `abide init`, and commit it on the trunk.",
		        "The trunk has no abide.yaml: waiting works, but there is no gate, so "
		        "nothing "
		        "can be green or land.");
	else if (!policy->gate_n)
		doctor_row(d, "configuration", DOCTOR_WARN,
		        "Add `gate:` to abide.yaml on the trunk; `abide init` proposes one.",
		        "abide.yaml on the trunk declares no gate, so nothing can be green or "
		        "land.");
	else
		doctor_row(d, "configuration", DOCTOR_OK, NULL,
		        "abide.yaml on the trunk is valid; its gate has %zu job%s.", policy->gate_n,
		        policy->gate_n == 1 ? "" : "s");
}

void doctor_identity(struct doctor *d)
{
	AUTOPROC p = {0};
	AUTOFREE char *said = NULL;

	if (git_run(git_at_common(&d->p->git), &p, GIT_WORDS("var", "GIT_COMMITTER_IDENT"), NULL) <
	        0)
		return;
	if (p.status == 0)
		return;
	said = proc_complaint(&p);
	doctor_row(d, "identity", DOCTOR_BAD,
	        "Say who you are with `git config --global user.name NAME` and `git config "
	        "--global "
	        "user.email ADDRESS`.",
	        "git knows nobody to commit as, so receipts and merges cannot be written: %s",
	        said);
}
