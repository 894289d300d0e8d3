#include "common/event/class_pmu.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/parse.h"

void class_pmu_init(struct class_pmu *to, const struct pmu_class *c, const char *name, const char *peer,
		    const struct pci_map *map)
{
	const char *number = peer ? strchr(peer, '=') : NULL;
	uint64_t peers = 0;

	*to = (struct class_pmu){ .class = c, .map = map };
	if (!pmu_name_parse(name, &to->name))
		to->name = (struct pmu_name){ .number = -1, .rc = -1 };
	to->socket = to->name.number;
	if (!number || strncmp(peer, "nr_", 3) || (size_t)(number - peer - 3) >= sizeof(to->peer))
		return;
	memcpy(to->peer, peer + 3, (size_t)(number - peer - 3));
	if (!parse_u64_span(number + 1, strlen(number + 1), 10, &peers) && peers < 32)
		to->peers = (unsigned)peers;
}

/* Whether the root port belongs to the PMU's root complex. */
static bool has_port(const struct class_pmu *pmu, const struct pci_port *port)
{
	/* Only the name says which root complex it is. */
	return pmu->name.rc == port->rc && pmu->socket == port->socket;
}

/* ---- fields ---- */

/* The value of the field; 0 if the PMU does not have it. This driver's fields consist of adjacent bits. */
static uint64_t pmu_field(const struct event_pmu *pmu, const char *name, const uint64_t config[EVENT_CONFIGS])
{
	const char *format = event_pmu_format(pmu, name);
	uint64_t mask[EVENT_CONFIGS] = { 0 }, max = 0;

	if (!format)
		return 0;
	if (event_format_pack(format, UINT64_MAX, mask, &max) == -ERANGE)
		event_format_pack(format, max, mask, &max);
	for (int i = 0; i < EVENT_CONFIGS; i++)
		if (mask[i])
			return (config[i] & mask[i]) >> __builtin_ctzll(mask[i]);
	return 0;
}

/* Sets the field if the kernel has it; a value that is too large is truncated. */
static void fill_field(const struct event_pmu *pmu, const char *name, uint64_t value, uint64_t config[EVENT_CONFIGS])
{
	const char *format = event_pmu_format(pmu, name);
	uint64_t max;

	if (format && event_format_pack(format, value, config, &max) == -ERANGE)
		event_format_pack(format, value & max, config, &max);
}

static bool is_clock(const struct event_pmu *pmu, const struct class_pmu *self, const uint64_t config[EVENT_CONFIGS])
{
	const struct pmu_class_event *clock = pmu_class_event(self->class, PMU_CLASS_CLOCK);

	return clock && pmu_field(pmu, "event", config) == clock->code;
}

/* ---- remarks ---- */

static void __attribute__((format(printf, 2, 3))) note(struct buf *notes, const char *format, ...)
{
	char text[300];
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(text, sizeof(text) - 1, format, ap);
	va_end(ap);
	if (len < 0)
		return;
	strcat(text, "\n");
	/* Every event of a group would add the same note. */
	if (!strstr(buf_str(notes), text))
		buf_addstr(notes, text);
}

static const char *why_unknown(const struct class_pmu *self)
{
	switch (self->map ? self->map->state : PCI_ABSENT) {
	case PCI_NEEDS_ROOT:
		return "only root can read PCI configuration space";
	case PCI_NO_SUCH:
		return "the root ports have no DVSEC 4, which says where they belong";
	default:
		return "there is no NVIDIA root port";
	}
}

static bool is_class_known(const struct class_pmu *self)
{
	return self->map && self->map->state == PCI_KNOWN;
}

static const char *where(const struct pci_port *port, char text[static 48])
{
	snprintf(text, 48, "root complex %u of socket %u", port->rc, port->socket);
	return text;
}

/* ---- terms ---- */

static int malformed(const struct event_term *t, const char *wanted, struct error *e)
{
	return error_set(e, EINVAL, "%s=%.40s is not %s", t->key, t->value ? t->value : "", wanted);
}

/* The port above an address, whether or not the address is in use now. */
static const struct pci_port *port_above(const struct pci_map *map, struct pci_address at)
{
	struct pci_function f = { .at = at };

	return pci_map_place(map, &f) ? &map->port[f.port] : NULL;
}

/* Completes an address without a domain: that of a function below this root complex. */
static bool find_here(const struct class_pmu *self, uint16_t id, struct pci_address *at)
{
	const struct pci_map *map = self->map;

	for (size_t i = 0; i < map->n_functions; i++) {
		const struct pci_function *f = &map->function[i];

		if (f->at.id == id && has_port(self, &map->port[f->port])) {
			*at = f->at;
			return true;
		}
	}
	return false;
}

static int check_function(const struct event_pmu *pmu, const struct class_pmu *self, const struct event_term *t,
			  struct pci_address at, bool domain, struct buf *notes, struct error *e)
{
	const struct pci_port *port;
	char text[PCI_TEXT], place[48];

	if (!is_class_known(self)) {
		note(notes, "%s: cannot tell whether %s is below this root complex: %s", pmu->name, t->value,
		     why_unknown(self));
		return 0;
	}
	if (!domain)
		return find_here(self, at.id, &at) ? 0 :
						     error_set(e, EINVAL,
							       "%s: there is no function %s below this root complex; "
							       "prefix its domain, as lspci -D prints it",
							       pmu->name, pci_id_text(at.id, text));
	if (pci_map_port(self->map, at))
		return error_set(e, EINVAL,
				 "%s is a root port, which makes no requests of its own; use src_rp_mask=%s",
				 pci_text(at, text), t->value);
	port = pci_map_function(self->map, at) ? port_above(self->map, at) : NULL;
	if (!port)
		return error_set(e, EINVAL, "there is no function %s below a root port with a PMU",
				 pci_text(at, text));
	if (has_port(self, port))
		return 0;
	return error_set(e, EINVAL, "%s is below %s, which is not that of %s", pci_text(at, text), where(port, place),
			 pmu->name);
}

/* The kernel document gives a number, but its examples contradict its own formula: say what it stands for. */
static void explain_number(const struct event_pmu *pmu, const struct class_pmu *self, uint16_t id, struct buf *notes)
{
	struct pci_address at;
	char text[PCI_TEXT];

	pci_id_text(id, text);
	if (is_class_known(self) && !find_here(self, id, &at))
		note(notes, "%s: src_bdf=0x%04x is %s, and there is no such function below this root complex",
		     pmu->name, id, text);
	else if (is_class_known(self))
		note(notes, "%s: src_bdf=0x%04x is %s", pmu->name, id, text);
	else
		note(notes, "%s: src_bdf=0x%04x is %s; cannot tell whether there is such a function: %s", pmu->name,
		     id, text, why_unknown(self));
}

static int take_bdf(const struct event_pmu *pmu, const struct class_pmu *self, const struct event_term *t,
		    uint64_t config[EVENT_CONFIGS], struct buf *notes, struct error *e)
{
	struct pci_address at;
	bool domain;
	int err;

	if (t->is_number) {
		if (t->number > 0xffff)
			return error_set(e, EINVAL, "src_bdf=0x%llx is more than the 16 bits of a PCI function",
					 (unsigned long long)t->number);
		explain_number(pmu, self, (uint16_t)t->number, notes);
		at.id = (uint16_t)t->number;
	} else {
		if (!t->value || !pci_parse(t->value, &at, &domain))
			return malformed(t, "a PCI function: [DDDD:]BB:DD.F, or a number", e);
		err = check_function(pmu, self, t, at, domain, notes, e);
		if (err)
			return err;
	}
	fill_field(pmu, "src_bdf", at.id, config);
	fill_field(pmu, "src_bdf_en", 1, config);
	return 1;
}

/* "0002:80:00.0+0002:a0:00.0" */
static int take_ports(const struct event_pmu *pmu, const struct class_pmu *self, const struct event_term *t,
		      uint64_t config[EVENT_CONFIGS], struct error *e)
{
	uint64_t mask = 0;

	if (!t->value || t->is_number)
		return 0;
	for (const char *from = t->value; from;) {
		size_t len = strcspn(from, "+");
		const struct pci_port *port;
		struct pci_address at;
		char one[PCI_TEXT + 8], place[48];
		bool domain;

		snprintf(one, sizeof(one), "%.*s", (int)(len < sizeof(one) ? len : sizeof(one) - 1), from);
		if (!pci_parse(one, &at, &domain) || !domain)
			return malformed(t, "a mask of root ports, nor a root port as DDDD:BB:DD.F", e);
		if (!is_class_known(self))
			return error_set(e, EINVAL, "cannot tell which port %s is: %s", one, why_unknown(self));
		port = pci_map_port(self->map, at);
		if (!port)
			return error_set(e, EINVAL, "there is no root port %s", pci_text(at, one));
		if (!has_port(self, port))
			return error_set(e, EINVAL, "%s is a port of %s, which is not that of %s", pci_text(at, one),
					 where(port, place), pmu->name);
		if (port->rp > 7)
			return error_set(e, EINVAL, "%s is port %u, and the filter has bits for ports 0 to 7",
					 pci_text(at, one), port->rp);
		mask |= UINT64_C(1) << port->rp;
		from = from[len] ? from + len + 1 : NULL;
	}
	fill_field(pmu, t->key, mask, config);
	return 1;
}

static int take_range(const struct event_pmu *pmu, const struct event_term *t, uint64_t config[EVENT_CONFIGS],
		      struct error *e)
{
	static const char wanted[] = "a range START-END of addresses";
	const char *dash = t->value ? strchr(t->value, '-') : NULL;
	uint64_t number[2], size;

	if (!dash)
		return malformed(t, wanted, e);
	for (int i = 0; i < 2; i++) {
		const char *from = i ? dash + 1 : t->value;
		size_t len = i ? strlen(from) : (size_t)(dash - from);

		if (parse_u64_span(from, len, 0, &number[i]))
			return malformed(t, wanted, e);
	}
	if (number[1] < number[0])
		return malformed(t, "a range: its end is below its start", e);
	size = number[1] - number[0] + 1; /* 0: all 64 bits */
	if (size & (size - 1))
		return error_set(e, EINVAL,
				 "%s=%.60s is 0x%llx bytes; the filter compares address bits, so the size must be a "
				 "power of two",
				 t->key, t->value, (unsigned long long)size);
	if (number[0] & (size - 1))
		return error_set(e, EINVAL, "%s=%.60s does not start at a multiple of its size, 0x%llx", t->key,
				 t->value, (unsigned long long)size);
	fill_field(pmu, "dst_addr_base", number[0], config);
	fill_field(pmu, "dst_addr_mask", size ? ~(size - 1) : 0, config);
	fill_field(pmu, "dst_addr_en", 1, config);
	return 1;
}

/* The driver takes bits beyond its GPUs as "all of them". */
static int check_gpus(const struct event_pmu *pmu, const struct class_pmu *self, const struct event_term *t,
		      struct error *e)
{
	if (!t->is_number || strcmp(self->peer, "gpu") || !self->peers || !(t->number >> self->peers))
		return 0;
	return error_set(e, EINVAL, "gpu_mask=0x%llx names a GPU that %s does not have: it is connected to %u",
			 (unsigned long long)t->number, pmu->name, self->peers);
}

/* Terms that are more than a number in their field. */
enum term_kind { TERM_FUNCTION, TERM_PORTS, TERM_RANGE, TERM_BASE, TERM_GPUS };
static const struct {
	const char *term, *format; /* the term exists only with this format file */
	enum term_kind kind;
} translated[] = {
	{ "src_bdf", "src_bdf", TERM_FUNCTION },         { "src_rp_mask", "src_rp_mask", TERM_PORTS },
	{ "dst_rp_mask", "dst_rp_mask", TERM_PORTS },    { "dst_addr", "dst_addr_base", TERM_RANGE },
	{ "dst_addr_base", "dst_addr_base", TERM_BASE }, { "gpu_mask", "gpu_mask", TERM_GPUS },
};

int class_pmu_term(const struct event_pmu *pmu, const struct event_term *t, uint64_t config[EVENT_CONFIGS],
		   struct buf *notes, struct error *e)
{
	const struct class_pmu *self = pmu->unit;
	size_t i = 0, n = sizeof(translated) / sizeof(translated[0]);

	while (i < n && strcmp(translated[i].term, t->key))
		i++;
	if (i == n || !event_pmu_format(pmu, translated[i].format)) {
		if (!strcmp(t->key, "gpu_mask"))
			return error_set(e, EINVAL, "%s has no gpu_mask: its peer is %s", pmu->name,
					 self->peer[0] ? self->peer : "no GPU");
		return 0;
	}
	switch (translated[i].kind) {
	case TERM_FUNCTION:
		return take_bdf(pmu, self, t, config, notes, e);
	case TERM_PORTS:
		return take_ports(pmu, self, t, config, e);
	case TERM_RANGE:
		return take_range(pmu, t, config, e);
	case TERM_BASE:
		return t->is_number ? 0 : take_range(pmu, t, config, e);
	case TERM_GPUS:
		return check_gpus(pmu, self, t, e);
	}
	return 0;
}

/* ---- when all terms have been applied ---- */

static void fill_part(const struct event_pmu *pmu, const struct pmu_class *c, unsigned peers, unsigned part,
		      uint64_t config[EVENT_CONFIGS])
{
	for (const struct pmu_class_filter *f = c->filter; f->name; f++)
		if (f->part == part && pmu_field(pmu, f->name, config))
			return;
	for (const struct pmu_class_filter *f = c->filter; f->name; f++) {
		uint64_t all = f->all;

		if (f->part != part || !all)
			continue;
		if (!strcmp(f->name, "gpu_mask") && peers)
			all = (UINT64_C(1) << peers) - 1;
		fill_field(pmu, f->name, all, config);
	}
}

int class_pmu_finish(const struct event_pmu *pmu, uint64_t config[EVENT_CONFIGS], struct buf *notes, struct error *e)
{
	const struct class_pmu *self = pmu->unit;

	if (pmu_field(pmu, "src_bdf_en", config) && pmu_field(pmu, "src_rp_mask", config))
		return error_set(e, EINVAL,
				 "%s filters by root port (src_rp_mask) or by function (src_bdf), not both: the "
				 "event would never count",
				 pmu->name);
	if (pmu_field(pmu, "src_bdf", config) && !pmu_field(pmu, "src_bdf_en", config) &&
	    !pmu_field(pmu, "src_rp_mask", config))
		return error_set(e, EINVAL,
				 "%s: src_bdf with src_bdf_en=0 selects neither function nor root port: the event "
				 "would never count",
				 pmu->name);
	if (pmu_field(pmu, "dst_addr_base", config) || pmu_field(pmu, "dst_addr_mask", config))
		fill_field(pmu, "dst_addr_en", 1, config);
	if (is_clock(pmu, self, config) && !self->class->clock_filtered)
		return 0;
	for (unsigned part = 1; part <= 2; part++)
		fill_part(pmu, self->class, self->peers, part, config);
	/* A kernel that does not know the PMU's kind names the filter words plainly. */
	for (unsigned part = 1; part <= 2 && event_pmu_format(pmu, "filter"); part++)
		fill_part(pmu, pmu_class_named("nvidia_uncore"), 0, part, config);
	return 0;
}

/* ---- everything that is opened ---- */

static bool by_function(const struct event_pmu *pmu, const struct event *ev)
{
	return pmu_field(pmu, "src_bdf_en", ev->config) != 0;
}

int class_pmu_check(const struct event_view *view, const struct event_set *set, struct error *e)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct event *a = &set->event[i];
		const struct event_pmu *pmu = a->pmu_index == EVENT_NONE ? NULL : &view->pmu[a->pmu_index];

		if (!pmu || !pmu->ruled || !by_function(pmu, a) || is_clock(pmu, pmu->unit, a->config))
			continue;
		for (size_t k = 0; k < set->n; k++) {
			const struct event *b = &set->event[k];
			char one[PCI_TEXT], other[PCI_TEXT];
			uint16_t id = (uint16_t)pmu_field(pmu, "src_bdf", a->config);

			if (b->pmu_index != a->pmu_index || is_clock(pmu, pmu->unit, b->config))
				continue;
			if (!by_function(pmu, b))
				return error_set(
					e, EINVAL,
					"%s counts one function or all, not both at once: \"%.80s\" with src_bdf=%s",
					pmu->name, b->text, pci_id_text(id, one));
			if (pmu_field(pmu, "src_bdf", b->config) != id)
				return error_set(e, EINVAL,
						 "%s has one function filter for all its events: %s and %s cannot be "
						 "counted at once",
						 pmu->name, pci_id_text(id, one),
						 pci_id_text((uint16_t)pmu_field(pmu, "src_bdf", b->config), other));
		}
	}
	return 0;
}
