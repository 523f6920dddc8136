#include "cli/config_view.h"

#include <string.h>

#include "project/config_keys.h"

void config_view_release(struct config_view *v)
{
	free(v->path);
	config_release(&v->work);
	config_release(&v->file);
	err_release(&v->file_wrong);
}

/* --- Reading ------------------------------------------------------------------- */

int config_view_head(const struct project *p, struct config_view *v, struct err *err)
{
	const struct git *g = &p->git;
	AUTOSTATUS status = {0};

	if (!g->worktree) {
		v->head = p->trunk_tip;
		return 0;
	}
	if (git_status(git_at_recorded(g->git_dir, g->worktree), false, &status, err) < 0)
		return -1;
	v->head = status.head;
	v->path = path_join(g->worktree, CONFIG_FILE);
	return 0;
}

/* 0, 1 when there is no such file, -1. NAME stands in messages. */
int config_read_file(const char *path, const char *name, struct config *ret, struct err *err)
{
	AUTOBUF text = {0};
	int rc = fs_read(path, (size_t)16 * 1024 * 1024, &text, err);

	return rc ? rc : config_parse(buf_str(&text), text.len, name, ret, err);
}

static void read_working_file(struct config_view *v)
{
	int rc;

	if (!v->path)
		return;
	rc = config_read_file(v->path, v->path, &v->file, &v->file_wrong);
	if (rc == 1)
		config_defaults(&v->file);
	v->file_read = rc >= 0;
}

/* --- Values and where they come from --------------------------------------------- */

char *config_items(const json_t *list)
{
	AUTOBUF out = {0};
	size_t i;
	json_t *item;

	json_array_foreach (list, i, item) {
		const char *s =
		        json_is_object(item) ? json_text(item, "name") : json_string_value(item);
		buf_printf(&out, "%s%s", i ? ", " : "", s ? s : "");
	}
	return buf_take(&out);
}

/* As one would write it, on one line; lists by their items, jobs by their names. */
static char *value_text(const json_t *v)
{
	if (json_is_string(v))
		return xstrdup(json_string_value(v));
	if (json_is_boolean(v))
		return xstrdup(json_is_true(v) ? "true" : "false");
	if (json_is_integer(v))
		return xasprintf("%lld", (long long)json_integer_value(v));
	if (json_is_array(v))
		return config_items(v);
	return xstrdup("");
}

/* Where the trunk's name comes from: the source in the closed list, and in words. */
static void put_trunk_source(json_t *o, const struct config_view *v, const struct project *p)
{
	const char *from = p->trunk_source;
	const char *source = "repository";

	if (!from) {
		json_put_text(o, "source", "default");
		return;
	}
	if (strcmp(from, CONFIG_FILE) == 0)
		source = CONFIG_FILE;
	else if (strcmp(from, "ABIDE_TRUNK") == 0)
		source = "environment";
	else if (text_starts(from, "git config "))
		source = "git config";
	json_put_text(o, "source", source);
	json_put_text(o, "from", from);
	/* The default branch's file may be another than the trunk's. */
	if (strcmp(from, CONFIG_FILE) == 0 && v->policy->trunk &&
	        strcmp(git_branch_short(v->policy->trunk), p->trunk) == 0)
		json_put_text(o, "commit", p->trunk_tip.hex);
}

static bool given(const struct config *c, const struct config_key *key)
{
	size_t n;

	return c->given & (UINT64_C(1) << (key - config_keys(&n)));
}

static json_t *key_json(const struct config_view *v, const struct project *p, const json_t *whole,
        const struct config_key *key)
{
	json_t *o = json_object();
	bool policy = key->scope == CONFIG_POLICY;
	AUTOFREE char *text = value_text(config_json_value(whole, key));

	json_put_text(o, "key", key->path);
	json_put_text(o, "value", text);
	json_put_text(o, "scope", policy ? "policy" : "work");
	if (strcmp(key->path, "trunk") == 0) {
		put_trunk_source(o, v, p);
	} else if (given(policy ? v->policy : &v->work, key)) {
		json_put_text(o, "source", CONFIG_FILE);
		json_put_text(o, "commit", policy ? p->trunk_tip.hex : v->head.hex);
	} else {
		json_put_text(o, "source", "default");
	}
	return o;
}

/* The keys that have a value of their own. */
static bool has_value(const struct config_key *key)
{
	return key->type != CONFIG_MAP && !strstr(key->path, "[]");
}

/* --- What does not count yet ------------------------------------------------------ */

/* The keys of SCOPE in which two files differ, told with the value in THERE. */
static void put_differing(json_t *list, enum config_scope scope, const json_t *counts,
        const json_t *there, const char *until)
{
	size_t n;
	const struct config_key *keys = config_keys(&n);

	for (size_t i = 0; i < n; i++) {
		const json_t *other = config_json_value(there, &keys[i]);
		json_t *o;
		AUTOFREE char *text = NULL;
		if (!has_value(&keys[i]) || keys[i].scope != scope ||
		        json_equal(config_json_value(counts, &keys[i]), other) ||
		        (!other && !config_json_value(counts, &keys[i])))
			continue;
		text = value_text(other);
		o = json_object();
		json_put_text(o, "key", keys[i].path);
		json_put_text(o, "value", text);
		json_put_text(o, "until", until);
		json_array_append_new(list, o);
	}
}

json_t *config_view_pending(const struct config_view *v, const struct project *p)
{
	json_t *list = json_array();
	AUTOJSON json_t *trunk = config_json(v->policy, v->policy);
	AUTOJSON json_t *head = config_json(&v->work, &v->work);
	bool on_trunk = oid_equal(&v->head, &p->trunk_tip);

	if (!on_trunk && oid_is_set(&v->head))
		put_differing(list, CONFIG_POLICY, trunk, head, "landed");
	if (v->file_read) {
		AUTOJSON json_t *file = config_json(&v->file, &v->file);
		put_differing(list, CONFIG_POLICY, head, file, on_trunk ? "committed" : "landed");
		put_differing(list, CONFIG_WORK, head, file, "committed");
	}
	return list;
}

json_t *config_view_keys(const struct config_view *v, const struct project *p, const json_t *whole)
{
	json_t *list = json_array();
	size_t n;
	const struct config_key *keys = config_keys(&n);

	for (size_t i = 0; i < n; i++)
		if (has_value(&keys[i]))
			json_array_append_new(list, key_json(v, p, whole, &keys[i]));
	return list;
}

int config_view_read(struct project *p, struct config_view *v, struct err *err)
{
	if (config_view_head(p, v, err) < 0 || project_policy(p, &v->policy, err) < 0 ||
	        config_at(&p->git, &v->head, &v->work, err) < 0)
		return -1;
	read_working_file(v);
	return 0;
}
