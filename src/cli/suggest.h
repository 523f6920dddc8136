/*
 * What somebody probably meant.
 */
#ifndef ABIDE_CLI_SUGGEST_H
#define ABIDE_CLI_SUGGEST_H

#include "base/base.h"

/*
 * The candidate nearest to WORD: few slips (a letter missing, added, changed,
 * two swapped) for its length, or its beginning. NULL when none is near.
 * Borrowed from CANDIDATES.
 */
const char *suggest(const char *word, const struct strv *candidates);

#endif
