#include "project/config.h"

#include <string.h>

void config_release(struct config *c)
{
	if (!c)
		return;
	free(c->trunk);
	free(c->branch_prefix);
	free(c->worktrees);
	strv_release(&c->copy);
	strv_release(&c->setup);
	for (size_t i = 0; i < c->gate_n; i++) {
		free(c->gate[i].name);
		free(c->gate[i].run);
		strv_release(&c->gate[i].needs);
	}
	free(c->gate);
	*c = (struct config){0};
}

void config_defaults(struct config *c)
{
	*c = (struct config){
		.branch_prefix = xstrdup("agent/"),
		.worktrees = xstrdup("../{repo}.worktrees"),
		.gate_changes = GATE_CHANGES_ASK,
		.logbook = true,
	};
}

int config_parse(const char *data, size_t len, const char *name, struct config *ret,
	struct err *err)
{
	(void)data;
	(void)ret;
	err_set(err, ERR_CONFIG_INVALID, "%s (%zu bytes) cannot be read by this build.", name, len);
	return -1;
}

int config_at(const struct git *g, const struct oid *commit, struct config *ret, struct err *err)
{
	AUTOBUF text = {0};
	int rc = oid_is_set(commit) ? git_file_at(g, commit, CONFIG_FILE, CONFIG_CAP, &text, err) : 1;

	if (rc < 0)
		return -1;
	if (rc == 1) {
		config_defaults(ret);
		return 0;
	}
	return config_parse(buf_str(&text), text.len, CONFIG_FILE, ret, err);
}
