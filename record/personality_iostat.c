/* perf stat --iostat: traffic of the PCIe ports of Intel's servers. Each IIO PMU counts those of one stack, and its
 * file die0, die1, ... names the port that it stands for on that die. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/host/root.h"
#include "record/personality.h"

#define IIO "/sys/bus/event_source/devices/uncore_iio_%u"

struct port {
	unsigned pmu, die, domain, bus;
};

static int find_ports(const struct root *root, struct port *port)
{
	int n = 0;

	for (unsigned pmu = 0; root_exists(root, IIO, pmu); pmu++)
		for (unsigned die = 0; n < MAX_PORTS; die++) {
			struct port *p = &port[n];
			char line[32];

			*p = (struct port){ .pmu = pmu, .die = die };
			if (root_line(root, line, sizeof(line), IIO "/die%u", pmu, die) ||
			    sscanf(line, "%x:%x", &p->domain, &p->bus) != 2)
				break;
			n++;
		}
	return n;
}

/* Moves the ports of the list to the front, in its order; returns their number. */
static int choose_ports(struct port *port, int n, const char *list)
{
	int chosen = 0;

	for (; *list; list += strcspn(list, ","), list += *list == ',') {
		unsigned domain, bus;
		int i = chosen;

		if (sscanf(list, "%x:%2x", &domain, &bus) != 2) {
			fprintf(stderr, "perf stat: --iostat: '%s' is not a port: domain:bus, such as 0000:3d\n",
				list);
			continue;
		}
		while (i < n && (port[i].domain != domain || port[i].bus != bus))
			i++;
		if (i < n) {
			struct port found = port[i];

			port[i] = port[chosen];
			port[chosen++] = found;
		} else {
			fprintf(stderr, "perf stat: --iostat: there is no port %04x:%02x\n", domain, bus);
		}
	}
	return chosen;
}

/* For each PMU: what devices below a port read and write (DATA_REQ_OF_CPU, 0x83), and what CPUs read and write there
 * (DATA_REQ_BY_CPU, 0xc0), in units of four bytes: Intel Xeon Processor Scalable Family, Uncore Performance
 * Monitoring Reference Manual, "IIO". */
static void count_ports(struct asked *a, const struct port *port, int n)
{
	static const char *const event[] = { "event=0x83,umask=0x04", "event=0x83,umask=0x01",
					     "event=0xc0,umask=0x04", "event=0xc0,umask=0x01" };
	char text[512], ports[32 * MAX_PORTS];
	size_t len = (size_t)snprintf(ports, sizeof(ports), "--iostat=");

	for (int i = 0; i < n; i++) {
		int at = 0, first = 0;

		while (port[first].pmu != port[i].pmu)
			first++;
		for (size_t k = 0; first == i && k < 4; k++)
			at += snprintf(text + at, sizeof(text) - (size_t)at,
				       "%cuncore_iio_%u/%s,ch_mask=0xf,fc_mask=0x7/%s", k ? ',' : '{', port[i].pmu,
				       event[k], k == 3 ? "}" : "");
		if (at) {
			personality_add(&a->record, "-e");
			personality_add(&a->record, text);
		}
		len += (size_t)snprintf(ports + len, sizeof(ports) - len, "%s%04x:%02x=%u.%u", i ? "," : "",
					port[i].domain, port[i].bus, port[i].pmu, port[i].die);
	}
	personality_add(&a->report, ports);
	personality_add(&a->record, "-a");
}

/* Drops other requests, as perf does. */
static void drop_others(struct asked *a)
{
	static const struct {
		const char *name, *option;
		size_t arguments;
	} other[] = { { "event", "-e", 1 },
		      { "metrics", "-M", 1 },
		      { "detailed", "-d", 0 },
		      { "null", "--null", 0 },
		      { "topdown", "--topdown", 0 },
		      { "smi-cost", "--smi-cost", 0 },
		      { "pid", "-p", 1 },
		      { "transaction", "--transaction", 0 } };

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		if (!personality_given(a, other[i].name))
			continue;
		fprintf(stderr, "perf stat: --iostat: --%s is ignored\n", other[i].name);
		personality_forget(a, other[i].name);
		personality_drop(&a->record, other[i].option, other[i].arguments);
		personality_drop(&a->report, other[i].option, other[i].arguments);
	}
}

int personality_iostat(struct asked *a)
{
	const char *ports = personality_given(a, "iostat");
	SCOPED(scoped_free) struct port *port = ports ? calloc(MAX_PORTS + 1, sizeof(*port)) : NULL;
	SCOPED(root_release) struct root root = { 0 };
	int n = 0, status = 0;

	if (!ports)
		return 0;
	if (!port || root_init(&root, personality_given(a, "root")))
		abort();
	n = find_ports(&root, port);
	if (!n)
		fputs("perf stat: --iostat: no IIO PMU here says which port it counts; Intel's servers have them\n",
		      stderr);
	if (!strcmp(ports, "list"))
		for (int i = 0; i < n; i++)
			fprintf(stderr, "S%u-uncore_iio_%u<%04x:%02x>\n", port[i].die, port[i].pmu, port[i].domain,
				port[i].bus);
	else if (*ports)
		n = choose_ports(port, n, ports);
	status = !n ? a->who->usage_status : strcmp(ports, "list") ? 0 : DONE;
	if (!status) {
		drop_others(a);
		count_ports(a, port, n);
	}
	return status;
}
