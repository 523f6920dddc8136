#include "repo.h"

#include "project/receipt.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccc"

static const char good[] =
        "{\"abide_receipt\":1,\"branch\":\"fix\",\"head\":\"" A "\",\"tree\":\"" B
        "\",\"base\":\"" C "\",\"tip\":\"" A
        "\",\"strategy\":\"fast-forward\",\"trunk\":\"main\",\"gate_changed\":false,"
        "\"proof\":{\"gate_digest\":\"d\",\"jobs\":[{\"name\":\"t\",\"exit\":0,\"ms\":3}],"
        "\"finished_at\":1},\"accepted\":{\"by\":\"a\",\"surface\":\"cli\"},"
        "\"landed_at\":5,\"writer\":\"abide 1\",\"later\":[1]}";

/* The good receipt with KEY set to a JSON value, or removed (NULL). */
static char *with(const char *key, const char *value)
{
	AUTOJSON json_t *o = json_read(good, strlen(good), NULL);

	if (value)
		json_object_set_new(o, key, json_read(value, strlen(value), NULL));
	else
		json_object_del(o, key);
	return json_line(o);
}

static void a_good_note_is_read_with_its_unknown_keys(void **state)
{
	AUTORECEIPT r = {0};
	char *why = NULL;

	(void)state;
	assert_int_equal(receipt_parse(good, strlen(good), &r, &why), 0);
	assert_string_equal(r.branch, "fix");
	assert_string_equal(r.head.hex, A);
	assert_string_equal(r.tree.hex, B);
	assert_string_equal(r.base.hex, C);
	assert_string_equal(r.tip.hex, A);
	assert_string_equal(r.trunk, "main");
	assert_int_equal(r.landed_at, 5);
	assert_false(r.gate_changed);
	assert_non_null(json_object_get(r.raw, "later"));
}

/* WHY is what receipt_parse has to say of NOTE, in part. */
static void refused(const char *note, const char *part)
{
	AUTORECEIPT r = {0};
	AUTOFREE char *why = NULL;

	assert_int_equal(receipt_parse(note, strlen(note), &r, &why), 1);
	assert_non_null(why);
	if (!strstr(why, part))
		fail_msg("%s: said %s, not %s", note, why, part);
	assert_null(r.raw);
}

static void each_key_must_be_there_and_of_its_kind(void **state)
{
	static const struct {
		const char *key, *value;
	} cases[] = {
	        {"branch", NULL},
	        {"branch", "5"},
	        {"branch", "\"\""},
	        {"branch", "\"a b\""},
	        {"branch", "\"../x\""},
	        {"branch", "\"a\\u001b[2J\""},
	        {"branch", "\"/etc/passwd\""},
	        {"trunk", "\"a\\nb\""},
	        {"trunk", "null"},
	        {"head", "\"main\""},
	        {"head", "\"" A "00\""},
	        {"head", "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""},
	        {"tree", "[]"},
	        {"base", "\"--all\""},
	        {"tip", NULL},
	        {"strategy", "{}"},
	        {"gate_changed", "0"},
	        {"landed_at", "\"now\""},
	        {"landed_at", "-1"},
	        {"landed_at", "1.5"},
	        {"proof", NULL},
	        {"proof", "{\"gate_digest\":\"d\",\"jobs\":[7],\"finished_at\":1}"},
	        {"accepted", "\"me\""},
	        {"writer", NULL},
	};

	(void)state;
	for (size_t i = 0; i < NELEMS(cases); i++) {
		AUTOFREE char *note = with(cases[i].key, cases[i].value);
		AUTOFREE char *part = xasprintf("`%s`", cases[i].key);
		refused(note, part);
	}
}

static void what_is_no_receipt_says_so(void **state)
{
	AUTOFREE char *newer = with("abide_receipt", "2");
	AUTOFREE char *zero = with("abide_receipt", "0");
	AUTOFREE char *text = with("abide_receipt", "\"1\"");
	AUTOFREE char *twice = xasprintf("{\"head\":\"%s\",%s", A, good + 1);
	AUTOFREE char *deep = xmalloc(60001);

	(void)state;
	memset(deep, '[', 60000);
	deep[60000] = '\0';
	refused("", "empty");
	refused("Reviewed-by: someone\n", "no JSON object");
	refused("[]", "no JSON object");
	refused("{}", "no receipt");
	refused(newer, RECEIPT_NEWER);
	refused(zero, "no receipt");
	refused(text, "no receipt");
	refused(twice, "no JSON object");
	refused("{\"abide_receipt\":1,\"branch\":\"\xff\"}", "no JSON object");
	refused(deep, "no JSON object");
}

static void a_note_is_capped(void **state)
{
	AUTOBUF note = {0};
	AUTORECEIPT r = {0};
	char *why = NULL;

	(void)state;
	buf_puts(&note, good);
	while (note.len < RECEIPT_CAP)
		buf_putc(&note, ' ');
	assert_int_equal(receipt_parse(buf_str(&note), note.len, &r, &why), 0);
	receipt_release(&r);
	buf_putc(&note, ' ');
	refused(buf_str(&note), "larger");
}

static void merged_notes_are_read_line_by_line(void **state)
{
	AUTOFREE char *other = with("branch", "\"other\"");
	AUTOFREE char *newer = with("abide_receipt", "9");
	AUTOFREE char *both = xasprintf("%s\n\n%s\n", good, other);
	AUTOFREE char *appended = xasprintf("%s\n\nReviewed-by: somebody\n", good);
	AUTOFREE char *mixed = xasprintf("junk\n%s\n%s\n", newer, good);
	AUTOFREE char *only_newer = xasprintf("junk\n%s\n{}", newer);
	AUTORECEIPTS all = {0};
	AUTORECEIPT r = {0};
	AUTOFREE char *why = NULL;

	(void)state;
	assert_int_equal(receipt_parse_all(both, strlen(both), &all, &why), 0);
	assert_int_equal(all.n, 2);
	assert_string_equal(all.v[0].branch, "fix");
	assert_string_equal(all.v[1].branch, "other");
	assert_int_equal(receipt_parse(appended, strlen(appended), &r, &why), 0);
	receipt_release(&r);
	assert_int_equal(receipt_parse(mixed, strlen(mixed), &r, &why), 0);
	refused(only_newer, RECEIPT_NEWER);
}

static void a_name_that_is_no_utf8_is_read_by_its_bytes(void **state)
{
	AUTOFREE char *note = with("branch_bytes", "\"Y2Fm6Q==\"");
	AUTOFREE char *nul = with("branch_bytes", "\"YQBi\"");
	AUTOFREE char *odd = with("branch_bytes", "\"Y2F=6Q==\"");
	AUTORECEIPT r = {0};
	char *why = NULL;

	(void)state;
	assert_int_equal(receipt_parse(note, strlen(note), &r, &why), 0);
	assert_string_equal(r.branch, "caf\xe9");
	refused(nul, "`branch`");
	refused(odd, "`branch`");
}

static void a_receipt_counts_for_its_commit_tree_and_trunk(void **state)
{
	AUTORECEIPT r = {0};
	char *why = NULL;
	struct oid a, b, c;

	(void)state;
	oid_parse(&a, A);
	oid_parse(&b, B);
	oid_parse(&c, C);
	assert_int_equal(receipt_parse(good, strlen(good), &r, &why), 0);
	assert_null(receipt_check(&r, &a, &b, "main"));
	assert_non_null(receipt_check(&r, &c, &b, "main"));
	assert_non_null(receipt_check(&r, &a, &c, "main"));
	assert_non_null(receipt_check(&r, &a, &b, "master"));
}

/* --- In a repository --------------------------------------------------------- */

/* The text of a receipt of BRANCH's landing at HEAD from BASE (revisions). */
static char *text_of(const char *branch, const char *head, const char *base, int at)
{
	AUTOJSON json_t *o = json_read(good, strlen(good), NULL);
	AUTOFREE char *tree = xasprintf("%s^{tree}", head);

	json_object_set_new(o, "branch", json_string(branch));
	json_object_set_new(o, "head", json_string(oid_of(head).hex));
	json_object_set_new(o, "tip", json_string(oid_of(head).hex));
	json_object_set_new(o, "tree", json_string(oid_of(tree).hex));
	json_object_set_new(o, "base", json_string(oid_of(base).hex));
	json_object_set_new(o, "landed_at", json_integer(at));
	return json_line(o);
}

/* Puts it on CARRIER, by a path of the notes tree that git itself chooses. */
static void attach(const char *carrier, const char *text)
{
	AUTOFREE char *quoted = text_shell_quote(text);

	RUN("printf '%%s\\n' %s | git notes --ref=refs/notes/abide add -f -F - %s", quoted,
	        carrier);
}

static void note(const char *branch, const char *head, const char *base, int at)
{
	AUTOFREE char *text = text_of(branch, head, base, at);

	attach(head, text);
}

/* Five commits on main, tags c1 to c5, and a side commit. */
static int repository(void **state)
{
	(void)state;
	if (repo_make("") < 0)
		return -1;
	RUN("for i in 1 2 3 4 5; do echo $i >f; git add f; git commit -q -m c$i;"
	    " git tag c$i; done;"
	    "git checkout -q --detach c2; echo s >s; git add s; git commit -q -m side;"
	    " git tag side; git checkout -q main");
	return 0;
}

/* What both ways find for BRANCH: "" or the commit's id. FROM "" for all. */
static void finds(const char *from, const char *branch, const char *rev)
{
	AUTOGIT g = {0};
	AUTOERR err = {0};
	struct oid a = {0}, to = oid_of("main"), want = {0};
	AUTORECEIPT by_range = {0};
	AUTORECEIPT by_tree = {0};
	int rc;

	assert_int_equal(git_open(repo_dir, &g, &err), 0);
	if (*from)
		a = oid_of(from);
	if (*rev)
		want = oid_of(rev);
	rc = receipt_find(&g, "main", &a, &to, branch, &by_range, NULL, &err);
	if (rc < 0)
		fail_msg("%s", err.message);
	assert_int_equal(rc, *rev ? 0 : 1);
	assert_string_equal(by_range.head.hex, want.hex);
	if (*from)
		return;
	rc = receipt_newest(&g, "main", &to, branch, &by_tree, NULL, &err);
	if (rc < 0)
		fail_msg("%s", err.message);
	assert_int_equal(rc, *rev ? 0 : 1);
	assert_string_equal(by_tree.head.hex, want.hex);
}

static void none_where_there_are_no_notes(void **state)
{
	(void)state;
	finds("", "fix", "");
	finds("c2", NULL, "");
}

static void the_newest_in_trunk_history_is_found(void **state)
{
	(void)state;
	note("fix", "c2", "c1", 10);
	note("fix", "c4", "c3", 30);
	note("other", "c5", "c4", 40);
	finds("", "fix", "c4");
	finds("", "other", "c5");
	finds("", NULL, "c5");
	finds("", "nobody", "");
	finds("c3", "fix", "c4");
	finds("c4", "fix", "");
	finds("c1", "fix", "c4");
}

static void a_note_off_the_trunk_proves_nothing(void **state)
{
	(void)state;
	note("fix", "side", "c2", 10);
	finds("", "fix", "");
}

static void a_note_that_names_another_commit_proves_nothing(void **state)
{
	AUTOFREE char *text = text_of("fix", "c3", "c2", 10);

	(void)state;
	attach("c4", text);
	finds("", "fix", "");
}

static void a_base_that_is_no_ancestor_proves_nothing(void **state)
{
	AUTOFREE char *text = text_of("fix", "c4", "c3", 10);
	AUTOJSON json_t *o = json_read(text, strlen(text), NULL);
	AUTOFREE char *missing = NULL;

	(void)state;
	note("fix", "c3", "c5", 10);
	finds("", "fix", "");
	finds("c2", "fix", "");
	note("fix", "c3", "side", 10);
	finds("", "fix", "");
	finds("c2", "fix", "");
	/* Neither does a base that is no object at all. */
	json_object_set_new(o, "base", json_string(A));
	missing = json_line(o);
	attach("c4", missing);
	finds("", "fix", "");
	finds("c3", "fix", "");
}

static void a_base_before_the_range_is_asked_for(void **state)
{
	(void)state;
	note("fix", "c4", "c1", 10);
	finds("c2", "fix", "c4");
	finds("c3", "fix", "c4");
	finds("", "fix", "c4");
}

static void the_users_settings_do_not_count(void **state)
{
	(void)state;
	note("fix", "c3", "c2", 10);
	RUN("git notes --ref=refs/notes/more add -m more c3;"
	    "git config notes.displayRef 'refs/notes/*'; git config core.notesRef "
	    "refs/notes/more;"
	    "git config log.showSignature true; git config color.ui always;"
	    "git config log.decorate full; git config format.pretty oneline;"
	    "git config grep.lineNumber true; git config grep.column true;"
	    "git config grep.fullName false; git config i18n.logOutputEncoding ISO-8859-1");
	finds("", "fix", "c3");
	finds("c2", "fix", "c3");
}

static void any_fan_out_is_read(void **state)
{
	AUTOFREE char *text = text_of("fix", "c3", "c2", 10);
	AUTOFREE char *quoted = text_shell_quote(text);

	(void)state;
	/* A tree as a large notes ref has it, with a file that is no note beside. */
	RUN("blob=$(printf '%%s' %s | git hash-object -w --stdin); h=$(git rev-parse c3);"
	    "export GIT_INDEX_FILE=$PWD/.git/x;"
	    "git update-index --add --cacheinfo"
	    " 100644,$blob,$(echo $h | sed 's!^\\(..\\)\\(..\\)!\\1/\\2/!');"
	    "git update-index --add --cacheinfo 100644,$blob,README;"
	    "git update-index --add --cacheinfo 100644,$blob,zz/zz/nothing;"
	    "git update-ref refs/notes/abide"
	    " $(git commit-tree -m notes $(git write-tree))",
	        quoted);
	finds("", "fix", "c3");
	finds("c2", "fix", "c3");
}

static void hostile_notes_neither_lie_nor_stand_in_the_way(void **state)
{
	AUTOFREE char *lie = text_of("fix", "c5", "c4", 99);

	(void)state;
	note("fix", "c3", "c2", 10);
	/* A note that tries to look like the record of another commit. */
	RUN("printf 'x\\0%s\\0%s\\0%s\\0%s\\0' >n; printf 'refs/notes/abide:%s\\0%s\\n' >>n;"
	    "b=$(git hash-object -w n); git notes --ref=refs/notes/abide add -f -C $b c2",
	        oid_of("c5").hex, oid_of("c4").hex, oid_of("c5^{tree}").hex, lie, oid_of("c5").hex,
	        lie);
	finds("", "fix", "c3");
	finds("c1", "fix", "c3");
	/* One that is larger than any receipt, and one larger than abide reads at once. */
	RUN("head -c 70000 /dev/zero | tr '\\0' 'x' >n;"
	    "git notes --ref=refs/notes/abide add -f -F n c4");
	finds("", "fix", "c3");
	RUN("head -c 17000000 /dev/zero | tr '\\0' 'x' >n; b=$(git hash-object -w n);"
	    "git notes --ref=refs/notes/abide add -f -C $b c4");
	finds("", "fix", "c3");
	finds("c1", "fix", "c3");
}

static void a_newer_receipt_is_told(void **state)
{
	AUTOFREE char *text = text_of("fix", "c3", "c2", 10);
	AUTOJSON json_t *o = json_read(text, strlen(text), NULL);
	AUTOFREE char *line = NULL;
	AUTOSTRV warnings = {0};
	AUTOGIT g = {0};
	AUTOERR err = {0};
	AUTORECEIPT r = {0};
	struct oid none = {{0}}, to;

	(void)state;
	json_object_set_new(o, "abide_receipt", json_integer(2));
	line = json_line(o);
	attach("c3", line);
	to = oid_of("main");
	assert_int_equal(git_open(repo_dir, &g, &err), 0);
	assert_int_equal(receipt_find(&g, "main", &none, &to, "fix", &r, &warnings, &err), 1);
	assert_int_equal(warnings.n, 1);
	assert_int_equal(receipt_newest(&g, "main", &to, "fix", &r, &warnings, &err), 1);
	assert_int_equal(warnings.n, 2);
	assert_non_null(strstr(warnings.v[1], "newer"));
}

static void a_note_that_a_partial_clone_lacks_is_not_there(void **state)
{
	AUTOFREE char *blob = NULL;

	(void)state;
	note("fix", "c3", "c2", 10);
	note("fix", "c4", "c3", 20);
	blob = sh("git notes --ref=refs/notes/abide list c4");
	RUN("rm -f .git/objects/%.2s/%s; git config remote.origin.url /nowhere;"
	    "git config remote.origin.promisor true;"
	    "git config remote.origin.partialclonefilter blob:none",
	        blob, blob + 2);
	finds("", "fix", "c3");
	finds("c2", "fix", "c3");
	finds("c3", "fix", "");
}

int main(void)
{
#define REPO(f) cmocka_unit_test_setup_teardown(f, repository, repo_remove)
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_good_note_is_read_with_its_unknown_keys),
	        cmocka_unit_test(each_key_must_be_there_and_of_its_kind),
	        cmocka_unit_test(what_is_no_receipt_says_so),
	        cmocka_unit_test(a_note_is_capped),
	        cmocka_unit_test(merged_notes_are_read_line_by_line),
	        cmocka_unit_test(a_name_that_is_no_utf8_is_read_by_its_bytes),
	        cmocka_unit_test(a_receipt_counts_for_its_commit_tree_and_trunk),
	        REPO(none_where_there_are_no_notes),
	        REPO(the_newest_in_trunk_history_is_found),
	        REPO(a_note_off_the_trunk_proves_nothing),
	        REPO(a_note_that_names_another_commit_proves_nothing),
	        REPO(a_base_that_is_no_ancestor_proves_nothing),
	        REPO(a_base_before_the_range_is_asked_for),
	        REPO(the_users_settings_do_not_count),
	        REPO(any_fan_out_is_read),
	        REPO(hostile_notes_neither_lie_nor_stand_in_the_way),
	        REPO(a_newer_receipt_is_told),
	        REPO(a_note_that_a_partial_clone_lacks_is_not_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
