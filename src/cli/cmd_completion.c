#include "cli/completion.h"

static int run(struct call *c, struct result *res, struct err *err)
{
	const char *shell = c->words.v[0];
	const char *script = completion_script(shell);

	if (!script) {
		err_set(err, ERR_INVALID_ARGUMENTS,
		        "There is no completion for `%s`: only for bash, zsh and fish.", shell);
		err_hint(err, "Say which shell: `abide completion bash`.");
		return -1;
	}
	json_put_text(result_data(res), "shell", shell);
	json_put_text(result_data(res), "script", script);
	return 0;
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	(void)c;
	buf_puts(out, json_text(res->data, "script"));
}

const struct command cmd_completion = {
        .name = "completion",
        .summary = "print a completion script for a shell",
        .usage = "completion bash|zsh|fish",
        .details =
                "The script completes verbs, options and their values, and asks the repository "
                "for branches, tasks and the handles of open waits. `make install` puts it where "
                "the shells look; without that, load it from your shell's start-up file.",
        .examples = "source <(abide completion bash)              # in ~/.bashrc\n"
                    "source <(abide completion zsh)               # in ~/.zshrc, after compinit\n"
                    "abide completion fish | source               # in ~/.config/fish/config.fish",
        .options = (const struct option[]){{0}},
        .data = (const struct field[]){{"shell", "string", true, "the shell"},
                {"script", "string", true, "the script"}, {0}},
        .word = "bash|zsh|fish",
        .complete = COMPLETE_SHELL,
        .min_words = 1,
        .max_words = 1,
        .outside = true,
        .run = run,
        .render = render,
};
