#include "broker/mint_aws.h"

#include "broker/issued.h"
#include "broker/mint_sigv4.h"
#include "broker/parcel.h"
#include "broker/reading.h"
#include "broker/subject.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESULT                               \
	"AssumeRoleWithWebIdentityResponse/" \
	"AssumeRoleWithWebIdentityResult/Credentials/"

enum {
	ROLE_MAX = 2048,
	POLICY_MAX = 2048, /* AWS's own limit */
	LIFE_LEAST_S = 900,
	LIFE_MOST_S = 43200
};

struct aws {
	uint16_t endpoint;
	char *role, *policy;
	char life[24];
	struct mint_sigv4_scope scope;
};

static void
free_aws(void *arg)
{
	struct aws *aws = arg;

	if (aws == NULL)
		return;
	free(aws->role);
	free(aws->policy);
	mint_sigv4_done(&aws->scope);
	free(aws);
}

static void
forget(void *state)
{
	parcel_free(state);
}

static void
read_policy(const struct reading *reading, struct aws *aws)
{
	struct place place;
	struct reading inner;

	if (!reading_object(
		reading, "session_policy", READING_REQUIRED, &place, &inner))
		return;
	aws->policy = json_dumps(inner.object, JSON_COMPACT);
	if (aws->policy != NULL && strlen(aws->policy) > POLICY_MAX)
		reading_blame(reading, "session_policy", "make it shorter",
		    "AWS takes a session policy of %d letters at most",
		    POLICY_MAX);
}

static void *
read_aws(const struct reading *reading)
{
	struct aws *aws = calloc(1, sizeof(*aws));
	const char *role;
	json_int_t life = LIFE_LEAST_S;

	if (aws == NULL)
		return NULL;
	role = reading_text(reading, "role", READING_REQUIRED, ROLE_MAX);
	aws->role = role == NULL ? NULL : strdup(role);
	(void)!reading_integer(
	    reading, "life_s", LIFE_LEAST_S, LIFE_MOST_S, &life);
	if (snprintf(aws->life, sizeof(aws->life), "%lld", (long long)life) < 0)
		aws->life[0] = '\0';
	(void)!reading_url(
	    reading, "sts_url", READING_REQUIRED, &aws->endpoint);
	read_policy(reading, aws);
	mint_sigv4_read(reading, &aws->scope);
	return aws;
}

static enum mint_step
begin_aws(struct mint_work *work)
{
	const struct aws *aws = work->credential->config;
	struct cursor token = subject_token(work);
	char session[SUBJECT_NAME_MAX + 1];
	struct parcel *parcel;

	if (token.left == 0 || !mint_sigv4_admits(work, &aws->scope))
		return MINT_REFUSED;
	parcel = parcel_new(aws->endpoint, ERRAND_POST);
	work->state = parcel;
	subject_name(work, session);
	/* Without it STS answers in XML. */
	parcel_field(parcel, "accept", "application/json", cursor_of(NULL, 0));
	parcel_pair(
	    parcel, "Action", cursor_of_text("AssumeRoleWithWebIdentity"));
	parcel_pair(parcel, "Version", cursor_of_text("2011-06-15"));
	parcel_pair(parcel, "RoleArn", cursor_of_text(aws->role));
	parcel_pair(parcel, "RoleSessionName", cursor_of_text(session));
	parcel_pair(parcel, "DurationSeconds", cursor_of_text(aws->life));
	parcel_pair(parcel, "Policy", cursor_of_text(aws->policy));
	parcel_pair(parcel, "WebIdentityToken", token);
	parcel_want(parcel, "id", RESULT "AccessKeyId");
	parcel_want(parcel, "secret", RESULT "SecretAccessKey");
	parcel_want(parcel, "token", RESULT "SessionToken");
	parcel_want(parcel, "until", RESULT "Expiration");
	issued_want(parcel);
	return issued_send(work, parcel);
}

static enum mint_step
resume_aws(struct mint_work *work, const struct errand_answer *answer)
{
	struct mint_sigv4_keys keys;
	struct cursor until;
	uint64_t expires;
	int64_t life;

	if (!issued_well(work, answer))
		return MINT_REFUSED;
	if (!errand_answer_find(answer, "id", &keys.id) ||
	    !errand_answer_find(answer, "secret", &keys.secret) ||
	    !errand_answer_find(answer, "token", &keys.token) ||
	    !errand_answer_find(answer, "until", &until) ||
	    !cursor_decimal(&until, UINT32_MAX, &expires))
		return mint_refuse(work, "STS answered without keys for %s",
		    work->credential->name);
	life = (int64_t)expires - work->now_s;
	if (life <= 0 || life > LIFE_MOST_S)
		return mint_refuse(work,
		    "what STS gave for %s is over already, or too long",
		    work->credential->name);
	return mint_sigv4_grant(work, &keys, (uint32_t)life * 1000);
}

const struct mint mint_aws_web_identity = {
	.kind = "aws_web_identity",
	.has_source = true,
	.has_hosts = true,
	.by_scope = true,
	.keys = (const char *const[]){ "role", "session_policy", "life_s",
	    "sts_url", "ca", "regions", "services", NULL },
	.read = read_aws,
	.free = free_aws,
	.begin = begin_aws,
	.resume = resume_aws,
	.forget = forget,
};
