#include "broker/fetch/https.h"

#include "broker/fetch/answer.h"
#include "broker/fetch/endpoints.h"
#include "gateway/net/resolve.h"
#include "gateway/proto/header.h"
#include "schema/address.h"
#include "schema/hostname.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <assert.h>
#include <curl/curl.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	STARTING_BYTES = 4096, /* most answers are shorter */
	FIELD_MAX = 65535 + 256 /* a block of a frame, and its name */
};

/* One errand under way. */
struct trip {
	struct https *https;
	struct trip *next;
	const struct endpoint_entry *entry;
	struct errand errand;
	unsigned char *bytes; /* that the errand's cursors point to */
	size_t length;
	struct resolve *resolving;
	struct event *ending; /* to tell of a failure at once, but later */
	enum errand_end end;
	CURL *easy;
	struct curl_slist *fields, *addresses;
	char curl_words[CURL_ERROR_SIZE];
	unsigned char *body;
	size_t body_length, body_room, head_length;
	bool too_long;
};

/* A socket that libcurl wants watched. */
struct watch {
	struct https *https;
	struct event *event;
};

struct https {
	struct https_setting setting;
	CURLM *multi;
	struct event *timer;
	struct trip *trips;
	size_t count;
};

/* ---- the end of a trip ---- */

static void
free_trip(struct trip *trip)
{
	struct https *https = trip->https;
	struct trip **at = &https->trips;

	while (*at != NULL && *at != trip)
		at = &(*at)->next;
	if (*at == trip) {
		*at = trip->next;
		https->count--;
	}
	resolve_cancel(trip->resolving);
	if (trip->ending != NULL)
		event_free(trip->ending);
	if (trip->easy != NULL) {
		(void)curl_multi_remove_handle(https->multi, trip->easy);
		curl_easy_cleanup(trip->easy);
	}
	curl_slist_free_all(trip->fields);
	curl_slist_free_all(trip->addresses);
	if (trip->bytes != NULL)
		explicit_bzero(trip->bytes, trip->length);
	free(trip->bytes);
	if (trip->body != NULL)
		explicit_bzero(trip->body, trip->body_room);
	free(trip->body);
	free(trip);
}

static enum errand_end
end_of(CURLcode code)
{
	/* libcurl has a hundred codes; these are the ones that tell apart. */
	if (code == CURLE_OPERATION_TIMEDOUT)
		return ERRAND_TIMED_OUT;
	if (code == CURLE_PEER_FAILED_VERIFICATION ||
	    code == CURLE_SSL_CONNECT_ERROR || code == CURLE_SSL_CACERT_BADFILE)
		return ERRAND_UNVERIFIED;
	if (code == CURLE_COULDNT_CONNECT)
		return ERRAND_UNREACHABLE;
	if (code == CURLE_COULDNT_RESOLVE_HOST)
		return ERRAND_UNRESOLVED;
	if (code == CURLE_OUT_OF_MEMORY)
		return ERRAND_OVERLOADED;
	return ERRAND_BROKEN_OFF;
}

static void
tell(struct trip *trip, struct errand_answer *answer)
{
	answer->number = trip->errand.number;
	trip->https->setting.on_answer(answer, trip->https->setting.arg);
}

/* libcurl's words, without what could not stand in a line. */
static void
quote_cause(const char *words, char out[LIMIT_ERRAND_CAUSE + 1])
{
	size_t length = 0;

	for (; length < LIMIT_ERRAND_CAUSE && words[length] != '\0'; length++) {
		out[length] = words[length];
		if (words[length] < ' ' || words[length] > '~')
			out[length] = '?';
	}
	out[length] = '\0';
}

static void
finish(struct trip *trip, CURLcode code)
{
	struct errand_answer message = { .end = end_of(code) };
	struct answer answer = { .json = NULL };
	long status = 0;

	(void)curl_easy_getinfo(trip->easy, CURLINFO_RESPONSE_CODE, &status);
	message.status = (uint16_t)(status > 0 && status < 1000 ? status : 0);
	if (trip->too_long)
		message.end = ERRAND_TOO_LONG;
	else if (code != CURLE_OK)
		quote_cause(trip->curl_words, message.cause);
	else if (message.status >= 300 && message.status < 400)
		message.end = ERRAND_REDIRECTED;
	else
		answer_read(&answer, cursor_of(trip->body, trip->body_length),
		    message.status, &trip->errand, &message);
	tell(trip, &message);
	answer_done(&answer);
	free_trip(trip);
}

static void
on_ending(evutil_socket_t fd, short what, void *arg)
{
	struct trip *trip = arg;
	struct errand_answer message = { .end = trip->end };

	(void)fd;
	(void)what;
	tell(trip, &message);
	free_trip(trip);
}

/* Fails it, but not before whoever started it has returned. */
static void
end_later(struct trip *trip, enum errand_end end)
{
	trip->end = end;
	event_active(trip->ending, EV_TIMEOUT, 0);
}

/* ---- libcurl in our loop ---- */

static void
reap(struct https *https)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(https->multi, &left)) != NULL) {
		char *private_pointer = NULL;
		CURLcode code = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(
		    message->easy_handle, CURLINFO_PRIVATE, &private_pointer);
		finish((struct trip *)(void *)private_pointer, code);
	}
}

static void
act(struct https *https, curl_socket_t socket, int what)
{
	int running;

	(void)curl_multi_socket_action(https->multi, socket, what, &running);
	reap(https);
}

static void
on_socket_ready(evutil_socket_t fd, short what, void *arg)
{
	const struct watch *watch = arg;

	act(watch->https, fd,
	    ((what & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
		((what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0));
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void
free_watch(struct https *https, curl_socket_t socket, struct watch *watch)
{
	(void)curl_multi_assign(https->multi, socket, NULL);
	event_free(watch->event);
	free(watch);
}

static struct watch *
new_watch(struct https *https, curl_socket_t socket)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (watch == NULL)
		return NULL;
	watch->https = https;
	watch->event = event_new(
	    https->setting.base, socket, EV_PERSIST, on_socket_ready, watch);
	if (watch->event == NULL ||
	    curl_multi_assign(https->multi, socket, watch) != CURLM_OK) {
		if (watch->event != NULL)
			event_free(watch->event);
		free(watch);
		return NULL;
	}
	return watch;
}

static int
on_socket(CURL *easy, curl_socket_t socket, int what, void *arg, void *assigned)
{
	struct https *https = arg;
	struct watch *watch = assigned;
	short events = EV_PERSIST;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watch != NULL)
			free_watch(https, socket, watch);
		return 0;
	}
	if (watch == NULL)
		watch = new_watch(https, socket);
	if (watch == NULL)
		return -1;
	if (what != CURL_POLL_OUT)
		events |= EV_READ;
	if (what != CURL_POLL_IN)
		events |= EV_WRITE;
	(void)event_del(watch->event);
	if (event_assign(watch->event, https->setting.base, socket, events,
		on_socket_ready, watch) != 0)
		return -1;
	return event_add(watch->event, NULL);
}

static int
on_timeout(CURLM *multi, long milliseconds, void *arg)
{
	struct https *https = arg;
	struct timeval when = { .tv_sec = milliseconds / 1000,
		.tv_usec = milliseconds % 1000 * 1000 };

	(void)multi;
	if (milliseconds < 0)
		return event_del(https->timer);
	return event_add(https->timer, &when);
}

/* ---- what comes ---- */

static bool
make_room(struct trip *trip, size_t length)
{
	size_t room = trip->body_room == 0 ? STARTING_BYTES : trip->body_room;
	unsigned char *body;

	if (length > LIMIT_ERRAND_ANSWER)
		return false;
	while (room < length)
		room *= 2;
	if (room == trip->body_room)
		return true;
	/* Not realloc, which would leave a copy behind. */
	body = malloc(room);
	if (body == NULL)
		return false;
	if (trip->body != NULL) {
		memcpy(body, trip->body, trip->body_length);
		explicit_bzero(trip->body, trip->body_room);
		free(trip->body);
	}
	trip->body = body;
	trip->body_room = room;
	return true;
}

static size_t
/* libcurl's own.  NOLINTNEXTLINE(readability-non-const-parameter) */
on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct trip *trip = arg;
	size_t length = size * count;

	if (length > LIMIT_ERRAND_ANSWER ||
	    !make_room(trip, trip->body_length + length)) {
		trip->too_long = true;
		return CURL_WRITEFUNC_ERROR;
	}
	memcpy(trip->body + trip->body_length, bytes, length);
	trip->body_length += length;
	return length;
}

static size_t
/* libcurl's own.  NOLINTNEXTLINE(readability-non-const-parameter) */
on_head(char *bytes, size_t size, size_t count, void *arg)
{
	struct trip *trip = arg;

	(void)bytes;
	trip->head_length += size * count;
	if (trip->head_length <= LIMIT_HTTP_HEAD)
		return size * count;
	trip->too_long = true;
	return CURL_WRITEFUNC_ERROR;
}

/* ---- what goes ---- */

static bool
add_field(struct trip *trip, const char *line)
{
	struct curl_slist *list = curl_slist_append(trip->fields, line);

	if (list == NULL)
		return false;
	trip->fields = list;
	return true;
}

static bool
add_fields(struct trip *trip)
{
	char *line = malloc(FIELD_MAX);
	bool well = line != NULL;

	for (size_t i = 0; well && i < trip->errand.field_count; i++) {
		const struct errand_field *field = &trip->errand.fields[i];
		int length = snprintf(line, FIELD_MAX, "%.*s: %.*s",
		    (int)field->name.left, (const char *)field->name.at,
		    (int)field->value.left, (const char *)field->value.at);

		well =
		    length > 0 && length < FIELD_MAX && add_field(trip, line);
		explicit_bzero(line, FIELD_MAX);
	}
	free(line);
	/* Nobody who gives tokens wants to be asked first. */
	return well && add_field(trip, "Expect:");
}

static bool
set_request(struct trip *trip)
{
	CURL *easy = trip->easy;
	const struct errand *errand = &trip->errand;
	bool well = add_fields(trip);

	well = well && curl_easy_setopt(easy, CURLOPT_URL, trip->entry->url) ==
			   CURLE_OK;
	well = well && curl_easy_setopt(
			   easy, CURLOPT_HTTPHEADER, trip->fields) == CURLE_OK;
	well = well && curl_easy_setopt(
			   easy, CURLOPT_USERAGENT, "exeat-fetch") == CURLE_OK;
	if (errand->method != ERRAND_GET && errand->body.left > 0) {
		well = well &&
		       curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE,
			   (long)errand->body.left) == CURLE_OK &&
		       curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
			   (const char *)errand->body.at) == CURLE_OK;
	} else if (errand->method == ERRAND_POST) {
		well =
		    well &&
		    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L) ==
			CURLE_OK &&
		    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "") == CURLE_OK;
	}
	return well && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST,
			   errand_method_name(errand->method)) == CURLE_OK;
}

static bool
set_trust(struct trip *trip)
{
	const struct endpoint_entry *entry = trip->entry;
	struct cursor roots = entry->roots != NULL
				  ? cursor_of(entry->roots, entry->roots_length)
				  : trip->https->setting.roots;
	struct curl_blob blob = { .data = unconst(roots.at),
		.len = roots.left,
		.flags = CURL_BLOB_NOCOPY };
	CURL *easy = trip->easy;

	return curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_SSLVERSION,
		   (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK;
}

static bool
set_bounds(struct trip *trip)
{
	CURL *easy = trip->easy;

	return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https") ==
		   CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
		   (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
	       curl_easy_setopt(
		   easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
		   (long)LIMIT_ERRAND_CONNECT_MS) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
		   (long)LIMIT_ERRAND_MS) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_RESOLVE, trip->addresses) ==
		   CURLE_OK;
}

static bool
set_ends(struct trip *trip)
{
	CURL *easy = trip->easy;

	return curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) ==
		   CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_WRITEDATA, trip) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head) ==
		   CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_HEADERDATA, trip) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_PRIVATE, trip) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, trip->curl_words) ==
		   CURLE_OK;
}

/* The addresses are there: off it goes. */
static void
depart(struct trip *trip)
{
	trip->easy = curl_easy_init();
	if (trip->easy == NULL || !set_request(trip) || !set_trust(trip) ||
	    !set_bounds(trip) || !set_ends(trip) ||
	    curl_multi_add_handle(trip->https->multi, trip->easy) != CURLM_OK)
		end_later(trip, ERRAND_OVERLOADED);
}

/* "host:port:address,address" */
static bool
set_addresses(struct trip *trip, const struct address *list, size_t count)
{
	const struct authority *authority = &trip->entry->authority;
	char text[LIMIT_HOST + 16 + LIMIT_ADDRESSES * (ADDRESS_TEXT_MAX + 3)];
	char address[ADDRESS_TEXT_MAX];
	int used = snprintf(text, sizeof(text), "%s:%u:", authority->name.text,
	    authority->port);

	for (size_t i = 0; i < count && i < LIMIT_ADDRESSES; i++) {
		size_t left = sizeof(text) - (size_t)used;
		bool brackets = list[i].length == 16;
		int more;

		address_print(&list[i], address);
		more = snprintf(text + used, left, "%s%s%s%s", i > 0 ? "," : "",
		    brackets ? "[" : "", address, brackets ? "]" : "");
		if (more < 0 || (size_t)more >= left)
			return false;
		used += more;
	}
	trip->addresses = curl_slist_append(NULL, text);
	return trip->addresses != NULL;
}

static void
on_resolved(const struct address *list, size_t count, int status, void *arg)
{
	struct trip *trip = arg;

	trip->resolving = NULL;
	if (status == STATUS_TIMEOUT)
		end_later(trip, ERRAND_TIMED_OUT);
	else if (status != STATUS_OK)
		end_later(trip, ERRAND_UNRESOLVED);
	else if (!set_addresses(trip, list, count))
		end_later(trip, ERRAND_OVERLOADED);
	else
		depart(trip);
}

static void
resolve(struct trip *trip)
{
	const struct authority *authority = &trip->entry->authority;
	struct resolver *resolver = trip->https->setting.resolver;
	struct address list[LIMIT_ADDRESSES];
	size_t count;

	if (!hostname_is_set(&authority->name)) {
		depart(trip);
		return;
	}
	if (resolver_knows(resolver, &authority->name, list, &count)) {
		on_resolved(list, count,
		    count > 0 ? STATUS_OK : STATUS_NOT_FOUND, trip);
		return;
	}
	trip->resolving =
	    resolve_start(resolver, &authority->name, on_resolved, trip);
	if (trip->resolving == NULL)
		end_later(trip, ERRAND_OVERLOADED);
}

/* ---- starting ---- */

/* Moves the bytes behind cursor into trip's own. */
static void
keep(struct trip *trip, struct cursor *cursor)
{
	unsigned char *place = trip->bytes + trip->length;

	if (cursor->left > 0)
		memcpy(place, cursor->at, cursor->left);
	trip->length += cursor->left;
	cursor->at = place;
}

static bool
copy_errand(struct trip *trip, const struct errand *errand)
{
	size_t room = errand->body.left + 1;

	for (size_t i = 0; i < errand->field_count; i++)
		room +=
		    errand->fields[i].name.left + errand->fields[i].value.left;
	for (size_t i = 0; i < errand->want_count; i++)
		room += errand->wants[i].name.left + errand->wants[i].path.left;
	trip->bytes = malloc(room);
	if (trip->bytes == NULL)
		return false;
	trip->errand = *errand;
	for (size_t i = 0; i < errand->field_count; i++) {
		keep(trip, &trip->errand.fields[i].name);
		keep(trip, &trip->errand.fields[i].value);
	}
	for (size_t i = 0; i < errand->want_count; i++) {
		keep(trip, &trip->errand.wants[i].name);
		keep(trip, &trip->errand.wants[i].path);
	}
	keep(trip, &trip->errand.body);
	return true;
}

static bool
is_well_formed(const struct errand *errand)
{
	for (size_t i = 0; i < errand->field_count; i++)
		if (!header_is_token(errand->fields[i].name) ||
		    !header_is_value(errand->fields[i].value))
			return false;
	return true;
}

int
https_start(struct https *https, const struct errand *errand)
{
	const struct endpoint_entry *entry =
	    endpoints_at(https->setting.endpoints, errand->endpoint);
	struct trip *trip;

	if (entry == NULL)
		return STATUS_NOT_FOUND;
	if (!is_well_formed(errand))
		return STATUS_MALFORMED;
	trip = calloc(1, sizeof(*trip));
	if (trip == NULL)
		return STATUS_NO_MEMORY;
	trip->https = https;
	trip->entry = entry;
	trip->ending = event_new(https->setting.base, -1, 0, on_ending, trip);
	if (trip->ending == NULL || !copy_errand(trip, errand)) {
		free_trip(trip);
		return STATUS_NO_MEMORY;
	}
	trip->next = https->trips;
	https->trips = trip;
	https->count++;
	if (https->count > LIMIT_ERRANDS)
		end_later(trip, ERRAND_OVERLOADED);
	else
		resolve(trip);
	return STATUS_OK;
}

static bool
set_multi(struct https *https)
{
	return curl_multi_setopt(https->multi, CURLMOPT_SOCKETFUNCTION,
		   on_socket) == CURLM_OK &&
	       curl_multi_setopt(https->multi, CURLMOPT_SOCKETDATA, https) ==
		   CURLM_OK &&
	       curl_multi_setopt(https->multi, CURLMOPT_TIMERFUNCTION,
		   on_timeout) == CURLM_OK &&
	       curl_multi_setopt(https->multi, CURLMOPT_TIMERDATA, https) ==
		   CURLM_OK &&
	       /* Minutes lie between two errands: nothing is kept open. */
	       curl_multi_setopt(https->multi, CURLMOPT_MAXCONNECTS, 1L) ==
		   CURLM_OK;
}

struct https *
https_new(const struct https_setting *setting, struct problem *reterr)
{
	struct https *https = calloc(1, sizeof(*https));

	if (https == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
		(void)problem_set(reterr, "cannot begin with libcurl");
		free(https);
		return NULL;
	}
	https->setting = *setting;
	https->multi = curl_multi_init();
	https->timer = evtimer_new(setting->base, on_timer, https);
	if (https->multi == NULL || https->timer == NULL || !set_multi(https)) {
		(void)problem_set(reterr, "cannot begin with libcurl");
		https_free(https);
		return NULL;
	}
	return https;
}

void
https_free(struct https *https)
{
	if (https == NULL)
		return;
	while (https->trips != NULL)
		free_trip(https->trips);
	if (https->multi != NULL)
		(void)curl_multi_cleanup(https->multi);
	if (https->timer != NULL)
		event_free(https->timer);
	free(https);
	curl_global_cleanup();
}
