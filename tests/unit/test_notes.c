#include "repo.h"

#include "git/notes.h"

static const char ref[] = "refs/notes/abide";

static int repository_of(const char *options)
{
	if (repo_make(options) < 0)
		return -1;
	RUN("git commit -q --allow-empty -m c1; git tag c1;"
	    "git commit -q --allow-empty -m c2; git tag c2");
	return 0;
}

static int repository(void **state)
{
	(void)state;
	return repository_of("");
}

static int sha256(void **state)
{
	(void)state;
	return repository_of("--object-format=sha256");
}

/* Appends a line to the note of a commit: loses nothing only with its own read. */
struct line {
	const struct git *g;
	struct oid commit;
	const char *text; /* NULL: remove the note */
};

static int append(void *ctx, const struct oid *at, struct git_note_list *ret, struct err *err)
{
	const struct line *l = ctx;
	AUTOBUF note = {0};

	if (git_note_read(l->g, at, &l->commit, 65536, &note, err) < 0)
		return -1;
	if (l->text)
		buf_printf(&note, "%s\n", l->text);
	git_note_list_push(ret, &l->commit, l->text ? buf_str(&note) : "");
	return 0;
}

static int write_line(const char *rev, const char *text, struct err *err)
{
	AUTOGIT g = {0};
	AUTOFREE char *lock = NULL;
	struct line l = {.g = &g, .text = text};

	l.commit = oid_of(rev);
	if (git_open(repo_dir, &g, err) < 0)
		return -1;
	lock = path_join(g.common, "writers.lck");
	return git_notes_change(&g, ref, lock, "A line", append, &l, err);
}

static void note_is(const char *rev, const char *want)
{
	AUTOFREE char *is = sh("git notes --ref=%s show %s 2>/dev/null || true", ref, rev);

	assert_string_equal(is, want);
}

static void a_note_is_written_read_and_removed(void **state)
{
	AUTOERR err = {0};

	(void)state;
	assert_int_equal(write_line("c1", "one", &err), 0);
	assert_int_equal(write_line("c2", "{\"a\":\"\xc3\xa9\"}", &err), 0);
	note_is("c1", "one");
	note_is("c2", "{\"a\":\"\xc3\xa9\"}");
	assert_int_equal(write_line("c1", "two", &err), 0);
	note_is("c1", "one\ntwo");
	assert_int_equal(write_line("c1", NULL, &err), 0);
	note_is("c1", "");
	note_is("c2", "{\"a\":\"\xc3\xa9\"}");
	/* Removing what is not there is success. */
	assert_int_equal(write_line("c1", NULL, &err), 0);
}

static void it_is_read_whatever_the_fan_out(void **state)
{
	AUTOGIT g = {0};
	AUTOERR err = {0};
	AUTOBUF note = {0};
	struct oid commit;

	(void)state;
	RUN("b=$(echo deep | git hash-object -w --stdin); h=$(git rev-parse c1);"
	    "export GIT_INDEX_FILE=$PWD/.git/x; git update-index --add --cacheinfo"
	    " 100644,$b,$(echo $h | sed 's!^\\(..\\)\\(..\\)!\\1/\\2/!');"
	    "git update-ref %s $(git commit-tree -m n $(git write-tree))",
	        ref);
	commit = oid_of("c1");
	assert_int_equal(git_open(repo_dir, &g, &err), 0);
	assert_int_equal(git_note_read(&g, &(struct oid){"x"}, &commit, 100, &note, &err), 0);
	assert_string_equal(buf_str(&note), "");
	{
		struct oid at = oid_of(ref);
		assert_int_equal(git_note_read(&g, &at, &commit, 100, &note, &err), 0);
		assert_string_equal(buf_str(&note), "deep\n");
		/* What is larger than wanted is as good as not there. */
		assert_int_equal(git_note_read(&g, &at, &commit, 3, &note, &err), 0);
		assert_string_equal(buf_str(&note), "");
	}
}

static void nothing_is_left_where_it_cannot_be_written(void **state)
{
	AUTOERR err = {0};
	AUTOFREE char *left = NULL;

	(void)state;
	RUN("printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/reference-transaction;"
	    "chmod +x .git/hooks/reference-transaction");
	assert_int_equal(write_line("c1", "one", &err), -1);
	assert_int_equal(err.code, ERR_WRITE_DENIED);
	left = sh("ls .git | grep -e crash -e lock || true");
	assert_string_equal(left, "");
	RUN("rm .git/hooks/reference-transaction");
	note_is("c1", "");
}

static void a_writer_without_a_name_writes_all_the_same(void **state)
{
	AUTOERR err = {0};

	(void)state;
	RUN("git config --unset user.name; git config --unset user.email;"
	    "git config user.useConfigOnly true");
	assert_int_equal(write_line("c1", "one", &err), 0);
	note_is("c1", "one");
}

/* Writers of the same ref, all at once: 20 processes, 5 notes each. */
enum { WRITERS = 20, NOTES = 5 };

static const char *self;

static int writer(const char *where, const char *name)
{
	AUTOERR err = {0};
	AUTOGIT g = {0};
	AUTOFREE char *lock = NULL;
	struct oid c[2];

	if (git_open(where, &g, &err) < 0 ||
	        git_refs(&g, (const char *const[]){"refs/tags/c1", "refs/tags/c2", NULL}, c, &err) <
	                0)
		return 1;
	lock = path_join(g.common, "writers.lck");
	for (int i = 0; i < NOTES; i++) {
		AUTOFREE char *text = xasprintf("%s-%d", name, i);
		struct line l = {.g = &g, .commit = c[i % 2], .text = text};

		if (git_notes_change(&g, ref, lock, "A line", append, &l, &err) < 0) {
			fprintf(stderr, "%s\n", err.message);
			return 1;
		}
	}
	return 0;
}

static void many_writers_lose_nothing(void **state)
{
	struct proc writers[WRITERS] = {0}, *list[WRITERS];
	const char *argv[WRITERS][4];
	char name[WRITERS][16];
	AUTOERR err = {0};
	AUTOFREE char *lines = NULL;

	(void)state;
	for (int i = 0; i < WRITERS; i++) {
		snprintf(name[i], sizeof(name[i]), "w%d", i);
		memcpy(argv[i], ((const char *[]){self, repo_dir, name[i], NULL}), sizeof(argv[i]));
		writers[i].argv = argv[i];
		list[i] = &writers[i];
	}
	assert_int_equal(proc_run_all(list, WRITERS, &err), 0);
	for (int i = 0; i < WRITERS; i++) {
		if (writers[i].status)
			fail_msg("%s", buf_str(&writers[i].err));
		proc_release(&writers[i]);
	}
	lines = sh("(git notes --ref=%s show c1; git notes --ref=%s show c2) | sort -u | wc -l",
	        ref, ref);
	assert_int_equal(atoi(lines), WRITERS * NOTES);
}

int main(int argc, char **argv)
{
#define REPO(f) cmocka_unit_test_setup_teardown(f, repository, repo_remove)
#define SHA(f) cmocka_unit_test_setup_teardown(f, sha256, repo_remove)
	const struct CMUnitTest tests[] = {
	        REPO(a_note_is_written_read_and_removed),
	        SHA(a_note_is_written_read_and_removed),
	        REPO(it_is_read_whatever_the_fan_out),
	        REPO(nothing_is_left_where_it_cannot_be_written),
	        REPO(a_writer_without_a_name_writes_all_the_same),
	        REPO(many_writers_lose_nothing),
	};
	self = argv[0];
	if (argc == 3)
		return writer(argv[1], argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
