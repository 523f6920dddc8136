/*
 * Handles: `w-7K3Q-X2M9-5F`. A kind letter, 8 random symbols of Crockford's
 * base32 (40 bits), and 2 check symbols: a Reed-Solomon code over GF(32), so
 * that every one or two wrong symbols, and so every swap, are noticed. Opaque,
 * not a secret.
 */
#ifndef ABIDE_WAIT_HANDLE_H
#define ABIDE_WAIT_HANDLE_H

#include "base/base.h"

enum { HANDLE_SYMBOLS = 10 };

/* The canonical form: the symbols alone, upper case. */
struct handle {
	char kind;
	char symbols[HANDLE_SYMBOLS + 1];
};

/* A new random one. */
void handle_make(char kind, struct handle *ret);
/* As people see it. To be freed. */
char *handle_text(const struct handle *h);
/*
 * Reads what a person typed: case does not matter, O is 0, I and L are 1,
 * dashes after the kind may be anywhere or missing. HANDLE_MALFORMED when it is
 * none or mistyped; INVALID_ARGUMENTS when it is a good one of another kind.
 */
int handle_read(const char *text, char kind, struct handle *ret, struct err *err);

#endif
