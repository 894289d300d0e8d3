/* The types of a kernel with little in it: task_struct { int cgroups; int pid; }, the pid at byte 12. */
#pragma once

#include <linux/btf.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/unit/lib/sysroot.h"

static inline void kernel_types_put(const char *dir)
{
	static const char names[] = "\0int\0task_struct\0cgroups\0pid\0btf_trace_sched_switch";
	const uint32_t types[] = { 1, 1u << 24, 4, 32, 5, 4u << 24 | 2, 16, 17, 1, 0, 25, 1, 96, 29, 8u << 24, 1 };
	struct btf_header head = { .magic = BTF_MAGIC,
				   .version = 1,
				   .hdr_len = sizeof(head),
				   .type_len = sizeof(types),
				   .str_off = sizeof(types),
				   .str_len = sizeof(names) };
	char path[64];
	FILE *f;

	sysroot_put(dir, "/proc/sys/kernel/pid_max", "32768\n");
	sysroot_put(dir, "/sys/kernel/btf/vmlinux", "x");
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", dir);
	f = fopen(path, "w");
	if (!f)
		abort();
	fwrite(&head, sizeof(head), 1, f);
	fwrite(types, sizeof(types), 1, f);
	fwrite(names, sizeof(names), 1, f);
	fclose(f);
}
