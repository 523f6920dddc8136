/*
 * The receipt of a landing: made, written, taken back.
 */
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "git/notes.h"
#include "land/own.h"

/* "Name <email>" as git knows the caller, or the account's name. To be freed. */
static char *who(const struct project *p)
{
	const char *name = git_config(&p->git, "user.name", false);
	const char *email = git_config(&p->git, "user.email", false);
	const struct passwd *account;

	if (name && email)
		return xasprintf("%s <%s>", name, email);
	if (name)
		return xstrdup(name);
	account = getpwuid(getuid());
	return account ? xstrdup(account->pw_name) : xasprintf("user %ld", (long)getuid());
}

static json_t *proof_of(const struct run *run)
{
	json_t *proof = json_object(), *jobs = json_array(), *job;
	size_t i;

	json_array_foreach (run->jobs, i, job) {
		json_t *row = json_object();
		json_put_text(row, "name", json_text(job, "name"));
		json_put_int(row, "exit", json_int(job, "exit", 0));
		json_put_int(row, "ms", json_int(job, "ms", 0));
		json_array_append_new(jobs, row);
	}
	json_put_text(proof, "gate_digest", run->gate_digest);
	json_put(proof, "jobs", jobs);
	json_put_int(proof, "finished_at", run->ended_at);
	return proof;
}

json_t *land_receipt(const struct project *p, const struct task *t, const struct land_view *v,
        const struct run *proof, const char *surface)
{
	AUTOFREE char *by = who(p);
	json_t *r = json_object(), *accepted = json_object();

	json_put_text(accepted, "by", by);
	json_put_text(accepted, "surface", surface);
	json_put_int(r, "abide_receipt", RECEIPT_MAJOR);
	json_put_text(r, "branch", git_branch_short(t->branch));
	json_put_text(r, "head", v->look.commit.hex);
	json_put_text(r, "tree", v->look.tree.hex);
	json_put_text(r, "base", p->trunk_tip.hex);
	json_put_text(r, "tip", v->look.commit.hex);
	json_put_text(r, "strategy", "merge");
	json_put_text(r, "trunk", p->trunk);
	json_put_bool(r, "gate_changed", v->look.gate_changed);
	json_put(r, "proof", proof_of(proof));
	json_put(r, "accepted", accepted);
	json_put_int(r, "landed_at", clock_wall_ms());
	json_put_text(r, "writer", "abide " ABIDE_VERSION);
	return r;
}

/* --- In its note ------------------------------------------------------------------------ */

struct change {
	struct project *p;
	const json_t *receipt;
	bool remove;
};

/* Whether a line of a note is the receipt itself, or an older one of the same
   landing that never happened: same commit, same trunk. */
static bool replaces(const struct change *c, const char *line, size_t len)
{
	static const char *const same[] = {
	        "head", "trunk", "trunk_bytes", "branch", "branch_bytes"};
	AUTOJSON json_t *o = json_read(line, len, NULL);

	if (!json_is_object(o))
		return false;
	if (c->remove)
		return json_equal(o, c->receipt);
	for (size_t i = 0; i < NELEMS(same); i++) {
		const json_t *a = json_object_get(o, same[i]);
		const json_t *b = json_object_get(c->receipt, same[i]);
		if ((a || b) && !(a && b && json_equal(a, b)))
			return false;
	}
	return true;
}

/* What the note says besides. */
static void other_lines(const struct change *c, const struct buf *note, struct buf *ret)
{
	for (size_t at = 0; at < note->len;) {
		const char *line = note->data + at;
		const char *end = memchr(line, '\n', note->len - at);
		size_t n = end ? (size_t)(end - line) : note->len - at;

		at += n + 1;
		if (n && !replaces(c, line, n)) {
			buf_add(ret, line, n);
			buf_putc(ret, '\n');
		}
	}
}

static int compose(void *ctx, const struct oid *at, struct git_note_list *ret, struct err *err)
{
	const struct change *c = ctx;
	AUTOFREE char *line = json_line(c->receipt);
	AUTOBUF note = {0};
	AUTOBUF text = {0};
	struct oid commit;

	if (!oid_parse(&commit, json_text(c->receipt, "head")))
		return err_set(err, ERR_INTERNAL, "A receipt without a commit.");
	if (git_note_read(&c->p->git, at, &commit, RECEIPT_CAP, &note, err) < 0)
		return -1;
	if (c->remove && !note.len)
		return 0;
	other_lines(c, &note, &text);
	/* Past what readers take, the receipt alone is what counts. */
	if (!c->remove && text.len + strlen(line) + 1 > RECEIPT_CAP)
		buf_reset(&text);
	if (!c->remove)
		buf_printf(&text, "%s\n", line);
	git_note_list_push(ret, &commit, buf_str(&text));
	return 0;
}

static int change(struct project *p, const json_t *receipt, bool remove, struct err *err)
{
	struct change c = {.p = p, .receipt = receipt, .remove = remove};
	AUTOFREE char *lock = path_join(store_dir(p->store), "notes.lck");
	AUTOFREE char *message = xasprintf(
	        "abide: %s %s", remove ? "not landed:" : "land", json_text(receipt, "branch"));

	return git_notes_change(&p->git, RECEIPT_REF, lock, message, compose, &c, err);
}

int land_receipt_write(struct project *p, const json_t *receipt, struct err *err)
{
	return change(p, receipt, false, err);
}

int land_receipt_remove(struct project *p, const json_t *receipt, struct err *err)
{
	return change(p, receipt, true, err);
}
