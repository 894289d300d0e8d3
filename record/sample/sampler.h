/*
 * The reader threads. They sleep on absolute deadlines, each on its own timer; tick k is planned for start + k *
 * interval, whatever happened before. While running they allocate, format and log nothing, and wait for nobody.
 *
 * The control thread owns the sampler: it begins an epoch, and may change anything else only while all readers are
 * parked.
 */
#pragma once

#include "record/host/clocks.h"
#include "record/host/process.h"
#include "record/sample/ring.h"

struct sampler;

struct sampler_config {
	struct ring *ring;                 /* borrowed, with its readout */
	const struct clock_source *clocks; /* NULL: those of the machine */
};

/* What readers met. */
struct sampler_delay {
	/* Why ticks were lost: the most of one reader. */
	uint64_t late_ns;    /* it woke up that long after the tick was due */
	uint64_t overrun_ns; /* it was still reading when that tick was due */
	uint64_t missed;     /* ticks that it did not take, whoever else did */
	uint64_t stood_in;   /* samples that the kernel left out and that were read, of all readers */
};

/* Starts the threads, parked. 0 or -errno. */
int sampler_new(struct sampler **s, const struct sampler_config *config, struct error *e);
/* The readers must be parked. False if some hang in a file that does not answer; then the sampler, its ring and its
 * readout must stay. */
bool sampler_free(struct sampler *s);

/* Begins an epoch, and sets first_chunk in *e. Readers must be parked. False if the writer is hundreds of epochs
 * behind. */
bool sampler_begin(struct sampler *s, struct ring_epoch *e);
/* Parks the readers, during an epoch or after its end, and hands their rows to the writer. Near the end
 * (sampler_hurry(), or a pending fatal signal), a reader whose reading takes longer than half a second is abandoned,
 * and its slot fails with ETIMEDOUT. */
void sampler_park(struct sampler *s);
void sampler_hurry(struct sampler *s);
/* While parked: pins the readers of a CPU again that has come back. */
void sampler_pin_again(struct sampler *s, uint32_t cpu);
/* Readable once the readers have reached the end of an epoch; call sampler_park() then. */
int sampler_fd(const struct sampler *s);
bool sampler_running(const struct sampler *s);
/* While parked. */
struct sampler_delay sampler_delay(const struct sampler *s);
/* While parked: the chunk that comes next; all below it are the writer's. */
uint64_t sampler_next_chunk(const struct sampler *s);
