/* CRC-32C (Castagnoli, as in iSCSI: RFC 3720, 12.1 and B.4; reflected polynomial 0x82f63b78), with the CPU's
 * instruction if it has one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The checksum of "123456789" is 0xe3069283. */
uint32_t crc32c(const void *data, size_t len);
/* By tables, for tests and for CPUs without the instruction. */
uint32_t crc32c_portable(const void *data, size_t len);
