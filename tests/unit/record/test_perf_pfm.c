/* --pfm-events: what becomes of what libpfm4 says of names. The library is functions of the test. */
#include <dlfcn.h>
#include <perfmon/pfmlib_perf_event.h>

#include "record/perf/pfm.h"
#include "tests/unit/lib/test.h"

static bool absent;         /* the library */
static const char *lacking; /* of its functions */
static int begins;          /* what it says of its beginning */
static int open_now, begun;

static pfm_err_t initialize(void)
{
	begun += begins == PFM_SUCCESS;
	return begins;
}

static void terminate(void)
{
	begun--;
}

static const char *explain(int code)
{
	return code == PFM_ERR_NOTFOUND ? "event not found" : code == PFM_ERR_NOTSUPP ? "no support" : "?";
}

/* Names of events are what they encode: "c3" has config 3, and so on; ":u" counts users only. */
static pfm_err_t encode(const char *name, int levels, pfm_os_t os, void *arg)
{
	struct perf_event_attr *a = ((pfm_perf_encode_arg_t *)arg)->attr;

	assert_int_equal(levels, PFM_PLM0 | PFM_PLM3);
	assert_int_equal(os, PFM_OS_PERF_EVENT);
	assert_int_equal(a->size, sizeof(*a));
	assert_int_equal(((pfm_perf_encode_arg_t *)arg)->size, sizeof(pfm_perf_encode_arg_t));
	if (strspn(name, "abcdehmnopuwxGHkv0123456789:") != strlen(name))
		return PFM_ERR_NOTFOUND;
	a->type = 4;
	for (const char *at = name; *at; at++) {
		if (*at >= '0' && *at <= '9')
			a->config = a->config * 16 + (uint64_t)(*at - '0');
		a->config1 |= *at == 'a' ? 0x1f : 0;
		a->config2 |= *at == 'b' ? 0x2f : 0;
		a->exclude_kernel |= *at == 'u';
		a->exclude_user |= *at == 'k';
		a->exclude_hv |= *at == 'u' || *at == 'k';
		a->exclude_guest |= *at == 'H';
		a->exclude_host |= *at == 'G';
		a->exclude_hv &= *at != 'v';
		a->pinned |= *at == 'n';
		a->exclusive |= *at == 'e';
		a->precise_ip += *at == 'p';
	}
	return PFM_SUCCESS;
}

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *library, const char *name);
int __wrap_dlclose(void *library);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *name, int flags)
{
	assert_string_equal(name, "libpfm.so.4");
	open_now += !absent;
	return absent ? NULL : &open_now;
}

void *__wrap_dlsym(void *library, const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} functions[] = {
		{ "pfm_initialize", (void (*)(void))initialize },
		{ "pfm_terminate", terminate },
		{ "pfm_strerror", (void (*)(void))explain },
		{ "pfm_get_os_event_encoding", (void (*)(void))encode },
	};

	assert_ptr_equal(library, &open_now);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(name, functions[i].name) && !(lacking && !strcmp(name, lacking)))
			return (void *)(uintptr_t)functions[i].function;
	return NULL;
}

int __wrap_dlclose(void *library)
{
	open_now--;
	return 0;
}

char *__wrap_dlerror(void)
{
	return (char *)(uintptr_t) "not there";
}

static int text_of(const char *list, struct buf *out, struct error *e)
{
	int err;

	buf_clear(out);
	*e = (struct error){ 0 };
	err = pfm_events_text(list, out, e);
	/* It is unloaded in any case. */
	assert_int_equal(open_now, 0);
	assert_int_equal(begun, 0);
	return err;
}

static void names_become_codes(void **state)
{
	static const struct {
		const char *list, *text;
	} cases[] = {
		{ "c3", "4:0x3/name='c3'/" },
		{ "c12,c4", "4:0x12/name='c12'/,4:0x4/name='c4'/" },
		{ "{c1,c2},c3", "{4:0x1/name='c1'/,4:0x2/name='c2'/},4:0x3/name='c3'/" },
		{ "a1", "4:0x1/config1=0x1f,name='a1'/" },
		{ "b1", "4:0x1/config2=0x2f,name='b1'/" },
		{ "ab1", "4:0x1/config1=0x1f,config2=0x2f,name='ab1'/" },
		{ "c1:u", "4:0x1/name='c1:u'/u" },
		{ "c1:k", "4:0x1/name='c1:k'/k" },
		{ "c1:uv", "4:0x1/name='c1:uv'/uh" },
		{ "c1:H", "4:0x1/name='c1:H'/H" },
		{ "c1:G", "4:0x1/name='c1:G'/G" },
		{ "c1:GH", "4:0x1/name='c1:GH'/" },
		{ "c1:pp", "4:0x1/name='c1:pp'/pp" },
		{ "c1:ne", "4:0x1/name='c1:ne'/De" },
		{ "c1:uHpe", "4:0x1/name='c1:uHpe'/uHpe" },
	};
	struct buf out = BUF_INIT;
	struct error e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (text_of(cases[i].list, &out, &e))
			fail_msg("%s: %s", cases[i].list, e.text);
		assert_string_equal(buf_str(&out), cases[i].text);
	}
	buf_release(&out);
}

static void mistakes_are_shown(void **state)
{
	static const struct {
		const char *list, *says;
	} cases[] = {
		{ "c1,zz", "--pfm-events, column 4: \"zz\": event not found" },
		{ "c1,c'2", "--pfm-events, column 4: quotes are not allowed in a name" },
		{ "", "--pfm-events: an event is missing" },
		{ ",", "--pfm-events: an event is missing" },
		{ "{c1", "--pfm-events: the closing \"}\" is missing" },
		{ "c1}", "--pfm-events, column 3: unmatched brace" },
		{ "{{c1}}", "--pfm-events, column 2: unmatched brace" },
		{ "{c1}},", "--pfm-events, column 5: unmatched brace" },
	};
	char name[600];
	struct buf out = BUF_INIT;
	struct error e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(text_of(cases[i].list, &out, &e), -EINVAL);
		assert_string_equal(e.text, cases[i].says);
	}
	for (size_t len = 511; len <= 512; len++) {
		memset(name, 'c', len);
		name[len] = '\0';
		assert_int_equal(text_of(name, &out, &e), len == 512 ? -EINVAL : 0);
	}
	assert_string_equal(e.text, "--pfm-events, column 1: the name is too long");
	buf_release(&out);
}

static void the_library_may_lack(void **state)
{
	static const char *const functions[] = { "pfm_initialize", "pfm_terminate", "pfm_strerror",
						 "pfm_get_os_event_encoding" };
	struct buf out = BUF_INIT;
	struct error e;

	absent = true;
	assert_int_equal(text_of("c1", &out, &e), -ENOTSUP);
	assert_string_equal(e.text, "--pfm-events: not there; install libpfm4, or give codes with -e "
				    "cpu/event=...,umask=.../");
	absent = false;
	for (size_t i = 0; i < 4; i++) {
		lacking = functions[i];
		assert_int_equal(text_of("c1", &out, &e), -ENOTSUP);
	}
	lacking = NULL;
	begins = PFM_ERR_NOTSUPP;
	assert_int_equal(text_of("c1", &out, &e), -ENOTSUP);
	assert_string_equal(e.text, "--pfm-events: libpfm4: no support");
	begins = PFM_SUCCESS;
	buf_release(&out);
}

UNIT_TESTS(cmocka_unit_test(names_become_codes), cmocka_unit_test(mistakes_are_shown),
	   cmocka_unit_test(the_library_may_lack))
