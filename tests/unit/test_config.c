#include "cmocka_all.h"

#include "project/config.h"
#include "project/config_keys.h"
#include "project/propose.h"

static int parse(const char *text, struct config *ret, struct err *err)
{
	return config_parse(text, strlen(text), "abide.yaml", ret, err);
}

static void an_absent_or_empty_file_means_defaults(void **state)
{
	static const char *const texts[] = {
	        "", "# nothing\n", "---\n", "~\n", "---\n...\n", "\xef\xbb\xbf"};

	(void)state;
	for (size_t i = 0; i < NELEMS(texts); i++) {
		AUTOCONFIG c = {0};
		AUTOERR err = {0};
		if (parse(texts[i], &c, &err) < 0)
			fail_msg("%zu: %s", i, err.message);
		assert_null(c.trunk);
		assert_string_equal(c.branch_prefix, "agent/");
		assert_string_equal(c.worktrees, "../{repo}.worktrees");
		assert_int_equal(c.gate_n, 0);
		assert_int_equal(c.gate_changes, GATE_CHANGES_ASK);
		assert_int_equal(c.require, REQUIRE_NONE);
		assert_true(c.logbook);
		assert_false(c.keep);
		assert_true(c.present);
		assert_int_equal(c.given, 0);
	}
}

static void every_key_is_read(void **state)
{
	AUTOCONFIG c = {0};
	AUTOERR err = {0};
	const char *text = "trunk: release/1.0\n"
	                   "branch_prefix: ''\n"
	                   "worktrees: /srv/{repo}\n"
	                   "copy: [.env, config/local.json]\n"
	                   "setup:\n"
	                   "  - npm ci\n"
	                   "  - true\n"
	                   "gate:\n"
	                   "  - name: build\n"
	                   "    run: make -j2\n"
	                   "  - name: test\n"
	                   "    run: |\n"
	                   "      make check\n"
	                   "      make more\n"
	                   "    needs: [build]\n"
	                   "    timeout: 90s\n"
	                   "  - {name: slow, run: ./slow, timeout: none}\n"
	                   "gate_parallel: 3\n"
	                   "accept:\n"
	                   "  require: human\n"
	                   "  gate_changes: refuse\n"
	                   "  integrate: refuse\n"
	                   "  keep: true\n"
	                   "logbook: false\n";

	(void)state;
	if (parse(text, &c, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(c.trunk, "release/1.0");
	assert_string_equal(c.branch_prefix, "");
	assert_string_equal(c.worktrees, "/srv/{repo}");
	assert_int_equal(c.copy.n, 2);
	assert_string_equal(c.copy.v[1], "config/local.json");
	assert_null(c.copy.v[2]);
	assert_int_equal(c.setup.n, 2);
	assert_string_equal(c.setup.v[1], "true");
	assert_int_equal(c.gate_n, 3);
	assert_string_equal(c.gate[0].name, "build");
	assert_int_equal(c.gate[0].timeout_ms, 600000);
	assert_string_equal(c.gate[1].run, "make check\nmake more\n");
	assert_int_equal(c.gate[1].timeout_ms, 90000);
	assert_string_equal(c.gate[1].needs.v[0], "build");
	assert_int_equal(c.gate[2].timeout_ms, 0);
	assert_int_equal(c.gate_parallel, 3);
	assert_int_equal(c.require, REQUIRE_HUMAN);
	assert_int_equal(c.gate_changes, GATE_CHANGES_REFUSE);
	assert_true(c.keep);
	assert_false(c.logbook);
	{
		size_t n;
		config_keys(&n);
		assert_true(c.given == (UINT64_C(1) << n) - 1);
	}
}

/* What is refused: the text, line and key of the finding (0, NULL: none), words of the message. */
static const struct refusal {
	const char *text;
	int line;
	const char *key, *says;
} refusals[] = {
        /* keys */
        {"trunk: main\nlanes: {}\n", 2, "lanes", "does not know the key `lanes`"},
        {"notify: ./x\n", 1, "notify", "does not know"},
        {"clients: [codex]\n", 1, "clients", "does not know"},
        {"loop: {}\n", 1, "loop", "does not know"},
        {"broker: {}\n", 1, "broker", "does not know"},
        {"accept:\n  keep: true\n  strategy: squash\n", 3, "accept.strategy", "does not know"},
        {"accept:\n  lanes: 2\n", 2, "accept.lanes", "does not know"},
        {"Trunk: main\n", 1, "Trunk", "does not know"},
        {"gate:\n - name: a\n   run: b\n   cmd: c\n", 4, "gate[0].cmd", "does not know"},
        {"<<: {trunk: x}\n", 1, "<<", "does not know"},
        {"trunk: a\n\ntrunk: b\n", 3, "trunk", "a second time"},
        {"gate:\n - name: a\n   run: b\n   run: c\n", 4, "gate[0].run", "a second time"},
        {"accept: {keep: true, keep: false}\n", 1, "accept.keep", "a second time"},
        {"? [trunk]\n: main\n", 1, NULL, "one word"},
        {"? {a: b}\n: main\n", 1, NULL, "one word"},
        /* types */
        {"- trunk\n", 1, NULL, "not a list"},
        {"trunk\n", 1, NULL, "keys with values"},
        {"trunk: [main]\n", 1, "trunk", "is a list, but has to be a branch's name"},
        {"trunk: {a: b}\n", 1, "trunk", "is a group of keys"},
        {"trunk:\n", 1, "trunk", "without a value"},
        {"trunk: ~\n", 1, "trunk", "without a value"},
        {"gate:\n", 1, "gate", "without a value"},
        {"copy: null\n", 1, "copy", "without a value"},
        {"setup: npm ci\n", 1, "setup", "a single value, but has to be a list of commands"},
        {"setup:\n  - [npm]\n", 2, "setup[0]", "is a list"},
        {"setup:\n  - npm ci\n  - \n", 3, "setup[1]", "without a value"},
        {"gate: make check\n", 1, "gate", "a list of jobs"},
        {"gate:\n  test: make check\n", 2, "gate", "a list of jobs"},
        {"gate:\n  - make check\n", 2, "gate[0]", "a job with `name` and `run`"},
        {"gate:\n  - name: a\n    run: b\n  - name: c\n", 4, "gate[1].run", "missing"},
        {"gate:\n  - run: b\n", 2, "gate[0].name", "missing"},
        {"gate:\n  - name: a\n    run: b\n    needs: c\n", 4, "gate[0].needs", "a list of jobs"},
        {"accept: human\n", 1, "accept", "keys below it"},
        {"accept:\n  keep: yes\n", 2, "accept.keep", "`true` or `false`"},
        {"accept:\n  keep: True\n", 2, "accept.keep", "`true` or `false`"},
        {"accept:\n  require: 1\n", 2, "accept.require", "`none` or `human`"},
        {"accept:\n  gate_changes: never\n", 2, "accept.gate_changes", "`allow`"},
        {"accept:\n  integrate: queue\n", 2, "accept.integrate", "`refuse`"},
        {"logbook: 1\n", 1, "logbook", "`true` or `false`"},
        {"gate_parallel: 0\n", 1, "gate_parallel", "1 to 256"},
        {"gate_parallel: 257\n", 1, "gate_parallel", "1 to 256"},
        {"gate_parallel: 3x\n", 1, "gate_parallel", "1 to 256"},
        {"gate_parallel: 0x10\n", 1, "gate_parallel", "1 to 256"},
        {"gate_parallel: -1\n", 1, "gate_parallel", "1 to 256"},
        {"gate_parallel: ' 5'\n", 1, "gate_parallel", "1 to 256"},
        {"gate_parallel: 99999999999999999999\n", 1, "gate_parallel", "1 to 256"},
        /* values */
        {"trunk: -f\n", 1, "trunk", "a branch's name"},
        {"trunk: a..b\n", 1, "trunk", "a branch's name"},
        {"trunk: ''\n", 1, "trunk", "a branch's name"},
        {"trunk: \"a\\nb\"\n", 1, "trunk", "a branch's name"},
        {"trunk: \"a\\0b\"\n", 1, NULL, "NUL"},
        {"\"a\\0b\": c\n", 1, NULL, "NUL"},
        {"branch_prefix: 'a b/'\n", 1, "branch_prefix", "the beginning of a branch's name"},
        {"branch_prefix: -x\n", 1, "branch_prefix", "the beginning of a branch's name"},
        {"branch_prefix: a//\n", 1, "branch_prefix", "the beginning of a branch's name"},
        {"worktrees: ~/w\n", 1, "worktrees", "a folder's path"},
        {"worktrees: ''\n", 1, "worktrees", "a folder's path"},
        {"copy: [/etc/passwd]\n", 1, "copy[0]", "a path below"},
        {"copy:\n  - .env\n  - ../x\n", 3, "copy[1]", "a path below"},
        {"copy: [a/../../b]\n", 1, "copy[0]", "a path below"},
        {"copy: [.git/hooks]\n", 1, "copy[0]", "a path below"},
        {"copy: [a/.GIT]\n", 1, "copy[0]", "a path below"},
        {"copy: ['']\n", 1, "copy[0]", "a path below"},
        {"copy: [.]\n", 1, "copy[0]", "a path below"},
        {"copy: [a//b]\n", 1, "copy[0]", "a path below"},
        {"setup: ['  ']\n", 1, "setup[0]", "a command"},
        {"gate:\n - name: a b\n   run: c\n", 2, "gate[0].name", "1 to 64"},
        {"gate:\n - name: ..\n   run: c\n", 2, "gate[0].name", "1 to 64"},
        {"gate:\n - name: a/b\n   run: c\n", 2, "gate[0].name", "1 to 64"},
        {"gate:\n - name: \xc3\xa4\n   run: c\n", 2, "gate[0].name", "1 to 64"},
        {"gate:\n - name: a\n   run: ''\n", 3, "gate[0].run", "a command"},
        {"gate:\n - {name: a, run: b, timeout: 10}\n", 2, "gate[0].timeout", "with its unit"},
        {"gate:\n - {name: a, run: b, timeout: 0s}\n", 2, "gate[0].timeout", "with its unit"},
        {"gate:\n - {name: a, run: b, timeout: -1s}\n", 2, "gate[0].timeout", "with its unit"},
        {"gate:\n - {name: a, run: b, timeout: 1.5h}\n", 2, "gate[0].timeout", "with its unit"},
        {"gate:\n - {name: a, run: b, timeout: 1h30m}\n", 2, "gate[0].timeout", "with its unit"},
        {"gate:\n - {name: a, run: b, timeout: 99999999999999999d}\n", 2, "gate[0].timeout",
                "with its unit"},
        {"gate:\n - {name: a, run: b, timeout: None}\n", 2, "gate[0].timeout", "with its unit"},
        /* the gate as a whole */
        {"gate:\n - {name: a, run: b}\n - {name: a, run: c}\n", 3, "gate[1].name",
                "two jobs have the name `a`"},
        {"gate:\n - name: a\n   run: b\n   needs:\n   - c\n   - d\n - name: c\n   run: x\n", 6,
                "gate[0].needs[1]", "needs `d`, but there is no such job"},
        {"gate:\n - {name: a, run: x, needs: [a]}\n", 2, "gate[0].needs", "a → a"},
        {"gate:\n - {name: z, run: x, needs: [a]}\n - {name: a, run: x, needs: [b]}\n"
         " - {name: b, run: x, needs: [c]}\n - {name: c, run: x, needs: [a]}\n",
                2, "gate[0].needs", "circle: a → b → c → a"},
        /* YAML that means other than it reads */
        {"trunk: &x main\n", 1, NULL, "anchor (`&x`)"},
        {"trunk: main\ncopy: &all [a]\n", 2, NULL, "anchor (`&all`)"},
        {"trunk: *x\n", 1, NULL, "alias (`*x`)"},
        {"*x : main\n", 1, NULL, "alias (`*x`)"},
        {"trunk: !!str main\n", 1, NULL, "tag"},
        {"gate: !x []\n", 1, NULL, "tag"},
        {"trunk: main\n---\ntrunk: other\n", 2, NULL, "second YAML document"},
        {"trunk: main\n\tlogbook: true\n", 2, NULL, "no YAML"},
        {"trunk: 'main\n", 2, NULL, "no YAML"},
        {"trunk: main\ncopy: [a\xff]\n", 2, NULL, "no YAML"},
        {"\xff\xfet\0r\0", 1, NULL, "no YAML"},
        {"copy: [[[[[[[[a]]]]]]]]\n", 1, "copy[0]", "is a list"},
};

static void each_wrong_file_is_refused_by_line_and_key(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEMS(refusals); i++) {
		const struct refusal *r = &refusals[i];
		AUTOCONFIG c = {0};
		AUTOERR err = {0};
		const char *key;
		if (parse(r->text, &c, &err) == 0)
			fail_msg("accepted: %s", r->text);
		key = json_text(err.data, "key");
		if (err.code != ERR_CONFIG_INVALID || json_int(err.data, "line", 0) != r->line ||
		        !strstr(err.message, r->says) ||
		        strcmp(key ? key : "-", r->key ? r->key : "-") != 0)
			fail_msg("%s: line %d, key %s: %s", r->text,
			        (int)json_int(err.data, "line", 0), key ? key : "-", err.message);
		assert_null(c.branch_prefix);
	}
}

/* LEAD, then COUNT times EACH, then TAIL. */
static int parse_many(const char *lead, const char *each, int count, const char *tail,
        struct config *ret, struct err *err)
{
	AUTOBUF text = {0};

	buf_puts(&text, lead);
	for (int i = 0; i < count; i++)
		if (strstr(each, "%d"))
			buf_printf(&text, "%.*s%d%s", (int)(strstr(each, "%d") - each), each, i,
			        strstr(each, "%d") + 2);
		else
			buf_puts(&text, each);
	buf_puts(&text, tail);
	return config_parse(text.data, text.len, "abide.yaml", ret, err);
}

static void size_and_count_are_capped(void **state)
{
	static const struct {
		const char *lead, *each;
		int fits, too_many;
		const char *tail, *says;
	} caps[] = {
	        {"gate:\n", "- {name: j%d, run: x}\n", 200, 201, "", "more than 200 entries"},
	        {"copy:\n", "- f%d\n", 200, 201, "", "more than 200 entries"},
	        {"setup: ['", "x", 65536, 65537, "']\n", "64 KiB"},
	        {"gate:\n- {name: a, run: '", "x", 65536, 65537, "'}\n", "64 KiB"},
	        {"gate:\n- {run: x, name: ", "n", 64, 65, "}\n", "1 to 64"},
	        {"trunk: m\n", "#23456789 23456789 23456789 1234\n", 7943, 7945, "", "256 KiB"},
	};

	(void)state;
	for (size_t i = 0; i < NELEMS(caps); i++) {
		AUTOCONFIG good = {0};
		AUTOCONFIG bad = {0};
		AUTOERR err = {0};
		AUTOERR none = {0};
		if (parse_many(caps[i].lead, caps[i].each, caps[i].fits, caps[i].tail, &good,
		            &none) < 0)
			fail_msg("%zu: %s", i, none.message);
		assert_int_equal(parse_many(caps[i].lead, caps[i].each, caps[i].too_many,
		                         caps[i].tail, &bad, &err),
		        -1);
		if (!strstr(err.message, caps[i].says))
			fail_msg("%zu: %s", i, err.message);
	}
}

static char *digest_of(const char *text)
{
	AUTOCONFIG c = {0};
	AUTOERR err = {0};

	if (parse(text, &c, &err) < 0)
		fail_msg("%s", err.message);
	return config_gate_digest(&c);
}

/* Digests stand in receipts: they must not change from one release to the next. */
static void the_gates_digest_is_stable(void **state)
{
	AUTOFREE char *none = digest_of("trunk: main\n");
	AUTOFREE char *one = digest_of("gate:\n  - name: test\n    run: make check\n");

	(void)state;
	assert_string_equal(none, "");
	assert_string_equal(
	        one, "9905d21cc5369237019bf84a9094d155e7ae211a62774f4d4c5b01742cc4b004");
}

static void the_digest_tells_gates_apart_and_nothing_else(void **state)
{
	static const struct {
		const char *text;
		bool same;
	} others[] = {
	        {"trunk: x\ngate: [{run: r, name: b}, {name: a, run: r, needs: [b]}]\n", true},
	        {"gate: [{run: r, name: b, timeout: 600s}, {name: a, run: r, needs: [b]}]\n", true},
	        {"gate: [{run: r, name: b, timeout: none}, {name: a, run: r, needs: [b]}]\n",
	                false},
	        {"gate: [{run: r , name: b}, {name: a, run: r, needs: []}]\n", false},
	        {"gate: [{name: a, run: r}, {run: r, name: b}]\n", false},
	        {"gate: [{run: 'r ', name: b}, {name: a, run: r, needs: [b]}]\n", false},
	        {"gate: [{run: r, name: b}]\n", false},
	};
	AUTOFREE char *first =
	        digest_of("gate: [{name: b, run: r}, {name: a, run: r, needs: [b]}]\n");

	(void)state;
	assert_int_equal(strlen(first), 64);
	assert_true(text_is_hex(first, 64));
	for (size_t i = 0; i < NELEMS(others); i++) {
		AUTOFREE char *other = digest_of(others[i].text);
		if ((strcmp(first, other) == 0) != others[i].same)
			fail_msg("%s", others[i].text);
	}
}

static void the_order_of_needs_means_nothing(void **state)
{
	AUTOFREE char *a = digest_of(
	        "gate: [{name: a, run: r}, {name: b, run: r}, {name: c, run: r, needs: [a, b]}]\n");
	AUTOFREE char *b = digest_of(
	        "gate: [{name: a, run: r}, {name: b, run: r}, {name: c, run: r, needs: [b, a]}]\n");

	(void)state;
	assert_string_equal(a, b);
}

static void the_worktrees_folder_follows_the_repositorys_place(void **state)
{
	static const struct {
		const char *key, *main, *dir;
	} places[] = {
	        {"../{repo}.worktrees", "/nowhere/p/app", "/nowhere/p/app.worktrees"},
	        {"../{repo}.worktrees", "/nowhere/p/app.git", "/nowhere/p/app.worktrees"},
	        {"../{repo}.worktrees", "/nowhere/app/.git", "/nowhere/app/app.worktrees"},
	        {"../{repo}.worktrees", "/nowhere/app/.bare", "/nowhere/app/app.worktrees"},
	        {"/srv/{repo}/{repo}", "/nowhere/app", "/srv/app/app"},
	        {".trees", "/nowhere/app", "/nowhere/app/.trees"},
	        {"./a/./b//c/", "/nowhere/app", "/nowhere/app/a/b/c"},
	        {"../../../../../x", "/nowhere/app", "/x"},
	        {"..", "/nowhere/app", "/nowhere"},
	        {"../..", "/nowhere/app", "/"},
	};

	(void)state;
	for (size_t i = 0; i < NELEMS(places); i++) {
		struct config c = {.worktrees = (char *)places[i].key};
		AUTOFREE char *dir = config_worktrees_dir(&c, places[i].main);
		assert_string_equal(dir, places[i].dir);
	}
}

static void worktrees_outside_need_trust(void **state)
{
	static const struct {
		const char *dir;
		bool trusted;
		enum err_code code;
	} cases[] = {
	        {"/p/app.worktrees", false, ERR_NONE},
	        {"/p", false, ERR_NONE},
	        {"/p/app/.trees", false, ERR_NONE},
	        {"/q", false, ERR_UNTRUSTED},
	        {"/pp/app", false, ERR_UNTRUSTED},
	        {"/q", true, ERR_NONE},
	        {"/p/app/.git/x", true, ERR_CONFIG_INVALID},
	        {"/p/app/.git", false, ERR_CONFIG_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < NELEMS(cases); i++) {
		struct git g = {.common = (char *)"/p/app/.git"};
		AUTOERR err = {0};
		if (cases[i].trusted) {
			strv_push(&g.config, "local");
			strv_push(&g.config, "abide.trusted");
			strv_push(&g.config, "true");
		}
		config_worktrees_check(&g, "/p/app", cases[i].dir, &err);
		strv_release(&g.config);
		assert_int_equal(err.code, cases[i].code);
	}
}

static void the_trunk_of_a_wrong_file_is_still_told(void **state)
{
	static const struct {
		const char *text, *trunk;
	} files[] = {
	        {"trunk: develop\nlanes: {clean: keep}\n", "develop"},
	        {"lanes: {trunk: no, a: [trunk, b]}\ntrunk: develop\n", "develop"},
	        {"gate: [{name: trunk, run: x}, trunk]\ntrunk: 'release/1'\nfoo: [\n", "release/1"},
	        {"? {trunk: a}\n: b\ntrunk: c\n", "c"},
	        {"trunk: a\ntrunk: b\n", "a"},
	        {"foo: trunk\nbar: develop\n", NULL},
	        {"trunk: {a: b}\nfoo: x\n", NULL},
	        {"trunk: [a]\nfoo: x\n", NULL},
	        {"trunk: *a\nfoo: x\n", NULL},
	        {"trunk:\nfoo: x\n", NULL},
	        {"trunk: -f\n", NULL},
	        {"trunk: \"a\\nb\"\n", NULL},
	        {"- trunk\n- develop\n", NULL},
	        {"trunk\n", NULL},
	        {"", NULL},
	        {"foo: [\ntrunk: develop\n", NULL},
	};

	(void)state;
	for (size_t i = 0; i < NELEMS(files); i++) {
		AUTOFREE char *trunk = config_peek_trunk(files[i].text, strlen(files[i].text));
		if (strcmp(trunk ? trunk : "-", files[i].trunk ? files[i].trunk : "-") != 0)
			fail_msg("%s: %s", files[i].text, trunk ? trunk : "-");
	}
}

/* Every row is reachable: its parent is there, its type has what it needs. */
static void the_table_is_whole(void **state)
{
	size_t n;
	const struct config_key *keys = config_keys(&n);

	(void)state;
	assert_true(n < 64);
	for (size_t i = 0; i < n; i++) {
		size_t parents = config_key_in(&keys[i], "");
		for (size_t k = 0; k < n; k++)
			parents += config_key_in(&keys[i], keys[k].path);
		if (parents != 1 || config_key_find(keys[i].path) != &keys[i] || !keys[i].help ||
		        !keys[i].want)
			fail_msg("%s", keys[i].path);
		assert_true(!keys[i].choices ==
		        (keys[i].type != CONFIG_BOOL && keys[i].type != CONFIG_CHOICE));
	}
}

/* What the reference page calls the default is what holds without the key. */
static void the_tables_defaults_are_those_that_hold(void **state)
{
	AUTOCONFIG c = {0};
	AUTOCONFIG job = {0};
	AUTOERR err = {0};
	AUTOJSON json_t *whole = NULL;
	size_t n;
	const struct config_key *keys = config_keys(&n);
	int64_t ms = 0;

	(void)state;
	config_defaults(&c);
	whole = config_json(&c, &c);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = config_json_value(whole, &keys[i]);
		const char *text = json_is_boolean(v) ? json_is_true(v) ? "true" : "false"
		                                      : json_string_value(v);
		if (strstr(keys[i].path, "[]") || keys[i].type == CONFIG_MAP)
			continue;
		if (strcmp(text ? text : "-", keys[i].by_default ? keys[i].by_default : "-") != 0)
			fail_msg("%s: %s", keys[i].path, text ? text : "-");
	}
	assert_int_equal(parse("gate: [{name: a, run: b}]\n", &job, &err), 0);
	assert_true(text_duration(config_key_find("gate[].timeout")->by_default, &ms));
	assert_int_equal(job.gate[0].timeout_ms, ms);
}

/* Whatever a proposal holds, the file that is written says just that. */
static void a_proposal_is_read_back_as_it_was(void **state)
{
	static const char *const words[] = {"true", "1.0", "it's-$x", "caf\xc3\xa9", "null", "a,b",
	        "#x", "&x", "@home", "%x", "\"q\"", "!x", "{a}", "a#b", "a: b", "- a", "a #b", "|",
	        "> x", "`id`", "a\tb", "\x1b[2J", "x ", "[ -d a ] || b", "\\", "on", "~", ".5",
	        "-1", "0x1", "a \\ b 'c' \"d\"", "? a", "a:", "a\rb"};
	struct proposed_job job = {.name = (char *)"j"};

	(void)state;
	for (size_t i = 0; i < NELEMS(words); i++) {
		struct proposal p = {.jobs = &job, .jobs_n = 1};
		AUTOCONFIG c = {0};
		AUTOERR err = {0};
		AUTOFREE char *text = NULL;
		job.run = (char *)words[i];
		strv_push(&p.setup, words[i]);
		strv_push(&p.copy, words[i]);
		text = proposal_yaml(&p, i % 2 ? "main" : "it's");
		if (config_key_find("copy[]")->ok(words[i]) && parse(text, &c, &err) < 0)
			fail_msg("%s: %s", words[i], err.message);
		if (c.gate_n) {
			assert_string_equal(c.gate[0].run, words[i]);
			assert_string_equal(c.setup.v[0], words[i]);
			assert_string_equal(c.copy.v[0], words[i]);
			assert_string_equal(c.trunk, i % 2 ? "main" : "it's");
		}
		strv_release(&p.setup);
		strv_release(&p.copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(an_absent_or_empty_file_means_defaults),
	        cmocka_unit_test(every_key_is_read),
	        cmocka_unit_test(each_wrong_file_is_refused_by_line_and_key),
	        cmocka_unit_test(size_and_count_are_capped),
	        cmocka_unit_test(the_gates_digest_is_stable),
	        cmocka_unit_test(the_digest_tells_gates_apart_and_nothing_else),
	        cmocka_unit_test(the_order_of_needs_means_nothing),
	        cmocka_unit_test(the_worktrees_folder_follows_the_repositorys_place),
	        cmocka_unit_test(worktrees_outside_need_trust),
	        cmocka_unit_test(the_trunk_of_a_wrong_file_is_still_told),
	        cmocka_unit_test(a_proposal_is_read_back_as_it_was),
	        cmocka_unit_test(the_table_is_whole),
	        cmocka_unit_test(the_tables_defaults_are_those_that_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
