/*
 * What may follow the words typed so far: asked by the completion scripts at
 * every press of a key, so it is quick, silent, and changes nothing.
 */
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/parse.h"
#include "cli/schema.h"
#include "task/task.h"
#include "wait/wait.h"

/* What the words before the last one say. */
struct typed {
	const struct command *cmd;
	const struct option *waiting; /* its value is what is being typed */
	struct strv given;            /* names of the options that stand there */
	const char *dir;              /* -C */
	bool dir_waiting, plain;      /* after -C; after "--" */
	int words;
};

struct answer {
	struct buf *out;
	const char *prefix; /* put before each candidate: "--landed=" */
	const char *begin;  /* what a candidate begins with */
};

static const struct option *option_of(const struct command *cmd, const char *word, size_t len)
{
	const struct option *lists[] = {cmd ? cmd->options : NULL, global_options};

	for (size_t i = 0; i < NELEMS(lists); i++)
		for (const struct option *o = lists[i]; o && o->name; o++)
			if (strlen(o->name) == len && strncmp(o->name, word, len) == 0)
				return o;
	return NULL;
}

static void read_option(struct typed *t, const char *word)
{
	size_t len = strcspn(word + 2, "=");
	const struct option *o = option_of(t->cmd, word + 2, len);

	if (!o)
		return;
	strv_push(&t->given, o->name);
	if (o->kind != OPT_FLAG && word[2 + len] != '=')
		t->waiting = o;
}

static void read_word(struct typed *t, const char *word)
{
	if (t->dir_waiting || t->waiting) {
		if (t->dir_waiting)
			t->dir = word;
		t->dir_waiting = false;
		t->waiting = NULL;
	} else if (!t->plain && strcmp(word, "--") == 0) {
		t->plain = true;
	} else if (!t->plain && strcmp(word, "-C") == 0) {
		t->dir_waiting = true;
	} else if (!t->plain && strncmp(word, "-C", 2) == 0) {
		t->dir = word + 2;
	} else if (!t->plain && strncmp(word, "--", 2) == 0) {
		read_option(t, word);
	} else if (t->plain || word[0] != '-') {
		if (t->cmd)
			t->words++;
		else
			t->cmd = command_find(word);
	}
}

static void offer(struct answer *a, const char *candidate, const char *about)
{
	/* A name with such a byte could not be told from the lines of the answer. */
	if (!text_starts(candidate, a->begin) || strpbrk(candidate, "\t\n\r"))
		return;
	buf_printf(a->out, "%s%s\t%s\n", a->prefix, candidate, about);
}

static void offer_all(struct answer *a, const struct strv *candidates, const char *about)
{
	for (size_t i = 0; i < candidates->n; i++)
		offer(a, candidates->v[i], about);
}

static void offer_options(struct answer *a, const struct typed *t)
{
	const struct option *lists[] = {t->cmd ? t->cmd->options : NULL, global_options};

	for (size_t i = 0; i < NELEMS(lists); i++) {
		for (const struct option *o = lists[i]; o && o->name; o++) {
			AUTOFREE char *dashed = xasprintf("--%s", o->name);
			if (!o->hidden && (o->kind == OPT_LIST || !strv_has(&t->given, o->name)))
				offer(a, dashed, o->help);
		}
	}
}

static void offer_verbs(struct answer *a)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			offer(a, (*c)->name, (*c)->summary);
}

static void offer_branches(struct answer *a, struct project *p)
{
	AUTOREFS refs = {0};

	if (git_refs_under(&p->git, (const char *const[]){"refs/heads", NULL}, &refs, NULL) < 0)
		return;
	for (size_t i = 0; i < refs.n; i++)
		offer(a, git_branch_short(refs.v[i].name), "branch");
}

static void offer_tasks(struct answer *a, struct project *p)
{
	AUTOTASKS tasks = {0};

	if (task_list(p, &tasks, NULL) < 0)
		return;
	for (size_t i = 0; i < tasks.n; i++) {
		const char *branch = git_branch_short(tasks.v[i].branch);
		offer(a, tasks.v[i].id, branch);
		if (strcmp(branch, tasks.v[i].id) != 0)
			offer(a, branch, "task's branch");
	}
}

static void offer_handles(struct answer *a, struct project *p)
{
	AUTORESULT res = {0};
	const json_t *row;
	size_t i;

	if (wait_list(p, &res, NULL) < 0)
		return;
	json_array_foreach (json_object_get(res.data, "watches"), i, row)
		offer(a, json_text(row, "resume"), json_text(row, "waits_for"));
}

static void offer_from_repository(struct answer *a, enum complete what, const char *dir)
{
	AUTOPROJECT p = {0};

	if (project_open(dir, &p, NULL) < 0)
		return;
	if (what == COMPLETE_BRANCH)
		offer_branches(a, &p);
	else if (what == COMPLETE_TASK)
		offer_tasks(a, &p);
	else
		offer_handles(a, &p);
}

static void offer_kind(struct answer *a, enum complete what, const char *dir)
{
	AUTOSTRV names = {0};

	switch (what) {
	case COMPLETE_NONE:
		break;
	case COMPLETE_BRANCH:
	case COMPLETE_TASK:
	case COMPLETE_HANDLE:
		offer_from_repository(a, what, dir);
		break;
	case COMPLETE_VERB:
		offer_verbs(a);
		break;
	case COMPLETE_DIR:
		buf_puts(a->out, ":dirs\t\n");
		break;
	case COMPLETE_FILE:
		buf_puts(a->out, ":files\t\n");
		break;
	case COMPLETE_SCHEMA:
		schema_names(&names);
		offer_all(a, &names, "schema");
		break;
	case COMPLETE_SHELL:
		for (const char *const *s = completion_shells; *s; s++)
			offer(a, *s, "shell");
		break;
	}
}

/* "auto|always|never" is a closed list; "SECONDS" is none. */
static void offer_value(struct answer *a, const struct option *o, const char *dir)
{
	const char *v = o->value;

	if (o->complete != COMPLETE_NONE || !strchr(v, '|') ||
	        strspn(v, "abcdefghijklmnopqrstuvwxyz-|") != strlen(v)) {
		offer_kind(a, o->complete, dir);
		return;
	}
	while (*v) {
		size_t n = strcspn(v, "|");
		AUTOFREE char *one = xstrndup(v, n);
		offer(a, one, o->name);
		v += n + (v[n] == '|');
	}
}

static void offer_next(const struct typed *t, const char *last, struct buf *out)
{
	struct answer a = {.out = out, .prefix = "", .begin = last};
	const char *equals = strchr(last, '=');
	AUTOFREE char *prefix = NULL;

	if (t->dir_waiting) {
		buf_puts(out, ":dirs\t\n");
	} else if (t->waiting) {
		offer_value(&a, t->waiting, t->dir);
	} else if (!t->plain && equals && strncmp(last, "--", 2) == 0) {
		const struct option *o = option_of(t->cmd, last + 2, (size_t)(equals - last - 2));
		prefix = xstrndup(last, (size_t)(equals - last) + 1);
		a.prefix = prefix;
		a.begin = equals + 1;
		if (o && o->kind != OPT_FLAG)
			offer_value(&a, o, t->dir);
	} else if (!t->plain && last[0] == '-') {
		offer_options(&a, t);
	} else if (!t->cmd) {
		offer_verbs(&a);
	} else if (t->words < t->cmd->max_words) {
		offer_kind(&a, t->cmd->complete, t->dir);
	}
}

static int run(struct call *c, struct result *res, struct err *err)
{
	AUTOBUF out = {0};
	struct typed t = {0};
	size_t n = c->words.n;

	(void)err;
	for (size_t i = 0; i + 1 < n; i++)
		read_word(&t, c->words.v[i]);
	offer_next(&t, n ? c->words.v[n - 1] : "", &out);
	strv_release(&t.given);
	json_put_text(result_data(res), "lines", buf_str(&out));
	c->state = buf_take(&out);
	return 0;
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	(void)res;
	buf_puts(out, c->state);
}

static void release(struct call *c)
{
	free(c->state);
}

const struct command cmd___complete = {
        .name = "__complete",
        .summary = "what may follow the words typed so far",
        .usage = "__complete -- WORD...",
        .options = (const struct option[]){{0}},
        .data = (const struct field[]){{"lines", "string", true,
                                               "candidate, tab, what it is; or :files, :dirs"},
                {0}},
        .word = "WORD",
        .max_words = 1000,
        .outside = true,
        .hidden = true,
        .run = run,
        .render = render,
        .release = release,
};
