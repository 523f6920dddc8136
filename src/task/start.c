/*
 * start: a branch, a worktree and an identity, whole or not at all.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "task/own.h"

/*
 * Below the ports that systems give to outgoing connections (32768 and up on
 * Linux, 49152 on macOS), above those of well-known services.
 */
enum { PORT_FROM = 20000, PORT_TO = 30000, NAME_TRIES = 64 };

void task_started_release(struct task_started *s)
{
	if (!s)
		return;
	task_release(&s->task);
	free(s->from);
	strv_release(&s->copied);
	strv_release(&s->warnings);
	*s = (struct task_started){0};
}

/* All that is known before anything is made. */
struct plan {
	const struct task_start *how;
	const struct config *policy;
	struct config work; /* copy and setup, of the commit that is set up */
	char *dir;          /* the folder of worktrees */
	char *name;         /* what was asked for, less the prefix; NULL for words */
	char *branch;       /* full; NULL until an id is chosen */
	struct oid tip;     /* what is checked out */
	struct oid base;
	char *from;
	struct task_record record;
	bool registered;
};

static void plan_release(struct plan *plan)
{
	config_release(&plan->work);
	free(plan->dir);
	free(plan->name);
	free(plan->branch);
	free(plan->from);
	task_record_release(&plan->record);
}
#define AUTOPLAN CLEANUP(plan_release) struct plan

static const char *main_place(const struct project *p)
{
	return p->git.main_worktree ? p->git.main_worktree : p->git.common;
}

/* --- What is to be made -------------------------------------------------------- */

static int resolve_from(struct project *p, struct plan *plan, struct err *err)
{
	const char *word = plan->how->from;
	AUTOFREE char *prefixed = NULL;
	AUTOERR why = {0};

	if (!word) {
		plan->base = p->trunk_tip;
		plan->from = xstrdup(p->trunk);
		return 0;
	}
	plan->from = xstrdup(word);
	if (git_resolve_commit(&p->git, word, &plan->base, &why) == 0)
		return 0;
	prefixed = xasprintf("%s%s", plan->policy->branch_prefix, word);
	if (why.code == ERR_UNKNOWN_TARGET &&
	        git_resolve_commit(&p->git, prefixed, &plan->base, NULL) == 0)
		return 0;
	return err_move(err, &why);
}

static int unknown_branch(struct project *p, const char *word, struct err *err)
{
	AUTOFREE char *remote = xasprintf("refs/remotes/origin/%s", word);
	struct oid there;

	err_set(err, ERR_UNKNOWN_TARGET, "There is no local branch `%s`.", word);
	if (git_refs(&p->git, (const char *const[]){remote, NULL}, &there, NULL) == 0 &&
	        oid_is_set(&there)) {
		AUTOFREE char *quoted = text_shell_quote(word);
		err_hint(err, "Make it from the fetched one first: `git branch %s origin/%s`.",
		        quoted, quoted);
	} else {
		err_hint(err, "See the local branches with `git branch`.");
	}
	return -1;
}

static int resolve_branch(struct project *p, struct plan *plan, struct err *err)
{
	const char *word = plan->how->branch;
	AUTOFREE char *ref = git_branch_ref(word);
	AUTOPROC run = {0};

	if (strcmp(ref, p->trunk_ref) == 0) {
		err_set(err, ERR_NOT_ON_TASK,
		        "`%s` is the trunk; a task needs a branch of its own.", p->trunk);
		err_hint(err, "Begin a task from the trunk's tip with `abide start NAME`.");
		return -1;
	}
	if (git_refs(&p->git, (const char *const[]){ref, NULL}, &plan->tip, err) < 0)
		return -1;
	if (!oid_is_set(&plan->tip))
		return unknown_branch(p, word, err);
	/* Where it left the trunk; its own tip when they share nothing. */
	if (git_run(git_at_common(&p->git), &run,
	            GIT_WORDS("merge-base", plan->tip.hex, p->trunk_tip.hex), err) < 0)
		return -1;
	if (run.out.len)
		run.out.data[strcspn(run.out.data, "\n")] = '\0';
	if (run.status != 0 || !oid_parse(&plan->base, buf_str(&run.out)))
		plan->base = plan->tip;
	plan->from = xstrdup(git_branch_short(ref));
	plan->branch = STEAL(ref);
	return 0;
}

static int check_name(struct plan *plan, struct err *err)
{
	const char *name = plan->how->name;
	AUTOFREE char *branch = NULL;

	if (!name && plan->how->branch)
		name = plan->how->branch;
	if (!name)
		return 0;
	plan->name = xstrdup(own_bare_name(name, plan->policy->branch_prefix));
	if (!plan->how->exact || plan->how->branch)
		return 0;
	branch = xasprintf("%s%s", plan->policy->branch_prefix, plan->name);
	if (git_branch_name_ok(branch))
		return 0;
	err_set(err, ERR_INVALID_ARGUMENTS, "`%s` cannot be a branch's name in git.", branch);
	err_hint(err,
	        "Choose another NAME, or leave --exact out: then what does not fit is replaced.");
	return -1;
}

static int make_plan(struct project *p, struct plan *plan, struct err *err)
{
	const struct task_start *how = plan->how;

	if (how->branch && how->from) {
		err_set(err, ERR_INVALID_ARGUMENTS,
		        "--from and --branch do not go together: an adopted branch begins where it "
		        "is.");
		err_hint(err, "Leave one of them out.");
		return -1;
	}
	if (how->exact && !how->name && !how->branch) {
		err_set(err, ERR_INVALID_ARGUMENTS,
		        "--exact needs the NAME that is to be taken as it is.");
		err_hint(err, "Write it behind: `abide start NAME --exact`.");
		return -1;
	}
	if (project_need_trunk(p, err) < 0 || project_policy(p, &plan->policy, err) < 0 ||
	        check_name(plan, err) < 0)
		return -1;
	if ((how->branch ? resolve_branch(p, plan, err) : resolve_from(p, plan, err)) < 0)
		return -1;
	if (!how->branch)
		plan->tip = plan->base;
	if (config_at(&p->git, &plan->tip, &plan->work, err) < 0)
		return -1;
	plan->dir = config_worktrees_dir(plan->policy, main_place(p));
	return config_worktrees_check(&p->git, main_place(p), plan->dir, err);
}

/* --- Names that are free ---------------------------------------------------------- */

static int taken(const char *what, const char *name, const char *where, struct err *err)
{
	err_set(err, ERR_AMBIGUOUS_TARGET, "`%s` is taken: %s %s.", name, what, where);
	err_hint(err, "Choose another name, or leave --exact out: then a suffix makes it unique.");
	err_data(err, "taken_by", json_string(what));
	return -1;
}

/* A branch of that name, or one that git cannot keep beside it (a and a/b). 1: taken. */
static int branch_taken(struct project *p, const char *branch, char **ret_which, struct err *err)
{
	AUTOSTRV levels = {0};
	AUTOREFS refs = {0};

	for (const char *slash = strchr(branch + strlen("refs/heads/"), '/'); slash;
	        slash = strchr(slash + 1, '/'))
		strv_take(&levels, xstrndup(branch, (size_t)(slash - branch)));
	strv_push(&levels, branch);
	if (git_refs_under(&p->git, (const char *const *)levels.v, &refs, err) < 0)
		return -1;
	for (size_t i = 0; i < refs.n; i++) {
		const char *name = refs.v[i].name;
		size_t n = strlen(branch);
		if (!strv_has(&levels, name) && !(strncmp(name, branch, n) == 0 && name[n] == '/'))
			continue;
		*ret_which = xstrdup(git_branch_short(name));
		return 1;
	}
	return 0;
}

/* Chooses id, branch and folder. 1: this one is taken (told in ERR for an exact name). */
static int choose(struct project *p, struct plan *plan, int attempt, struct err *err)
{
	struct task_record *r = &plan->record;
	AUTORECORD same = {0};
	AUTOFREE char *which = NULL;
	int rc;

	task_record_release(r);
	r->id = own_new_id(plan->name, plan->how->exact, attempt);
	r->worktree = path_join(plan->dir, r->id);
	r->branch = plan->branch ? xstrdup(plan->branch)
	        : plan->how->exact
	        ? xasprintf("refs/heads/%s%s", plan->policy->branch_prefix, plan->name)
	        : xasprintf("refs/heads/%s%s", plan->policy->branch_prefix, r->id);
	r->base = plan->base;
	r->base_name = xstrdup(plan->from);
	r->made_by = xstrdup(plan->how->surface);
	r->adopted = plan->branch != NULL;
	r->git_dir = xstrdup("");
	r->copied = json_array();
	r->detail = json_object();
	if (plan->how->exact && !plan->branch) {
		rc = branch_taken(p, r->branch, &which, err);
		if (rc != 0)
			return rc < 0 ? -1 : taken("the branch", plan->name, which, err);
	}
	if (fs_exists(r->worktree))
		return plan->how->exact ? taken("the folder", plan->name, r->worktree, err) : 1;
	rc = task_record_by_id(p->store, r->id, &same, err);
	if (rc == 0)
		return plan->how->exact ? taken("the task in", plan->name, same.worktree, err) : 1;
	return rc < 0 ? -1 : 0;
}

/* --- Making ------------------------------------------------------------------------ */

static bool port_is_free(int port)
{
	AUTOCLOSE int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {
	        .sin_family = AF_INET,
	        .sin_port = htons((uint16_t)port),
	        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	/* Where nothing can be asked, the record alone decides. */
	return fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
}

/* An adopted branch may be checked out nowhere, nor be held by a rebase or bisect. */
static int check_adopted(struct project *p, const struct plan *plan, struct err *err)
{
	AUTOTASKS l = {0};

	if (own_worktrees(p, &l, err) < 0)
		return -1;
	for (size_t i = 0; i < l.n; i++) {
		if (strcmp(l.v[i].branch, plan->branch) != 0)
			continue;
		err_set(err, ERR_BUSY, "The branch `%s` is checked out in %s.",
		        git_branch_short(plan->branch), l.v[i].worktree);
		err_hint(err,
		        l.v[i].main ? "Switch that checkout to another branch first, or go on "
		                      "working there."
		                    : "Go on there: a worktree on a branch is a task already.");
		err_data(err, "worktree", json_string(l.v[i].worktree));
		return -1;
	}
	return 0;
}

/* Records of tasks that were removed by hand would hold their ports for ever. */
static void forget_gone(struct project *p)
{
	AUTORECORDS l = {0};

	if (task_records(p->store, &l, NULL) < 0)
		return;
	for (size_t i = 0; i < l.n; i++)
		if (l.v[i].step == TASK_LIVE && !fs_exists(l.v[i].worktree) &&
		        !fs_exists(l.v[i].git_dir))
			task_record_remove(p->store, &l.v[i], NULL);
}

/* Finds a free name and writes it down. */
static int claim(struct project *p, struct plan *plan, struct err *err)
{
	struct task_record *r = &plan->record;
	int rc = 1;

	for (int attempt = 0; rc == 1 && attempt < NAME_TRIES; attempt++) {
		AUTOFREE char *message = NULL;

		rc = choose(p, plan, attempt, err);
		if (rc == 0)
			rc = task_record_add(p->store, r, PORT_FROM, PORT_TO, port_is_free, err);
		seam_point("start:recorded");
		if (rc != 0 || plan->branch)
			continue;
		message = own_branch_message(r);
		rc = git_branch_create(&p->git, r->branch, &plan->base, message, err);
		seam_point("start:branch");
		if (rc == 0)
			continue;
		/* Somebody made it just now, or git refuses: the record is all there is. */
		task_record_remove(p->store, r, NULL);
		if (rc == 1 && plan->how->exact)
			rc = taken("the branch", plan->name, git_branch_short(r->branch), err);
	}
	if (rc == 1)
		return err_set(
		        err, ERR_INTERNAL, "No free name was found in %d tries.", NAME_TRIES);
	return rc;
}

/* The part that other git processes must not see half done. */
static int register_it(struct project *p, struct plan *plan, struct err *err)
{
	struct task_record *r = &plan->record;
	AUTOFREE char *reason = NULL;
	AUTOFREE char *git_dir = NULL;
	AUTOCLOSE int lock = -1;
	/* Run where the call stands: git takes that checkout's sparse patterns over. */
	struct git_at at = p->git.worktree ? git_at_recorded(p->git.git_dir, p->git.worktree)
	                                   : git_at_common(&p->git);

	if (own_lock(p, &lock, err) < 0)
		return -1;
	forget_gone(p);
	if (plan->branch && check_adopted(p, plan, err) < 0)
		return -1;
	if (claim(p, plan, err) < 0)
		return -1;
	plan->registered = true;
	reason = own_making_reason(r->id);
	if (fs_mkdirs(plan->dir, 0777, err) < 0 ||
	        git_worktree_add(
	                &p->git, at, r->worktree, r->branch, &plan->tip, reason, &git_dir, err) < 0)
		return -1;
	seam_point("start:registered");
	mem_set(&r->git_dir, STEAL(git_dir));
	mem_set(&r->worktree, path_real(r->worktree));
	return task_record_update(p->store, r, false, err);
}

static int fill(struct project *p, struct plan *plan, struct task_started *ret, struct err *err)
{
	struct task_record *r = &plan->record;
	struct git_at at = git_at_recorded(r->git_dir, r->worktree);
	const char *source = p->git.main_worktree ? p->git.main_worktree : p->git.worktree;
	AUTOFREE char *hook_said = NULL;

	if (git_fill_worktree(at, err) < 0)
		return -1;
	seam_point("start:filled");
	if (git_post_checkout(&p->git, r->worktree, &plan->tip, &hook_said, err) < 0)
		return -1;
	if (hook_said)
		strv_printf(&ret->warnings, "The post-checkout hook failed: %s", hook_said);
	if (source && plan->work.copy.n &&
	        own_copy(p, at, source, &plan->work.copy, r->copied, &ret->warnings, err) < 0)
		return -1;
	seam_point("start:copied");
	if (own_setup(p, &ret->task, &plan->work.setup, &plan->how->progress, err) < 0)
		return -1;
	seam_point("start:setup");
	return stop_check(err);
}

/* From here on it is a task like any other. */
static int finish(struct project *p, struct plan *plan, struct err *err)
{
	struct task_record *r = &plan->record;
	AUTOFREE char *locked = path_join(r->git_dir, "locked");

	if (unlink(locked) != 0 && fs_exists(locked)) {
		err_set(err, ERR_WRITE_DENIED, "The worktree's lock %s could not be opened.",
		        locked);
		err_hint(err, "Check the rights of the git folder and try again.");
		return -1;
	}
	seam_point("start:unlocked");
	r->step = TASK_LIVE;
	return task_record_update(p->store, r, true, err);
}

static void tell(const struct plan *plan, struct task_started *ret)
{
	const struct task_record *r = &plan->record;
	size_t i;
	json_t *c;

	task_release(&ret->task);
	ret->task = (struct task){
	        .id = xstrdup(r->id),
	        .branch = xstrdup(r->branch),
	        .worktree = xstrdup(r->worktree),
	        .git_dir = xstrdup(r->git_dir),
	        .tip = plan->tip,
	        .base = plan->base,
	        .port = r->port,
	        .recorded = true,
	};
	mem_set(&ret->from, xstrdup(plan->from));
	ret->adopted = r->adopted;
	json_array_foreach (r->copied, i, c)
		strv_push(&ret->copied, json_text(c, "path"));
}

/* How far the trunk is behind what was fetched last. */
static void warn_behind(struct project *p, struct strv *warnings)
{
	AUTOFREE char *upstream = NULL;
	int64_t ahead, behind;

	if (git_upstream(&p->git, p->trunk_ref, &upstream, &ahead, &behind, NULL) == 0 &&
	        upstream && behind)
		strv_printf(warnings,
		        "The trunk `%s` is %lld commit%s behind %s as last fetched; nothing was "
		        "fetched now.",
		        p->trunk, (long long)behind, behind == 1 ? "" : "s", upstream);
}

static int only_say(struct project *p, struct plan *plan, struct task_started *ret, struct err *err)
{
	int rc = 1;

	if (project_store(p, STORE_READ, err) < 0)
		return -1;
	if (plan->branch && check_adopted(p, plan, err) < 0)
		return -1;
	for (int attempt = 0; rc == 1 && attempt < NAME_TRIES; attempt++)
		rc = choose(p, plan, attempt, err);
	if (rc < 0)
		return -1;
	tell(plan, ret);
	return 0;
}

static int make(struct project *p, struct plan *plan, struct task_started *ret, struct err *err)
{
	AUTOERR why = {0};
	int rc;

	if (stop_check(err) < 0 || project_store(p, STORE_WRITE, err) < 0)
		return -1;
	rc = register_it(p, plan, &why);
	if (rc == 0) {
		tell(plan, ret);
		rc = fill(p, plan, ret, &why);
	}
	if (rc == 0)
		rc = finish(p, plan, &why);
	if (rc == 0) {
		store_alive_free(p->store, ALIVE_TASK, plan->record.row);
		tell(plan, ret);
		return 0;
	}
	/* Whole or not at all. What cannot be undone now is undone by the next verb. */
	if (plan->registered)
		own_undo_start(p, &plan->record, NULL);
	return err_move(err, &why);
}

int task_start(
        struct project *p, const struct task_start *how, struct task_started *ret, struct err *err)
{
	AUTOPLAN plan = {.how = how};
	CLEANUP(task_started_release) struct task_started started = {0};

	if (make_plan(p, &plan, err) < 0)
		return -1;
	warn_behind(p, &started.warnings);
	if ((how->dry_run ? only_say(p, &plan, &started, err) : make(p, &plan, &started, err)) < 0)
		return -1;
	*ret = started;
	started = (struct task_started){0};
	return 0;
}
