#include "cmocka_all.h"

#include <stdlib.h>

#include "base/base.h"

/* The environment for children is read once: each look is made in a process of its own. */
static int set_up(void **state)
{
	(void)state;
	setenv("GIT_DIR", "/nowhere", 1);
	setenv("GIT_WORK_TREE", "/nowhere", 1);
	setenv("GIT_INDEX_FILE", "/nowhere", 1);
	setenv("GIT_OBJECT_DIRECTORY", "/nowhere", 1);
	setenv("GIT_CONFIG_PARAMETERS", "'core.bare=true'", 1);
	setenv("GIT_NAMESPACE", "other", 1);
	setenv("GIT_OPTIONAL_LOCKS", "1", 1);
	setenv("GIT_CONFIG_COUNT", "1", 1);
	setenv("GIT_CONFIG_KEY_0", "safe.directory", 1);
	setenv("GIT_CONFIG_VALUE_0", "*", 1);
	setenv("GIT_AUTHOR_NAME", "Somebody", 1);
	setenv("GIT_DIRECTORY_OF_MINE", "kept", 1);
	setenv("LC_ALL", "de_DE.UTF-8", 1);
	return 0;
}

static const char *in_list(char *const *list, const char *name)
{
	size_t len = strlen(name);
	const char *found = NULL;

	for (; *list; list++) {
		if (strncmp(*list, name, len) != 0 || (*list)[len] != '=')
			continue;
		if (found)
			fail_msg("%s is there twice", name);
		found = *list + len + 1;
	}
	return found;
}

static void children_lose_what_tells_git_its_repository(void **state)
{
	static const char *const lists[] = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
	        "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_PARAMETERS", "GIT_NAMESPACE"};

	(void)state;
	for (int pins = 0; pins < 2; pins++) {
		char **env = env_for_children(pins);
		for (size_t i = 0; i < NELEMS(lists); i++)
			assert_null(in_list(env, lists[i]));
		assert_string_equal(in_list(env, "GIT_CONFIG_COUNT"), "1");
		assert_string_equal(in_list(env, "GIT_CONFIG_KEY_0"), "safe.directory");
		assert_string_equal(in_list(env, "GIT_AUTHOR_NAME"), "Somebody");
		assert_string_equal(in_list(env, "GIT_DIRECTORY_OF_MINE"), "kept");
	}
}

static void every_variable_that_git_calls_local_is_dropped(void **state)
{
	AUTOPROC p = {.argv = (const char *const[]){"git", "rev-parse", "--local-env-vars", NULL}};
	AUTOFREE char *me = path_real("/proc/self/exe");
	AUTOFREE char *path = xasprintf("PATH=%s", getenv("PATH"));
	char *at, *name;

	(void)state;
	assert_int_equal(proc_run(&p, NULL), 0);
	assert_true(p.out.len > 100);
	for (name = strtok_r(p.out.data, "\n", &at); name; name = strtok_r(NULL, "\n", &at)) {
		AUTOFREE char *entry = xasprintf("%s=x", name);
		AUTOPROC self = {
		        .argv = (const char *const[]){me, name, NULL},
		        .env = (char *[]){entry, path, NULL},
		};
		/* How clients pass safe.directory. */
		if (strcmp(name, "GIT_CONFIG_COUNT") == 0)
			continue;
		assert_int_equal(proc_run(&self, NULL), 0);
		if (self.status != 0)
			fail_msg("%s reaches children", name);
	}
}

static void gits_pins_are_for_git_alone(void **state)
{
	char **git = env_for_children(true);
	char **other = env_for_children(false);

	(void)state;
	assert_string_equal(in_list(git, "GIT_OPTIONAL_LOCKS"), "0");
	assert_string_equal(in_list(git, "GIT_TERMINAL_PROMPT"), "0");
	assert_string_equal(in_list(git, "GIT_NO_LAZY_FETCH"), "1");
	assert_string_equal(in_list(git, "LC_ALL"), "C");
	assert_string_equal(in_list(other, "GIT_OPTIONAL_LOCKS"), "1");
	assert_string_equal(in_list(other, "LC_ALL"), "de_DE.UTF-8");
}

static void what_abide_gives_replaces_what_was_there(void **state)
{
	AUTOSTRV env = {0};

	(void)state;
	setenv("ABIDE_ID", "outer", 1);
	env_with(&env, (const char *const[]){"ABIDE_ID=inner", "ABIDE_NEW=1", NULL});
	assert_string_equal(in_list(env.v, "ABIDE_NEW"), "1");
	assert_string_equal(in_list(env.v, "ABIDE_ID"), "inner");
	assert_null(in_list(env.v, "GIT_DIR"));
	unsetenv("ABIDE_ID");
}

static long experiment(const char *present, const char *older)
{
	unsetenv("ABIDE_EXPERIMENTAL_AWAIT_CALL_SECONDS");
	unsetenv("DISCERN_EXPERIMENTAL_AWAIT_CALL_SECONDS");
	if (present)
		setenv("ABIDE_EXPERIMENTAL_AWAIT_CALL_SECONDS", present, 1);
	if (older)
		setenv("DISCERN_EXPERIMENTAL_AWAIT_CALL_SECONDS", older, 1);
	return env_experiment(ENV_EXP_AWAIT_CALL_SECONDS);
}

static void a_valued_experiment_takes_positive_whole_numbers(void **state)
{
	static const char *const off[] = {"0", "-3", "1.5", "3s", "", " 3", "3 ", "+3", "1e3",
	        "0x10", "many", "99999999999999999999", "9223372036854775807"};

	(void)state;
	assert_int_equal(experiment(NULL, NULL), 0);
	assert_int_equal(experiment("1", NULL), 1);
	assert_int_equal(experiment("240", NULL), 240);
	for (size_t i = 0; i < NELEMS(off); i++)
		if (experiment(off[i], NULL) != 0)
			fail_msg("`%s` is on", off[i]);
}

static void the_older_name_counts_only_when_the_present_one_is_not_set_at_all(void **state)
{
	(void)state;
	assert_int_equal(experiment(NULL, "90"), 90);
	assert_int_equal(experiment("60", "90"), 60);
	assert_int_equal(experiment("", "90"), 0);
	assert_int_equal(experiment("nope", "90"), 0);
	assert_int_equal(experiment("0", "90"), 0);
}

static void a_variable_that_is_set_and_empty_is_no_text(void **state)
{
	(void)state;
	setenv("ABIDE_TRUNK", "", 1);
	assert_string_equal(env_get(ENV_TRUNK), "");
	assert_null(env_text(ENV_TRUNK));
	setenv("ABIDE_TRUNK", "dev", 1);
	assert_string_equal(env_text(ENV_TRUNK), "dev");
	unsetenv("ABIDE_TRUNK");
	assert_null(env_get(ENV_TRUNK));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(children_lose_what_tells_git_its_repository),
	        cmocka_unit_test(every_variable_that_git_calls_local_is_dropped),
	        cmocka_unit_test(gits_pins_are_for_git_alone),
	        cmocka_unit_test(what_abide_gives_replaces_what_was_there),
	        cmocka_unit_test(a_valued_experiment_takes_positive_whole_numbers),
	        cmocka_unit_test(the_older_name_counts_only_when_the_present_one_is_not_set_at_all),
	        cmocka_unit_test(a_variable_that_is_set_and_empty_is_no_text),
	};

	/* Started again by a test: does the variable named reach children? */
	if (argc == 2) {
		AUTOPROC p = {.argv = (const char *const[]){"env", NULL}};
		AUTOFREE char *entry = xasprintf("%s=", argv[1]);
		return proc_run(&p, NULL) < 0 || strstr(buf_str(&p.out), entry) ? 1 : 0;
	}
	return cmocka_run_group_tests(tests, set_up, NULL);
}
