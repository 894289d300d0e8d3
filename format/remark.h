/*
 * What could not be recorded, what would help, and what happened meanwhile: a code with arguments, an array [code,
 * argument ...] in the file. The text is made where it is shown, from the one table remark.inc; a code that is
 * unknown, of a later version, is shown with its arguments. Each argument has a class, so that redaction knows what
 * it may reveal:
 *
 *   %c constant   text of the recorder, the kernel or a driver: a path, a list of CPUs, a part of the sentence
 *   %n number     unsigned
 *   %r errno      unsigned
 *   %e events     names, with ", " between them
 *   %a counter    a counter that the user named
 *   %m metric     a metric's name
 *   %g cgroup     its name
 *   %d device     its name
 *   %p path       a file whose name may be a user's
 *   %t text       free text of a library or of the parser of what users write
 */
#pragma once

#include "common/buf.h"
#include "format/value.h"

enum pm_remark {
#define REMARK(name, code, text) PM_REMARK_##name = code,
#define REMEDY(name, code, text) PM_REMEDY_##name = code,
#include "format/remark.inc"
#undef REMARK
#undef REMEDY
};

/* With arguments by the letters of the row: `unsigned` for %n and %r, otherwise `const char *`, of which 400 bytes
 * are taken. 0 makes no remark, and neither does a lack of memory: its code is 0. */
struct pm_value pm_remark(unsigned code, ...);
/* 0: none. */
uint32_t pm_remark_code(const struct pm_value *v);
/* The letter of an argument, from 0; '\0' if that is unknown. */
char pm_remark_class(const struct pm_value *v, uint32_t argument);
/* Appends the text. */
void pm_remark_text(struct buf *out, const struct pm_value *v);
