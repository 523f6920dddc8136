/*
 * What `abide config` shows: each value as it counts for the caller's checkout,
 * where it comes from, and what stands there that does not count yet.
 */
#ifndef ABIDE_CLI_CONFIG_VIEW_H
#define ABIDE_CLI_CONFIG_VIEW_H

#include "project/project.h"

/* Policy counts from the trunk's tip, work from the commit at hand. */
struct config_view {
	struct oid head; /* the commit at hand, "" when there is none */
	const struct config *policy;
	struct config work;
	/* The file in the working tree, which counts for nothing until it is committed. */
	char *path; /* NULL in a bare place */
	struct config file;
	bool file_read;
	struct err file_wrong;
};
void config_view_release(struct config_view *v);
#define AUTOVIEW CLEANUP(config_view_release) struct config_view

/* Fills HEAD and PATH alone. */
int config_view_head(const struct project *p, struct config_view *v, struct err *err);
/* Fills everything. CONFIG_INVALID when a file that counts is wrong. */
int config_view_read(struct project *p, struct config_view *v, struct err *err);
/* A file on disk: 0, 1 when there is none, -1. NAME stands in messages. */
int config_read_file(const char *path, const char *name, struct config *ret, struct err *err);

/* WHOLE is config_json() of policy and work. Lists, to be freed. */
json_t *config_view_keys(const struct config_view *v, const struct project *p, const json_t *whole);
json_t *config_view_pending(const struct config_view *v, const struct project *p);
/* A list's items, an object by its name, with commas. To be freed. */
char *config_items(const json_t *list);

#endif
