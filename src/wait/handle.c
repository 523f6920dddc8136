#include "wait/handle.h"

#include <ctype.h>
#include <string.h>

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* GF(32) with x^5 + x^2 + 1; x generates all 31 non-zero elements. */
static unsigned times_x(unsigned a)
{
	a <<= 1;
	return a & 32 ? (a ^ 37) & 31 : a;
}

static unsigned multiply(unsigned a, unsigned b)
{
	unsigned product = 0;

	for (; b; b >>= 1, a = times_x(a))
		if (b & 1)
			product ^= a;
	return product;
}

/*
 * The two sums that are zero in every good handle: of all symbols, and of each
 * symbol times x to the power of its place. Two places differ in the power, so
 * no two errors can cancel in both sums.
 */
static void syndromes(const unsigned *v, size_t n, unsigned *ret_plain, unsigned *ret_weighted)
{
	unsigned weight = 1;

	*ret_plain = *ret_weighted = 0;
	for (size_t i = 0; i < n; i++, weight = times_x(weight)) {
		*ret_plain ^= v[i];
		*ret_weighted ^= multiply(v[i], weight);
	}
}

static unsigned inverse(unsigned a)
{
	for (unsigned b = 1; b < 32; b++)
		if (multiply(a, b) == 1)
			return b;
	return 0;
}

/* Finds the last two symbols: two linear equations in two unknowns. */
static void add_checks(unsigned *v)
{
	unsigned s, t, w8 = 1, w9;

	v[8] = v[9] = 0;
	syndromes(v, HANDLE_SYMBOLS, &s, &t);
	for (int i = 0; i < 8; i++)
		w8 = times_x(w8);
	w9 = times_x(w8);
	/* v8 + v9 = s and w8 v8 + w9 v9 = t */
	v[9] = multiply(t ^ multiply(w8, s), inverse(w8 ^ w9));
	v[8] = s ^ v[9];
}

void handle_make(char kind, struct handle *ret)
{
	unsigned char bytes[8];
	unsigned v[HANDLE_SYMBOLS];

	random_bytes(bytes, sizeof(bytes));
	for (int i = 0; i < 8; i++)
		v[i] = bytes[i] & 31;
	add_checks(v);
	ret->kind = kind;
	for (int i = 0; i < HANDLE_SYMBOLS; i++)
		ret->symbols[i] = alphabet[v[i]];
	ret->symbols[HANDLE_SYMBOLS] = '\0';
}

char *handle_text(const struct handle *h)
{
	return xasprintf("%c-%.4s-%.4s-%.2s", h->kind, h->symbols, h->symbols + 4, h->symbols + 8);
}

/* The value of a typed symbol, or -1. */
static int symbol_value(char c)
{
	const char *at;

	c = (char)toupper((unsigned char)c);
	c = c == 'O' ? '0' : c == 'I' || c == 'L' ? '1' : c;
	at = c ? strchr(alphabet, c) : NULL;
	return at ? (int)(at - alphabet) : -1;
}

static int malformed(const char *text, const char *why, struct err *err)
{
	AUTOFREE char *shown = xstrndup(text, 40);

	err_set(err, ERR_HANDLE_MALFORMED, "`%s` is no handle: %s.", shown, why);
	err_hint(err, "Copy the handle again; the open ones are listed by `abide await --list`.");
	return -1;
}

int handle_read(const char *text, char kind, struct handle *ret, struct err *err)
{
	unsigned v[HANDLE_SYMBOLS], plain, weighted;
	struct handle h;
	size_t n = 0;

	if (!isalpha((unsigned char)text[0]) || text[1] != '-')
		return malformed(text, "it does not begin like w-", err);
	for (const char *p = text + 2; *p; p++) {
		int value = symbol_value(*p);
		if (*p == '-')
			continue;
		if (value < 0)
			return malformed(text, "it holds a character that no handle has", err);
		if (n == HANDLE_SYMBOLS)
			return malformed(text, "it is too long", err);
		h.symbols[n] = alphabet[value];
		v[n++] = (unsigned)value;
	}
	if (n < HANDLE_SYMBOLS)
		return malformed(text, "it is too short", err);
	syndromes(v, n, &plain, &weighted);
	if (plain || weighted)
		return malformed(text, "it is mistyped (its check symbols do not fit)", err);
	h.symbols[n] = '\0';
	h.kind = (char)tolower((unsigned char)text[0]);
	if (h.kind != kind) {
		err_set(err, ERR_INVALID_ARGUMENTS, "`%s` is a handle of another kind than `%c-…`.",
		        text, kind);
		err_hint(err,
		        "Give the handle of a watch; the open ones are listed by `abide await "
		        "--list`.");
		return -1;
	}
	*ret = h;
	return 0;
}
