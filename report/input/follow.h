/* Waiting for a recording that is still being written. */
#ifndef REPORT_FOLLOW_H
#define REPORT_FOLLOW_H

#include <stdbool.h>

struct follow {
	const char *path;
	int watch;      /* inotify descriptor, -1: none, then it is looked at from time to time */
	bool last_look; /* the recorder is gone: what it wrote since the last look is still to be read */
};

/* Watches the file from now on; the path is borrowed. */
void follow_init(struct follow *f, const char *path);
void follow_release(struct follow *f);
/* Returns 0 when there may be more, 1 when nobody writes any longer. For pipeline_config.wait. */
int follow_wait(void *follow);

#endif
