/* Walks the tables of counters and PMU classes. */
#include <ctype.h>

#include "common/catalog/catalog.h"
#include "format/model.h"
#include "tests/unit/lib/test.h"

/* catalog.h repeats numbers of format/model.h, which it may not include. */
_Static_assert((int)CATALOG_CUMULATIVE == (int)PM_CUMULATIVE && (int)CATALOG_DELTA == (int)PM_DELTA &&
		       (int)CATALOG_GAUGE == (int)PM_GAUGE && (int)CATALOG_PEAK == (int)PM_PEAK &&
		       (int)CATALOG_STATE == (int)PM_STATE && (int)CATALOG_BITFIELD == (int)PM_BITFIELD,
	       "semantics");
_Static_assert((int)CATALOG_SUM == (int)PM_AGG_SUM && (int)CATALOG_MEAN == (int)PM_AGG_MEAN &&
		       (int)CATALOG_MAX == (int)PM_AGG_MAX && (int)CATALOG_MIN == (int)PM_AGG_MIN &&
		       (int)CATALOG_FIRST == (int)PM_AGG_FIRST && (int)CATALOG_NONE == (int)PM_AGG_NONE,
	       "aggregation");
_Static_assert((int)CATALOG_U64 == (int)PM_U64 && (int)CATALOG_S64 == (int)PM_S64 &&
		       (int)CATALOG_F64 == (int)PM_F64 && (int)CATALOG_TEXT == (int)PM_TEXT,
	       "types");

static void check_name(const struct catalog_table *t, const struct catalog_counter *row)
{
	size_t len = strlen(t->source);

	assert_non_null(row->name);
	assert_memory_equal(row->name, t->source, len);
	assert_int_equal(row->name[len], '.');
	for (const char *p = row->name; *p; p++)
		assert_true(islower((unsigned char)*p) || isdigit((unsigned char)*p) || strchr("._*", *p));
}

static void rows_are_whole(void **state)
{
	size_t rows = 0;

	for (const struct catalog_table *t = catalog_tables; t->source; t++) {
		assert_true(t->n > 0);
		for (size_t i = 0; i < t->n; i++, rows++) {
			const struct catalog_counter *row = &t->row[i];

			assert_non_null(row->source); /* a size in tables.h that is too large leaves empty rows */
			assert_string_equal(row->source, t->source);
			check_name(t, row);
			assert_non_null(row->display);
			assert_non_null(row->unit);
			assert_true(row->width <= 64);
			assert_true(row->help || strchr(row->name, '*'));
		}
	}
	assert_true(rows > 60);
}

static void names_are_unique(void **state)
{
	for (const struct catalog_table *a = catalog_tables; a->source; a++)
		for (size_t i = 0; i < a->n; i++)
			for (const struct catalog_table *b = catalog_tables; b->source; b++)
				for (size_t k = 0; k < b->n; k++)
					if (&a->row[i] != &b->row[k])
						assert_string_not_equal(a->row[i].name, b->row[k].name);
}

static void finds_rows(void **state)
{
	const struct catalog_counter *row;
	size_t n = 1;

	row = catalog_find("cpuidle", "time");
	assert_non_null(row);
	assert_string_equal(row->name, "cpuidle.time.*");
	assert_int_equal(row->den, 1000000);
	assert_null(catalog_find("cpuidle", "nothing"));
	assert_null(catalog_find("nothing", "time"));
	assert_null(catalog_source("nothing", &n));
	assert_int_equal(n, 0);
}

UNIT_TESTS(cmocka_unit_test(rows_are_whole), cmocka_unit_test(names_are_unique), cmocka_unit_test(finds_rows))
