/* abide.yaml: what is refused names a cause; what is taken holds what the rest of abide counts on.
 */
#include <assert.h>

#include "project/config.h"
#include "project/config_keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_gate(const struct config *c)
{
	AUTOFREE char *digest = config_gate_digest(c);

	assert(strlen(digest) == (c->gate_n ? 64 : 0));
	for (size_t i = 0; i < c->gate_n; i++) {
		const struct gate_job *job = &c->gate[i];
		assert(*job->name && strlen(job->name) <= 64 && !strchr(job->name, '/'));
		assert(*job->run && job->timeout_ms >= 0);
		for (size_t k = 0; k < i; k++)
			assert(strcmp(c->gate[k].name, job->name) != 0);
		for (size_t k = 0; k < job->needs.n; k++)
			assert(strcmp(job->needs.v[k], job->name) != 0);
	}
}

static void check_config(const struct config *c, const char *peeked)
{
	AUTOJSON json_t *whole = config_json(c, c);
	AUTOFREE char *line = json_line(whole);
	AUTOFREE char *dir = config_worktrees_dir(c, "/nowhere/repo");

	assert(line && *dir == '/' && !strstr(dir, "/../"));
	assert(strcmp(c->trunk ? c->trunk : "", peeked ? peeked : "") == 0);
	assert(c->gate_parallel >= 0 && c->gate_parallel <= 256);
	for (size_t i = 0; i < c->copy.n; i++)
		assert(config_key_find("copy[]")->ok(c->copy.v[i]));
	check_gate(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTOCONFIG c = {0};
	AUTOERR err = {0};
	AUTOFREE char *text = xcalloc(size + 1, 1);
	AUTOFREE char *peeked = NULL;

	memcpy(text, data, size);
	peeked = config_peek_trunk(text, size);
	if (config_parse(text, size, "abide.yaml", &c, &err) == 0)
		check_config(&c, peeked);
	else
		assert(err.code == ERR_CONFIG_INVALID && err.message && err.hints.n);
	return 0;
}
