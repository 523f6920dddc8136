/* A note on refs/notes/abide: anybody's bytes. */
#include <stdio.h>

#include "project/receipt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTORECEIPTS all = {0};
	AUTOFREE char *why = NULL;
	int rc = receipt_parse_all((const char *)data, size, &all, &why);

	if ((rc == 0) != (all.n > 0) || (rc == 1 && !why))
		abort();
	for (size_t i = 0; i < all.n; i++) {
		struct receipt *r = &all.v[i];

		/* What was taken holds no byte that a terminal or a path would mind. */
		for (const char *p = r->branch; *p; p++)
			if ((unsigned char)*p <= ' ' || *p == 0x7f)
				abort();
		if (strstr(r->branch, "..") || strlen(r->head.hex) < 40 || !json_is_object(r->raw))
			abort();
		receipt_check(r, &r->head, &r->tree, r->trunk);
	}
	return 0;
}
