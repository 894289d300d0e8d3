/* A parsed list back to text: the form in which the same list always looks the same. */
#include "tests/unit/lib/event_print.h"

#include <string.h>

static void print_value(const struct event_term *t, struct buf *out)
{
	char quote;

	if (t->is_number) {
		buf_printf(out, "0x%llx", (unsigned long long)t->number);
		return;
	}
	/* Text needs quotes where it could end too early or could be read as a number; a value that was in
	 * quotes has no more than one kind of them inside. */
	if (*t->value && !strpbrk(t->value, ",/{}'\" \t\r\n") && !(t->value[0] >= '0' && t->value[0] <= '9')) {
		buf_addstr(out, t->value);
		return;
	}
	quote = strchr(t->value, '\'') ? '"' : '\'';
	buf_addch(out, quote);
	buf_addstr(out, t->value);
	buf_addch(out, quote);
}

static void print_terms(const struct event_node *n, struct buf *out)
{
	buf_addch(out, '/');
	for (size_t i = 0; i < n->n_terms; i++) {
		const struct event_term *t = &n->term[i];

		buf_printf(out, "%s%s%s", i ? "," : "", t->driver ? "@" : "", t->key);
		if (t->value) {
			buf_addch(out, '=');
			print_value(t, out);
		}
	}
	buf_addch(out, '/');
}

static void print_node(const struct event_node *n, struct buf *out)
{
	switch (n->form) {
	case EVENT_NAME:
	case EVENT_RAW:
		buf_addstr(out, n->name);
		break;
	case EVENT_PMU:
		buf_addstr(out, n->name);
		print_terms(n, out);
		break;
	case EVENT_TRACEPOINT:
		buf_printf(out, "%s:%s", n->name, n->event);
		if (n->n_terms)
			print_terms(n, out);
		break;
	case EVENT_NUMERIC:
		buf_printf(out, "%llu:0x%llx", (unsigned long long)n->type, (unsigned long long)n->config);
		if (n->n_terms)
			print_terms(n, out);
		break;
	case EVENT_BREAKPOINT:
		buf_printf(out, "mem:0x%llx/%llu:%s%s%s", (unsigned long long)n->config,
			   (unsigned long long)n->length, n->type & 1 ? "r" : "", n->type & 2 ? "w" : "",
			   n->type & 4 ? "x" : "");
		break;
	}
	if (n->mods) {
		buf_addch(out, ':');
		event_mods_print(n->mods, out);
	}
}

void event_list_print(const struct event_list *l, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct event_node *n = &l->node[i];
		const struct event_group *g = n->group == EVENT_NONE ? NULL : &l->group[n->group];

		if (i)
			buf_addch(out, ',');
		if (g && g->first == i)
			buf_printf(out, "%s{", g->name ? g->name : "");
		print_node(n, out);
		if (g && i + 1 == g->first + g->n) {
			buf_addch(out, '}');
			if (g->mods) {
				buf_addch(out, ':');
				event_mods_print(g->mods, out);
			}
		}
	}
}
