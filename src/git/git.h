/*
 * git: typed calls over the `git` program, each one or two processes.
 *
 * Refs are read only by for-each-ref and matched by equal names; ancestry takes
 * object ids only (a missing ref named like x-g<hex> would resolve as a
 * describe name). Object ids are lower case hex, 40 or 64 characters. Nothing
 * here decides anything; it tells what git said.
 */
#ifndef ABIDE_GIT_GIT_H
#define ABIDE_GIT_GIT_H

#include "base/base.h"

enum { OID_MAX = 64 };

/* "" is no object. */
struct oid {
	char hex[OID_MAX + 1];
};

bool oid_is_set(const struct oid *o);
bool oid_equal(const struct oid *a, const struct oid *b);
/* False when HEX is no object id (40 or 64 lower case hex digits). */
bool oid_parse(struct oid *ret, const char *hex);

/* --- A repository ------------------------------------------------------- */

struct git {
	char *common;        /* the common directory, real and absolute */
	char *git_dir;       /* the caller's own: == common in the main checkout */
	char *worktree;      /* the caller's working tree, NULL in a bare place */
	char *main_worktree; /* the main checkout, NULL when the repository is bare */
	size_t hex;          /* characters of an object id */
	bool reftable;
	struct strv config; /* "scope", "key", "value" in turn; see git_config() */
};

void git_release(struct git *g);
#define AUTOGIT CLEANUP(git_release) struct git

/*
 * Finds the repository that DIR (NULL: the working directory) lies in.
 * NO_REPOSITORY when there is none, GIT_UNSUPPORTED, READ_FAILED.
 */
int git_open(const char *dir, struct git *ret, struct err *err);

/*
 * The folder to run in. Calls that need no working tree go to the common
 * directory (--git-dir), so they hold even when the caller's worktree is gone.
 */
struct git_at {
	const char *git_dir;  /* --git-dir, or NULL: git discovers it */
	const char *worktree; /* where git runs, and --work-tree when git_dir is given */
};
struct git_at git_at_common(const struct git *g);
/* A worktree addressed by its recorded folders, never by discovery. */
struct git_at git_at_recorded(const char *git_dir, const char *worktree);

/*
 * Runs git. P's argv is built from AT, the pins (lock time-outs) and WORDS
 * (NULL-terminated: subcommand and arguments). Exit status is left in P->status.
 */
int git_run(struct git_at at, struct proc *p, const char *const *words, struct err *err);
/* The words of that call, for who runs git in a way of its own. */
void git_argv(struct git_at at, const char *const *words, struct strv *ret);
/* As git_run for several side by side (one argv each). */
struct git_job {
	struct git_at at;
	const char *const *words;
	struct proc p;
};
int git_run_all(struct git_job *jobs, size_t n, struct err *err);
/* As git_run_all, at most AT_ONCE at a time; see proc_run_pool(). */
int git_run_pool(struct git_job *jobs, size_t n, size_t at_once, struct err *err);
/* GIT_FAILED with git's own words: "WHAT: git said …". Always -1. */
int git_complain(const struct proc *p, const char *what, struct err *err);
#define GIT_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- Refs (refs.c) ------------------------------------------------------ */

/*
 * Reads the refs whose full names are NAMES (NULL-terminated) into RET, in that
 * order, "" where missing. One process.
 */
int git_refs(const struct git *g, const char *const *names, struct oid *ret, struct err *err);

struct git_ref {
	char *name; /* full */
	struct oid oid;
	char *symref; /* full name it points to, or NULL */
	int64_t committed_ms;
};
struct git_ref_list {
	struct git_ref *v;
	size_t n;
};
void git_ref_list_release(struct git_ref_list *l);
#define AUTOREFS CLEANUP(git_ref_list_release) struct git_ref_list
/* All refs under PREFIXES (full, NULL-terminated, each "refs/…"). */
int git_refs_under(const struct git *g, const char *const *prefixes, struct git_ref_list *ret,
        struct err *err);

/* Local branches with work that TRUNK does not contain, the newest work first. One process. */
int git_branches_beyond(
        const struct git *g, const struct oid *trunk, struct git_ref_list *ret, struct err *err);

/* Whether git would take NAME as a branch's short name (no spawn). */
bool git_branch_name_ok(const char *name);
/* "refs/heads/NAME"; NAME may carry the prefix already. To be freed. */
char *git_branch_ref(const char *name);
/* The short name; points into REF. */
const char *git_branch_short(const char *ref);

/* Moves REF from OLD ("" = must not exist) to NEW with compare-and-swap. CONFLICT-free:
   BUSY when the value was another. MESSAGE goes to the reflog. */
int git_update_ref(const struct git *g, const char *ref, const struct oid *new_value,
        const struct oid *old, const char *message, struct err *err);
/* Deletes REF only if it still is OLD: BUSY otherwise. Missing is success. */
int git_delete_ref(const struct git *g, const char *ref, const struct oid *old, struct err *err);

/* --- History (history.c) ------------------------------------------------- */

/* Whether A is reachable from B. A missing object is GIT_FAILED. */
int git_is_ancestor(
        const struct git *g, const struct oid *a, const struct oid *b, bool *ret, struct err *err);
/* Commits in TIP not in TRUNK, and the other way round. */
int git_ahead_behind(const struct git *g, const struct oid *tip, const struct oid *trunk,
        int64_t *ret_ahead, int64_t *ret_behind, struct err *err);
/*
 * The same for N tips ("" is passed over) against one trunk, from one walk
 * (counts.c): almost always one process. A tip that has more history of its own
 * than abide walks stays unknown. Told to people, never a verdict.
 */
struct git_count {
	struct oid tip;
	int64_t ahead, behind;
	bool known;
};
int git_counts(const struct git *g, const struct oid *trunk, struct git_count *v, size_t n,
        struct err *err);
/* A user's word as a commit: branch, tag, remote branch, id (abbreviated too).
   UNKNOWN_TARGET. Never lets a word that starts with '-' through. */
int git_resolve_commit(const struct git *g, const char *word, struct oid *ret, struct err *err);
/* The tree of a commit. */
int git_tree_of(const struct git *g, const struct oid *commit, struct oid *ret, struct err *err);
/* Paths that differ between two commits or trees (no renames), sorted. Bytes. */
int git_changed_paths(const struct git *g, const struct oid *from, const struct oid *to,
        struct strv *ret, struct err *err);
/* The same against the merge base of the two: what TO brought since it left FROM. */
int git_incoming_paths(const struct git *g, const struct oid *from, const struct oid *to,
        struct strv *ret, struct err *err);
/*
 * A file as it stands in COMMIT. 1 when there is none (or it is no regular
 * file), 0 when read, -1 on error; more than CAP bytes is READ_FAILED.
 */
int git_file_at(const struct git *g, const struct oid *commit, const char *path, size_t cap,
        struct buf *ret, struct err *err);
/*
 * A configuration value as git_open() found it (last wins), or NULL. Borrowed.
 * Only keys of abide.*, core.bare, core.worktree, init.defaultbranch,
 * extensions.*, user.*, commit.gpgsign, notes.* and remote.*.promisor are there. LOCAL: only what
 * the repository's own files say.
 */
const char *git_config(const struct git *g, const char *key, bool local);

/* --- Worktrees (worktree.c) ---------------------------------------------- */

struct git_worktree {
	char *path;    /* absolute, as git lists it */
	char *branch;  /* full ref, or NULL when detached or bare */
	char *git_dir; /* its own folder below common/worktrees, or common; NULL when unknown */
	struct oid head;
	char *locked; /* the reason ("" when none was given), NULL when not locked */
	bool bare, main, missing;
};
struct git_worktree_list {
	struct git_worktree *v;
	size_t n;
};
void git_worktree_list_release(struct git_worktree_list *l);
#define AUTOWORKTREES CLEANUP(git_worktree_list_release) struct git_worktree_list
/* All registered worktrees, the main one first. Retries while another git is
   half-way through adding or removing one. */
int git_worktrees(const struct git *g, struct git_worktree_list *ret, struct err *err);

/* The branch that the caller's HEAD names, by its file and without a process: for
   the logbook and for display, never for a verdict. NULL where that says nothing. To be freed. */
char *git_head_hint(const struct git *g);

/* What a worktree holds beyond its commit. */
struct git_status {
	struct oid head;       /* "" when unborn */
	char *branch;          /* full ref, NULL when detached */
	struct strv tracked;   /* paths with staged or unstaged changes (conflicts too) */
	struct strv untracked; /* untracked, not ignored; folders end in '/' */
	struct strv unmerged;
};
void git_status_release(struct git_status *s);
#define AUTOSTATUS CLEANUP(git_status_release) struct git_status
/* UNTRACKED false skips the untracked files. Takes no locks. */
int git_status(struct git_at at, bool untracked, struct git_status *ret, struct err *err);
/* The same in two halves, for a pool: what to run, and what came of it. */
struct git_job git_status_job(struct git_at at, bool untracked);
int git_status_take(const struct git_job *job, struct git_status *ret, struct err *err);

/*
 * What the worktree is in the middle of: "merge", "rebase", "cherry-pick",
 * "revert", "bisect", "am", or NULL. RET_BRANCH (or NULL): the full ref that a
 * rebase or bisect holds though HEAD is detached, to be freed. GIT_DIR is the
 * worktree's own folder.
 */
int git_parked(const struct git *g, const char *git_dir, const char **ret_what, char **ret_branch,
        struct err *err);

/* --- Making and unmaking them (checkout.c) -------------------------------- */

/* Makes the branch REF at OID with MESSAGE as the first entry of its reflog. 1: it is there
   already. */
int git_branch_create(const struct git *g, const char *ref, const struct oid *oid,
        const char *message, struct err *err);
/* The newest message of REF's reflog, "" without one. To be freed. */
int git_reflog_newest(const struct git *g, const char *ref, char **ret, struct err *err);
/*
 * The folder that the .git file of WORKTREE points to, real; NULL when that is
 * no plain file with a pointer (a folder, a link, missing). To be freed.
 */
char *git_pointer(const char *worktree);
/*
 * Registers PATH (missing, or an empty folder) as a worktree on the branch
 * BRANCH (full, standing at TIP, checked out nowhere), without files, and locked
 * with REASON from its first moment on. AT is the checkout whose sparse patterns
 * it takes over. Callers hold the repository's worktree lock.
 */
int git_worktree_add(const struct git *g, struct git_at at, const char *path, const char *branch,
        const struct oid *tip, const char *reason, char **ret_git_dir, struct err *err);
/* Removes the registration of the worktree at PATH, where no folder is any more (what stands
   there is removed, locked or not). Missing is success. Under the same lock. */
int git_worktree_forget(const struct git *g, const char *path, struct err *err);
/* Checks the files of HEAD out in a worktree that holds none yet. Ended by a signal: CANCELLED. */
int git_fill_worktree(struct git_at at, struct err *err);
/* Runs the post-checkout hook as `git worktree add` would. RET_SAID: what a failing one said,
   NULL otherwise. To be freed. */
int git_post_checkout(const struct git *g, const char *worktree, const struct oid *tip,
        char **ret_said, struct err *err);

/* All that a worktree holds beyond its commit. A name that ends in '/' is a whole folder. */
struct git_leftovers {
	struct strv tracked, untracked, ignored;
};
void git_leftovers_release(struct git_leftovers *l);
#define AUTOLEFTOVERS CLEANUP(git_leftovers_release) struct git_leftovers
/* Believes no file monitor. Takes no locks. */
int git_leftovers(struct git_at at, struct git_leftovers *ret, struct err *err);

/* REF's upstream as last fetched (short name, to be freed; NULL: none) and how far REF is ahead
   of it and behind it. Fetches nothing. */
int git_upstream(const struct git *g, const char *ref, char **ret_upstream, int64_t *ret_ahead,
        int64_t *ret_behind, struct err *err);

/* --- Merging (merge.c) ----------------------------------------------------- */

/*
 * What merging THEIRS into OURS would give, beside any working tree (AT is only
 * where attributes and submodules are looked up). 0 and the tree; 1: it would
 * conflict, in these paths (the tree then holds conflict markers).
 */
int git_merge_preview(struct git_at at, const struct oid *ours, const struct oid *theirs,
        struct oid *ret_tree, struct strv *ret_conflicts, struct err *err);
/*
 * Merges THEIRS into the branch checked out at AT, hooks and signing as the
 * user has them, but never asking anything and always as a merge (or a
 * fast-forward) that is committed. RET is how git ended: what came of it is for
 * the caller to read from the branch.
 */
int git_merge(struct git_at at, const struct oid *theirs, const char *message, struct proc *ret,
        struct err *err);
int git_merge_abort(struct git_at at, struct err *err);
/* MERGE_HEAD of that worktree, "" without one. */
int git_merge_head(struct git_at at, struct oid *ret, struct err *err);

#endif
