/* pmrep eval: the value of a metric expression for given numbers. */
#include "common/memory.h"
#include "report/cmd.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/metric/expr.h"
#include "common/options_table.h"
#include "common/number.h"
#include "common/parse.h"

static const char brief[] =
	"Usage: pmrep eval EXPR [ID=VALUE...]\n"
	"Print the value of a metric expression; nan if it has none.\n\n"
	"ID is a name in the expression: an event, a counter, a #literal, or a whole call such as first(x).\n"
	"VALUE, after the last =, is a number or nan.\n\n"
	"Examples:\n"
	"  pmrep eval 'instructions / cycles' instructions=300 cycles=200      1.5\n"
	"  pmrep eval '100 * x if #smt_on else y' x=1 y=2 '#smt_on=0'           2\n"
	"  pmrep eval -- '-x' x=3                                              -3\n";

struct eval {
	char *expr;
	char **binding;
	int n_bindings;
};

static int take_words(void *into, int n, char **operand, struct error *e)
{
	struct eval *v = into;

	if (!n)
		return error_set(e, EINVAL, "no expression given; try --help");
	*v = (struct eval){ operand[0], operand + 1, n - 1 };
	return 0;
}

static const struct option_row rows[] = { { 0 } };
static const struct options_spec spec = {
	.name = "pmrep eval",
	.rows = rows,
	.operands = take_words,
	.operands_doc = "EXPR [ID=VALUE...]",
	.brief = brief,
};

static int parse_value(const char *text, struct value *v)
{
	uint64_t number;

	if (!strcasecmp(text, "nan")) {
		*v = value_missing(VALUE_NO_INPUT);
		return 0;
	}
	/* Integers keep all their 64 bits for bits(). */
	if (!parse_u64(text, &number)) {
		*v = value_of_u64(number);
		return 0;
	}
	*v = value_of(0);
	return parse_double(text, &v->v);
}

enum { UNBOUND, INFERRED, GIVEN };

/* What an ID says about an input: x=5 also defines first(x) and has_event(x), unless they are given. */
static void bind_input(const struct expr_input *input, const struct expr_input *id, struct value given,
		       struct value *value, char *bound)
{
	if (strcmp(input->name, id->name) || strcmp(input->by ? input->by : "", id->by ? id->by : ""))
		return;
	if (input->aspect == id->aspect) {
		*value = given;
		*bound = GIVEN;
		return;
	}
	if (*bound == GIVEN || id->aspect != EXPR_VALUE)
		return;
	switch (input->aspect) {
	case EXPR_FIRST:
	case EXPR_LAST:
	case EXPR_MEAN:
	case EXPR_MAX:
		*value = given;
		break;
	case EXPR_HAS_EVENT:
	case EXPR_SOURCE_COUNT:
	case EXPR_AGGR_NR:
		*value = value_of(1);
		break;
	default:
		return;
	}
	*bound = INFERRED;
}

static int bind(const char *word, const struct expr_input *input, size_t n, struct value *value, char *bound,
		struct error *e)
{
	const char *equals = strrchr(word, '=');
	const struct expr_input *id = NULL;
	struct expr *x = NULL;
	struct value given;
	size_t n_ids = 0;
	SCOPED(scoped_free) char *text = NULL;
	int r;

	if (!equals || equals == word)
		return error_set(e, EINVAL, "'%s' is not of the form ID=VALUE", word);
	if (parse_value(equals + 1, &given))
		return error_set(e, EINVAL, "%s: '%s' is not a number", word, equals + 1);
	text = memory_format("%.*s", (int)(equals - word), word);
	/* Parsed as in the expression, so that cpu@x\=1@ is the same ID in both places. */
	r = expr_parse(&x, text, NULL);
	if (!r)
		id = expr_inputs(x, &n_ids);
	if (r || n_ids != 1) {
		r = error_set(e, EINVAL, "'%s' is not a single ID", text);
	} else {
		for (size_t i = 0; i < n; i++)
			bind_input(&input[i], id, given, &value[i], &bound[i]);
	}
	expr_free(x);
	return r;
}

static int refuse_unbound(const struct expr_input *input, struct error *e)
{
	static const char *const call[] = {
		[EXPR_FIRST] = "first",     [EXPR_LAST] = "last",
		[EXPR_MEAN] = "mean",       [EXPR_MAX] = "max_of",
		[EXPR_ELAPSED] = "elapsed", [EXPR_SOURCE_COUNT] = "source_count",
		[EXPR_AGGR_NR] = "aggr_nr", [EXPR_CPUID_MATCH] = "strcmp_cpuid_str",
		[EXPR_SECONDS] = "seconds", [EXPR_RATE] = "rate",
		[EXPR_SYSTEM] = "system",
	};
	const char *f = input->aspect < sizeof(call) / sizeof(*call) ? call[input->aspect] : NULL;
	SCOPED(scoped_free)
	char *id = f ? memory_format("%s(%s)", f, input->name) :
		       memory_format("%s%s", input->aspect == EXPR_LITERAL ? "#" : "", input->name);

	return error_set(e, EINVAL, "no value for %s; give %s=VALUE", id, id);
}

static int evaluate(const struct eval *v, struct value *result, struct error *e)
{
	const struct expr_input *input;
	SCOPED(scoped_free) struct value *value = NULL;
	struct expr *x;
	SCOPED(scoped_free) char *bound = NULL;
	size_t n;
	int r = expr_parse(&x, v->expr, e);

	if (r)
		return r;
	input = expr_inputs(x, &n);
	value = memory_new(n, sizeof(*value));
	bound = memory_new(n, sizeof(*bound));
	for (int i = 0; !r && i < v->n_bindings; i++)
		r = bind(v->binding[i], input, n, value, bound, e);
	for (size_t i = 0; !r && i < n; i++) {
		if (!bound[i] && input[i].aspect == EXPR_HAS_EVENT)
			value[i] = value_of(0);
		else if (!bound[i])
			r = refuse_unbound(&input[i], e);
	}
	if (!r)
		*result = expr_eval(x, value);
	expr_free(x);
	return r;
}

static int run(void *input, const struct options_common *common)
{
	struct value result;
	struct error e = { 0 };
	char number[NUMBER_MAX];

	if (evaluate(input, &result, &e))
		return cmd_fail(spec.name, &e);
	printf("%.*s\n", (int)number_double(number, result.reason ? NAN : result.v), number);
	return EXIT_GOOD;
}

int cmd_eval(int argc, char **argv)
{
	return cmd_run(&spec, argc, argv, &(struct eval){ 0 }, run);
}
