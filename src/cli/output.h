/*
 * Answers on stdout: the JSON envelope, or text for people.
 */
#ifndef ABIDE_CLI_OUTPUT_H
#define ABIDE_CLI_OUTPUT_H

#include "cli/command.h"

/* Prints an ok answer. False when stdout took less than all of it. */
bool output_result(struct call *c, const struct result *res);
/* Prints a refusal (JSON on stdout, text on stderr), with warnings gathered before. */
bool output_error(struct call *c, const struct result *res, const struct err *err);
/* The envelope as one line with a final newline. To be freed. */
char *output_envelope(const char *verb, const struct result *res, const struct err *err);
/* Writes all of it to stdout. False when it could not, which stderr is told. */
bool output_write(const char *text, size_t len);

#endif
