/* perf's configuration files: the section [stat]. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "report/stat/options_stat.h"

static bool parse_bool(const char *text, bool *value)
{
	static const char *const yes[] = { "true", "yes", "on", "1" }, *const no[] = { "false", "no", "off", "0" };

	for (size_t i = 0; i < 4; i++) {
		if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
			*value = !strcasecmp(text, yes[i]);
			return true;
		}
	}
	return false;
}

/* Removes blanks at both ends. */
static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

static int take_key(struct stat_config *c, char *line, struct error *e)
{
	char *equals = strchr(line, '='), *key, *value;
	bool on = true;

	if (equals)
		*equals = '\0';
	key = trim(line);
	value = equals ? trim(equals + 1) : NULL;
	/* A key alone means yes. Other keys are about recording. */
	if (strcasecmp(key, "big-num") && strcasecmp(key, "no-csv-summary"))
		return 0;
	if (value && !parse_bool(value, &on))
		return error_set(e, EINVAL, "stat.%s: '%s' is neither true nor false", key, value);
	if (!strcasecmp(key, "big-num"))
		c->big_num = on;
	else
		c->no_csv_summary = on;
	return 0;
}

int stat_config_read(struct stat_config *c, const char *text, struct error *e)
{
	bool ours = false;
	int err = 0;

	while (*text && !err) {
		size_t len = strcspn(text, "\n");
		char *copy = strndup(text, len), *line;

		if (!copy)
			return -ENOMEM;
		copy[strcspn(copy, "#;")] = '\0';
		line = trim(copy);
		if (line[0] == '[')
			ours = !strncasecmp(line, "[stat]", 6);
		else if (ours && line[0])
			err = take_key(c, line, e);
		free(copy);
		text += len + (text[len] == '\n');
	}
	return err;
}

static void read_file(struct stat_config *c, const char *path, struct buf *notes)
{
	struct error e = { 0 };
	char text[16384];
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	if (stat_config_read(c, text, &e) && e.text[0])
		buf_printf(notes, "%s: %s\n", path, e.text);
}

void stat_options_init(struct stat_options *o, struct buf *notes)
{
	const char *named = getenv("PERF_CONFIG"), *home = getenv("HOME");
	struct buf path = BUF_INIT;

	*o = (struct stat_options){
		.export.fd = STDOUT_FILENO,
		.log_fd = -1,
		.stat = { .big_num = true, .separator = "," },
		.pipeline = { .mode = PIPELINE_TOTAL, .sheet.per = PM_SYSTEM },
	};
	if (named) {
		read_file(&o->stat, named, notes);
		return;
	}
	read_file(&o->stat, "/etc/perfconfig", notes);
	if (home) {
		buf_printf(&path, "%s/.perfconfig", home);
		read_file(&o->stat, buf_str(&path), notes);
		buf_release(&path);
	}
}
