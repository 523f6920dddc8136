/*
 * The frame of every verb: words in, one answer out.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "store/logbook.h"

static void call_release(struct call *c)
{
	if (c->cmd && c->cmd->release)
		c->cmd->release(c);
	free(c->given);
	free(c->dir);
	strv_release(&c->words);
	project_release(&c->project);
}

/* The logbook's end, whatever came of the verb. */
static void record_end(struct call *c, const struct err *err)
{
	logbook_end(c->project.store, c->event, err->code == ERR_NONE ? "ok" : err_slug(err->code),
	        clock_mono_ms() - c->begun_mono_ms, c->waited_ms);
	c->event = 0;
}

/*
 * What a signal broke off ends as it would by the signal itself. A verb that
 * was refused for another reason, before or after the signal, says that.
 */
static bool ended_by_signal(const struct err *err)
{
	return stop_signal && (err->code == ERR_NONE || err->code == ERR_CANCELLED);
}

static int answer(struct call *c, const struct result *res, const struct err *err)
{
	bool failed = err->code != ERR_NONE;
	bool written = failed ? output_error(c, res, err)
	        : c->streamed ? true
	                      : output_result(c, res);

	if (c->cmd && c->cmd->delivered)
		c->cmd->delivered(c, written);
	if (ended_by_signal(err))
		return 128 + stop_signal;
	if (failed)
		return err_exit_status(err->code);
	return written ? res->status : 1;
}

/* A Ctrl-C reaches git, too; its end is then no failure of git's. */
static void blame_signal(struct err *err)
{
	if (stop_signal && err->code == ERR_GIT_FAILED) {
		err_clear(err);
		stop_check(err);
	}
}

static int run_call(struct call *c, struct result *res, struct err *err)
{
	int rc;

	c->begun_mono_ms = clock_mono_ms();
	if (!c->cmd->outside && project_open(c->dir, &c->project, err) < 0)
		return -1;
	rc = c->cmd->run(c, res, err);
	if (rc < 0 && err->code == ERR_NONE)
		err_set(err, ERR_INTERNAL, "`%s` failed without saying why.", c->cmd->name);
	return rc;
}

static void add_missing_hint(const struct call *c, struct err *err)
{
	if (err->code == ERR_NONE || err->hints.n)
		return;
	if (err->code == ERR_INTERNAL)
		err_hint(err, "This is a bug in abide; `abide doctor` says what is special here.");
	else
		err_hint(err, "See `abide help %s`, and `abide doctor` for what is wrong here.",
		        c->cmd->name);
}

static void say_version(struct result *res)
{
	json_put_text(result_data(res), "text", "abide " ABIDE_VERSION "\n");
	json_put_text(result_data(res), "version", ABIDE_VERSION);
}

/*
 * A standard stream that is closed would be given to the next file opened, and
 * answers be written into the store. What stands in fails every write instead.
 */
static void hold_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_NOCTTY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int no_words(void)
{
	AUTOBUF text = {0};

	help_all(&text);
	fputs(buf_str(&text), stderr);
	return err_exit_status(ERR_INVALID_ARGUMENTS);
}

int main(int argc, char **argv)
{
	struct call call = {0};
	AUTORESULT res = {0};
	AUTOERR err = {0};
	enum parse_want want;
	int status;

	hold_standard_streams();
	signal(SIGPIPE, SIG_IGN);
	stop_install();
	if (argc < 2)
		return no_words();
	if (parse_call(argc, argv, &call, &want, &err) == 0) {
		if (want == PARSE_VERSION)
			say_version(&res);
		else
			run_call(&call, &res, &err);
		blame_signal(&err);
		add_missing_hint(&call, &err);
		record_end(&call, &err);
	}
	status = answer(&call, &res, &err);
	call_release(&call);
	return status;
}
