/* Between the files of the sampler. Nobody else includes this. */
#pragma once

#include "record/host/affinity.h"
#include "record/sample/sampler.h"

/* A reader that does not return from a file is abandoned: if it returns after all, it touches nothing. */
enum reader_state { READER_PARKED, READER_BUSY, READER_LEFT };

struct reader {
	alignas(RING_LINE) struct sampler *sampler;
	pthread_t thread;
	uint32_t index;
	uint64_t in_chunk; /* first chunk of the epoch that it has not touched; read by control while parked */
	int64_t slept_ns;  /* first reader */
	struct sampler_delay delay;
	/* Whether it looks for samples at each tick, and reads what has none: for good once some were missing. */
	bool gaps;
	uint64_t phase_ns;       /* how long after a tick its sample is due */
	uint64_t read_ns;        /* when it had read the last row */
	uint64_t awake_ns;       /* when it woke up last */
	_Atomic pid_t tid;       /* 0: not yet running */
	_Atomic bool pins_again; /* its CPU is back; set by control */
	_Atomic int state;       /* enum reader_state; from BUSY by the one who is first */
	_Atomic uint32_t at;     /* the slot that it reads, + 1; 0: none */
};

struct sampler {
	struct sampler_config config;
	struct reader *reader;
	uint32_t started;
	int fd;
	bool running;  /* control's own view */
	bool hurry;    /* likewise: the end is near */
	uint32_t left; /* abandoned readers */
	struct ring_epoch epoch;
	uint64_t next_chunk;
	struct affinity anywhere;                    /* where the process may run */
	alignas(RING_LINE) _Atomic uint32_t command; /* rises with each epoch */
	_Atomic uint32_t exit;
	alignas(RING_LINE) _Atomic uint32_t stop;   /* what readers sleep on between ticks */
	alignas(RING_LINE) _Atomic uint32_t active; /* readers in the epoch */
};

/* Where a slot's values go in that row. */
static inline void slot_cells(const struct ring_buf *b, const struct slot *s, uint32_t row, struct cells *c)
{
	const struct pm_chunk_group *g = &b->group[s->group];

	c->v = g->v + s->value * g->stride + row;
	c->status = g->status + s->value * g->stride + row;
	c->step = s->step * g->stride;
	c->n = s->n;
	c->enabled = s->enabled == PM_NONE ? NULL : g->v + s->enabled * g->stride + row;
	c->running = s->running == PM_NONE ? NULL : g->v + s->running * g->stride + row;
}

/* Lets the kernel begin with the samples of a reader. */
void sampler_start_samples(struct reader *r);
/* Reads units without a sample of that tick: some kernels do not sample an idle CPU. */
void sampler_stand_in(struct reader *r, const struct ring_epoch *e, uint64_t chunk, uint64_t first, uint64_t tick);
/* Fills the rows of one chunk, and finds whether the reader has to stand in from then on. A tick with samples of some
 * units only is missing in the others. */
void sampler_collect_samples(struct reader *r, const struct ring_epoch *e, uint64_t chunk, uint64_t first,
			     uint64_t last);
