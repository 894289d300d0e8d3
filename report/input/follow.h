/* Waiting for a recording that is still being written. */
#pragma once

#include <stdbool.h>

struct follow {
	const char *path;
	int watch;      /* inotify descriptor; -1: none, so it polls */
	bool last_look; /* the recorder has ended, but its last bytes are not read yet */
};

/* Watches the file from now on; the path is borrowed. */
void follow_init(struct follow *f, const char *path);
void follow_release(struct follow *f);
/* 0 when there may be more, 1 when nobody writes any more. For pipeline_config.wait. */
int follow_wait(void *follow);
