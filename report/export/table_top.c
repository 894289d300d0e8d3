/* Which rows of an interval a table has, in which order: all, or the first few by size or by what stands out. */
#include <math.h>
#include <string.h>

#include "common/statistics.h"
#include "report/export/export_table.h"
#include "report/machine/status.h"

/* On a terminal, an interval with more rows than that is folded to so many. */
#define FOLD_ABOVE 64
#define FOLD_TO    16
/* Rows whose median says what is usual. */
#define PEERS_MIN 4

static const struct sheet_cell *cell_at(const struct table_data *t, uint32_t row, uint32_t c)
{
	return t->cell[(size_t)row * t->sheet->n_columns + t->column[c]];
}

/* A CPU that is offline has no row. The machine always has one. */
static bool is_away(const struct table_data *t, uint32_t row, size_t k)
{
	bool any = false;

	if (t->sheet->row[t->row[row]].place.kind == PM_SYSTEM)
		return false;
	for (uint32_t c = 0; c < t->n_columns; c++) {
		const struct sheet_cell *cell = cell_at(t, row, c);

		if (cell && !status_absent(cell->value[k].reason))
			return false;
		any |= cell != NULL;
	}
	return any;
}

/* Tasks and what else comes and goes is ranked by size: the first value that has the unit of the first column, since
 * threads have a column of their own beside processes. */
static double size_of(const struct table_data *t, uint32_t row, size_t k)
{
	for (uint32_t c = 0; c < t->n_columns; c++) {
		const struct sheet_cell *cell = cell_at(t, row, c);

		if (cell && !cell->value[k].reason)
			return strcmp(t->sheet->column[t->column[c]].metric->about->unit,
				      t->sheet->column[t->column[0]].metric->about->unit) ?
				       0 :
				       cell->value[k].v;
	}
	return -1;
}

/* Raises rank[] of each of order[0..n) by how far its value of column `c` is from the others', in their usual
 * distances; what is within a twentieth of the largest is alike. */
static void rank_by(struct table_data *t, uint32_t c, const uint32_t *order, uint32_t n, size_t k)
{
	double usual, spread, largest = 0, sum = 0;
	uint32_t m = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct sheet_cell *cell = cell_at(t, order[i], c);

		if (!cell || cell->value[k].reason || !isfinite(cell->value[k].v))
			continue;
		t->among[m++] = cell->value[k].v;
		largest = fmax(largest, fabs(cell->value[k].v));
	}
	if (m < PEERS_MIN || largest == 0)
		return;
	usual = statistics_median(t->among, m);
	for (uint32_t i = 0; i < m; i++) {
		t->among[i] = fabs(t->among[i] - usual);
		sum += t->among[i];
	}
	/* Where most are equal to the last digit, the median of distances is 0: their mean is not. */
	spread = fmax(fmax(1.4826 * statistics_median(t->among, m), 1.2533 * sum / m), largest / 20);
	for (uint32_t i = 0; i < n; i++) {
		const struct sheet_cell *cell = cell_at(t, order[i], c);

		if (cell && !cell->value[k].reason && isfinite(cell->value[k].v))
			t->rank[order[i]] = fmax(t->rank[order[i]], fabs(cell->value[k].v - usual) / spread);
	}
}

static bool is_of_machine(enum pm_kind kind)
{
	return kind <= PM_CPU;
}

uint32_t table_order(struct exporter *x, struct table_data *t, size_t k)
{
	uint32_t n = 0, fixed = 0, top = x->config.top;

	for (uint32_t r = 0; r < t->n_rows; r++)
		if (!is_away(t, r, k))
			t->order[n++] = r;
	if (top == EXPORT_TOP_FOLDED) {
		top = n > FOLD_ABOVE ? FOLD_TO : 0;
		x->folded |= top != 0;
	}
	if (!top)
		return n;
	/* The machine's rows come first. */
	for (uint32_t i = 0; i < n; i++)
		if (t->sheet->row[t->row[t->order[i]]].place.kind == PM_SYSTEM) {
			uint32_t r = t->order[i];

			memmove(t->order + fixed + 1, t->order + fixed, (i - fixed) * sizeof(*t->order));
			t->order[fixed++] = r;
		}
	for (uint32_t i = fixed; i < n; i++)
		t->rank[t->order[i]] =
			is_of_machine(t->sheet->row[t->row[t->order[i]]].place.kind) ? 0 : size_of(t, t->order[i], k);
	if (fixed < n && is_of_machine(t->sheet->row[t->row[t->order[fixed]]].place.kind))
		for (uint32_t c = 0; c < t->n_columns; c++)
			rank_by(t, c, t->order + fixed, n - fixed, k);
	for (uint32_t i = fixed; i < n; i++) {
		uint32_t r = t->order[i], at = i < fixed + top ? i : fixed + top;

		for (; at > fixed && t->rank[t->order[at - 1]] < t->rank[r]; at--)
			if (at < fixed + top)
				t->order[at] = t->order[at - 1];
		if (at < fixed + top)
			t->order[at] = r;
	}
	return n - fixed > top ? fixed + top : n;
}
