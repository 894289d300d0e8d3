/* Everything between a chunk and a filled sheet, for tests that look at cells. */
#pragma once

#include "tests/unit/lib/builder.h"
#include "report/metric/select.h"
#include "report/numbers/sheet.h"
#include "report/machine/status.h"
#include "tests/unit/lib/test.h"

struct harness {
	struct builder *b;
	struct places places;
	struct binding binding;
	struct bind_options bind;
	struct sheet_config config;
	struct sheet sheet;
	struct replay *replay;
	bool *shown;
	size_t intervals;
	/* Called with every filled sheet. */
	void (*look)(struct harness *h, const struct interval *i, size_t n);
};

static int harness_sink(void *ctx, const struct interval *i, size_t n)
{
	struct harness *h = ctx;

	sheet_fill(&h->sheet, i, n);
	h->intervals += n;
	h->look(h, i, n);
	return 0;
}

static inline void harness_start(struct harness *h, struct builder *b, const char *show, enum replay_mode mode)
{
	struct replay_config config = { .mode = mode };
	struct selection s = { 0 };
	struct error e = { 0 };

	h->b = b;
	places_update(&h->places, &b->model);
	if (binding_build(&h->binding, &h->places, &h->bind, &e))
		fail_msg("%s", e.text);
	h->shown = calloc(h->binding.n_metrics + 1, sizeof(*h->shown));
	assert_non_null(h->shown);
	if (show)
		assert_int_equal(selection_add(&s, SELECT_SHOW, show, NULL), 0);
	if (selection_apply(&s, &h->binding, &h->places, h->shown, NULL, &e))
		fail_msg("%s", e.text);
	selection_release(&s);
	h->replay = replay_new(&config, harness_sink, h);
	replay_begin_tracks(h->replay, &b->model);
	for (size_t i = 0; i < h->binding.n_metrics; i++) {
		const struct bound_metric *m = &h->binding.metric[i];

		for (uint32_t k = 0; h->shown[i] && k < m->n_inputs; k++) {
			const struct bound_input *in = &h->binding.input[m->input[k]];

			for (uint32_t c = 0; !in->constant && c < in->n_counters; c++)
				replay_want(h->replay, in->counter[c], bound_input_aspects(in));
		}
	}
	replay_end_tracks(h->replay);
	assert_int_equal(sheet_build(&h->sheet, &h->config, &h->places, &h->binding, h->shown, h->replay), 0);
}

static inline void harness_feed(struct harness *h, uint64_t row, uint32_t n)
{
	assert_int_equal(replay_chunk(h->replay, builder_chunk(h->b, row, n, 1)), 0);
}

static inline void harness_stop(struct harness *h)
{
	sheet_release(&h->sheet);
	replay_free(h->replay);
	binding_release(&h->binding);
	places_release(&h->places);
	free(h->shown);
}

static inline const struct bound_metric *harness_metric(const struct harness *h, const char *name)
{
	for (size_t i = 0; i < h->binding.n_metrics; i++)
		if (!strcmp(h->binding.metric[i].name, name))
			return &h->binding.metric[i];
	return NULL;
}

/* The cell of a metric in the row of that kind and number (in the order of rows); NULL: there is none. */
static inline const struct sheet_cell *harness_cell(const struct harness *h, const char *metric, enum pm_kind kind,
						    uint32_t nth)
{
	for (uint32_t r = 0; r < h->sheet.n_rows; r++) {
		const struct sheet_row *row = &h->sheet.row[r];

		if (row->place.kind != kind || nth--)
			continue;
		for (uint32_t i = 0; i < row->n_cells; i++)
			if (!strcmp(h->sheet.column[row->cell[i].column].metric->name, metric))
				return &row->cell[i];
		return NULL;
	}
	return NULL;
}

static inline double harness_value(const struct harness *h, const char *metric, enum pm_kind kind, uint32_t nth)
{
	const struct sheet_cell *c = harness_cell(h, metric, kind, nth);

	if (!c)
		fail_msg("no cell of %s at %s %u", metric, pm_kind_name(kind), nth);
	assert_int_equal(c->value[0].reason, 0);
	return c->value[0].v;
}

static inline unsigned harness_reason(const struct harness *h, const char *metric, enum pm_kind kind, uint32_t nth)
{
	const struct sheet_cell *c = harness_cell(h, metric, kind, nth);

	assert_non_null(c);
	return c->value[0].reason;
}

static inline uint32_t harness_rows(const struct harness *h, enum pm_kind kind)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < h->sheet.n_rows; r++)
		n += h->sheet.row[r].place.kind == kind;
	return n;
}

/* Every counter reads the number of its row. */
static inline struct reading one_a_row(struct builder *b, const char *counter, const struct pm_instance *i,
				       uint64_t row)
{
	return (struct reading){ row, 0 };
}

static inline void text_attr(struct builder *b, uint32_t counter, uint32_t key, const char *text)
{
	assert_int_equal(pm_map_set(&builder_counter_at(b, counter)->attrs, key, pm_text(text)), 0);
}
