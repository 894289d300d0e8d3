/*
 * vendor_tool FOLDER PMU...: what an event file becomes, for comparing with another reader of it. PMUs are named by
 * the pattern that files know them by; "default_core" is the core's. Lines of tabs: PMU, name, text, scale, unit,
 * per-package.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event/vendor_events.h"

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? (size_t)argc - 2 : 0;
	struct event_pmu *pmu = calloc(n + 1, sizeof(*pmu));
	struct vendor_events *v = NULL;
	struct buf notes = BUF_INIT;
	struct error e = { 0 };
	int added;

	if (!pmu || !n)
		return 2;
	for (size_t i = 0; i < n; i++) {
		pmu[i].name = strdup(argv[i + 2]);
		pmu[i].core = !strcmp(argv[i + 2], "default_core");
		/* "NAME@IDENTIFIER" */
		if (pmu[i].name && strchr(pmu[i].name, '@')) {
			pmu[i].identifier = strdup(strchr(pmu[i].name, '@') + 1);
			*strchr(pmu[i].name, '@') = '\0';
		}
	}
	if (vendor_events_load(&v, argv[1], NULL, NULL, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	added = vendor_events_apply(v, pmu, n, &notes);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < pmu[i].n_aliases; k++) {
			const struct event_alias *a = &pmu[i].alias[k];

			printf("%s\t%s\t%s\t%s\t%s\t%d\n", pmu[i].name, a->name, a->text, a->scale ? a->scale : "",
			       a->unit ? a->unit : "", a->per_pkg);
		}
	fputs(buf_str(&notes), stderr);
	for (size_t i = 0; i < n; i++)
		event_pmu_release(&pmu[i]);
	free(pmu);
	buf_release(&notes);
	vendor_events_free(v);
	return added < 0;
}
