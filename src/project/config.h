/*
 * abide.yaml. One table (config.c) holds key, type, default, scope and help;
 * reader, schema, `abide config` and the reference page come from it.
 */
#ifndef ABIDE_PROJECT_CONFIG_H
#define ABIDE_PROJECT_CONFIG_H

#include "git/git.h"

struct config_key;

#define CONFIG_FILE "abide.yaml"
enum { CONFIG_CAP = 256 * 1024 };

struct gate_job {
	char *name; /* [A-Za-z0-9._-]{1,64} */
	char *run;
	int64_t timeout_ms; /* 0: none */
	struct strv needs;
};

enum accept_require { REQUIRE_NONE, REQUIRE_HUMAN };
enum gate_changes { GATE_CHANGES_ASK, GATE_CHANGES_REFUSE, GATE_CHANGES_ALLOW };

struct config {
	bool present;   /* there is a file */
	uint64_t given; /* bit I: row I of config_keys() stands in it */
	/* policy */
	char *trunk; /* NULL: not named */
	char *branch_prefix;
	char *worktrees;   /* {repo} not yet replaced */
	int gate_parallel; /* 0: as many as cores */
	enum accept_require require;
	enum gate_changes gate_changes;
	bool keep;
	bool logbook;
	/* work */
	struct strv copy, setup;
	struct gate_job *gate;
	size_t gate_n; /* 0: no gate */
};
void config_release(struct config *c);
#define AUTOCONFIG CLEANUP(config_release) struct config

/* Defaults for everything. */
void config_defaults(struct config *c);
/*
 * Reads the file's LEN bytes; NAME stands in messages. CONFIG_INVALID with
 * line and key.
 */
int config_parse(
        const char *data, size_t len, const char *name, struct config *ret, struct err *err);
/*
 * The branch that `trunk:` names in a file that may be wrong elsewhere or of a
 * newer abide, so that such a file does not make another branch the trunk. NULL
 * when it names none. To be freed.
 */
char *config_peek_trunk(const char *data, size_t len);
/* The file's text as it stands in COMMIT: 0, 1 when there is none, -1. */
int config_text_at(const struct git *g, const struct oid *commit, struct buf *ret, struct err *err);
/* The file as it stands in COMMIT ("": none); defaults when there is none. */
int config_at(const struct git *g, const struct oid *commit, struct config *ret, struct err *err);
/*
 * A digest of the gate alone (jobs, their order, commands, time-outs, needs):
 * equal digests mean the same gate. Lower case hex. "" without a gate. To be freed.
 */
char *config_gate_digest(const struct config *c);
/* The folder for worktrees, absolute, for a repository whose main checkout (or
   bare folder) is MAIN (real). To be freed. */
char *config_worktrees_dir(const struct config *c, const char *main);
/*
 * All values as one object, shaped as the file, with defaults: policy keys from
 * POLICY, work keys from WORK. Absent: no trunk named, as many jobs as cores,
 * no time-out ("timeout_ms" is milliseconds). To be freed.
 */
json_t *config_json(const struct config *policy, const struct config *work);
/* One key's value in that (none of a list's parts); NULL when absent. Borrowed. */
json_t *config_json_value(const json_t *whole, const struct config_key *key);
/* The JSON Schema (2020-12) of the file, from the table of keys, without a head.
   To be freed. */
json_t *config_schema(void);
/*
 * Whether DIR may hold worktrees: inside the folder that holds MAIN, or git
 * config abide.trusted is true in the repository's own files. UNTRUSTED.
 */
int config_worktrees_check(const struct git *g, const char *main, const char *dir, struct err *err);

#endif
