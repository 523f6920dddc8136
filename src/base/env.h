/*
 * Every environment variable that abide reads. One table; the reference page
 * comes from it, and a test fails when the source reads another.
 */
#ifndef ABIDE_BASE_ENV_H
#define ABIDE_BASE_ENV_H

#include <stdbool.h>

/* X(name of the enum, variable, who sets it, what it does) */
#define ENV_TABLE(X)                                                                               \
	X(TRUNK, "ABIDE_TRUNK", "you", "the trunk's branch name; overrides every other source")    \
	X(NO_COLOR, "NO_COLOR", "you", "when set and not empty: no colour")                        \
	X(TERM, "TERM", "the terminal", "`dumb` turns colour and live lines off")                  \
	X(PATH, "PATH", "the system", "where `git` and the shell are found")

/* Set by abide itself for the commands that it runs. */
#define ENV_GIVEN_TABLE(X)                                                                         \
	X(ID, "ABIDE_ID", "abide", "the task's id")                                                \
	X(BRANCH, "ABIDE_BRANCH", "abide", "the task's branch")                                    \
	X(WORKTREE, "ABIDE_WORKTREE", "abide", "the task's worktree, absolute")                    \
	X(PORT, "ABIDE_PORT", "abide", "a port no other live task has")                            \
	X(TASK_TRUNK, "ABIDE_TASK_TRUNK", "abide", "the trunk's branch name")

/* Experiments: see docs/experiments.md. X(name, variable, older name or NULL, rule, what it does)
 */
#define ENV_EXPERIMENT_TABLE(X)                                                                    \
	X(AWAIT_CALL_SECONDS, "ABIDE_EXPERIMENTAL_AWAIT_CALL_SECONDS",                             \
	        "DISCERN_EXPERIMENTAL_AWAIT_CALL_SECONDS", ENV_VALUED,                             \
	        "a positive whole number of seconds caps the automatic bound of one `await` call")

enum env_rule {
	ENV_SWITCH, /* active on exactly "1" */
	ENV_VALUED, /* active on a positive whole number */
};

enum env_name {
#define X(name, var, who, what) ENV_##name,
	ENV_TABLE(X)
#undef X
	        ENV_COUNT
};

enum env_experiment {
#define X(name, var, older, rule, what) ENV_EXP_##name,
	ENV_EXPERIMENT_TABLE(X)
#undef X
	        ENV_EXP_COUNT
};

/* The value, or NULL when the variable is not set. */
const char *env_get(enum env_name name);
/* The value when set and not empty, else NULL. */
const char *env_text(enum env_name name);

/*
 * The experiment's state: 0 off; for a switch 1; for a valued one its number.
 * The older name counts only when the present one is not set at all. Anything
 * that the rule does not allow is off.
 */
long env_experiment(enum env_experiment exp);

/*
 * The environment for children, NULL-terminated, owned by this module: what
 * abide got, less the variables by which git is told its repository (as git's
 * own list of local variables, except the GIT_CONFIG_COUNT pairs, by which
 * clients pass safe.directory), with git's pins added when PINS is true
 * (GIT_OPTIONAL_LOCKS=0, GIT_TERMINAL_PROMPT=0, GIT_NO_LAZY_FETCH=1, LC_ALL=C).
 */
char **env_for_children(bool pins);

/* Adds what abide gives to the commands it runs to a copy of the environment
   (without pins): EXTRA is "NAME=value"... NULL-terminated. To be freed with
   strv_release by the caller through its struct. */
struct strv;
void env_with(struct strv *ret, const char *const *extra);

#endif
