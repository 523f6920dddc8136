/*
 * Names of new tasks: id (also the folder's name) and branch.
 */
#include <string.h>

#include "task/own.h"

enum { SLUG_MAX = 40, FOLDER_MAX = 200, WORDS_TRIES = 8 };

static const char *const qualities[] = {"amber", "bold", "brave", "brisk", "calm", "clear", "cosy",
        "crisp", "deft", "early", "fair", "fleet", "fresh", "gentle", "glad", "golden", "grand",
        "happy", "honest", "keen", "kind", "light", "lively", "lucid", "mellow", "merry", "mild",
        "neat", "nimble", "noble", "patient", "plain", "polite", "proud", "quick", "quiet", "rapid",
        "ready", "rosy", "round", "sage", "sharp", "shy", "silver", "simple", "sleek", "smart",
        "snug", "solid", "spry", "steady", "still", "sunny", "swift", "tidy", "true", "vivid",
        "warm", "wary", "wide", "wise", "witty", "young", "zesty"};
static const char *const things[] = {"acorn", "alder", "anchor", "apple", "badger", "basil",
        "beaver", "birch", "bison", "brook", "cedar", "cherry", "clover", "comet", "coral", "crane",
        "dune", "falcon", "fern", "finch", "fjord", "fox", "grove", "harbor", "hare", "hazel",
        "heron", "island", "ivy", "juniper", "kite", "lake", "lark", "lemon", "lichen", "linden",
        "lotus", "lynx", "maple", "marten", "meadow", "moss", "nutmeg", "oak", "otter", "owl",
        "pebble", "pine", "plum", "poppy", "quail", "raven", "reed", "river", "robin", "sparrow",
        "spruce", "thistle", "tiger", "trout", "tulip", "walnut", "willow", "wren"};

/*
 * No vowels, so that no words come out; a first letter other than g, since git
 * takes a name that ends in -g<hex> for a description of a commit.
 */
static void add_suffix(struct buf *b)
{
	static const char letters[] = "bcdfhjkmnpqrstvwxz23456789";

	buf_putc(b, '-');
	for (int i = 0; i < 4; i++)
		buf_putc(b, letters[random_below(sizeof(letters) - 1)]);
}

static void add_words(struct buf *b)
{
	buf_printf(b, "%s-%s", qualities[random_below(NELEMS(qualities))],
	        things[random_below(NELEMS(things))]);
}

/* Whether NAME can be a folder's name as it is, and nobody else's by accident. */
static bool fit_for_folder(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= FOLDER_MAX;
}

const char *own_bare_name(const char *name, const char *prefix)
{
	if (text_starts(name, "refs/heads/"))
		name += strlen("refs/heads/");
	return *prefix && text_starts(name, prefix) && name[strlen(prefix)] ? name + strlen(prefix)
	                                                                    : name;
}

char *own_new_id(const char *name, bool exact, int attempt)
{
	AUTOFREE char *slug = name ? text_slug(name, SLUG_MAX) : xstrdup("");
	AUTOBUF b = {0};

	if (exact && fit_for_folder(name))
		return xstrdup(name);
	if (!*slug) {
		add_words(&b);
		if (attempt < WORDS_TRIES && !exact)
			return buf_take(&b);
	} else {
		buf_puts(&b, slug);
	}
	add_suffix(&b);
	return buf_take(&b);
}
