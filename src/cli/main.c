/*
 * The frame of every verb: words in, one answer out.
 */
#include <signal.h>
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

static int answer(struct call *c, const struct result *res, const struct err *err)
{
	bool failed = err->code != ERR_NONE;
	bool written = failed ? output_error(c, res, err) : output_result(c, res);

	if (c->cmd && c->cmd->delivered)
		c->cmd->delivered(c, written);
	if (stop_signal && (!failed || err->code == ERR_CANCELLED))
		return 128 + stop_signal;
	if (failed)
		return err_exit_status(err->code);
	return written ? res->status : 1;
}

static int print_text(const char *text)
{
	return output_write(text, strlen(text)) ? 0 : 1;
}

static int print_help(const struct command *cmd)
{
	AUTOBUF text = {0};

	if (cmd)
		help_verb(cmd, &text);
	else
		help_all(&text);
	return print_text(buf_str(&text));
}

/*
 * A verb that changed something and was then interrupted still says so: only a
 * refusal by CANCELLED, or an answer that the signal cut short, ends as 130.
 */
static int run_call(struct call *c, struct result *res, struct err *err)
{
	c->begun_mono_ms = clock_mono_ms();
	if (!c->cmd->outside && project_open(c->dir, &c->project, err) < 0)
		return -1;
	return c->cmd->run(c, res, err);
}

int main(int argc, char **argv)
{
	struct call call = {0};
	AUTORESULT res = {0};
	AUTOERR err = {0};
	enum parse_want want;
	int status;

	signal(SIGPIPE, SIG_IGN);
	stop_install();
	if (argc < 2) {
		print_help(NULL);
		return 2;
	}
	if (parse_call(argc, argv, &call, &want, &err) == 0) {
		if (want == PARSE_VERSION || want == PARSE_HELP) {
			status = want == PARSE_HELP ? print_help(call.cmd)
			                            : print_text("abide " ABIDE_VERSION "\n");
			call_release(&call);
			return status;
		}
		if (run_call(&call, &res, &err) < 0 && err.code == ERR_NONE)
			err_set(&err, ERR_INTERNAL, "The verb failed without saying why.");
		if (err.code != ERR_NONE && !err.hints.n)
			err_hint(&err,
			        "See `abide help %s`, and `abide doctor` for what is wrong here.",
			        call.cmd->name);
		record_end(&call, &err);
	}
	status = answer(&call, &res, &err);
	call_release(&call);
	return status;
}
