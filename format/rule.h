/* The rules of SPEC.md that a frame with good checksums may break, so that the writer of one learns which. */
#pragma once

/* clang-format off */
#define PM_RULES(X) \
	X(KIND, "Conventions", "each item is well-formed, of a definite length, of the kind that its table says, and nothing follows") \
	X(KEYS, "Conventions", "keys of maps are unsigned integers up to 511, each there once") \
	X(ORDER, "Conventions", "the keys of a body ascend") \
	X(PAIRS, "Conventions", "a list of pairs or triples does not end inside one") \
	X(REQUIRED, "Conventions", "no key is missing that its table calls required") \
	X(VALUES, "Conventions", "values of attributes are numbers, booleans, strings, and arrays and maps of these") \
	X(TEXT, "Conventions", "texts are UTF-8 without NUL") \
	X(RANGE, "Conventions", "a number is in the range that its table says") \
	X(LIMIT, "Limits", "sizes, counts and depth stay within the table") \
	X(TIME, "Limits", "times are below 2^63 ns") \
	X(BODY, "Frames", "a compressed body is one zstd frame, with the content size that key 3 of meta says") \
	X(FIRST, "Definitions", "a list of definitions has a `first` of 1 or more") \
	X(LISTED, "Definitions", "runs of ids ascend, have a count, and give each item of the list one id") \
	X(SAME, "Definitions", "a definition is the same as the known one of its id") \
	X(CPUS, "Topology (type 2)", "arrays have one number a CPU; those of array 2 are known and ascend") \
	X(SCALE, "Schema (type 3)", "a scale is two numbers above 0, or a decimal text") \
	X(WIDTH, "Schema (type 3)", "the width is 1 to 64 bits") \
	X(STRING, "Schema (type 3)", "strings are texts or bytes") \
	X(RUNS, "Schema (type 3)", "counters and instances of groups are runs [first, count, step], with a count that is not 0") \
	X(GROUP, "Schema (type 3)", "a group has a source, and counters and instances that are defined, no column twice; a counter has a name of its own, of 1 to 512 bytes") \
	X(CONTINUE, "Schema (type 3)", "a group that continues one of a smaller id has no counters or flags, and instances of it stay or leave") \
	X(RETIRED, "Instances (type 4)", "retired ids are from 1 to 2^32 - 1, each less the one before") \
	X(CONFIG, "Config (type 7)", "an entry has one value, or else a reason that is not 0") \
	X(NUMBERS, "Config (type 7)", "numbers of instances are runs that ascend") \
	X(EVENT, "Events (type 9)", "types of events are from 1 to 2^31 - 1") \
	X(ROWS, "Chunks", "a chunk has 1 to 128 rows, and arrays 10 and 12 one number fewer") \
	X(FLAGS, "Chunks", "rows with flags ascend") \
	X(NAMED, "Chunks", "groups are runs [first, count], each named once") \
	X(CLOCKS, "Chunks", "there are four clocks or more") \
	X(CHUNK, "Chunks", "a key chunk has keys 8 and 16, each chunk keys 14 and 17") \
	X(DEPENDENT, "Chunks", "a dependent chunk has the run, segment and clocks of the previous one, and not codec 1") \
	X(ASCEND, "Limits", "ticks do not decrease") \
	X(BLOCKS, "Blocks", "the blocks have all bytes of the payload and all groups") \
	X(BLOCK, "Blocks", "a block is stored, or one zstd frame of `raw` bytes, at most 40,000 times its stored bytes") \
	X(STATUS, "Blocks", "counts and reasons of missing values are not 0, and within the values of the group") \
	X(PLAIN, "Blocks", "a plain matrix has a typed array of the right tag and length for each band") \
	X(PACKED, "Packed columns", "the forms of a packed matrix use its bytes exactly")
/* clang-format on */

enum pm_rule {
	PM_RULE_NONE,
#define X(name, section, text) PM_RULE_##name,
	PM_RULES(X)
#undef X
		PM_RULE_COUNT
};

/* "Conventions: the keys of a body ascend". */
const char *pm_rule_text(enum pm_rule rule);
