/* The parts of the page that are the same for all recordings. */
#include "report/html/html.h"

/* What html_assets.S contains. */
#define ASSET(name) \
	extern const char html_##name##_begin[] __attribute__((visibility("hidden"))); \
	extern const char html_##name##_end[] __attribute__((visibility("hidden"))); \
	struct html_asset html_asset_##name(void) \
	{ \
		return (struct html_asset){ html_##name##_begin, \
					    (size_t)(html_##name##_end - html_##name##_begin) }; \
	}

ASSET(page)
ASSET(script)
ASSET(style)
ASSET(uplot_script)
ASSET(uplot_style)
ASSET(uplot_notice)
