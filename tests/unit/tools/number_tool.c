/* For tests/unit/tools/number_diff.py: reads "BITS DECIMALS" (hexadecimal bits of a double), answers number_double() and
 * number_fixed(). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/number.h"

int main(void)
{
	char line[80], text[2 * NUMBER_MAX + 2];
	unsigned decimals;
	uint64_t bits;
	double v;

	while (fgets(line, sizeof(line), stdin)) {
		size_t n;

		if (sscanf(line, "%" SCNx64 " %u", &bits, &decimals) != 2)
			return 1;
		memcpy(&v, &bits, sizeof(v));
		n = number_double(text, v);
		text[n++] = ' ';
		n += number_fixed(text + n, v, decimals);
		text[n++] = '\n';
		fwrite(text, 1, n, stdout);
	}
	return 0;
}
