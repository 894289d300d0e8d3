/*
 * The reader threads. They sleep on absolute deadlines, each on its own timer; tick k is planned for start + k *
 * interval, whatever happened before. While they run they allocate, format and log nothing, and wait for nobody.
 *
 * The control thread owns the sampler: it begins an epoch, and may change anything else only while all readers are
 * parked.
 */
#ifndef RECORD_SAMPLER_H
#define RECORD_SAMPLER_H

#include "record/host/clocks.h"
#include "record/sample/ring.h"

struct sampler;

struct sampler_config {
	struct ring *ring;                 /* borrowed, with its readout */
	const struct clock_source *clocks; /* NULL: those of the machine */
	unsigned realtime;                 /* priority of the readers before all ordinary work; 0: none */
	void (*thread_starts)(void);       /* called on each new thread before it reads: drops privileges; or NULL */
};

/* Starts the threads, parked. 0 or -errno. */
int sampler_new(struct sampler **s, const struct sampler_config *config, struct error *e);
/* The readers must be parked. False: some were left behind in a file that does not answer, and what they read, with the
 * sampler, its ring and its readout, has to stay. */
bool sampler_free(struct sampler *s);

/* Begins an epoch; what is left open in *e (first_chunk) is filled in. Readers must be parked. False: the writer is
 * hundreds of epochs behind, and there is no room for another one. */
bool sampler_begin(struct sampler *s, struct ring_epoch *e);
/* Parks the readers, in the middle of an epoch or after its end, and hands what they filled to the writer. Once the end
 * is near (sampler_hurry(), or a signal waits that ends the program), a reading that takes longer than half a second is
 * given up with its reader: its slot is dead (ETIMEDOUT). */
void sampler_park(struct sampler *s);
void sampler_hurry(struct sampler *s);
/* While parked: the CPU is back, and the kernel has let its readers go elsewhere. */
void sampler_pin_again(struct sampler *s, uint32_t cpu);
/* Readable once the readers have come to the end of an epoch by themselves; sampler_park() is still to be called. */
int sampler_fd(const struct sampler *s);
bool sampler_running(const struct sampler *s);
/* While parked: the chunk that comes next; all below it are the writer's. */
uint64_t sampler_next_chunk(const struct sampler *s);

#endif
