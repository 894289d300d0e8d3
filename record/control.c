#include "record/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/parse.h"
#include "record/host/privileges.h"
#include "record/marksocket.h"

static int open_fds(struct control *c, const char *text, struct error *e)
{
	const char *comma = strchr(text, ',');
	uint64_t ctl, ack = 0;

	if (parse_u64_span(text, comma ? (size_t)(comma - text) : strlen(text), 10, &ctl) || ctl > 1 << 20 ||
	    (comma && (parse_u64(comma + 1, &ack) || ack > 1 << 20)))
		return error_set(e, EINVAL, "--control: 'fd:%s' names no file descriptors", text);
	/* Duplicates, so that the command does not inherit them and the caller's flags stay. */
	c->ctl = fcntl((int)ctl, F_DUPFD_CLOEXEC, 3);
	c->ack = comma ? fcntl((int)ack, F_DUPFD_CLOEXEC, 3) : -1;
	if (c->ctl < 0 || (comma && c->ack < 0))
		return error_sys(e, errno, "--control: fd:%s", text);
	return 0;
}

/* Open for reading and writing: a FIFO then neither waits for the other side nor ends when a writer leaves. */
static int open_fifo(int *fd, const char *path, struct error *e)
{
	bool changed = privileges_become_caller();
	struct stat st;

	*fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	privileges_become_self(changed);
	if (*fd < 0)
		return errno == ENOENT ?
			       error_set(e, ENOENT, "--control: '%s' does not exist; create it with mkfifo", path) :
			       error_sys(e, errno, "--control: '%s'", path);
	/* Answers would overwrite a file. */
	if (fstat(*fd, &st) || !S_ISFIFO(st.st_mode))
		return error_set(e, EINVAL, "--control: '%s' is not a fifo", path);
	return 0;
}

static int open_fifos(struct control *c, const char *text, struct error *e)
{
	const char *comma = strchr(text, ',');
	SCOPED(scoped_free) char *path = strndup(text, comma ? (size_t)(comma - text) : strlen(text));
	int err = path ? open_fifo(&c->ctl, path, e) : error_sys(e, ENOMEM, "--control");

	return err || !comma ? err : open_fifo(&c->ack, comma + 1, e);
}

int control_open(struct control *c, const char *where, struct error *e)
{
	int err = 0;

	*c = (struct control){ .ctl = -1, .ack = -1 };
	c->mark = marksocket_listen();
	if (!where)
		return 0;
	if (!strncmp(where, "fd:", 3))
		err = open_fds(c, where + 3, e);
	else if (!strncmp(where, "fifo:", 5))
		err = open_fifos(c, where + 5, e);
	else
		err = error_set(e, EINVAL, "--control: '%s' starts with neither fd: nor fifo:", where);
	if (err)
		control_close(c);
	return err;
}

void control_close(struct control *c)
{
	fd_close(&c->ctl);
	fd_close(&c->ack);
	fd_close(&c->mark);
}

static void understand(char *line, struct control_command *command)
{
	static const struct {
		const char *word;
		enum control_verb verb;
	} verbs[] = {
		{ "ping", CONTROL_PING },         { "enable", CONTROL_ENABLE }, { "disable", CONTROL_DISABLE },
		{ "snapshot", CONTROL_SNAPSHOT }, { "mark", CONTROL_MARK },     { "dump", CONTROL_DUMP },
		{ "stop", CONTROL_STOP },         { "evlist", CONTROL_EVLIST },
	};
	size_t word = strcspn(line, " \t");

	*command = (struct control_command){ .text = line + word + strspn(line + word, " \t") };
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strlen(verbs[i].word) == word && !strncmp(line, verbs[i].word, word))
			command->verb = verbs[i].verb;
	/* These concern all events. */
	if (*command->text && (command->verb == CONTROL_ENABLE || command->verb == CONTROL_DISABLE))
		command->verb = CONTROL_UNKNOWN;
}

bool control_next(struct control *c, struct control_command *command)
{
	for (;;) {
		/* One byte at a time: whoever shares the descriptor finds the rest, and commands are rare. */
		struct pollfd p = { .fd = c->ctl, .events = POLLIN };
		char byte;
		ssize_t n;

		/* Poll first: the descriptor may be blocking, and its flags belong to the caller. */
		if (c->ctl < 0 || poll(&p, 1, 0) <= 0)
			return false;
		n = read(c->ctl, &byte, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0)
			fd_close(&c->ctl);
		if (n == 1 && byte != '\n' && byte != '\0') {
			if (c->len < sizeof(c->line) - 1)
				c->line[c->len++] = byte;
		} else if (c->len) {
			c->line[c->len] = '\0';
			c->len = 0;
			understand(c->line, command);
			return true;
		}
		if (n != 1)
			return false;
	}
}

void control_answer(struct control *c, const char *wrong)
{
	char text[300];
	int len = snprintf(text, sizeof(text), "%.250s\n", wrong ? wrong : "ack");

	/* Do not wait if nobody can read the answer. */
	if (c->ack >= 0 && write(c->ack, text, (size_t)len) < 0 && errno != EAGAIN)
		fd_close(&c->ack);
}

int control_next_peer(struct control *c, char *line, size_t size, struct control_command *command)
{
	int peer = c->mark >= 0 ? marksocket_take(c->mark, line, size) : -1;

	if (peer >= 0)
		understand(line, command);
	return peer;
}
