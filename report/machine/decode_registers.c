/* The fields of the registers, as in Intel's SDM (volume 4) and AMD's manuals. */
#include "report/machine/decode.h"

#define END \
	{ \
		.name = NULL \
	}
#define FIELDS(...) \
	(const struct reg_field[]) \
	{ \
		__VA_ARGS__, END \
	}

static unsigned bits(uint64_t v, unsigned hi, unsigned lo)
{
	return (unsigned)(v >> lo & ((UINT64_C(1) << (hi - lo + 1)) - 1));
}

/* ---- what is more than a field ---- */

static const char *const active_cores[] = {
	"1 core",   "2 cores",  "3 cores",  "4 cores",  "5 cores",  "6 cores",  "7 cores",  "8 cores",  "9 cores",
	"10 cores", "11 cores", "12 cores", "13 cores", "14 cores", "15 cores", "16 cores", "17 cores", "18 cores",
};

static void turbo(const struct cpu_facts *f, uint64_t value, struct decoded *d, unsigned first, unsigned n)
{
	for (unsigned i = 0; i < n && i < 8; i++) {
		unsigned ratio = bits(value, 8 * i + 7, 8 * i);

		if (ratio && f->bclk_mhz > 0)
			decode_add(d, active_cores[first + i], ratio * f->bclk_mhz, "MHz");
		else if (ratio)
			decode_add(d, active_cores[first + i], ratio, "x bus clock");
	}
}

static bool has(const struct cpu_facts *f, enum cpu_flag flag)
{
	return f->id.known && (f->id.known->features->flags & flag);
}

static const char *const groups_of_cores[] = { "group 1", "group 2", "group 3", "group 4",
					       "group 5", "group 6", "group 7", "group 8" };

/* Groups of cores whose sizes turbo_ratio_limit1 contains, on models that are known to have them. */
static void turbo_first(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	if (has(f, CPU_KNL_TURBO)) {
		/* The first group's ratio, then for each following group by how much it is slower and how many cores
		 * it adds. */
		unsigned ratio = bits(value, 15, 8), cores = bits(value, 7, 1);

		for (unsigned i = 0; i < 7; i++) {
			if (i) {
				ratio -= bits(value, 8 * i + 15, 8 * i + 13);
				cores += bits(value, 8 * i + 12, 8 * i + 8);
			}
			decode_put(d, groups_of_cores[i], "up to %u cores %g MHz", cores, ratio * f->bclk_mhz);
		}
		return;
	}
	if (!has(f, CPU_TRL_COUNTS)) {
		turbo(f, value, d, 0, 8);
		return;
	}
	for (unsigned i = 0; i < 8; i++)
		if (bits(value, 8 * i + 7, 8 * i))
			decode_add(d, groups_of_cores[i], bits(value, 8 * i + 7, 8 * i) * f->bclk_mhz, "MHz");
}

static void turbo_second(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	if (!has(f, CPU_TRL_COUNTS)) {
		turbo(f, value, d, 8, 8);
		return;
	}
	for (unsigned i = 0; i < 8; i++)
		if (bits(value, 8 * i + 7, 8 * i))
			decode_add(d, groups_of_cores[i], bits(value, 8 * i + 7, 8 * i), "cores at most");
}

static void turbo_third(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	turbo(f, value, d, 16, 2);
}

static void turbo_atom(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	for (unsigned i = 0; i < 4; i++)
		decode_add(d, active_cores[i], bits(value, 8 * i + 5, 8 * i) * f->bclk_mhz, "MHz");
}

static void latency(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	static const double unit_ns[] = { 1, 32, 1024, 32768, 1048576, 33554432 };
	unsigned unit = bits(value, 12, 10);

	decode_flag(d, "valid", bits(value, 15, 15));
	if (unit < 6)
		decode_add(d, "latency", bits(value, 9, 0) * unit_ns[unit], "ns");
	else
		decode_word(d, "latency", "in an unknown unit");
}

static const char *const core_reasons[16] = {
	[0] = "PROCHOT",      [1] = "ThermStatus", [4] = "Graphics",  [5] = "Auto-HWP",  [6] = "VR-Therm",
	[8] = "Amps",         [9] = "CorePwr",     [10] = "PkgPwrL1", [11] = "PkgPwrL2", [12] = "MultiCoreTurbo",
	[13] = "Transitions",
};
static const char *const skl_reasons[16] = {
	[0] = "PROCHOT",   [1] = "ThermStatus", [4] = "RSR",          [5] = "RATL",
	[6] = "VR-Therm",  [7] = "VR-TDC",      [8] = "Other",        [10] = "PkgPwrL1",
	[11] = "PkgPwrL2", [12] = "MaxTurbo",   [13] = "Transitions",
};
static const char *const gfx_reasons[16] = {
	[0] = "PROCHOT", [1] = "ThermStatus", [4] = "Graphics",  [6] = "VR-Therm",
	[8] = "Amps",    [9] = "GFXPwr",      [10] = "PkgPwrL1", [11] = "PkgPwrL2",
};
static const char *const ring_reasons[16] = {
	[0] = "PROCHOT", [1] = "ThermStatus", [6] = "VR-Therm", [8] = "Amps", [10] = "PkgPwrL1", [11] = "PkgPwrL2",
};

void decode_reasons(uint64_t value, const char *const *name, struct decoded *d)
{
	for (unsigned half = 0; half < 2; half++)
		for (unsigned i = 0; i < 16; i++)
			if (name[i] && bits(value, i + 16 * half, i + 16 * half))
				decode_word(d, half ? "logged" : "active", name[i]);
	if (!d->text.len)
		decode_word(d, "active", "nothing");
}
static void microcode(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	decode_hex(d, "microcode", f->id.vendor == CPU_AMD ? value & 0xffffffff : value >> 32);
}

/* The time in which the energy counter wraps around: a recording must read it more often. */
static void joule_range(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	if (f->range_s > 0) {
		decode_add(d, "counter range", f->range_s, "s");
		decode_add(d, f->tdp_recorded ? "at" : "at a guessed", f->tdp_watts, "W");
	}
}

static void offset(const struct cpu_facts *f, uint64_t value, struct decoded *d)
{
	unsigned n = f->id.known ? f->id.known->features->tcc_bits : 0;

	if (n)
		decode_add(d, "offset", bits(value, 24 + n - 1, 24), "C");
	else if (!f->id.known && f->id.vendor == CPU_INTEL && bits(value, 29, 24))
		decode_word(d, "offset", "depends on the model, which is not known");
}

#include "report/machine/registers.inc"
