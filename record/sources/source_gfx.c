/* Sleep and frequencies of Intel graphics; the drivers xe, i915 and older i915 keep them in different places. */
#include <errno.h>
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

/* 1 if any file exists, else 0 or -errno. `folder` is below CARDS. */
static int add_gt(struct filegrid *g, struct plan *p, const char *folder, const char *name, const struct layout *l,
		  bool media)
{
	const struct {
		const char *file, *key;
	} row[] = {
		{ l->rc6, media ? "media.rc6" : "render.rc6" },
		{ l->cur, media ? "media.cur" : "render.cur" },
		{ l->act, media ? "media.act" : "render.act" },
	};
	int64_t instance = 0;
	int found = 0;

	for (size_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
		int64_t counter;
		int err;

		/* Graphics that are powered down may refuse; then they are left out. */
		if (filegrid_try(p->root, CARDS "/%s/%s", folder, row[k].file))
			continue;
		counter = plan_counter(p, catalog_find("gfx", row[k].key));
		if (counter > 0 && !instance)
			instance = device_instance(p, name, NULL);
		if (counter < 0 || instance < 0)
			return (int)(counter < 0 ? counter : instance);
		err = filegrid_add(g, counter, instance, PM_NONE, 0, CARDS "/%s/%s", folder, row[k].file);
		if (err == -ENOMEM)
			return err;
		found |= !err;
	}
	return found;
}

/* Directories "gt0", "gt1" below `parent`; xe names them by what they are, i915 has the media engines in the second.
 */
static int add_gts(struct filegrid *g, struct plan *p, const char *parent, const char *card, const struct layout *l)
{
	SCOPED(root_list_free) char **name = NULL;
	char folder[128], shown[64], kind[32];
	int n = root_list(p->root, &name, CARDS "/%s", parent), found = 0;

	for (int i = 0; i < n && found >= 0; i++) {
		bool media = !strcmp(name[i], "gt1");
		int one;

		if (strncmp(name[i], "gt", 2) || !name[i][2] ||
		    strspn(name[i] + 2, "0123456789") != strlen(name[i] + 2))
			continue;
		snprintf(folder, sizeof(folder), "%s/%s", parent, name[i]);
		snprintf(shown, sizeof(shown), "%s/%s", card, name[i]);
		if (l == &xe && !root_line(p->root, kind, sizeof(kind), CARDS "/%s/gtidle/name", folder))
			media = strstr(kind, "-mc") != NULL;
		one = add_gt(g, p, folder, shown, l, media);
		found = one < 0 ? one : found | one;
	}
	return found;
}

/* The first layout that has something. */
static int add_card(struct filegrid *g, struct plan *p, const char *card)
{
	SCOPED(root_list_free) char **tile = NULL;
	char folder[96];
	int n, found = 0;

	/* Not a connector: "card0-HDMI-A-1". */
	if (strchr(card, '-'))
		return 0;
	n = root_list(p->root, &tile, CARDS "/%s/device", card);
	for (int i = 0; i < n && found >= 0; i++) {
		int one;

		if (strncmp(tile[i], "tile", 4))
			continue;
		snprintf(folder, sizeof(folder), "%s/device/%s", card, tile[i]);
		one = add_gts(g, p, folder, card, &xe);
		found = one < 0 ? one : found | one;
	}
	if (!found) {
		snprintf(folder, sizeof(folder), "%s/gt", card);
		found = add_gts(g, p, folder, card, &i915);
	}
	return found ? found : add_gt(g, p, card, card, &older, false);
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
			.hint = "a machine with Intel graphics",
		},
};
