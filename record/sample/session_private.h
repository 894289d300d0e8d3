/* Between the files of a session: what starts and stops its threads. Nobody else includes this. */
#pragma once

#include "record/sample/session.h"

/* Readers, rings and where their values go, all made from the plan; the readers are parked. 0 or -errno. */
int session_start_threads(struct session *s, struct error *e);
/* Releases these; the readers must be parked. */
void session_stop_threads(struct session *s);
/* Ticks again, in the segment that is open. */
void session_tick_on(struct session *s);
/* Records the events that wait in the plan. */
void session_tell_pending(struct session *s);
