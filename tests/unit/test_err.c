#include "cmocka_all.h"

#include "base/base.h"

/* The slugs that are promised; the table holds these and no other. */
static const char *const promised[] = {"invalid_arguments", "no_repository", "no_trunk",
        "unknown_target", "ambiguous_target", "not_on_task", "dirty_worktree", "behind_trunk",
        "conflict", "gate_red", "gate_undefined", "busy", "trunk_parked", "worktree_locked",
        "worktree_missing", "worktree_tampered", "would_lose", "no_commits", "gate_infrastructure",
        "gate_dirtied", "gate_changed", "interrupted", "cancelled", "signing_failed",
        "approval_required", "ask_closed", "ticket_lost", "untrusted", "config_invalid",
        "client_file_invalid", "git_unsupported", "handle_malformed", "handle_unknown",
        "handle_expired", "newer_format", "read_failed", "write_denied", "git_failed",
        "unauthorized", "already_decided", "loop_running", "internal"};

static void the_table_holds_the_promised_slugs_once_each(void **state)
{
	bool seen[ERR_COUNT] = {0};

	(void)state;
	assert_int_equal(NELEMS(promised), ERR_COUNT - 1);
	for (size_t i = 0; i < NELEMS(promised); i++) {
		enum err_code code = err_from_slug(promised[i]);
		if (code == ERR_NONE)
			fail_msg("no code has the slug %s", promised[i]);
		assert_string_equal(err_slug(code), promised[i]);
		assert_false(seen[code]);
		seen[code] = true;
	}
	assert_int_equal(err_from_slug("nope"), ERR_NONE);
	assert_int_equal(err_from_slug(""), ERR_NONE);
}

static void every_code_has_a_status_and_a_meaning(void **state)
{
	(void)state;
	for (int code = ERR_NONE + 1; code < ERR_COUNT; code++) {
		int status = err_exit_status(code);
		int want = code == ERR_INVALID_ARGUMENTS ? 2 : code == ERR_INTERNAL ? 70 : 1;
		assert_int_equal(status, want);
		assert_true(strlen(err_meaning(code)) > 10);
	}
	assert_int_equal(err_exit_status(ERR_COUNT), 70);
	assert_string_equal(err_slug(ERR_NONE), "internal");
	assert_true(err_retryable(ERR_BUSY));
	assert_false(err_retryable(ERR_INVALID_ARGUMENTS));
}

static void an_error_is_filled_once_and_moves(void **state)
{
	AUTOERR a = {0};
	AUTOERR b = {0};

	(void)state;
	assert_int_equal(err_set(&a, ERR_BUSY, "Held by %d.", 7), -1);
	err_hint(&a, "Run `%s`.", "abide status");
	err_data(&a, "pid", json_integer(7));
	assert_string_equal(a.message, "Held by 7.");
	assert_int_equal(err_move(&b, &a), -1);
	assert_int_equal(a.code, ERR_NONE);
	assert_null(a.message);
	assert_int_equal(b.code, ERR_BUSY);
	assert_int_equal(b.hints.n, 1);
	assert_int_equal(json_int(b.data, "pid", 0), 7);
	/* A second error replaces the first whole, also when it quotes it. */
	err_set(&b, ERR_GIT_FAILED, "After: %s", b.message);
	assert_string_equal(b.message, "After: Held by 7.");
	assert_int_equal(b.hints.n, 0);
	assert_null(b.data);
	err_clear(&b);
	assert_int_equal(b.code, ERR_NONE);
}

static void nobody_needs_to_ask_for_an_error(void **state)
{
	struct err a = {0};

	(void)state;
	assert_int_equal(err_set(NULL, ERR_BUSY, "Nobody reads %s.", "this"), -1);
	err_hint(NULL, "Nor this.");
	err_data(NULL, "key", json_integer(1));
	err_set(&a, ERR_BUSY, "Moved to nobody.");
	assert_int_equal(err_move(NULL, &a), -1);
	assert_int_equal(a.code, ERR_NONE);
	err_release(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_table_holds_the_promised_slugs_once_each),
	        cmocka_unit_test(every_code_has_a_status_and_a_meaning),
	        cmocka_unit_test(an_error_is_filled_once_and_moves),
	        cmocka_unit_test(nobody_needs_to_ask_for_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
