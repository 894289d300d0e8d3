/* turbostat's --Dump. */
#pragma once

#include "common/buf.h"
#include "report/pipeline/pipeline.h"

/* Name and value of each counter that feeds a shown column, in the first row. */
void dump_turbostat(const struct offer *offer, const struct pm_chunk *chunk, struct buf *out);
