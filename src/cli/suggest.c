#include "cli/suggest.h"

enum { LONGEST = 32 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Slips between two short words; swapping two neighbours is one. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	size_t d[LONGEST + 1][LONGEST + 1];

	if (n > LONGEST || m > LONGEST)
		return SIZE_MAX;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
			        d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[n][m];
}

/* How far a word may be off before it is another word. */
static size_t allowed(const char *word)
{
	size_t n = strlen(word);

	return n < 3 ? 1 : n < 7 ? 2 : 3;
}

const char *suggest(const char *word, const struct strv *candidates)
{
	size_t best = allowed(word) + 1;
	const char *found = NULL, *begun = NULL;

	for (size_t i = 0; i < candidates->n; i++) {
		const char *c = candidates->v[i];
		size_t far = distance(word, c);
		if (far < best && far < strlen(c)) {
			best = far;
			found = c;
		}
		if (!begun && strlen(word) >= 2 && text_starts(c, word))
			begun = c;
	}
	return begun ? begun : found;
}
