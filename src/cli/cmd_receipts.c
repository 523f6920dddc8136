#include <string.h>

#include "cli/command.h"
#include "land/land.h"

static const char *const actions[] = {"list", "show", "verify", NULL};

static json_t *row_json(const struct receipt_row *row, bool whole)
{
	json_t *o = json_object();
	const json_t *accepted = json_object_get(row->r.raw, "accepted");

	json_put_text(o, "commit", row->carrier.hex);
	json_put_bool(o, "holds", !row->why);
	json_put_text(o, "why", row->why);
	if (!row->r.raw)
		return o;
	json_put_text(o, "branch", row->r.branch);
	json_put_text(o, "trunk", row->r.trunk);
	json_put_text(o, "tree", row->r.tree.hex);
	json_put_text(o, "base", row->r.base.hex);
	json_put_int(o, "landed_at", row->r.landed_at);
	json_put_text(o, "by", json_text(accepted, "by"));
	json_put_bool(o, "gate_changed", row->r.gate_changed);
	if (whole)
		json_put(o, "receipt", json_incref(row->r.raw));
	return o;
}

/* Rows as data; those of COMMIT alone where it is given. */
static void put_rows(
        const struct receipt_rows *rows, const struct oid *commit, bool whole, struct result *res)
{
	json_t *list = json_array();
	int64_t holding = 0, others = 0;

	for (size_t i = 0; i < rows->n; i++) {
		const struct receipt_row *row = &rows->v[i];

		if (commit && !oid_equal(&row->carrier, commit))
			continue;
		*(row->why ? &others : &holding) += 1;
		json_array_append_new(list, row_json(row, whole));
	}
	json_put(result_data(res), "receipts", list);
	json_put_int(res->data, "holding", holding);
	json_put_int(res->data, "not_holding", others);
}

static int list(struct call *c, const char *action, struct result *res, struct err *err)
{
	const struct project *p = &c->project;
	const char *word = c->words.n > 1 ? c->words.v[1] : NULL;
	AUTOROWS rows = {0};
	struct oid commit = {0};

	if (word && git_resolve_commit(&p->git, word, &commit, err) < 0)
		return -1;
	if (receipt_all(&p->git, RECEIPT_REF, p->trunk, &p->trunk_tip, &rows, err) < 0)
		return -1;
	put_rows(&rows, word ? &commit : NULL, word != NULL, res);
	json_put_text(res->data, "action", action);
	if (word && !json_array_size(json_object_get(res->data, "receipts"))) {
		AUTOFREE char *all = call_text("receipts", NULL);
		err_set(err, ERR_UNKNOWN_TARGET, "%.10s carries no receipt.", commit.hex);
		err_hint(err, "See those that there are with `%s`.", all);
		return -1;
	}
	return 0;
}

/* --- From another clone ------------------------------------------------------------------ */

static int nothing_fetched(const char *remote, const char *ref, struct err *err)
{
	AUTOFREE char *quoted = text_shell_quote(remote);

	err_set(err, ERR_UNKNOWN_TARGET, "Nothing was fetched into %s.", ref);
	err_hint(err, "Fetch the receipts of that remote first: `git fetch %s '+%s:%s'`.", quoted,
	        RECEIPT_REF, ref);
	return -1;
}

static int merge(struct call *c, const char *remote, struct result *res, struct err *err)
{
	struct project *p = &c->project;
	AUTOFREE char *ref = xasprintf("refs/notes/remotes/%s/abide", remote);
	AUTOROWS fetched = {0};
	struct oid there;
	size_t added = 0;

	if (!git_branch_name_ok(remote)) {
		err_set(err, ERR_INVALID_ARGUMENTS, "`%s` can be no remote's name.", remote);
		err_hint(err, "See the remotes with `git remote`.");
		return -1;
	}
	if (git_refs(&p->git, (const char *const[]){ref, NULL}, &there, err) < 0)
		return -1;
	if (!oid_is_set(&there))
		return nothing_fetched(remote, ref, err);
	if (call_begin(c, true, NULL, NULL, NULL, NULL, err) < 0 ||
	        receipt_all(&p->git, ref, p->trunk, &p->trunk_tip, &fetched, err) < 0 ||
	        land_receipts_union(p, remote, &fetched, &added, err) < 0)
		return -1;
	store_ring(p->store);
	put_rows(&fetched, NULL, false, res);
	json_put_text(res->data, "action", "merge");
	json_put_int(res->data, "added", (int64_t)added);
	return 0;
}

/* --- The verb -------------------------------------------------------------------------------- */

static int run(struct call *c, struct result *res, struct err *err)
{
	const char *action = c->words.n ? c->words.v[0] : "list";
	const char *remote = opt_text(c, "merge");
	bool known = false;

	for (const char *const *a = actions; *a; a++)
		known = known || strcmp(*a, action) == 0;
	if (!known || (strcmp(action, "show") == 0) != (c->words.n == 2) ||
	        (remote && c->words.n)) {
		err_set(err, ERR_INVALID_ARGUMENTS,
		        "`receipts` takes `list`, `show COMMIT`, `verify`, or `--merge REMOTE`.");
		err_hint(err, "See `abide help receipts`.");
		return -1;
	}
	if (project_need_trunk(&c->project, err) < 0)
		return -1;
	return remote ? merge(c, remote, res, err) : list(c, action, res, err);
}

static void render_row(struct call *c, const json_t *row, struct buf *out)
{
	AUTOFREE char *when = clock_iso(json_int(row, "landed_at", 0));
	const char *branch = json_text(row, "branch"), *why = json_text(row, "why");

	out_oid(c, out, json_text(row, "commit"));
	if (branch) {
		out_printf(c, out, STYLE_DIM, "  %.19s  ", when);
		out_text(c, out, STYLE_BOLD, branch);
	}
	if (why) {
		buf_puts(out, "  ");
		out_printf(c, out, STYLE_RED, "proves nothing: %s", why);
	}
	buf_putc(out, '\n');
}

static void render(struct call *c, const struct result *res, struct buf *out)
{
	const json_t *d = res->data, *rows = json_object_get(d, "receipts"), *row;
	const char *action = json_text(d, "action");
	size_t i;

	json_array_foreach (rows, i, row) {
		const json_t *whole = json_object_get(row, "receipt");

		render_row(c, row, out);
		if (whole) {
			AUTOFREE char *text = json_line(whole);
			out_printf(c, out, STYLE_PLAIN, "  %s", text);
			buf_putc(out, '\n');
		}
	}
	if (strcmp(action, "verify") == 0 || strcmp(action, "merge") == 0) {
		out_printf(c, out, STYLE_DIM, "%lld hold, %lld do not",
		        (long long)json_int(d, "holding", 0),
		        (long long)json_int(d, "not_holding", 0));
		if (json_object_get(d, "added"))
			out_printf(c, out, STYLE_DIM, ", %lld added",
			        (long long)json_int(d, "added", 0));
		buf_putc(out, '\n');
	} else if (!json_array_size(rows)) {
		buf_puts(out, "No receipts.\n");
	}
}

static const struct field row_fields[] = {
        {"commit", "oid", true, "the commit that carries the note"},
        {"holds", "boolean", true, "whether it proves a landing"},
        {"why", "string", false, "why it does not"},
        {"branch", "string", false, "the branch that landed"},
        {"trunk", "string", false, "the trunk that it landed on"},
        {"tree", "oid", false, "the tree that was tested"},
        {"base", "oid", false, "where the trunk stood before"},
        {"landed_at", "time", false, "when"},
        {"by", "string", false, "who landed it"},
        {"gate_changed", "boolean", false, "the trunk's gate was another one"},
        {"receipt", "object", false, "show: the whole receipt"},
        {0},
};

const struct command cmd_receipts = {
        .name = "receipts",
        .summary = "tell the landings that git itself can prove",
        .usage = "receipts [list | show COMMIT | verify]\nreceipts --merge REMOTE",
        .details = "Reads the notes of refs/notes/abide and nothing else: it works in any clone "
                   "that has them, with or without abide's own store. A receipt holds when its "
                   "commit is on the trunk, and head, tree, base and trunk are what it says.\n\n"
                   "`--merge` adds what was fetched into refs/notes/remotes/REMOTE/abide and "
                   "holds here to this repository's receipts; `abide doctor` prints the refspecs.",
        .examples = "abide receipts   # what landed, the newest first\n"
                    "abide receipts show HEAD   # the receipt of one commit\n"
                    "abide receipts verify   # how many hold\n",
        .options =
                (const struct option[]){
                        {"merge", OPT_TEXT, "REMOTE",
                                "add the receipts that were fetched from a remote"},
                        {0},
                },
        .data =
                (const struct field[]){
                        {"action", "string", true, "what was asked for",
                                .only = (const char *const[]){"list", "show", "verify", "merge",
                                        NULL}},
                        {"receipts", "array", true, "the newest first", .of = row_fields},
                        {"holding", "integer", true, "how many hold"},
                        {"not_holding", "integer", true, "how many do not"},
                        {"added", "integer", false, "merge: how many were new here"},
                        {0},
                },
        .word = "ACTION",
        .max_words = 2,
        .run = run,
        .render = render,
};
