#include "gateway/cli/prompt.h"

#include "gateway/proc/loop.h"
#include "schema/approval.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <termios.h>
#include <unistd.h>

#define LINE_ROOM 64 /* longer is not "yes" */

struct item {
	TAILQ_ENTRY(item) entry;
	const struct approval_question *question;
};

struct prompt {
	int terminal; /* -1: there is none */
	struct event *readable;
	TAILQ_HEAD(, item) waiting;
	struct item *asked; /* the one on the screen, or NULL */
	char line[LINE_ROOM];
	size_t length;
	prompt_call *on_answer;
	void *arg;
};

static void on_readable(evutil_socket_t fd, short what, void *arg);

struct prompt *
prompt_new(struct loop *loop, prompt_call *on_answer, void *arg)
{
	struct prompt *prompt = calloc(1, sizeof(*prompt));

	if (prompt == NULL)
		return NULL;
	TAILQ_INIT(&prompt->waiting);
	prompt->on_answer = on_answer;
	prompt->arg = arg;
	prompt->terminal =
	    open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (prompt->terminal < 0)
		return prompt;
	prompt->readable = event_new(loop_base(loop), prompt->terminal,
	    EV_READ | EV_PERSIST, on_readable, prompt);
	if (prompt->readable == NULL) {
		prompt_free(prompt);
		return NULL;
	}
	return prompt;
}

void
prompt_free(struct prompt *prompt)
{
	struct item *item;

	if (prompt == NULL)
		return;
	if (prompt->readable != NULL)
		event_free(prompt->readable);
	if (prompt->terminal >= 0)
		(void)close(prompt->terminal);
	while ((item = TAILQ_FIRST(&prompt->waiting)) != NULL) {
		TAILQ_REMOVE(&prompt->waiting, item, entry);
		free(item);
	}
	free(prompt->asked);
	free(prompt);
}

/*
 * Printable ASCII stands for itself; a path is hardly ever more than that.
 * What is not above floor is escaped: a blank, where it would end a word.
 */
static void
put_escaped(const char *text, unsigned char floor, struct cursor_writer *out)
{
	static const char hex[] = "0123456789abcdef";

	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte > floor && byte < 0x7f && byte != '\\') {
			cursor_put_u8(out, byte);
			continue;
		}
		cursor_put_text(out, "\\x");
		cursor_put_u8(out, (uint8_t)hex[byte >> 4]);
		cursor_put_u8(out, (uint8_t)hex[byte & 15]);
	}
}

void
prompt_print_request(
    const struct approval_question *question, char out[PROMPT_LINE_MAX])
{
	struct cursor_writer line = cursor_writer_of(out, PROMPT_LINE_MAX - 1);
	bool v6 = strchr(question->host, ':') != NULL;

	put_escaped(question->method, ' ', &line);
	cursor_put_text(&line, question->tls ? " https://" : " http://");
	cursor_put_text(&line, v6 ? "[" : "");
	put_escaped(question->host, ' ', &line);
	cursor_put_text(&line, v6 ? "]" : "");
	if (question->port != (question->tls ? 443 : 80)) {
		cursor_put_u8(&line, ':');
		cursor_put_decimal(&line, question->port);
	}
	put_escaped(question->target, ' ', &line);
	if (question->upgrade[0] != '\0') {
		cursor_put_text(&line, " upgrade=");
		put_escaped(question->upgrade, ' ', &line);
	}
	out[line.used] = '\0';
}

void
prompt_print_asker(
    const struct approval_question *question, char out[PROMPT_LINE_MAX])
{
	struct cursor_writer line = cursor_writer_of(out, PROMPT_LINE_MAX - 1);

	if (question->program[0] == '\0')
		cursor_put_text(&line, "unknown");
	else
		put_escaped(question->program, ' ', &line);
	out[line.used] = '\0';
}

void
prompt_print_words(
    const struct approval_question *question, char out[PROMPT_LINE_MAX])
{
	struct cursor_writer line = cursor_writer_of(out, PROMPT_LINE_MAX - 1);

	put_escaped(question->words, ' ' - 1, &line);
	out[line.used] = '\0';
}

static void
say(const struct prompt *prompt, const char *text)
{
	/* Where the terminal takes no more, there is nobody to read it. */
	(void)!write(prompt->terminal, text, strlen(text));
}

static void
show(const struct prompt *prompt, const struct approval_question *question)
{
	char request[PROMPT_LINE_MAX], text[512];

	prompt_print_request(question, request);
	say(prompt, "\r\nexeat: the sandbox asks for\r\n  ");
	say(prompt, request);
	prompt_print_asker(question, request);
	say(prompt, "\r\n  the program is ");
	say(prompt, request);
	if (question->words[0] != '\0') {
		prompt_print_words(question, request);
		say(prompt, "\r\n  in the sandbox's own words: \"");
		say(prompt, request);
		say(prompt, "\"");
	}
	if (snprintf(text, sizeof(text),
		"\r\n  rule %s; a yes is good for %u request%s within %u s; "
		"no answer within %u s is a no\r\n",
		question->rule, question->grant_uses,
		question->grant_uses == 1 ? "" : "s", question->grant_s,
		question->timeout_s) > 0)
		say(prompt, text);
}

/* Its keys are ours only while we are the foreground, and the command does
 * not read them. */
static bool
is_ours(const struct prompt *prompt)
{
	return isatty(STDIN_FILENO) == 0 &&
	       tcgetpgrp(prompt->terminal) == getpgrp();
}

static void
ask_next(struct prompt *prompt)
{
	struct item *item = TAILQ_FIRST(&prompt->waiting);

	if (item == NULL) {
		(void)event_del(prompt->readable);
		return;
	}
	TAILQ_REMOVE(&prompt->waiting, item, entry);
	prompt->asked = item;
	prompt->length = 0;
	/* What was typed before the question is no answer to it; what is typed
	 * behind it must not be lost. */
	(void)tcflush(prompt->terminal, TCIFLUSH);
	show(prompt, item->question);
	say(prompt, "  type yes to allow it: ");
	(void)event_add(prompt->readable, NULL);
}

static void
show_only(const struct prompt *prompt, const struct approval_question *question)
{
	char text[256];

	show(prompt, question);
	if (snprintf(text, sizeof(text),
		"  in another terminal: exeat approve %s, or exeat refuse "
		"%s\r\n",
		question->id, question->id) > 0)
		say(prompt, text);
}

void
prompt_add(struct prompt *prompt, const struct approval_question *question)
{
	struct item *item;

	if (prompt->terminal < 0)
		return;
	if (!is_ours(prompt)) {
		show_only(prompt, question);
		return;
	}
	item = calloc(1, sizeof(*item));
	if (item == NULL)
		return;
	item->question = question;
	TAILQ_INSERT_TAIL(&prompt->waiting, item, entry);
	if (prompt->asked == NULL)
		ask_next(prompt);
}

void
prompt_drop(struct prompt *prompt, const char *id, const char *word)
{
	struct item *item;

	TAILQ_FOREACH(item, &prompt->waiting, entry)
		if (strcmp(item->question->id, id) == 0) {
			TAILQ_REMOVE(&prompt->waiting, item, entry);
			free(item);
			return;
		}
	if (prompt->asked == NULL ||
	    strcmp(prompt->asked->question->id, id) != 0)
		return;
	say(prompt, "\r\nexeat: this question is over: ");
	say(prompt, word);
	say(prompt, "\r\n");
	free(STEAL(prompt->asked));
	ask_next(prompt);
}

static void
take_line(struct prompt *prompt)
{
	struct item *item = STEAL(prompt->asked);
	bool yes = prompt->length == 4 && memcmp(prompt->line, "yes\n", 4) == 0;

	if (item == NULL)
		return;
	say(prompt, yes ? "exeat: allowed\r\n" : "exeat: refused\r\n");
	prompt->on_answer(item->question->id, yes, prompt->arg);
	free(item);
	ask_next(prompt);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct prompt *prompt = arg;
	char typed[LINE_ROOM];
	ssize_t got = read(fd, typed, sizeof(typed));

	(void)what;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		/* Ctrl-D, or no terminal any more: that is no yes. */
		prompt->length = 0;
		take_line(prompt);
		return;
	}
	for (ssize_t i = 0; i < got && prompt->asked != NULL; i++) {
		if (prompt->length < sizeof(prompt->line))
			prompt->line[prompt->length++] = typed[i];
		/* Behind the end of a line stands no answer to the next. */
		if (typed[i] == '\n') {
			take_line(prompt);
			return;
		}
	}
}
