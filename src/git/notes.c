#include "git/notes.h"

#include <string.h>

enum { PATIENCE_MS = 5000, MAX_FANOUT = 4 };

void git_note_list_release(struct git_note_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].text);
	free(l->v);
	*l = (struct git_note_list){0};
}

void git_note_list_push(struct git_note_list *l, const struct oid *commit, const char *text)
{
	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = (struct git_note){.commit = *commit, .text = xstrdup(text)};
}

/* "AT:ab/cd/rest" for each fan-out that git makes. */
static void note_paths(const struct oid *at, const struct oid *commit, struct buf *ret)
{
	for (size_t fanout = 0; fanout <= MAX_FANOUT; fanout++) {
		buf_printf(ret, "%s:", at->hex);
		for (size_t i = 0; i < fanout; i++)
			buf_printf(ret, "%.2s/", commit->hex + 2 * i);
		buf_printf(ret, "%s\n", commit->hex + 2 * fanout);
	}
}

int git_note_read(const struct git *g, const struct oid *at, const struct oid *commit, size_t cap,
        struct buf *ret, struct err *err)
{
	AUTOBUF paths = {0};
	AUTOPROC p = {.out_cap = (cap + 200) * (MAX_FANOUT + 1)};
	const char *line, *end;

	buf_reset(ret);
	if (!oid_is_set(at))
		return 0;
	note_paths(at, commit, &paths);
	p.in = buf_str(&paths);
	p.in_len = paths.len;
	if (git_run(git_at_common(g), &p, GIT_WORDS("cat-file", "--batch"), err) < 0)
		return -1;
	if (p.status != 0)
		return git_complain(&p, "The note could not be read", err);
	/* "ID blob SIZE" and the text, or "WORD missing". */
	line = buf_str(&p.out);
	while ((end = strchr(line, '\n'))) {
		AUTOFREE char *head = xstrndup(line, (size_t)(end - line));
		const char *blob = text_ends(head, " missing") ? NULL : strstr(head, " blob ");
		size_t size = blob ? strtoull(blob + 6, NULL, 10) : 0;
		size_t left = p.out.len - (size_t)(end + 1 - p.out.data);

		if (blob && size <= cap && size <= left) {
			buf_add(ret, end + 1, size);
			return 0;
		}
		line = end + 1 + (blob ? (size < left ? size + 1 : left) : 0);
	}
	return 0;
}

/* --- Changing ------------------------------------------------------------------ */

/* "Name <email> seconds zone"; a made-up one where git knows nobody. To be freed. */
static int identity(const struct git *g, char **ret, struct err *err)
{
	AUTOPROC p = {0};

	if (git_run(git_at_common(g), &p, GIT_WORDS("var", "GIT_COMMITTER_IDENT"), err) < 0)
		return -1;
	*ret = p.status == 0 && p.out.len > 1 ? xstrndup(p.out.data, p.out.len - 1)
	                                      : xasprintf("abide <abide@localhost> %lld +0000",
	                                                (long long)(clock_wall_ms() / 1000));
	return 0;
}

static void add_data(struct buf *stream, const char *text)
{
	buf_printf(stream, "data %zu\n%s\n", strlen(text), text);
}

/* `done` at the end: a stream that is cut short changes nothing. */
static void write_stream(const struct git *g, const char *ref, const char *who, const char *message,
        const struct oid *old, const struct git_note_list *notes, struct buf *ret)
{
	buf_printf(ret, "feature done\ncommit %s\ncommitter %s\n", ref, who);
	add_data(ret, message);
	if (oid_is_set(old))
		buf_printf(ret, "from %s\n", old->hex);
	for (size_t i = 0; i < notes->n; i++) {
		const struct git_note *n = &notes->v[i];

		if (*n->text) {
			buf_printf(ret, "N inline %s\n", n->commit.hex);
			add_data(ret, n->text);
		} else {
			buf_puts(ret, "N ");
			for (size_t k = 0; k < g->hex; k++)
				buf_putc(ret, '0');
			buf_printf(ret, " %s\n", n->commit.hex);
		}
	}
	buf_puts(ret, "\ndone\n");
}

/* git leaves a report of a failed import in its folder. */
static void remove_crash_report(const struct git *g, pid_t pid)
{
	AUTOFREE char *name = xasprintf("fast_import_crash_%ld", (long)pid);
	AUTOFREE char *path = path_join(g->common, name);

	if (pid > 0)
		unlink(path);
}

/* Whether git gave up because somebody else was at the ref. */
static bool was_busy(const struct proc *p)
{
	static const char *const words[] = {"Not updating", "cannot lock", ".lock'", "is locked"};

	for (size_t i = 0; i < NELEMS(words); i++)
		if (strstr(buf_str(&p->err), words[i]))
			return true;
	return false;
}

static int denied(const struct proc *p, const char *ref, struct err *err)
{
	AUTOFREE char *said = proc_complaint(p);

	err_set(err, ERR_WRITE_DENIED, "%s could not be written: git said: %s", ref, said);
	err_hint(err, "Put right what git complains about, then run the same command again.");
	return -1;
}

/* One try: 0 written, 1 somebody else was quicker, -1. */
static int try_once(const struct git *g, const char *ref, const char *who, const char *message,
        git_notes_compose compose, void *ctx, struct err *err)
{
	AUTONOTES notes = {0};
	AUTOBUF stream = {0};
	AUTOPROC p = {0};
	struct oid old, now;

	if (git_refs(g, (const char *const[]){ref, NULL}, &old, err) < 0 ||
	        compose(ctx, &old, &notes, err) < 0)
		return -1;
	if (!notes.n)
		return 0;
	write_stream(g, ref, who, message, &old, &notes, &stream);
	p.in = buf_str(&stream);
	p.in_len = stream.len;
	if (git_run(git_at_common(g), &p,
	            GIT_WORDS(
	                    "-c", "fastimport.unpackLimit=100", "fast-import", "--quiet", "--done"),
	            err) < 0)
		return -1;
	if (p.status == 0)
		return 0;
	remove_crash_report(g, p.pid);
	if (git_refs(g, (const char *const[]){ref, NULL}, &now, err) < 0)
		return -1;
	return oid_equal(&now, &old) && !was_busy(&p) ? denied(&p, ref, err) : 1;
}

int git_notes_change(const struct git *g, const char *ref, const char *lock, const char *message,
        git_notes_compose compose, void *ctx, struct err *err)
{
	AUTOFREE char *who = NULL;
	AUTOCLOSE int fd = -1;
	int64_t until;

	if (seam_fails("notes:write")) {
		err_set(err, ERR_WRITE_DENIED, "%s could not be written: a test lets it fail.",
		        ref);
		return -1;
	}
	if (identity(g, &who, err) < 0)
		return -1;
	/* Without the lock it works, too, only with more tries. */
	if (lock)
		fs_lock(lock, true, &fd, NULL);
	until = clock_mono_ms() + PATIENCE_MS;
	for (;;) {
		int rc = try_once(g, ref, who, message, compose, ctx, err);

		if (rc < 0)
			return -1;
		if (rc == 0)
			return 0;
		if (clock_mono_ms() >= until) {
			err_set(err, ERR_BUSY,
			        "%s could not be written for 5 s: others write it, or %s/%s.lock "
			        "was left behind.",
			        ref, g->common, ref);
			err_hint(err, "Run the same command again.");
			return -1;
		}
		random_pause_us(10000, 60000);
	}
}
