/*
 * `status` as text for people.
 */
#ifndef ABIDE_CLI_STATUS_VIEW_H
#define ABIDE_CLI_STATUS_VIEW_H

#include "cli/command.h"

void status_view(const struct call *c, const json_t *data, struct buf *out);

#endif
