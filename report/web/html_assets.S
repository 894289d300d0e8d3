/* The files of report/web as they are, so that the program can write a page without finding anything. */
	.section .rodata
	.macro asset name
	.globl html_\name\()_begin
	.hidden html_\name\()_begin
html_\name\()_begin:
	.endm
	.macro asset_end name
	.globl html_\name\()_end
	.hidden html_\name\()_end
html_\name\()_end:
	.endm
	.macro file folder name
	.incbin "\folder\()/\name"
	.endm

	asset page
	file PM_WEB_DIR, "page.html"
	asset_end page

	asset style
	file PM_WEB_DIR, "page.css"
	asset_end style

	/* One script in several files. */
	asset script
	file PM_WEB_DIR, "data.js"
	file PM_WEB_DIR, "chart.js"
	file PM_WEB_DIR, "heat.js"
	file PM_WEB_DIR, "page.js"
	asset_end script

	asset uplot_script
#ifdef PM_UPLOT
	file PM_UPLOT, "dist/uPlot.iife.min.js"
#endif
	asset_end uplot_script

	asset uplot_style
#ifdef PM_UPLOT
	file PM_UPLOT, "dist/uPlot.min.css"
#endif
	asset_end uplot_style

	asset uplot_notice
#ifdef PM_UPLOT
	file PM_UPLOT, "LICENSE"
#endif
	asset_end uplot_notice

	.section .note.GNU-stack, "", %progbits
