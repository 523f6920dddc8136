/*
 * The keys of abide.yaml: one table, from which the reader, the published
 * schema, the reference page and `abide config` come. A new key is a row in
 * config_keys.c, a member here where the file's value is put, and what takes it
 * over in config_read.c.
 */
#ifndef ABIDE_PROJECT_CONFIG_KEYS_H
#define ABIDE_PROJECT_CONFIG_KEYS_H

#include "base/base.h"

enum config_type {
	CONFIG_MAP,
	CONFIG_LIST,
	CONFIG_TEXT,
	CONFIG_COMMAND, /* for the shell; a bare `true` is one, too */
	CONFIG_BOOL,
	CONFIG_INT,
	CONFIG_CHOICE,
	CONFIG_DURATION, /* or `none` */
};

/* Where a key is read from: see the top of config.h. */
enum config_scope { CONFIG_POLICY, CONFIG_WORK };

struct config_key {
	const char *path;              /* "accept.keep"; "copy[]" is an item of the list `copy` */
	const char *by_default;        /* as one would write it; NULL: nothing */
	const char *help;              /* what it does: one sentence without a final stop */
	const char *want;              /* what a value has to be: "a list of …" */
	const char *pattern;           /* for the schema: a regular expression of ECMA, or NULL */
	bool (*ok)(const char *value); /* beyond the type; NULL: anything */
	const char *const *choices;    /* CONFIG_CHOICE and CONFIG_BOOL; ends with NULL */
	int64_t min, max;              /* number; length in bytes; items */
	enum config_type type;
	enum config_scope scope;
	uint16_t at, count_at, item_size; /* in config_file or the part of it */
	bool required;                    /* in the map that it stands in */
};

/* Rows in the order in which `abide init` and the reference page show them. */
const struct config_key *config_keys(size_t *ret_n);
/* NULL when there is none. */
const struct config_key *config_key_find(const char *path);
/* Whether KEY stands directly in the map or list PARENT ("" is the file). */
bool config_key_in(const struct config_key *key, const char *parent);
/* The last part of its path: "keep". Points into it. */
const char *config_key_name(const struct config_key *key);

/* The choices of accept.require, accept.gate_changes and accept.integrate; end with NULL. */
extern const char *const config_requires[];
extern const char *const config_gate_changes[];
extern const char *const config_integrates[];

/* The values as the file has them; a choice is its place in the list, from 1. */
struct config_file {
	char *trunk, *branch_prefix, *worktrees;
	char **copy, **setup;
	unsigned copy_n, setup_n;
	struct config_file_job *gate;
	unsigned gate_n;
	int64_t gate_parallel;
	struct config_file_accept {
		int require, gate_changes, integrate, keep;
	} accept;
	int logbook;
};
struct config_file_job {
	char *name, *run, *timeout;
	char **needs;
	unsigned needs_n;
};

#endif
