#include "gateway/flow/metadata.h"

#include "gateway/dns/names.h"
#include "gateway/flow/leg.h"
#include "gateway/proc/clock.h"
#include "gateway/proto/request.h"
#include "gateway/run/lures.h"
#include "schema/address.h"
#include "schema/json.h"
#include "schema/status.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

enum {
	LIFE_S = 6 * 3600, /* then SDKs ask again */
	TOKEN_LIFE_S = 3599, /* as Google's tokens have */
	MOMENT_TEXT = sizeof("2026-12-01T13:00:00Z")
};

struct metadata_page {
	enum order_cloud cloud;
	const char *method, *path;
	const char *text; /* as it is; NULL: write makes it */
	void (*write)(const struct lures *lures, struct cursor_writer *out);
	const char *type;
};

static const char plain[] = "text/plain";
static const char json[] = "application/json";

/* ---- what they tell ---- */

static void
put_moment(struct json *j, const char *key, int64_t when_s)
{
	char text[MOMENT_TEXT] = "";
	time_t seconds = (time_t)when_s;
	struct tm tm;

	if (gmtime_r(&seconds, &tm) != NULL &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0)
		json_text(j, key, text);
}

/*
 * Some SDKs demand a session token beside the pair; it is in what they sign,
 * and goes before anything is sent.
 */
static void
write_pair(const struct lures *lures, struct cursor_writer *out)
{
	const struct order_lure *id =
	    lures_cloud(lures, ORDER_CLOUD_AWS, false);
	const struct order_lure *key =
	    lures_cloud(lures, ORDER_CLOUD_AWS, true);
	int64_t now_s = clock_wall_us() / 1000000;
	struct json j = json_to(out);

	json_open(&j, NULL, '{');
	json_text(&j, "Code", "Success");
	json_text(&j, "Type", "AWS-HMAC");
	put_moment(&j, "LastUpdated", now_s);
	json_text(&j, "AccessKeyId", id == NULL ? "" : id->value);
	json_text(&j, "SecretAccessKey", key == NULL ? "" : key->value);
	json_text(&j, "Token", "a-placeholder-of-exeat");
	put_moment(&j, "Expiration", now_s + LIFE_S);
	json_close(&j, '}');
}

static void
write_token(const struct lures *lures, struct cursor_writer *out)
{
	const struct order_lure *token =
	    lures_cloud(lures, ORDER_CLOUD_GCP, false);
	struct json j = json_to(out);

	json_open(&j, NULL, '{');
	json_text(&j, "access_token", token == NULL ? "" : token->value);
	json_number(&j, "expires_in", TOKEN_LIFE_S);
	json_text(&j, "token_type", "Bearer");
	json_close(&j, '}');
}

#define ROLES "/latest/meta-data/iam/security-credentials"
#define ACCOUNTS "/computeMetadata/v1/instance/service-accounts"
#define EMAIL "default@exeat.internal"
#define SCOPE "https://www.googleapis.com/auth/cloud-platform"

#define ACCOUNT(name)                                                          \
	{ ORDER_CLOUD_GCP, "GET", ACCOUNTS "/" name "/",                       \
		"{\"aliases\":[\"default\"],\"email\":\"" EMAIL                \
		"\",\"scopes\":[\"" SCOPE "\"]}",                              \
		NULL, json },                                                  \
	    { ORDER_CLOUD_GCP, "GET", ACCOUNTS "/" name "/email", EMAIL, NULL, \
		    plain },                                                   \
	    { ORDER_CLOUD_GCP, "GET", ACCOUNTS "/" name "/scopes", SCOPE "\n", \
		    NULL, plain },                                             \
	{                                                                      \
		ORDER_CLOUD_GCP, "GET", ACCOUNTS "/" name "/token", NULL,      \
		    write_token, json                                          \
	}

static const struct metadata_page pages[] = {
	{ ORDER_CLOUD_AWS, "PUT", "/latest/api/token", "exeat", NULL, plain },
	{ ORDER_CLOUD_AWS, "GET", ROLES, "exeat", NULL, plain },
	{ ORDER_CLOUD_AWS, "GET", ROLES "/", "exeat", NULL, plain },
	{ ORDER_CLOUD_AWS, "GET", ROLES "/exeat", NULL, write_pair, json },
	/* In AWS_CONTAINER_CREDENTIALS_RELATIVE_URI. */
	{ ORDER_CLOUD_AWS, "GET", "/v1/aws", NULL, write_pair, json },

	{ ORDER_CLOUD_GCP, "GET", "/", "computeMetadata/\n", NULL, plain },
	{ ORDER_CLOUD_GCP, "GET", "/computeMetadata/v1/instance",
	    "service-accounts/\n", NULL, plain },
	{ ORDER_CLOUD_GCP, "GET", "/computeMetadata/v1/instance/",
	    "service-accounts/\n", NULL, plain },
	{ ORDER_CLOUD_GCP, "GET", ACCOUNTS "/", "default/\n", NULL, plain },
	ACCOUNT("default"),
	/* Once told, SDKs use the name. */
	ACCOUNT(EMAIL),
	{ ORDER_CLOUD_GCP, "GET",
	    "/computeMetadata/v1/universe/universe-domain", "googleapis.com",
	    NULL, plain },
};

/* ---- where they are ---- */

static bool
has(const struct lures *lures, enum order_cloud cloud)
{
	return lures_cloud(lures, cloud, false) != NULL;
}

bool
metadata_is_at(const struct lures *lures, const struct address *address)
{
	static const uint8_t instance[4] = { 169, 254, 169, 254 };
	static const uint8_t container[4] = { 169, 254, 170, 2 };
	struct address of_instance = address_v4(instance);
	struct address of_container = address_v4(container);

	if (address_equals(address, &of_instance))
		return has(lures, ORDER_CLOUD_AWS) ||
		       has(lures, ORDER_CLOUD_GCP);
	return address_equals(address, &of_container) &&
	       has(lures, ORDER_CLOUD_AWS);
}

bool
metadata_is_named(const struct lures *lures, const struct hostname *name)
{
	return names_is_metadata(name) && has(lures, ORDER_CLOUD_GCP);
}

/* ---- one request ---- */

static bool
has_flavor(const struct header *header)
{
	struct cursor value;

	return header_find(header, "Metadata-Flavor", &value) &&
	       header_is(value, "google");
}

/* HEAD is answered as GET is. */
static bool
is_method(const struct request *head, const char *method)
{
	if (strcmp(head->method, "HEAD") == 0)
		return strcmp(method, "GET") == 0;
	return strcmp(head->method, method) == 0;
}

void
metadata_find(const struct lures *lures, const struct leg_request *request,
    struct metadata *ret)
{
	struct metadata found = {
		.is_it = true, .status = 404, .lures = lures
	};

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		const struct metadata_page *page = &pages[i];

		if (!has(lures, page->cloud) ||
		    !cursor_equals(request->path, page->path))
			continue;
		if (!is_method(request->head, page->method)) {
			found.status = 405;
		} else if (page->cloud == ORDER_CLOUD_GCP &&
			   !has_flavor(&request->head->header)) {
			found.status = 403;
		} else {
			found.status = 200;
			found.page = page;
		}
		break;
	}
	*ret = found;
}

int
metadata_fields(const struct metadata *metadata, struct header *header)
{
	const char *type =
	    metadata->page == NULL ? plain : metadata->page->type;

	if (header_set(header, "Content-Type", cursor_of_text(type)) !=
		STATUS_OK ||
	    header_set(header, "Cache-Control", cursor_of_text("no-store")) !=
		STATUS_OK)
		return STATUS_FULL;
	/* AWS's SDK for Go wants to be told how long its session lasts. */
	if (has(metadata->lures, ORDER_CLOUD_AWS) &&
	    header_set(header, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds",
		cursor_of_text("21600")) != STATUS_OK)
		return STATUS_FULL;
	/* By this Google's SDKs know that it is theirs. */
	if (!has(metadata->lures, ORDER_CLOUD_GCP))
		return STATUS_OK;
	return header_set(header, "Metadata-Flavor", cursor_of_text("Google"));
}

unsigned
metadata_write(const struct metadata *metadata, struct cursor_writer *out)
{
	const struct metadata_page *page = metadata->page;

	if (page == NULL)
		cursor_put_text(out, metadata->status == 403
					 ? "Metadata-Flavor is missing.\n"
					 : "There is no such page.\n");
	else if (page->text != NULL)
		cursor_put_text(out, page->text);
	else
		page->write(metadata->lures, out);
	return metadata->status;
}
