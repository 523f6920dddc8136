#include "base/env.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

extern char **environ;

static const char *const names[ENV_COUNT] = {
#define X(name, var, who, what) [ENV_##name] = var,
        ENV_TABLE(X)
#undef X
};

static const struct {
	const char *var, *older;
	enum env_rule rule;
} experiments[ENV_EXP_COUNT] = {
#define X(name, var, older, rule, what) [ENV_EXP_##name] = {var, older, rule},
        ENV_EXPERIMENT_TABLE(X)
#undef X
};

const char *env_get(enum env_name name)
{
	return getenv(names[name]);
}

const char *env_text(enum env_name name)
{
	const char *s = env_get(name);

	return s && *s ? s : NULL;
}

long env_experiment(enum env_experiment exp)
{
	const char *s = getenv(experiments[exp].var);
	int64_t n;

	if (!s && experiments[exp].older)
		s = getenv(experiments[exp].older);
	if (!s)
		return 0;
	switch (experiments[exp].rule) {
	case ENV_SWITCH:
		return strcmp(s, "1") == 0;
	case ENV_VALUED:
		/* A bound beyond 100 years is a typing error, and so off. */
		return text_int(s, 1, INT64_C(3153600000), &n) ? (long)n : 0;
	}
	return 0;
}

/*
 * What `git rev-parse --local-env-vars` lists in 2.39 and later, and the few
 * that would otherwise change what a plumbing command means.
 */
static const char *const local_vars[] = {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_ATTR_SOURCE",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",
        "GIT_EXTERNAL_DIFF",
        "GIT_GLOB_PATHSPECS",
        "GIT_GRAFT_FILE",
        "GIT_ICASE_PATHSPECS",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_LITERAL_PATHSPECS",
        "GIT_NAMESPACE",
        "GIT_NOGLOB_PATHSPECS",
        "GIT_NOTES_DISPLAY_REF",
        "GIT_NOTES_REF",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REF_PARANOIA",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
};

static const char *const pins[] = {
        "GIT_OPTIONAL_LOCKS=0",
        "GIT_TERMINAL_PROMPT=0",
        "GIT_NO_LAZY_FETCH=1",
        "LC_ALL=C",
};

static bool is_var(const char *entry, const char *name, size_t len)
{
	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static bool dropped(const char *entry, bool with_pins)
{
	for (size_t i = 0; i < NELEMS(local_vars); i++)
		if (is_var(entry, local_vars[i], strlen(local_vars[i])))
			return true;
	for (size_t i = 0; with_pins && i < NELEMS(pins); i++)
		if (is_var(entry, pins[i], strcspn(pins[i], "=")))
			return true;
	return false;
}

char **env_for_children(bool with_pins)
{
	static struct strv cache[2];
	struct strv *l = &cache[with_pins];

	if (l->n)
		return l->v;
	for (char **e = environ; e && *e; e++)
		if (!dropped(*e, with_pins))
			strv_push(l, *e);
	for (size_t i = 0; with_pins && i < NELEMS(pins); i++)
		strv_push(l, pins[i]);
	if (!l->n)
		strv_push(l, "LC_ALL=C");
	return l->v;
}

void env_with(struct strv *ret, const char *const *extra)
{
	for (char **e = env_for_children(false); *e; e++) {
		bool replaced = false;
		for (const char *const *x = extra; *x && !replaced; x++)
			replaced = is_var(*e, *x, strcspn(*x, "="));
		if (!replaced)
			strv_push(ret, *e);
	}
	for (const char *const *x = extra; *x; x++)
		strv_push(ret, *x);
}
