#include "project/propose.h"

#include "project/config_keys.h"

void proposal_release(struct proposal *p)
{
	for (size_t i = 0; i < p->jobs_n; i++) {
		free(p->jobs[i].name);
		free(p->jobs[i].run);
		free(p->jobs[i].needs);
	}
	free(p->jobs);
	strv_release(&p->setup);
	strv_release(&p->copy);
	strv_release(&p->found);
	strv_release(&p->litter);
	*p = (struct proposal){0};
}

/* A look at one folder. */
struct look {
	const char *root;
	struct strv names; /* what lies in it */
	struct strv makes; /* folders that the proposed commands make */
	struct proposal p;
};

static bool has(const struct look *l, const char *name)
{
	return strv_has(&l->names, name);
}

/* The first of NAMES (NULL-terminated) that is there, or NULL. */
static const char *first_of(const struct look *l, const char *const *names)
{
	for (; *names; names++)
		if (has(l, *names))
			return *names;
	return NULL;
}

/* The text of a file, or "" when it cannot be had. */
static const char *text_of(const struct look *l, const char *name, struct buf *room)
{
	AUTOFREE char *path = path_join(l->root, name);

	if (!has(l, name) || fs_read(path, (size_t)1024 * 1024, room, NULL) != 0)
		buf_reset(room);
	return buf_str(room);
}

static bool has_job(const struct look *l, const char *name)
{
	for (size_t i = 0; i < l->p.jobs_n; i++)
		if (strcmp(l->p.jobs[i].name, name) == 0)
			return true;
	return false;
}

/* A name that is taken gets TOOL behind it. */
static const char *add_job(
        struct look *l, const char *name, const char *tool, const char *run, const char *needs)
{
	struct proposed_job *job;

	l->p.jobs = xreallocarray(l->p.jobs, l->p.jobs_n + 1, sizeof(*l->p.jobs));
	job = &l->p.jobs[l->p.jobs_n];
	job->name = has_job(l, name) ? xasprintf("%s-%s", name, tool) : xstrdup(name);
	job->run = xstrdup(run);
	job->needs = xstrdup(needs);
	l->p.jobs_n++;
	return job->name;
}

/* --- make and just -------------------------------------------------------------- */

/* Whether a line "a TARGET b: …" stands in TEXT, not an assignment. */
static bool has_target(const char *text, const char *target)
{
	size_t want = strlen(target);

	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		size_t colon = strcspn(line, ":=#\n");
		const char *word = line;
		size_t colons = strspn(line + colon, ":");
		bool rule = colons && line[colon + colons] != '=' && *line != '\t' && *line != ' ';
		while (rule && word < line + colon) {
			size_t n = strcspn(word, " \t:");
			if (n == want && strncmp(word, target, want) == 0)
				return true;
			word += n;
			word += strspn(word, " \t");
		}
		line += len + (line[len] == '\n');
	}
	return false;
}

/*
 * A front door that the project made itself: what it calls check or test is
 * believed, and the tools behind it are left alone.
 */
static bool look_at_targets(struct look *l, const char *file, const char *tool)
{
	static const char *const wanted[] = {"lint", "check", "test", NULL};
	AUTOBUF text = {0};
	AUTOBUF names = {0};
	const char *body = file ? text_of(l, file, &text) : "";
	bool check = has_target(body, "check");

	if (!check && !has_target(body, "test"))
		return false;
	for (size_t i = 0; wanted[i]; i++) {
		AUTOFREE char *run = xasprintf("%s %s", tool, wanted[i]);
		/* By custom check runs the tests. */
		if (!has_target(body, wanted[i]) || (check && strcmp(wanted[i], "test") == 0))
			continue;
		add_job(l, wanted[i], tool, run, NULL);
		buf_printf(&names, "%s`%s`", names.len ? ", " : "", wanted[i]);
	}
	strv_printf(&l->p.found, "%s: %s", file, buf_str(&names));
	return true;
}

/* --- package.json ------------------------------------------------------------------ */

static const struct {
	const char *lock, *tool, *install;
} managers[] = {
        {"pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile"},
        {"yarn.lock", "yarn", "yarn install --frozen-lockfile"},
        {"bun.lock", "bun", "bun install --frozen-lockfile"},
        {"bun.lockb", "bun", "bun install --frozen-lockfile"},
        {"package-lock.json", "npm", "npm ci"},
        {"npm-shrinkwrap.json", "npm", "npm ci"},
        {NULL, "npm", "npm install"},
};

static bool has_members(const json_t *package, const char *key)
{
	return json_object_size(json_object_get(package, key)) > 0;
}

static void look_at_scripts(struct look *l, const json_t *scripts, const char *tool)
{
	static const char *const wanted[] = {"lint", "typecheck", "type-check", "build", "test"};
	AUTOBUF names = {0};

	for (size_t i = 0; i < NELEMS(wanted); i++) {
		const char *script = json_text(scripts, wanted[i]);
		AUTOFREE char *run = xasprintf("%s run %s", tool, wanted[i]);
		/* What `npm init` writes is no test. */
		if (!script || strstr(script, "no test specified"))
			continue;
		add_job(l, wanted[i], tool, run, NULL);
		buf_printf(&names, "%s`%s`", names.len ? ", " : "", wanted[i]);
	}
	strv_printf(
	        &l->p.found, "package.json: %s%s%s", tool, names.len ? ", " : "", buf_str(&names));
}

static void look_at_node(struct look *l, bool jobs)
{
	AUTOBUF text = {0};
	const char *body = text_of(l, "package.json", &text);
	AUTOJSON json_t *package = *body ? json_read(body, text.len, NULL) : NULL;
	size_t m = 0;

	if (!json_is_object(package))
		return;
	while (managers[m].lock && !has(l, managers[m].lock))
		m++;
	if (managers[m].lock || has_members(package, "dependencies") ||
	        has_members(package, "devDependencies")) {
		bool berry = has(l, ".yarnrc.yml") && strcmp(managers[m].tool, "yarn") == 0;
		strv_push(&l->p.setup, berry ? "yarn install --immutable" : managers[m].install);
		strv_push(&l->makes, "node_modules");
	}
	if (jobs)
		look_at_scripts(l, json_object_get(package, "scripts"), managers[m].tool);
}

/* --- Python ---------------------------------------------------------------------------- */

static void look_at_python(struct look *l, bool jobs)
{
	static const struct {
		const char *file, *setup, *with;
	} ways[] = {
	        {"uv.lock", "uv sync --frozen", "uv run "},
	        {"poetry.lock", "poetry install", "poetry run "},
	        {"Pipfile.lock", "pipenv sync --dev", "pipenv run "},
	        {"requirements.txt",
	                "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
	                ".venv/bin/python -m "},
	};
	static const char *const marks[] = {
	        "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "requirements.txt", NULL};
	const char *mark = first_of(l, marks);
	const char *with = "python3 -m ";
	AUTOBUF text = {0};
	AUTOFREE char *run = NULL;
	bool tox, pytest;

	if (!mark)
		return;
	for (size_t i = 0; i < NELEMS(ways); i++)
		if (has(l, ways[i].file)) {
			with = ways[i].with;
			strv_push(&l->p.setup, ways[i].setup);
			strv_push(&l->makes, ".venv");
			break;
		}
	text_of(l, "pyproject.toml", &text);
	tox = has(l, "tox.ini") || strstr(buf_str(&text), "[tool.tox");
	pytest = has(l, "pytest.ini") || has(l, "conftest.py") || has(l, "tests") ||
	        strstr(buf_str(&text), "[tool.pytest");
	if (!jobs || (!tox && !pytest))
		return;
	run = tox ? xstrdup("tox") : xasprintf("%spytest", with);
	add_job(l, "test", "python", run, NULL);
	strv_printf(&l->p.found, "%s: %s", mark, tox ? "tox" : "pytest");
}

/* --- Builds of two steps ------------------------------------------------------------------ */

static bool look_at_build(
        struct look *l, const char *file, const char *tool, const char *build, const char *test)
{
	const char *name;
	AUTOFREE char *needs = NULL;

	if (!has(l, file))
		return false;
	name = add_job(l, "build", tool, build, NULL);
	needs = xstrdup(name);
	add_job(l, "test", tool, test, needs);
	strv_printf(&l->p.found, "%s: %s", file, tool);
	return true;
}

/* --- Tools whose one file says enough ------------------------------------------------------- */

static const struct {
	const char *file, *tool, *name, *run, *setup, *makes;
} tools[] = {
        {"Cargo.toml", "cargo", "test", "cargo test", NULL, "target"},
        {"go.mod", "go", "vet", "go vet ./...", NULL, NULL},
        {"go.mod", "go", "test", "go test ./...", NULL, NULL},
        {"gradlew", "gradle", "check", "./gradlew check", NULL, "build"},
        {"mvnw", "maven", "verify", "./mvnw -B verify", NULL, "target"},
        {"pom.xml", "maven", "verify", "mvn -B verify", NULL, "target"},
        {"mix.exs", "mix", "test", "mix test", "mix deps.get", "deps"},
        {"deno.json", "deno", "test", "deno test", NULL, NULL},
        {"build.zig", "zig", "test", "zig build test", NULL, "zig-out"},
        {"stack.yaml", "stack", "test", "stack test", NULL, ".stack-work"},
};

static void look_at_tools(struct look *l)
{
	for (size_t i = 0; i < NELEMS(tools); i++) {
		bool again = i && strcmp(tools[i].tool, tools[i - 1].tool) == 0;
		bool same = again && strcmp(tools[i].name, tools[i - 1].name) == 0;
		if (!has(l, tools[i].file) || (same && has(l, tools[i - 1].file)))
			continue;
		add_job(l, tools[i].name, tools[i].tool, tools[i].run, NULL);
		if (tools[i].setup)
			strv_push(&l->p.setup, tools[i].setup);
		if (tools[i].makes)
			strv_push(&l->makes, tools[i].makes);
		if (!again || same)
			strv_printf(&l->p.found, "%s: %s", tools[i].file, tools[i].tool);
	}
}

/* --- What git ignores ------------------------------------------------------------------------ */

/* Files of settings in the root that git ignores: a new worktree would lack them. */
static int look_at_ignored(struct look *l, const struct git *g, struct err *err)
{
	const struct config_key *key = config_key_find("copy[]");
	AUTOPROC p = {0};
	AUTOSTRV paths = {0};

	if (git_run(git_at_recorded(g->git_dir, g->worktree), &p,
	            GIT_WORDS("ls-files", "-z", "--others", "--ignored", "--exclude-standard",
	                    "--directory", "--", ":(top,glob).env*"),
	            err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "Ignored files could not be listed", err);
	strv_split_nul(&paths, buf_str(&p.out), p.out.len);
	/* A folder may be a whole environment of Python. */
	for (size_t i = 0; i < paths.n; i++)
		if (!strchr(paths.v[i], '/') && key->ok(paths.v[i]) &&
		        text_is_utf8(paths.v[i], strlen(paths.v[i])))
			strv_push(&l->p.copy, paths.v[i]);
	return 0;
}

/* A folder that is made and not ignored leaves every worktree dirty. */
static int look_for_litter(struct look *l, const struct git *g, struct err *err)
{
	AUTOBUF ask = {0};
	AUTOPROC p = {0};
	AUTOSTRV ignored = {0};

	for (size_t i = 0; i < l->makes.n; i++)
		buf_printf(&ask, "%s/", l->makes.v[i]), buf_putc(&ask, '\0');
	if (!ask.len)
		return 0;
	p.in = ask.data;
	p.in_len = ask.len;
	/* Exit status 1: none of them is ignored. */
	if (git_run(git_at_recorded(g->git_dir, g->worktree), &p,
	            GIT_WORDS("check-ignore", "-z", "--stdin"), err) < 0)
		return -1;
	if (p.status > 1)
		return git_complain(&p, "Ignored folders could not be told", err);
	strv_split_nul(&ignored, buf_str(&p.out), p.out.len);
	for (size_t i = 0; i < l->makes.n; i++) {
		AUTOFREE char *folder = xasprintf("%s/", l->makes.v[i]);
		if (!strv_has(&ignored, folder) && !strv_has(&l->p.litter, folder))
			strv_push(&l->p.litter, folder);
	}
	return 0;
}

int propose(const struct git *g, struct proposal *ret, struct err *err)
{
	static const char *const makefiles[] = {"GNUmakefile", "makefile", "Makefile", NULL};
	static const char *const justfiles[] = {"justfile", "Justfile", ".justfile", NULL};
	struct look l = {.root = g->worktree};
	bool own;
	int rc;

	fs_list(g->worktree, &l.names);
	own = look_at_targets(&l, first_of(&l, makefiles), "make") ||
	        look_at_targets(&l, first_of(&l, justfiles), "just");
	look_at_node(&l, !own);
	look_at_python(&l, !own);
	if (!own) {
		/* Meson's folder tells git by itself to ignore it. */
		look_at_build(&l, "meson.build", "meson",
		        "[ -d build ] || meson setup build\nmeson compile -C build",
		        "meson test -C build --print-errorlogs");
		if (look_at_build(&l, "CMakeLists.txt", "cmake",
		            "cmake -S . -B build\ncmake --build build",
		            "ctest --test-dir build --output-on-failure"))
			strv_push(&l.makes, "build");
		look_at_tools(&l);
	}
	rc = look_at_ignored(&l, g, err);
	if (rc == 0)
		rc = look_for_litter(&l, g, err);
	if (rc == 0) {
		*ret = l.p;
		l.p = (struct proposal){0};
	}
	proposal_release(&l.p);
	strv_release(&l.names);
	strv_release(&l.makes);
	return rc;
}
