#include "record/host/clocks.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

uint64_t clocks_ns(clockid_t id)
{
	struct timespec t;

	if (clock_gettime(id, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clocks_monotonic(void)
{
	return clocks_ns(CLOCK_MONOTONIC);
}

#if defined(__x86_64__)
#define COUNTER "tsc"
static uint64_t counter(void)
{
	return __rdtsc();
}
uint64_t clocks_counter_hz(void)
{
	unsigned den, num, crystal, rest;

	if (!__get_cpuid_count(0x15, 0, &den, &num, &crystal, &rest) || !den || !num || !crystal)
		return 0;
	return (uint64_t)crystal * num / den;
}
#elif defined(__aarch64__)
#define COUNTER "cntvct"
static uint64_t counter(void)
{
	uint64_t v;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(v));
	return v;
}
uint64_t clocks_counter_hz(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(v));
	return v;
}
#else
#define COUNTER NULL
static uint64_t counter(void)
{
	return 0;
}
uint64_t clocks_counter_hz(void)
{
	return 0;
}
#endif

const char *clocks_counter_name(void)
{
	return COUNTER;
}

/* If a reader is preempted between two clocks, their times do not belong together; so the reading is repeated until
 * all of it takes less than 5 us, and the tightest of a few is kept. */
static void machine_read(void *ctx, struct pm_clocks *out)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8 && best > 5000; i++) {
		uint64_t before = clocks_ns(CLOCK_MONOTONIC), after;
		struct pm_clocks c;

		c.monotonic_raw = clocks_ns(CLOCK_MONOTONIC_RAW);
		c.realtime = clocks_ns(CLOCK_REALTIME);
		c.boottime = clocks_ns(CLOCK_BOOTTIME);
		c.counter = counter();
		after = clocks_ns(CLOCK_MONOTONIC);
		c.monotonic = before + (after - before) / 2;
		if (after - before < best) {
			best = after - before;
			*out = c;
		}
	}
}

static int64_t machine_slept(void *ctx)
{
	uint64_t mono = clocks_ns(CLOCK_MONOTONIC);

	return (int64_t)(clocks_ns(CLOCK_BOOTTIME) - mono);
}

static void emulated_read(void *ctx, struct pm_clocks *out)
{
	machine_read(ctx, out);
	out->counter = 0;
}

const struct clock_source clocks_machine = { .read = machine_read, .slept = machine_slept };
const struct clock_source clocks_emulated = { .read = emulated_read, .slept = machine_slept };
