/*
 * base: what every other folder stands on. Nothing here knows about abide's
 * own matters (waits, proofs, landings).
 */
#ifndef ABIDE_BASE_H
#define ABIDE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/proc.h"
#include "base/platform.h"
#include "base/result.h"
#include "base/seam.h"
#include "base/stop.h"

#endif
