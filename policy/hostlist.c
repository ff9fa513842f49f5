#include "policy/hostlist.h"

#include "policy/idn.h"
#include "schema/address.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
hostlist_done(struct hostlist *list)
{
	if (list == NULL)
		return;
	for (size_t i = 0; i < list->count; i++)
		hostmatch_done(&list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

/* Room for more items; false when there is no memory. */
static bool
make_room(struct hostlist *list, size_t more)
{
	size_t room = list->room == 0 ? 1 : list->room;
	struct hostmatch *items;

	while (room - list->count < more)
		room *= 2;
	if (room <= list->room)
		return true;
	items = reallocarray(list->items, room, sizeof(*items));
	if (items == NULL)
		return false;
	list->items = items;
	list->room = room;
	return true;
}

void
hostlist_append(struct hostlist *list, const struct hostlist *from,
    const struct report *report)
{
	if (!make_room(list, from->count)) {
		report_no_memory(report);
		return;
	}
	for (size_t i = 0; i < from->count; i++) {
		struct hostmatch *copy = &list->items[list->count];

		*copy = from->items[i];
		copy->text = strdup(from->items[i].text);
		if (copy->text == NULL) {
			report_no_memory(report);
			return;
		}
		list->count++;
	}
}

/* Where the host of a URL stands, so that the cure can show it. */
static struct cursor
host_of_url(const char *text)
{
	struct cursor in = cursor_of_text(text), part;
	const char *host = strstr(text, "://");

	if (host != NULL)
		in = cursor_of_text(host + 3);
	if (cursor_until(&in, '/', &part))
		in = part;
	if (cursor_until(&in, ':', &part))
		in = part;
	return in;
}

/* Where the list of a rule would take this: below "host", or not at all. */
static bool
is_address_text(const char *text, size_t length)
{
	struct address address;
	struct cidr cidr;
	int status = cidr_parse(text, length, &cidr);

	if (status == STATUS_OK || status == STATUS_REFUSED)
		return true;
	return length > 2 && text[0] == '[' && text[length - 1] == ']' &&
	       address_parse(text + 1, length - 2, &address) == STATUS_OK;
}

/* A host and a port: a colon with nothing but digits behind it. */
static const char *
port_of(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (colon == NULL || colon[1] == '\0' ||
	    colon[1 + strspn(colon + 1, "0123456789")] != '\0')
		return NULL;
	return colon + 1;
}

/*
 * A URL says more than a host: where each of its parts belongs.  What Exeat
 * does not read is bytes over TCP to it.
 */
static void
explain_url(
    const char *text, const struct place *place, const struct report *report)
{
	bool http = strncmp(text, "http://", 7) == 0 ||
		    strncmp(text, "https://", 8) == 0;
	bool ssh = strncmp(text, "ssh://", 6) == 0;
	bool scheme = strstr(text, "://") != NULL;
	struct cursor host = host_of_url(text);
	const char *port = strchr((const char *)host.at, ':');
	char cure[PROBLEM_CURE_MAX] = "";
	struct cursor_writer out = cursor_writer_of(cure, sizeof(cure) - 1);

	cursor_put_text(&out, "write \"");
	cursor_put(&out, host.at, host.left);
	cursor_put_text(&out, "\" here");
	if (port == (const char *)host.at + host.left) {
		cursor_put_text(&out, ", \"port\": [");
		cursor_put(&out, port + 1, strspn(port + 1, "0123456789"));
		cursor_put_text(&out, "]");
	}
	if (scheme && !http)
		cursor_put_text(&out, ssh ? ", \"protocol\": \"ssh\""
					  : ", \"protocol\": \"tcp\"");
	else
		cursor_put_text(&out, ", and a path under \"path\"");
	report_add(report, place, cure,
	    "\"%s\" is a URL or has a path, not a host alone", text);
}

/* What a pattern that does not read most likely was meant to be. */
static void
explain_refusal(
    const char *text, const struct place *place, const struct report *report)
{
	struct cursor host = host_of_url(text);
	const char *port = port_of(text);
	size_t length = strlen(text);
	char cure[PROBLEM_CURE_MAX] = "";

	if (is_address_text(text, length)) {
		report_add(report, place,
		    "write it under \"address\", without brackets",
		    "\"%s\" is an address, not a name", text);
		return;
	}
	if (strstr(text, "://") != NULL || strchr(text, '/') != NULL) {
		explain_url(text, place, report);
		return;
	}
	if (port != NULL) {
		(void)!snprintf(cure, sizeof(cure),
		    "write \"%.*s\" here, and \"port\": [%s] beside it",
		    (int)host.left, (const char *)host.at, port);
		report_add(report, place, cure, "\"%s\" has a port", text);
		return;
	}
	if (hostname_ends_in_number(text, length)) {
		report_add(report, place,
		    "write an address in full under \"address\"",
		    "\"%s\" would be read as a number by some programs", text);
		return;
	}
	report_add(report, place,
	    "write a name such as api.example.com, *.example.com for the "
	    "names below it, or api-*.example.com",
	    "\"%s\" is not a host name or a pattern for one", text);
}

/* Appends one part of a pattern in A-labels. */
static int
put_part(struct cursor_writer *out, const char *text, size_t length)
{
	struct hostname name;
	int status;

	if (length == 0)
		return STATUS_OK;
	status = idn_to_hostname(text, length, &name);
	if (status == STATUS_OK)
		cursor_put(out, name.text, name.length);
	return status;
}

/*
 * Puts a pattern into A-labels: the label with "*" is ASCII and stays, what
 * stands before and behind it are names.
 */
static int
to_ascii(const char *text, struct cursor_writer *out)
{
	const char *star = strchr(text, '*'), *start = star, *end;
	int status;

	if (star == NULL)
		return put_part(out, text, strlen(text));
	while (start > text && start[-1] != '.')
		start--;
	end = star + strcspn(star, ".");
	if (start > text) {
		status = put_part(out, text, (size_t)(start - text) - 1);
		if (status != STATUS_OK)
			return status;
		cursor_put_u8(out, '.');
	}
	cursor_put(out, start, (size_t)(end - start));
	if (*end == '\0')
		return STATUS_OK;
	if (end[1] == '\0')
		return STATUS_MALFORMED;
	cursor_put_u8(out, '.');
	/* More "*" are for hostmatch to refuse, with a reason of its own. */
	if (strchr(end, '*') != NULL)
		return STATUS_REFUSED;
	return put_part(out, end + 1, strlen(end + 1));
}

void
hostlist_add(struct hostlist *list, const char *text, const struct place *place,
    const struct report *report)
{
	char ascii[2 * LIMIT_HOST + 3];
	struct cursor_writer out = cursor_writer_of(ascii, sizeof(ascii));
	struct hostmatch match;
	int status = to_ascii(text, &out);

	if (status == STATUS_OK && !cursor_written(&out))
		status = STATUS_MALFORMED;
	if (status == STATUS_OK)
		status = hostmatch_init(&match, ascii, out.used);
	if (status == STATUS_OK && !make_room(list, 1)) {
		hostmatch_done(&match);
		status = STATUS_NO_MEMORY;
	}
	if (status == STATUS_OK) {
		list->items[list->count++] = match;
		return;
	}
	if (status == STATUS_NO_MEMORY)
		report_no_memory(report);
	else if (status == STATUS_REFUSED)
		report_add(report, place,
		    "use \"*\" in one label only, or *.example.com for all "
		    "names below one",
		    "\"%s\" has \"*\" in more than one label", text);
	else
		explain_refusal(text, place, report);
}
