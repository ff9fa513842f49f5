#include "broker/mint_azure.h"

#include "broker/issued.h"
#include "broker/parcel.h"
#include "broker/reading.h"
#include "broker/subject.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ID_MAX = 100,
	SCOPE_MAX = 1024
};

struct azure {
	uint16_t endpoint;
	char *client_id, *scope;
};

static void
free_azure(void *arg)
{
	struct azure *azure = arg;

	if (azure == NULL)
		return;
	free(azure->client_id);
	free(azure->scope);
	free(azure);
}

static void
forget(void *state)
{
	parcel_free(state);
}

static void *
read_azure(const struct reading *reading)
{
	struct azure *azure = calloc(1, sizeof(*azure));
	const char *tenant =
	    reading_text(reading, "tenant", READING_REQUIRED, ID_MAX);
	const char *client =
	    reading_text(reading, "client_id", READING_REQUIRED, ID_MAX);
	const char *scope =
	    reading_text(reading, "scope", READING_REQUIRED, SCOPE_MAX);
	const char *base = reading_text(
	    reading, "login_url", READING_OPTIONAL, LIMIT_ERRAND_URL / 2);
	char url[LIMIT_ERRAND_URL + 1];

	if (azure == NULL)
		return NULL;
	azure->client_id = client == NULL ? NULL : strdup(client);
	azure->scope = scope == NULL ? NULL : strdup(scope);
	if (base == NULL)
		base = "https://login.microsoftonline.com";
	if (tenant != NULL && snprintf(url, sizeof(url),
				  "%s/%s/oauth2/v2.0/token", base, tenant) > 0)
		(void)!reading_endpoint(
		    reading, "tenant", url, &azure->endpoint);
	return azure;
}

static enum mint_step
begin_azure(struct mint_work *work)
{
	const struct azure *azure = work->credential->config;
	struct cursor token = subject_token(work);
	struct parcel *parcel;

	if (token.left == 0)
		return MINT_REFUSED;
	parcel = parcel_new(azure->endpoint, ERRAND_POST);
	work->state = parcel;
	parcel_field(parcel, "accept", "application/json", cursor_of(NULL, 0));
	parcel_pair(parcel, "grant_type", cursor_of_text("client_credentials"));
	parcel_pair(parcel, "client_id", cursor_of_text(azure->client_id));
	parcel_pair(parcel, "scope", cursor_of_text(azure->scope));
	parcel_pair(parcel, "client_assertion_type",
	    cursor_of_text(
		"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
	parcel_pair(parcel, "client_assertion", token);
	parcel_want(parcel, "access_token", "access_token");
	parcel_want(parcel, "expires_in", "expires_in");
	issued_want(parcel);
	return issued_send(work, parcel);
}

static enum mint_step
resume_azure(struct mint_work *work, const struct errand_answer *answer)
{
	if (!issued_well(work, answer))
		return MINT_REFUSED;
	return issued_bearer(
	    work, answer, "access_token", issued_life(answer, "expires_in"));
}

const struct mint mint_azure_federated = {
	.kind = "azure_federated",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ "tenant", "client_id", "scope",
	    "login_url", "ca", NULL },
	.read = read_azure,
	.free = free_azure,
	.begin = begin_azure,
	.resume = resume_azure,
	.forget = forget,
};
