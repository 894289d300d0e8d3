/* Sleep and frequencies of Intel graphics; the drivers xe, i915 and older i915 keep them in different places. */
#include <stdio.h>
#include <string.h>

#include "record/plan/plan.h"
#include "record/sources/filegrid.h"

#define CARDS "/sys/class/drm"

/* Files of one graphics unit ("gt"), below its directory. */
struct layout {
	const char *rc6, *cur, *act;
};

static const struct layout xe = { "gtidle/idle_residency_ms", "freq0/cur_freq", "freq0/act_freq" };
static const struct layout i915 = { "rc6_residency_ms", "rps_cur_freq_mhz", "rps_act_freq_mhz" };
static const struct layout older = { "power/rc6_residency_ms", "gt_cur_freq_mhz", "gt_act_freq_mhz" };

/* Whether any file exists. `folder` is below CARDS. */
static bool add_gt(struct filegrid *g, struct plan *p, const char *folder, const char *name, const struct layout *l,
		   bool media)
{
	const struct {
		const char *file, *key;
	} row[] = {
		{ l->rc6, media ? "media.rc6" : "render.rc6" },
		{ l->cur, media ? "media.cur" : "render.cur" },
		{ l->act, media ? "media.act" : "render.act" },
	};
	int64_t counter, instance = 0;
	bool found = false;

	for (size_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
		/* Graphics that are powered down may refuse; then they are left out. */
		if (filegrid_try(p->root, CARDS "/%s/%s", folder, row[k].file))
			continue;
		counter = plan_counter(p, catalog_find("gfx", row[k].key));
		instance = instance ? instance : device_instance(p, name, NULL, PM_NONE);
		found |= !filegrid_add(g, counter, instance, PM_NONE, 0, CARDS "/%s/%s", folder, row[k].file);
	}
	return found;
}

/* Directories "gt0", "gt1" below `parent`; xe names them by what they are, i915 has the media engines in the second.
 */
static bool add_gts(struct filegrid *g, struct plan *p, const char *parent, const char *card, const struct layout *l)
{
	SCOPED(root_list_free) char **name = NULL;
	char folder[128], shown[64], kind[32];
	int n = root_list(p->root, &name, CARDS "/%s", parent);
	bool found = false;

	for (int i = 0; i < n; i++) {
		bool media = !strcmp(name[i], "gt1");

		if (strncmp(name[i], "gt", 2) || !name[i][2] ||
		    strspn(name[i] + 2, "0123456789") != strlen(name[i] + 2))
			continue;
		snprintf(folder, sizeof(folder), "%s/%s", parent, name[i]);
		snprintf(shown, sizeof(shown), "%s/%s", card, name[i]);
		if (l == &xe && !root_line(p->root, kind, sizeof(kind), CARDS "/%s/gtidle/name", folder))
			media = strstr(kind, "-mc") != NULL;
		found |= add_gt(g, p, folder, shown, l, media);
	}
	return found;
}

/* The first layout that has something. */
static void add_card(struct filegrid *g, struct plan *p, const char *card)
{
	SCOPED(root_list_free) char **tile = NULL;
	char folder[96];
	bool found = false;
	int n;

	/* Not a connector: "card0-HDMI-A-1". */
	if (strchr(card, '-'))
		return;
	n = root_list(p->root, &tile, CARDS "/%s/device", card);
	for (int i = 0; i < n; i++) {
		snprintf(folder, sizeof(folder), "%s/device/%s", card, tile[i]);
		found |= !strncmp(tile[i], "tile", 4) && add_gts(g, p, folder, card, &xe);
	}
	snprintf(folder, sizeof(folder), "%s/gt", card);
	if (!found && !add_gts(g, p, folder, card, &i915))
		add_gt(g, p, card, card, &older, false);
}

const struct source_ops source_gfx = {
	.name = "gfx",
	.help = "sleep and frequencies of Intel graphics (sysfs)",
	.plan = filegrid_plan,
	.folder =
		&(const struct filegrid_folder){
			.path = CARDS,
			.prefix = "card",
			.add = add_card,
			.what = CARDS "/card*",
			.remedy = PM_REMEDY_GRAPHICS,
		},
};
