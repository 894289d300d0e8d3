/* Texts of remarks, and remarks that are nothing but a text. */
#pragma once

#include <stdio.h>

#include "format/remark.h"

/* The text, until eight others were asked for; NULL: no remark. */
static inline const char *said(const struct pm_value *remark)
{
	static char text[8][800];
	static unsigned next;
	struct buf b = BUF_INIT;
	char *at = text[next++ % 8];

	if (!pm_remark_code(remark))
		return NULL;
	pm_remark_text(&b, remark);
	snprintf(at, sizeof(text[0]), "%s", buf_str(&b));
	buf_release(&b);
	return at;
}

/* The same of one that is then released. */
static inline const char *said_once(struct pm_value remark)
{
	const char *text = said(&remark);

	pm_value_release(&remark);
	return text;
}

/* NULL: none. */
static inline struct pm_value remark_of(const char *text)
{
	return text ? pm_remark(PM_REMARK_TEXT, text) : pm_remark(0);
}
