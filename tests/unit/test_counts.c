#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "git/git.h"

static char dir[64];

static int make_repo(void **state)
{
	AUTOPROC p = {.argv = (const char *const[]){"git", "init", "-q", "-b", "main", dir, NULL}};

	(void)state;
	strcpy(dir, "/tmp/abide-unit-XXXXXX");
	return mkdtemp(dir) && proc_run(&p, NULL) == 0 && p.status == 0 ? 0 : -1;
}

static int remove_repo(void **state)
{
	(void)state;
	return fs_remove_tree(dir, NULL);
}

static void import(const struct buf *stream)
{
	AUTOPROC p = {
	        .argv = (const char *const[]){"git", "-C", dir, "fast-import", "--quiet", NULL},
	        .in = buf_str(stream),
	        .in_len = stream->len};

	assert_int_equal(proc_run(&p, NULL), 0);
	if (p.status != 0)
		fail_msg("%s", buf_str(&p.err));
}

/* Commit MARK on REF at time WHEN with parents, 0-terminated marks. */
static void commit(struct buf *s, const char *ref, int mark, long when, const int *parents)
{
	buf_printf(s, "commit refs/heads/%s\nmark :%d\ncommitter a <a@b> %ld +0000\ndata 1\nx\n",
	        ref, mark, when);
	for (int i = 0; parents[i]; i++)
		buf_printf(s, "%s :%d\n", i ? "merge" : "from", parents[i]);
	buf_printf(s, "\n");
}

/* What the walk says must be what git says of each branch alone. */
static void compare_with_git(void)
{
	static const char *const heads[] = {"refs/heads/", NULL};
	AUTOGIT g = {0};
	AUTOREFS refs = {0};
	AUTOFREE struct git_count *v = NULL;
	struct oid trunk = {0};

	assert_int_equal(git_open(dir, &g, NULL), 0);
	assert_int_equal(git_refs_under(&g, heads, &refs, NULL), 0);
	v = xcalloc(refs.n + 1, sizeof(*v));
	for (size_t i = 0; i < refs.n; i++) {
		v[i].tip = refs.v[i].oid;
		if (strcmp(refs.v[i].name, "refs/heads/main") == 0)
			trunk = refs.v[i].oid;
	}
	/* An unborn branch has no tip. */
	assert_int_equal(git_counts(&g, &trunk, v, refs.n + 1, NULL), 0);
	assert_false(v[refs.n].known);
	for (size_t i = 0; i < refs.n; i++) {
		int64_t ahead, behind;
		assert_int_equal(git_ahead_behind(&g, &v[i].tip, &trunk, &ahead, &behind, NULL), 0);
		if (!v[i].known || v[i].ahead != ahead || v[i].behind != behind)
			fail_msg("%s: %d, +%d -%d, not +%d -%d", refs.v[i].name, v[i].known,
			        (int)v[i].ahead, (int)v[i].behind, (int)ahead, (int)behind);
	}
}

static void counts_of_simple_shapes(void **state)
{
	AUTOBUF s = {0};

	(void)state;
	commit(&s, "main", 1, 100, (int[]){0});
	commit(&s, "main", 2, 200, (int[]){1, 0});
	commit(&s, "main", 3, 300, (int[]){2, 0});
	commit(&s, "fresh", 4, 310, (int[]){3, 0});
	commit(&s, "old", 5, 320, (int[]){1, 0});
	commit(&s, "old", 6, 330, (int[]){5, 0});
	commit(&s, "merged", 7, 340, (int[]){6, 3, 0});
	commit(&s, "stranger", 8, 350, (int[]){0});
	buf_puts(&s, "reset refs/heads/same\nfrom :3\n\nreset refs/heads/behind\nfrom :1\n\n");
	import(&s);
	compare_with_git();
}

/* Clocks that go wrong must not make a count wrong. */
static void counts_with_skewed_clocks(void **state)
{
	AUTOBUF s = {0};

	(void)state;
	commit(&s, "main", 1, 1000, (int[]){0});
	for (int i = 2; i < 40; i++)
		commit(&s, "main", i, i % 7 ? 1000 - 20 * i : 5000 + i, (int[]){i - 1, 0});
	commit(&s, "a", 50, 10, (int[]){5, 0});
	commit(&s, "a", 51, 9000, (int[]){50, 0});
	commit(&s, "a", 52, 20, (int[]){51, 30, 0});
	commit(&s, "b", 53, 20, (int[]){39, 50, 0});
	import(&s);
	compare_with_git();
}

/* More than one batch of commits, more than one walk of tips. */
static void counts_of_many(void **state)
{
	AUTOBUF s = {0};
	char name[32];

	(void)state;
	commit(&s, "main", 1, 1, (int[]){0});
	for (int i = 2; i <= 1500; i++)
		commit(&s, "main", i, i, (int[]){i - 1, 0});
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "b%d", i);
		commit(&s, name, 2000 + i, 2000, (int[]){1 + 5 * (i % 60), 0});
	}
	import(&s);
	{
		AUTOGIT g = {0};
		static struct git_count v[301];
		AUTOREFS refs = {0};
		struct oid trunk;

		assert_int_equal(git_open(dir, &g, NULL), 0);
		assert_int_equal(
		        git_refs(&g, (const char *const[]){"refs/heads/main", NULL}, &trunk, NULL),
		        0);
		assert_int_equal(
		        git_refs_under(&g, (const char *const[]){"refs/heads/", NULL}, &refs, NULL),
		        0);
		assert_int_equal(refs.n, 301);
		for (size_t i = 0; i < refs.n; i++)
			v[i].tip = refs.v[i].oid;
		assert_int_equal(git_counts(&g, &trunk, v, 301, NULL), 0);
		for (size_t i = 0; i < refs.n; i++) {
			int k = atoi(refs.v[i].name + strlen("refs/heads/b"));
			bool main = strstr(refs.v[i].name, "main");
			assert_true(v[i].known);
			assert_int_equal(v[i].ahead, main ? 0 : 1);
			assert_int_equal(v[i].behind, main ? 0 : 1500 - (1 + 5 * (k % 60)));
		}
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_repo, remove_repo)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        T(counts_of_simple_shapes),
	        T(counts_with_skewed_clocks),
	        T(counts_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
