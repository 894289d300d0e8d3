/* libpfm4 is loaded only on request: its event tables take a third of pmrec's start-up time. */
#include "record/perf/pfm.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdbool.h>
#include <string.h>

#include "common/memory.h"

#define NAME_MAX_BYTES 512
#define FUNCTION(name) __typeof__(&pfm_##name) name

struct library {
	void *handle;
	FUNCTION(initialize);
	FUNCTION(terminate);
	FUNCTION(strerror);
	FUNCTION(get_os_event_encoding);
};

#define LOAD(l, name) ((l)->name = (__typeof__((l)->name))dlsym((l)->handle, "pfm_" #name))

static int load_pfm(struct library *l, struct error *e)
{
	l->handle = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	if (l->handle && LOAD(l, initialize) && LOAD(l, terminate) && LOAD(l, strerror) &&
	    LOAD(l, get_os_event_encoding))
		return 0;
	error_set(e, ENOTSUP, "--pfm-events: %s; install libpfm4, or give codes with -e cpu/event=...,umask=.../",
		  dlerror());
	if (l->handle)
		dlclose(l->handle);
	return -ENOTSUP;
}

/* The bits of the attr that modifiers stand for. */
static void add_modifiers(const struct perf_event_attr *a, struct buf *out)
{
	if (a->exclude_user || a->exclude_kernel) {
		buf_addstr(out, a->exclude_user ? "" : "u");
		buf_addstr(out, a->exclude_kernel ? "" : "k");
		buf_addstr(out, a->exclude_hv ? "" : "h");
	}
	if (a->exclude_guest != a->exclude_host)
		buf_addch(out, a->exclude_guest ? 'H' : 'G');
	for (unsigned i = 0; i < a->precise_ip; i++)
		buf_addch(out, 'p');
	buf_addstr(out, a->pinned ? "D" : "");
	buf_addstr(out, a->exclusive ? "e" : "");
}

static int add_pfm_event(const struct library *l, const char *list, const char *name, size_t len, struct buf *out,
			 struct error *e)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };
	char text[NAME_MAX_BYTES];
	int err;

	if (len >= sizeof(text))
		return error_set(e, EINVAL, "--pfm-events, column %zu: the name is too long",
				 (size_t)(name - list) + 1);
	memcpy(text, name, len);
	text[len] = '\0';
	if (strchr(text, '\''))
		return error_set(e, EINVAL, "--pfm-events, column %zu: quotes are not allowed in a name",
				 (size_t)(name - list) + 1);
	err = l->get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	if (err != PFM_SUCCESS)
		return error_set(e, EINVAL, "--pfm-events, column %zu: \"%s\": %s", (size_t)(name - list) + 1, text,
				 l->strerror(err));
	buf_printf(out, "%" PRIu32 ":0x%" PRIx64 "/", (uint32_t)attr.type, (uint64_t)attr.config);
	if (attr.config1)
		buf_printf(out, "config1=0x%" PRIx64 ",", (uint64_t)attr.config1);
	if (attr.config2)
		buf_printf(out, "config2=0x%" PRIx64 ",", (uint64_t)attr.config2);
	buf_printf(out, "name='%s'/", text);
	add_modifiers(&attr, out);
	return 0;
}

static int add_list(const struct library *l, const char *list, struct buf *out, struct error *e)
{
	bool any = false;
	int depth = 0;

	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ",{}");
		int err = 0;

		if (len) {
			err = add_pfm_event(l, list, at, len, out, e);
			any = true;
		} else {
			depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
			if (depth < 0 || depth > 1)
				err = error_set(e, EINVAL, "--pfm-events, column %zu: unmatched brace",
						(size_t)(at - list) + 1);
			buf_addch(out, *at);
			len = 1;
		}
		if (err)
			return err;
		at += len;
	}
	if (depth)
		return error_set(e, EINVAL, "--pfm-events: the closing \"}\" is missing");
	return any ? 0 : error_set(e, EINVAL, "--pfm-events: an event is missing");
}

int pfm_events_text(const char *list, struct buf *out, struct error *e)
{
	struct library l;
	int err = load_pfm(&l, e);

	if (err)
		return err;
	err = l.initialize();
	if (err == PFM_SUCCESS) {
		err = add_list(&l, list, out, e);
		l.terminate();
	} else {
		err = error_set(e, ENOTSUP, "--pfm-events: libpfm4: %s", l.strerror(err));
	}
	dlclose(l.handle);
	memory_whole(out);
	return err;
}
