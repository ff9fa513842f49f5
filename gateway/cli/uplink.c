#include "gateway/cli/uplink.h"

#include "gateway/cli/needs.h"
#include "gateway/proc/channel.h"
#include "schema/address.h"
#include "schema/hostname.h"
#include "schema/status.h"

#include <string.h>

static int
refuse(const char *text, struct problem *reterr)
{
	(void)problem_set(reterr,
	    "--via %.120s does not read as an HTTP proxy's address", text);
	return problem_cure(reterr, "write http://HOST:PORT, as in "
				    "http://proxy.example.com:3128");
}

/* In the one spelling that credentials are bound by. */
static int
take_host(struct cursor text, struct order_via *ret)
{
	const char *at = (const char *)text.at;
	struct address address;
	struct hostname name;

	if (address_parse(at, text.left, &address) == STATUS_OK) {
		address_print(&address, ret->host);
		return STATUS_OK;
	}
	if (hostname_parse(at, text.left, &name) != STATUS_OK)
		return STATUS_MALFORMED;
	memcpy(ret->host, name.text, (size_t)name.length + 1);
	return STATUS_OK;
}

/* Host and port of "HOST:PORT" or "[ADDRESS]:PORT", and perhaps "/". */
static int
take_place(struct cursor text, struct order_via *ret)
{
	struct cursor host;
	uint64_t port;
	bool bracket = cursor_literal(&text, "[");

	if (!cursor_until(&text, bracket ? ']' : ':', &host) ||
	    (bracket && !cursor_literal(&text, ":")) ||
	    !cursor_decimal(&text, UINT16_MAX, &port) || port == 0)
		return STATUS_MALFORMED;
	(void)!cursor_literal(&text, "/");
	if (!cursor_is_empty(&text) || take_host(host, ret) != STATUS_OK)
		return STATUS_MALFORMED;
	ret->port = (uint16_t)port;
	return STATUS_OK;
}

int
uplink_read(const char *text, struct order_via *ret, struct problem *reterr)
{
	struct cursor rest = cursor_of_text(text);
	struct order_via via = *ret;

	if (strchr(text, '@') != NULL) {
		(void)problem_set(reterr,
		    "--via takes no password: everybody on this machine can "
		    "see a command line");
		return problem_cure(reterr,
		    "put it into the credential file, for the proxy's host, "
		    "and name it by --via-credential");
	}
	if (strncmp(text, "https://", strlen("https://")) == 0) {
		(void)problem_set(
		    reterr, "--via knows no proxy that is itself behind TLS");
		return problem_cure(reterr,
		    "name the proxy's http:// address; what goes through it "
		    "stays encrypted all the same");
	}
	if (!cursor_literal(&rest, "http://") ||
	    take_place(rest, &via) != STATUS_OK)
		return refuse(text, reterr);
	*ret = via;
	return STATUS_OK;
}

int
uplink_log_in(
    const char *credential, struct order_via *ret, struct problem *reterr)
{
	size_t length = strlen(credential);

	if (length >= sizeof(ret->credential))
		return problem_set(reterr,
		    "--via-credential %.64s... is too long a name", credential);
	memcpy(ret->credential, credential, length + 1);
	return STATUS_OK;
}

int
uplink_check(const struct order_via *via, struct problem *reterr)
{
	if (via->host[0] != '\0' || via->credential[0] == '\0')
		return STATUS_OK;
	(void)problem_set(reterr, "--via-credential is for a proxy's login, "
				  "and there is no --via");
	return problem_cure(reterr, "name the proxy by --via http://HOST:PORT");
}

int
uplink_need(const struct order_via *via, struct needs *needs)
{
	if (via->credential[0] == '\0')
		return STATUS_OK;
	return needs_add_name(needs, via->credential);
}

int
uplink_send(const struct order_via *via, struct channel *gateway)
{
	unsigned char packet[512];
	struct cursor_writer out =
	    frame_begin(FRAME_ORDER_VIA, packet, sizeof(packet));

	if (via->host[0] == '\0')
		return STATUS_OK;
	order_via_write(via, &out);
	return channel_send(gateway, &out, NULL, 0);
}
