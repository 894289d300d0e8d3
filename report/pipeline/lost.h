#pragma once

#include "common/buf.h"
#include "report/metric/bind.h"
#include "report/replay/replay.h"

/* Appends which requested values were never known, why, and what would help: a line for each reason. */
void lost_note(const struct replay *r, const struct pm_model *m, const struct binding *b, struct buf *out);
