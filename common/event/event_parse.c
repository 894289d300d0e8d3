/* Parses a list of events: recursive descent over the characters, which keeps the column of everything it finds. */
#include "common/event/event.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/parse.h"

struct parser {
	const char *text, *at;
	struct error *e;
	struct event_list *list;
};

static char *copied(const char *text, size_t len)
{
	return memory_checked(strndup(text, len));
}

static uint32_t column(const struct parser *p)
{
	return (uint32_t)(p->at - p->text);
}

/* Of a long list the message shows only the part around the error. */
static int fail(struct parser *p, const char *where, const char *message)
{
	unsigned at = (unsigned)(where - p->text) + 1;

	return *where ? error_set(p->e, EINVAL, "column %u: %s, at \"%.40s\"", at, message, where) :
			error_set(p->e, EINVAL, "column %u: %s, at the end", at, message);
}

static void skip_blanks(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
		p->at++;
}

static bool is_word(char c, bool first)
{
	return isalnum((unsigned char)c) || (c && strchr(first ? "_*?[" : "_*?[].!-", c));
}

/* Length of the word at `s`, including "[!a-c]" and the like. */
static size_t word_length(const char *s)
{
	size_t n = 0;

	if (!is_word(s[0], true))
		return 0;
	while (is_word(s[n], false))
		n++;
	return n;
}

/* "r1a8", "r0x1a8": 1 to 16 hexadecimal digits. */
static bool raw_number(const char *s, size_t len, uint64_t *value)
{
	if (len < 2 || s[0] != 'r')
		return false;
	s++, len--;
	if (len > 2 && s[0] == '0' && s[1] == 'x')
		s += 2, len -= 2;
	return len <= 16 && !parse_u64_span(s, len, 16, value);
}

/* ---- terms ---- */

static void term_release(struct event_term *t)
{
	free(t->key);
	free(t->value);
}

void event_terms_free(struct event_term *terms, size_t n)
{
	for (size_t i = 0; i < n; i++)
		term_release(&terms[i]);
	free(terms);
}

static bool is_key(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_-.", c));
}

static int parse_value(struct parser *p, struct event_term *t)
{
	const char *start = p->at;
	size_t len;

	if (*start == '\'' || *start == '"') {
		const char *end = strchr(start + 1, *start);

		if (!end)
			return fail(p, start, "the quote is not closed");
		p->at = end + 1;
		t->value = copied(start + 1, (size_t)(end - start - 1));
		return 0;
	}
	len = strcspn(start, ",/{}'\" \t\r\n");
	if (!len)
		return fail(p, start, "a value is missing after \"=\"");
	p->at = start + len;
	t->value = copied(start, len);
	t->is_number = !parse_u64_span(t->value, len, 0, &t->number);
	if (!t->is_number && strspn(start, "0123456789") == len)
		return fail(p, start, "the number does not fit 64 bits");
	return 0;
}

static int parse_term(struct parser *p, struct event_term *t)
{
	size_t len = 0;

	*t = (struct event_term){ .column = column(p) };
	if (*p->at == '@') {
		t->driver = true;
		p->at++;
	}
	while (is_key(p->at[len]))
		len++;
	if (!len)
		return fail(p, p->at, "the name of a term is missing");
	t->key = copied(p->at, len);
	p->at += len;
	skip_blanks(p);
	if (*p->at != '=')
		return 0;
	p->at++;
	skip_blanks(p);
	return parse_value(p, t);
}

/* Up to and without `end`. */
static int parse_terms(struct parser *p, char end, struct event_term **terms, size_t *n)
{
	struct event_term *list = NULL;
	size_t count = 0;
	int r = 0;

	skip_blanks(p);
	while (*p->at != end) {
		if (!*p->at) {
			r = fail(p, p->at, "the closing \"/\" is missing");
			break;
		}
		if (count == EVENT_TERM_MAX) {
			r = error_set(p->e, E2BIG, "column %u: an event has at most %d terms", column(p) + 1,
				      EVENT_TERM_MAX);
			break;
		}
		memory_room(&list, count, sizeof(*list));
		r = parse_term(p, &list[count++]);
		if (r)
			break;
		skip_blanks(p);
		if (*p->at == ',') {
			p->at++;
			skip_blanks(p);
			if (*p->at == end)
				r = fail(p, p->at, "a term is missing after \",\"");
		} else if (*p->at && *p->at != end) {
			r = fail(p, p->at, "expected \",\" or \"/\" after the term");
		}
		if (r)
			break;
	}
	if (r) {
		event_terms_free(list, count);
		return r;
	}
	*terms = list;
	*n = count;
	return 0;
}

int event_terms_parse(struct event_term **terms, const char *text, struct error *e)
{
	struct parser p = { .text = text, .at = text, .e = e };
	size_t n = 0;
	int r = parse_terms(&p, '\0', terms, &n);

	return r ? r : (int)n;
}

/* ---- events ---- */

static void node_release(struct event_node *n)
{
	free(n->name);
	free(n->event);
	event_terms_free(n->term, n->n_terms);
}

/* Reads modifier letters, such as "u" of "cpu/cycles/u". */
static int parse_mods(struct parser *p, uint32_t *mods)
{
	size_t len = 0, wrong;

	while (isalpha((unsigned char)p->at[len]))
		len++;
	if (!len)
		return fail(p, p->at, "modifiers or a tracepoint name are missing after \":\"");
	wrong = event_mods_parse(p->at, len, mods);
	if (wrong)
		return fail(p, p->at + wrong - 1,
			    "not a modifier, or one too many (u k h I G H p pp ppp P S D e W X)");
	p->at += len;
	return 0;
}

static int parse_optional_mods(struct parser *p, bool bare, uint32_t *mods)
{
	if (*p->at == ':') {
		p->at++;
		return parse_mods(p, mods);
	}
	return bare && isalpha((unsigned char)*p->at) ? parse_mods(p, mods) : 0;
}

/* Reads "1000" or "0x1000" between "mem:" and the next separator. */
static int parse_number(struct parser *p, uint64_t *value, const char *message)
{
	size_t len = 0;

	while (isalnum((unsigned char)p->at[len]))
		len++;
	if (parse_u64_span(p->at, len, 0, value))
		return fail(p, p->at, message);
	p->at += len;
	return 0;
}

/* Access bits as the kernel defines them: 1 read, 2 write, 4 execute. */
static bool parse_access(const char *s, size_t len, uint64_t *access)
{
	*access = 0;
	for (size_t i = 0; i < len; i++) {
		uint64_t bit = s[i] == 'r' ? 1 : s[i] == 'w' ? 2 : s[i] == 'x' ? 4 : 0;

		if (!bit || *access & bit)
			return false;
		*access |= bit;
	}
	return len > 0;
}

static int parse_breakpoint(struct parser *p, struct event_node *n)
{
	const char *at;
	size_t len = 0;
	int r;

	n->form = EVENT_BREAKPOINT;
	p->at += strlen("mem:");
	r = parse_number(p, &n->config, "not an address");
	if (r)
		return r;
	if (*p->at == '/') {
		p->at++;
		at = p->at;
		r = parse_number(p, &n->length, "not a length");
		if (r)
			return r;
		if (!n->length || n->length > 8)
			return fail(p, at, "a breakpoint watches 1 to 8 bytes");
	}
	n->type = 3;
	while (*p->at == ':' && isalpha((unsigned char)p->at[1 + len]))
		len++;
	if (len && parse_access(p->at + 1, len, &n->type))
		p->at += 1 + len;
	else
		n->type = 3;
	if (n->type & 4) {
		if (n->type != 4)
			return fail(p, p->at, "a breakpoint cannot watch execution and access at once");
		if (!n->length)
			n->length = sizeof(long);
	}
	if (!n->length)
		n->length = 4;
	return parse_optional_mods(p, false, &n->mods);
}

/* Parses what follows "word:"; as in perf, modifiers take precedence over a tracepoint's name. */
static int parse_after_colon(struct parser *p, struct event_node *n, const char *word, size_t len)
{
	const char *rest = p->at + 1;
	size_t rest_len = word_length(rest), letters = 0;
	uint32_t mods;

	while (isalpha((unsigned char)rest[letters]))
		letters++;
	if (!parse_u64_span(word, len, 0, &n->type)) {
		if (parse_u64_span(rest, rest_len, 0, &n->config))
			return fail(p, rest, "expected a number after \"TYPE:\"");
		n->form = EVENT_NUMERIC;
		p->at = rest + rest_len;
		return parse_optional_mods(p, false, &n->mods);
	}
	if (!rest_len || (letters == rest_len && !event_mods_parse(rest, letters, &mods))) {
		n->form = raw_number(word, len, &n->config) ? EVENT_RAW : EVENT_NAME;
		n->name = copied(word, len);
		return parse_optional_mods(p, false, &n->mods);
	}
	/* One or two letters, or only modifier letters, are mistyped modifiers rather than a tracepoint. */
	if (letters == rest_len && (rest_len <= 2 || strspn(rest, EVENT_MOD_LETTERS) == rest_len)) {
		p->at++;
		return parse_mods(p, &n->mods);
	}
	if (len == 3 && !strncmp(word, "mem", 3) && !strpbrk(rest, "*?["))
		return fail(p, rest, "expected an address after \"mem:\", as in mem:0x1000/4:rw");
	n->form = EVENT_TRACEPOINT;
	n->name = copied(word, len);
	n->event = copied(rest, rest_len);
	p->at = rest + rest_len;
	return 0;
}

static int parse_slash(struct parser *p, struct event_node *n)
{
	int r;

	p->at++;
	r = parse_terms(p, '/', &n->term, &n->n_terms);
	if (r)
		return r;
	p->at++;
	return parse_optional_mods(p, true, &n->mods);
}

/* More digits than a raw event can have, and not an English word. */
static bool too_long_for_raw(const char *word, size_t len)
{
	return word[0] == 'r' && len > 17 && strspn(word + 1, "0123456789abcdefABCDEF") >= len - 1;
}

static int parse_event(struct parser *p, struct event_node *n)
{
	const char *word = p->at;
	size_t len = word_length(word);
	int r = 0;

	n->column = column(p);
	if (!len)
		return fail(p, word, *word ? "expected an event here" : "an event is missing");
	if (too_long_for_raw(word, len))
		return fail(p, word, "a raw event has at most 16 hexadecimal digits");
	if (!strncmp(word, "mem:", 4) && isdigit((unsigned char)word[4])) {
		r = parse_breakpoint(p, n);
		goto done;
	}
	p->at += len;
	if (*p->at == ':') {
		r = parse_after_colon(p, n, word, len);
		if (!r && *p->at == '/' && n->form == EVENT_NUMERIC)
			r = parse_slash(p, n);
		else if (!r && n->form == EVENT_TRACEPOINT)
			r = *p->at == '/' ? parse_slash(p, n) : parse_optional_mods(p, false, &n->mods);
		goto done;
	}
	n->name = copied(word, len);
	n->form = raw_number(word, len, &n->config) ? EVENT_RAW : EVENT_NAME;
	if (*p->at == '/') {
		n->form = EVENT_PMU;
		r = parse_slash(p, n);
	}
done:
	n->end = column(p);
	return r;
}

static int parse_one(struct parser *p, uint32_t group)
{
	struct event_list *l = p->list;

	if (l->n >= EVENT_LIST_MAX)
		return error_set(p->e, E2BIG, "column %u: more than %d events", column(p) + 1, EVENT_LIST_MAX);
	memory_room(&l->node, l->n, sizeof(*l->node));
	l->node[l->n++] = (struct event_node){ .group = group };
	return parse_event(p, &l->node[l->n - 1]);
}

/* From after the "{". */
static int parse_group(struct parser *p, const char *name, size_t name_len)
{
	struct event_list *l = p->list;
	struct event_group *g;
	int r;

	memory_room(&l->group, l->n_groups, sizeof(*g));
	g = &l->group[l->n_groups++];
	*g = (struct event_group){ .name = name_len ? copied(name, name_len) : NULL, .first = (uint32_t)l->n };
	do {
		p->at++; /* the brace or the comma */
		skip_blanks(p);
		r = parse_one(p, (uint32_t)l->n_groups - 1);
		if (r)
			return r;
		skip_blanks(p);
	} while (*p->at == ',');
	if (*p->at != '}')
		return fail(p, p->at, *p->at ? "expected \",\" or \"}\"" : "the closing \"}\" is missing");
	p->at++;
	g->n = (uint32_t)l->n - g->first;
	skip_blanks(p);
	return parse_optional_mods(p, false, &g->mods);
}

static int parse_item(struct parser *p)
{
	size_t len = word_length(p->at);

	if (p->at[len] == '{') {
		const char *name = p->at;

		p->at += len;
		return parse_group(p, name, len);
	}
	return parse_one(p, EVENT_NONE);
}

int event_parse(struct event_list **list, const char *text, struct error *e)
{
	struct parser p = { .text = text, .at = text, .e = e };
	int r;

	if (strlen(text) > EVENT_TEXT_MAX)
		return error_set(e, E2BIG, "events: the list is longer than %u bytes", EVENT_TEXT_MAX);
	p.list = memory_new(1, sizeof(*p.list));
	p.list->text = memory_text(text);
	do {
		if (p.list->n)
			p.at++; /* the comma */
		skip_blanks(&p);
		r = parse_item(&p);
		skip_blanks(&p);
	} while (!r && *p.at == ',');
	if (!r && *p.at)
		r = fail(&p, p.at, "expected \",\" or the end");
	if (r) {
		event_list_free(p.list);
		return r;
	}
	*list = p.list;
	return 0;
}

void event_list_free(struct event_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		node_release(&l->node[i]);
	for (size_t i = 0; i < l->n_groups; i++)
		free(l->group[i].name);
	free(l->node);
	free(l->group);
	free(l->text);
	free(l);
}
