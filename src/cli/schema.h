/*
 * The published JSON Schemas (2020-12), from the tables: one a verb, the shared
 * envelope, the receipt, abide.yaml.
 */
#ifndef ABIDE_CLI_SCHEMA_H
#define ABIDE_CLI_SCHEMA_H

#include "cli/command.h"

/* Every name that schema_named() knows, sorted. */
void schema_names(struct strv *ret);
/* The file below schema/ that holds it. To be freed. */
char *schema_file(const char *name);
/*
 * NULL when there is none of that name. Published schemas tolerate keys that
 * they do not know, since a later version may add some; STRICT ones do not, so
 * that a test sees a key that no table declares.
 */
json_t *schema_named(const char *name, bool strict);

#endif
