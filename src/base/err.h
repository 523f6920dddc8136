/*
 * Errors. A function that can fail takes `struct err *err` last, returns 0 or
 * -1, and on -1 has filled *err exactly once: what happened and what it means
 * (message), and what to do next (hints). One table holds every slug.
 */
#ifndef ABIDE_BASE_ERR_H
#define ABIDE_BASE_ERR_H

#include <stdbool.h>
#include <jansson.h>

#include "base/buf.h"

/* X(name, slug, exit status, retryable, what it means) */
#define ERR_TABLE(X)                                                                               \
	X(INVALID_ARGUMENTS, "invalid_arguments", 2, false,                                        \
	        "the call's words are wrong or do not go together")                                \
	X(NO_REPOSITORY, "no_repository", 1, false, "the folder is in no git repository")          \
	X(NO_TRUNK, "no_trunk", 1, false, "the repository has no branch to land on")               \
	X(UNKNOWN_TARGET, "unknown_target", 1, false, "nothing has the name that was given")       \
	X(AMBIGUOUS_TARGET, "ambiguous_target", 1, false, "several things have that name")         \
	X(NOT_ON_TASK, "not_on_task", 1, false, "the verb needs a task's branch and worktree")     \
	X(DIRTY_WORKTREE, "dirty_worktree", 1, false, "the worktree holds uncommitted changes")    \
	X(BEHIND_TRUNK, "behind_trunk", 1, false, "the task does not contain the trunk's tip")     \
	X(CONFLICT, "conflict", 1, false, "the merge would conflict")                              \
	X(GATE_RED, "gate_red", 1, false, "a job of the gate failed")                              \
	X(GATE_UNDEFINED, "gate_undefined", 1, false, "the project declares no gate")              \
	X(BUSY, "busy", 1, true, "something else holds what this call needs")                      \
	X(TRUNK_PARKED, "trunk_parked", 1, false,                                                  \
	        "the trunk's checkout is in the middle of a merge, rebase, cherry-pick or bisect") \
	X(WORKTREE_LOCKED, "worktree_locked", 1, false, "the worktree is locked")                  \
	X(WORKTREE_MISSING, "worktree_missing", 1, false, "the worktree's folder is not there")    \
	X(WORKTREE_TAMPERED, "worktree_tampered", 1, false,                                        \
	        "the worktree's .git pointer is not the one recorded at start")                    \
	X(WOULD_LOSE, "would_lose", 1, false, "carrying on would lose work")                       \
	X(NO_COMMITS, "no_commits", 1, false, "there is no commit to work on")                     \
	X(GATE_INFRASTRUCTURE, "gate_infrastructure", 1, true,                                     \
	        "a job could not be started, which is no verdict on the commit")                   \
	X(GATE_DIRTIED, "gate_dirtied", 1, false, "a job changed tracked or untracked files")      \
	X(GATE_CHANGED, "gate_changed", 1, false, "the task changes the gate")                     \
	X(INTERRUPTED, "interrupted", 1, true, "the work's process ended before it was finished")  \
	X(CANCELLED, "cancelled", 1, true, "somebody ended it")                                    \
	X(SIGNING_FAILED, "signing_failed", 1, true, "git could not sign the commit")              \
	X(APPROVAL_REQUIRED, "approval_required", 1, false, "a person has to decide first")        \
	X(ASK_CLOSED, "ask_closed", 1, false, "the ask has been decided already")                  \
	X(TICKET_LOST, "ticket_lost", 1, true, "the place in the landing queue is gone")           \
	X(UNTRUSTED, "untrusted", 1, false, "the repository is not trusted for this")              \
	X(CONFIG_INVALID, "config_invalid", 1, false, "abide.yaml is wrong")                       \
	X(CLIENT_FILE_INVALID, "client_file_invalid", 1, false, "a client's file does not parse")  \
	X(GIT_UNSUPPORTED, "git_unsupported", 1, false, "the installed git cannot do this")        \
	X(HANDLE_MALFORMED, "handle_malformed", 1, false, "the handle is mistyped")                \
	X(HANDLE_UNKNOWN, "handle_unknown", 1, false, "the handle is not of this repository")      \
	X(HANDLE_EXPIRED, "handle_expired", 1, false, "the handle was not used for too long")      \
	X(NEWER_FORMAT, "newer_format", 1, false, "a newer abide wrote it; it was left as it is")  \
	X(READ_FAILED, "read_failed", 1, true, "something could not be read")                      \
	X(WRITE_DENIED, "write_denied", 1, true, "something durable could not be written")         \
	X(GIT_FAILED, "git_failed", 1, true, "git refused or failed")                              \
	X(UNAUTHORIZED, "unauthorized", 1, false, "only a person may do this")                     \
	X(ALREADY_DECIDED, "already_decided", 1, false, "somebody decided otherwise before")       \
	X(LOOP_RUNNING, "loop_running", 1, false, "another process holds this run")                \
	X(INTERNAL, "internal", 70, false, "a bug in abide")

enum err_code {
	ERR_NONE,
#define X(name, slug, exit, retry, text) ERR_##name,
	ERR_TABLE(X)
#undef X
	        ERR_COUNT
};

struct err {
	enum err_code code; /* ERR_NONE: nothing happened */
	char *message;      /* one or two sentences, without a final newline */
	struct strv hints;  /* next steps; err_hint() */
	json_t *data;       /* facts for the envelope's `data`, or NULL */
};

#define AUTOERR CLEANUP(err_release) struct err

void err_release(struct err *e);
/* Fills *E (which must be empty; NULL is fine for a caller that does not ask). Always -1. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) PRINTF(3, 4);
/* Adds a next step: one sentence. */
void err_hint(struct err *e, const char *fmt, ...) PRINTF(2, 3);
/* Sets data[KEY] = VALUE (the reference is taken). */
void err_data(struct err *e, const char *key, json_t *value);
/* Forgets what is in *E: for a caller that tried something and goes another way. */
void err_clear(struct err *e);
/* Moves *FROM into *TO. Always -1. */
int err_move(struct err *to, struct err *from);

const char *err_slug(enum err_code code);
int err_exit_status(enum err_code code);
bool err_retryable(enum err_code code);
const char *err_meaning(enum err_code code);
/* ERR_NONE when no code has that slug. */
enum err_code err_from_slug(const char *slug);

#endif
