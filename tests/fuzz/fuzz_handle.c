/* A handle as anybody may type it: read or refused, never both, and what is read reads back. */
#include <assert.h>

#include "wait/handle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTOBUF text = {0};
	struct handle h, again;
	AUTOERR err = {0};
	AUTOFREE char *shown = NULL;

	buf_add(&text, data, size);
	if (handle_read(buf_str(&text), 'w', &h, &err) < 0) {
		assert(err.code != ERR_NONE && err.hints.n > 0);
		return 0;
	}
	shown = handle_text(&h);
	assert(handle_read(shown, 'w', &again, &err) == 0);
	assert(strcmp(h.symbols, again.symbols) == 0);
	return 0;
}
