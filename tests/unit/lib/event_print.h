/* A parsed list of events as text, for tests of parsing. */
#pragma once

#include "common/event/event.h"

/* Appends text that parses to the same list, without blanks, numbers as 0x..., modifiers in order. */
void event_list_print(const struct event_list *list, struct buf *out);
