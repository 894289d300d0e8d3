/* Between the files of vendor_events.h; private to them. */
#pragma once

#include "common/event/vendor_events.h"
#include "common/json.h"
#include "common/names.h"

struct vendor_events {
	struct json **file; /* owned */
	size_t n_files;
	const struct json **event; /* owned array; objects of the files */
	size_t n_events;
	struct names standard;              /* EventName in lower case -> place in standard_event */
	const struct json **standard_event; /* owned array */
	size_t n_standard;
	struct {
		char *rows, *help; /* owned; help NULL: none */
	} * packed;                /* owned; see vendor_events_print() */
	size_t n_packed;
	struct names words; /* none: all that is packed is wanted */
};

/* Text of a key; NULL if it is not there, no text or empty. */
const char *vendor_field(const struct json *object, const char *key);
/* In lower case. -E2BIG beyond `size`. */
int vendor_lower(char *to, size_t size, const char *from);
