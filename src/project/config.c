#include "project/config.h"

#include <sha256.h>

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

/* Room for a file that is too large to be told so by the reader of YAML. */
enum { READ_CAP = 16 * 1024 * 1024 };

static bool is_partial(const struct git *g)
{
	for (size_t i = 0; i + 2 < g->config.n; i += 3)
		if (text_ends(g->config.v[i + 1], ".promisor") ||
		        strcmp(g->config.v[i + 1], "extensions.partialclone") == 0)
			return true;
	return false;
}

/*
 * Where objects come on demand, a file that is not there looks to some gits
 * like one that there never was; rules must not fall away for that.
 */
static int check_fetched(const struct git *g, const struct oid *commit, struct err *err)
{
	AUTOPROC p = {0};

	if (git_run(git_at_common(g), &p,
	            GIT_WORDS("ls-tree", "--name-only", "-z", commit->hex, "--", CONFIG_FILE),
	            err) < 0)
		return -1;
	if (p.status == 0 && !p.out.len)
		return 1;
	err_set(err, ERR_READ_FAILED,
	        CONFIG_FILE " of %.10s has not been fetched into this partial clone, so that "
	                    "nothing can be said of the project's rules.",
	        commit->hex);
	err_hint(err,
	        "Fetch it: `git show %.10s:" CONFIG_FILE "`, then run the same command again.",
	        commit->hex);
	return -1;
}

int config_text_at(const struct git *g, const struct oid *commit, struct buf *ret, struct err *err)
{
	AUTOERR failed = {0};
	int rc = 1;

	if (oid_is_set(commit))
		rc = git_file_at(g, commit, CONFIG_FILE, READ_CAP, ret, &failed);
	if (rc != 0 && oid_is_set(commit) && is_partial(g))
		return check_fetched(g, commit, err);
	return rc < 0 ? err_move(err, &failed) : rc;
}

int config_at(const struct git *g, const struct oid *commit, struct config *ret, struct err *err)
{
	AUTOBUF text = {0};
	AUTOFREE char *name = xasprintf(CONFIG_FILE " at %.10s", commit->hex);
	int rc = config_text_at(g, commit, &text, err);

	if (rc < 0)
		return -1;
	if (rc == 1) {
		config_defaults(ret);
		return 0;
	}
	if (config_parse(buf_str(&text), text.len, name, ret, err) == 0)
		return 0;
	if (err) {
		err_data(err, "file", json_string(CONFIG_FILE));
		err_data(err, "commit", json_string(commit->hex));
	}
	return -1;
}

/* --- The gate's digest ---------------------------------------------------------- */

/* Canonical: sorted keys, needs sorted (their order means nothing). */
static json_t *canonical_gate(const struct config *c)
{
	json_t *jobs = json_array();

	for (size_t i = 0; i < c->gate_n; i++) {
		const struct gate_job *job = &c->gate[i];
		json_t *o = json_object();
		AUTOSTRV needs = {0};
		strv_extend(&needs, &job->needs);
		strv_sort(&needs);
		json_put_text(o, "name", job->name);
		json_put_text(o, "run", job->run);
		json_put_int(o, "timeout_ms", job->timeout_ms);
		json_put(o, "needs", json_text_list(&needs, 0));
		json_array_append_new(jobs, o);
	}
	return jobs;
}

char *config_gate_digest(const struct config *c)
{
	AUTOJSON json_t *jobs = canonical_gate(c);
	AUTOFREE char *text = json_dumps(jobs, JSON_COMPACT | JSON_SORT_KEYS);
	char *hex = xmalloc(SHA256_DIGEST_STRING_LENGTH);

	if (!text)
		abort();
	if (!c->gate_n)
		*hex = '\0';
	else if (!SHA256_Data((const uint8_t *)text, strlen(text), hex))
		abort();
	return hex;
}

/* --- Where worktrees go ----------------------------------------------------------- */

/* The repository's name: of a bare folder without ".git", of a hidden one its holder's. */
static char *repo_name(const char *main)
{
	AUTOFREE char *dir = path_dir(main);
	const char *base = path_base(main);

	if (*base == '.' && *path_base(dir))
		base = path_base(dir);
	if (text_ends(base, ".git") && strlen(base) > 4)
		return xstrndup(base, strlen(base) - 4);
	return xstrdup(*base ? base : "repo");
}

/* PATH below BASE with "." and ".." taken out by the text alone. */
static char *path_plain(const char *base, const char *path)
{
	AUTOBUF out = {0};

	buf_puts(&out, *path == '/' ? "" : base);
	while (*path) {
		size_t n = strcspn(path, "/");
		if (n == 2 && path[0] == '.' && path[1] == '.') {
			while (out.len && out.data[out.len - 1] != '/')
				out.data[--out.len] = '\0';
			if (out.len)
				out.data[--out.len] = '\0';
		} else if (n && !(n == 1 && *path == '.')) {
			buf_putc(&out, '/');
			buf_add(&out, path, n);
		}
		path += n + (path[n] == '/');
	}
	return out.len ? buf_take(&out) : xstrdup("/");
}

char *config_worktrees_dir(const struct config *c, const char *main)
{
	AUTOFREE char *name = repo_name(main);
	AUTOFREE char *plain = NULL;
	AUTOBUF path = {0};
	const char *p = c->worktrees;
	const char *mark;

	for (; (mark = strstr(p, "{repo}")); p = mark + strlen("{repo}")) {
		buf_add(&path, p, (size_t)(mark - p));
		buf_puts(&path, name);
	}
	buf_puts(&path, p);
	plain = path_plain(main, buf_str(&path));
	return path_real(plain);
}

int config_worktrees_check(const struct git *g, const char *main, const char *dir, struct err *err)
{
	AUTOFREE char *parent = path_dir(main);
	const char *trusted = git_config(g, "abide.trusted", true);

	if (path_inside(dir, g->common)) {
		err_set(err, ERR_CONFIG_INVALID,
		        "`worktrees` in abide.yaml leads to %s, which lies in git's own folder.",
		        dir);
		err_hint(err,
		        "Name a folder beside the repository, such as "
		        "`worktrees: ../{repo}.worktrees`.");
		return -1;
	}
	if (path_inside(dir, parent) || (trusted && strcmp(trusted, "true") == 0))
		return 0;
	err_set(err, ERR_UNTRUSTED,
	        "`worktrees` in abide.yaml leads to %s, outside of %s, which holds the repository; "
	        "a repository may not choose that by itself.",
	        dir, parent);
	err_hint(err, "Allow it for this repository: `git config abide.trusted true`.");
	return -1;
}
