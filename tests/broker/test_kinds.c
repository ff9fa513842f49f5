/*
 * Every kind that needs an exchange: what it asks of its issuer, letter by
 * letter, and what becomes of the answer.
 */
#include "broker/base64.h"
#include "broker/keep.h"
#include "broker/mint.h"
#include "broker/mint_sigv4.h"
#include "schema/secret.h"
#include "tests/broker/stage.h"

#include <dirent.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NOW_S 1764500000 /* 2025-11-30T10:53:20Z */
#define HEAD                                                      \
	"{\"version\": 1, \"credentials\": {\"c\": {\"hosts\": [" \
	"\"api.example\", \"git.example\"], \"source\": {\"fd\": 5}, "

static EVP_PKEY *rsa, *ec;
static char rsa_pem[4096], ec_pem[1024];

/* One credential and what it is asked for. */
struct act {
	struct catalog *catalog;
	const struct credential *credential;
	struct mint_run run;
	struct grant_question question;
	struct grant grant;
	struct mint_work work;
	struct errand_answer answer;
	char told[16384];
};

static void
begin_act(struct act *act, const char *text, const char *secret)
{
	*act = (struct act){ .run = { .uid = "run-1 a" },
		.question = { .credential = "c",
		    .host = "api.example",
		    .port = 443,
		    .tls = true } };
	act->catalog = stage_load(text);
	stage_give(act->catalog, secret);
	act->credential = catalog_find(act->catalog, "c");
	assert_non_null(act->credential);
	act->work = (struct mint_work){ .credential = act->credential,
		.run = &act->run,
		.question = &act->question,
		.now_s = NOW_S,
		.grant = &act->grant };
}

static void
forget_steps(struct act *act)
{
	if (act->work.state != NULL)
		act->credential->mint->forget(act->work.state);
	act->work.state = NULL;
}

static void
end_act(struct act *act)
{
	forget_steps(act);
	grant_done(&act->grant);
	catalog_free(act->catalog);
}

/* The errand as text: a line each, a blank line, the body. */
static void
tell_errand(struct act *act)
{
	const struct errand *errand = act->work.errand;
	struct errand_endpoint endpoint;
	int used;

	assert_non_null(errand);
	assert_true(
	    catalog_endpoint(act->catalog, errand->endpoint, &endpoint));
	used = snprintf(act->told, sizeof(act->told), "%s %s\n",
	    errand_method_name(errand->method), endpoint.url);
	for (size_t i = 0; i < errand->field_count; i++)
		used +=
		    snprintf(act->told + used, sizeof(act->told) - (size_t)used,
			"%.*s: %.*s\n", (int)errand->fields[i].name.left,
			(const char *)errand->fields[i].name.at,
			(int)errand->fields[i].value.left,
			(const char *)errand->fields[i].value.at);
	used += snprintf(act->told + used, sizeof(act->told) - (size_t)used,
	    "\n%.*s", (int)errand->body.left, (const char *)errand->body.at);
	assert_in_range(used, 1, sizeof(act->told) - 1);
}

static void
assert_told(const struct act *act, const char *wanted)
{
	if (strcmp(act->told, wanted) != 0)
		fail_msg("asked:\n%s\ninstead of:\n%s", act->told, wanted);
}

/* Starts the answer of that status. */
static void
answer(struct act *act, uint16_t status)
{
	act->answer =
	    (struct errand_answer){ .end = ERRAND_ANSWERED, .status = status };
}

static void
value(struct act *act, const char *name, const char *text)
{
	struct errand_field *field =
	    &act->answer.values[act->answer.value_count++];

	field->name = cursor_of_text(name);
	field->value = cursor_of_text(text);
}

static enum mint_step
begin(struct act *act)
{
	enum mint_step step = act->credential->mint->begin(&act->work);

	if (step == MINT_ERRAND)
		tell_errand(act);
	return step;
}

static enum mint_step
resume(struct act *act)
{
	enum mint_step step =
	    act->credential->mint->resume(&act->work, &act->answer);

	if (step == MINT_ERRAND)
		tell_errand(act);
	return step;
}

static void
assert_granted(
    const struct act *act, size_t place, const char *name, const char *wanted)
{
	assert_true(place < act->grant.count);
	assert_string_equal(act->grant.fields[place].name, name);
	if (!cursor_equals(
		secret_bytes(act->grant.fields[place].value), wanted))
		fail_msg("%s is another", name);
}

/* ---- assertions ---- */

/* Base64url without padding, in place of the other alphabet. */
static struct secret *
decode_part(struct cursor text)
{
	char copy[4096];
	size_t length = text.left;

	assert_in_range(length, 1, sizeof(copy) - 4);
	for (size_t i = 0; i < length; i++) {
		copy[i] = (char)text.at[i];
		if (copy[i] == '-')
			copy[i] = '+';
		if (copy[i] == '_')
			copy[i] = '/';
	}
	while (length % 4 != 0)
		copy[length++] = '=';
	return base64_decode(cursor_of(copy, length));
}

static bool
verifies(EVP_PKEY *key, struct cursor text, const struct secret *signature)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	struct cursor bytes = secret_bytes(signature);
	unsigned char *der = NULL;
	int length = (int)bytes.left;
	bool well =
	    EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1;

	if (key == ec) {
		ECDSA_SIG *both = ECDSA_SIG_new();

		assert_int_equal(bytes.left, 64);
		assert_int_equal(
		    ECDSA_SIG_set0(both, BN_bin2bn(bytes.at, 32, NULL),
			BN_bin2bn(bytes.at + 32, 32, NULL)),
		    1);
		length = i2d_ECDSA_SIG(both, &der);
		ECDSA_SIG_free(both);
	}
	well = well && EVP_DigestVerify(context, der != NULL ? der : bytes.at,
			   (size_t)length, text.at, text.left) == 1;
	OPENSSL_free(der);
	EVP_MD_CTX_free(context);
	return well;
}

/*
 * Takes the JWT that begins at text out of act->told, where "<jwt>" takes its
 * place; checks its signature and gives header and claims, a line each.
 */
static void
take_jwt(struct act *act, EVP_PKEY *key, char out[4096])
{
	char *begin = strstr(act->told, "eyJ");
	size_t length;
	struct cursor rest, head, claims;
	struct secret *parts[3];

	assert_non_null(begin);
	length =
	    strspn(begin, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			  "0123456789-_.");
	rest = cursor_of(begin, length);
	assert_true(cursor_until(&rest, '.', &head));
	assert_true(cursor_until(&rest, '.', &claims));
	parts[0] = decode_part(head);
	parts[1] = decode_part(claims);
	parts[2] = decode_part(rest);
	assert_true(parts[0] != NULL && parts[1] != NULL && parts[2] != NULL);
	assert_true(verifies(
	    key, cursor_of(begin, head.left + 1 + claims.left), parts[2]));
	assert_in_range(
	    snprintf(out, 4096, "%.*s\n%.*s", (int)secret_bytes(parts[0]).left,
		(const char *)secret_bytes(parts[0]).at,
		(int)secret_bytes(parts[1]).left,
		(const char *)secret_bytes(parts[1]).at),
	    1, 4095);
	for (int i = 0; i < 3; i++)
		secret_free(parts[i]);
	memmove(begin + 5, begin + length, strlen(begin + length) + 1);
	memcpy(begin, "<jwt>", 5);
}

static void
assert_says(const char *jwt, const char *piece)
{
	if (strstr(jwt, piece) == NULL)
		fail_msg("%s is not in %s", piece, jwt);
}

/* ---- the kinds ---- */

static void
a_client_shows_its_secret_in_basic(void **state)
{
	struct act act;

	(void)state;
	begin_act(&act,
	    HEAD "\"kind\": \"oauth2_client\", \"client_id\": \"ex eat\","
		 " \"token_url\": \"https://id.example/token\","
		 " \"scope\": \"orders.read x\"}}}",
	    "s:cr/t");
	assert_int_equal(begin(&act), MINT_ERRAND);
	/* Both are encoded as a form before they are joined. */
	assert_told(&act,
	    "POST https://id.example/token\n"
	    "accept: application/json\n"
	    "content-type: application/x-www-form-urlencoded\n"
	    "authorization: Basic ZXglMjBlYXQ6cyUzQWNyJTJGdA==\n\n"
	    "grant_type=client_credentials&scope=orders.read%20x");
	answer(&act, 200);
	value(&act, "access_token", "abc");
	value(&act, "token_type", "bearer");
	value(&act, "expires_in", "3600");
	assert_int_equal(resume(&act), MINT_GRANTED);
	assert_granted(&act, 0, "authorization", "Bearer abc");
	assert_int_equal(act.grant.lease_ms, 3600000);
	end_act(&act);
}

static void
a_client_shows_its_key_in_an_assertion(void **state)
{
	char jwt[4096];
	struct act act;

	(void)state;
	begin_act(&act,
	    HEAD "\"kind\": \"oauth2_client\", \"client_id\": \"exeat\","
		 " \"client_auth\": \"private_key_jwt\", \"alg\": \"ES256\","
		 " \"key_id\": \"k1\","
		 " \"token_url\": \"https://id.example/token\"}}}",
	    ec_pem);
	assert_int_equal(begin(&act), MINT_ERRAND);
	take_jwt(&act, ec, jwt);
	assert_told(&act,
	    "POST https://id.example/token\n"
	    "accept: application/json\n"
	    "content-type: application/x-www-form-urlencoded\n\n"
	    "grant_type=client_credentials&client_id=exeat"
	    "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A"
	    "client-assertion-type%3Ajwt-bearer&client_assertion=<jwt>");
	assert_says(jwt, "\"alg\":\"ES256\"");
	assert_says(jwt, "\"kid\":\"k1\"");
	assert_says(jwt, "\"iss\":\"exeat\"");
	assert_says(jwt, "\"sub\":\"exeat\"");
	assert_says(jwt, "\"aud\":\"https://id.example/token\"");
	assert_says(jwt, "\"iat\":1764499990");
	assert_says(jwt, "\"exp\":1764500060");
	assert_says(jwt, "\"jti\":\"");
	end_act(&act);
}

static void
an_issuer_that_says_no_is_quoted_and_nothing_is_granted(void **state)
{
	static const char text[] =
	    HEAD "\"kind\": \"oauth2_client\", \"client_id\": \"exeat\","
		 " \"client_auth\": \"post\","
		 " \"token_url\": \"https://id.example/token\"}}}";
	struct act act;

	(void)state;
	begin_act(&act, text, "secret");
	assert_int_equal(begin(&act), MINT_ERRAND);
	assert_says(act.told, "&client_id=exeat&client_secret=secret");
	answer(&act, 401);
	value(&act, "error", "invalid_client");
	assert_int_equal(resume(&act), MINT_REFUSED);
	assert_string_equal(
	    act.work.why, "the issuer of c says no (401: invalid_client)");
	answer(&act, 200);
	value(&act, "token_type", "bearer");
	assert_int_equal(resume(&act), MINT_REFUSED);
	answer(&act, 200);
	value(&act, "access_token", "abc");
	value(&act, "token_type", "mac");
	assert_int_equal(resume(&act), MINT_REFUSED);
	answer(&act, 0);
	act.answer.end = ERRAND_UNVERIFIED;
	assert_int_equal(resume(&act), MINT_REFUSED);
	assert_string_equal(act.work.why,
	    "the issuer of c: its certificate could not be verified");
	assert_int_equal(act.grant.count, 0);
	end_act(&act);
}

static void
a_token_is_exchanged_at_a_foreign_issuer(void **state)
{
	struct act act;

	(void)state;
	begin_act(&act,
	    HEAD "\"kind\": \"token_exchange\", \"audience\": \"orders\","
		 " \"token_url\": \"https://id.example/token\","
		 " \"subject_token_type\":"
		 " \"urn:ietf:params:oauth:token-type:jwt\"}}}",
	    "subject");
	assert_int_equal(begin(&act), MINT_ERRAND);
	assert_told(&act,
	    "POST https://id.example/token\n"
	    "accept: application/json\n"
	    "content-type: application/x-www-form-urlencoded\n\n"
	    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3A"
	    "token-exchange&audience=orders&subject_token=subject"
	    "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3A"
	    "jwt&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3A"
	    "token-type%3Aaccess_token");
	end_act(&act);
}

static const char github_text[] =
    HEAD "\"kind\": \"github_app\", \"app_id\": 12345, \"installation\": 678,"
	 " \"repositories\": [\"widgets\", \"a\\\"b\"],"
	 " \"permissions\": {\"contents\": \"read\"}}}}";

static void
a_github_app_always_says_what_it_needs_and_gives_back_its_token(void **state)
{
	char jwt[4096];
	struct act act;

	(void)state;
	begin_act(&act, github_text, rsa_pem);
	assert_int_equal(begin(&act), MINT_ERRAND);
	take_jwt(&act, rsa, jwt);
	assert_told(&act,
	    "POST https://api.github.com/app/installations/678/access_tokens\n"
	    "authorization: Bearer <jwt>\n"
	    "accept: application/vnd.github+json\n"
	    "x-github-api-version: 2022-11-28\n"
	    "content-type: application/json\n\n"
	    "{\"repositories\":[\"widgets\",\"a\\\"b\"],"
	    "\"permissions\":{\"contents\":\"read\"}}");
	assert_says(jwt, "\"alg\":\"RS256\"");
	assert_says(jwt, "\"iss\":\"12345\"");
	assert_says(jwt, "\"iat\":1764499940");
	assert_says(jwt, "\"exp\":1764500540");
	answer(&act, 201);
	value(&act, "token", "ghs_abc");
	value(&act, "expires_at", "2025-11-30T11:53:20Z");
	assert_int_equal(resume(&act), MINT_GRANTED);
	assert_granted(&act, 0, "authorization", "Bearer ghs_abc");
	assert_int_equal(act.grant.lease_ms, 3600000);
	forget_steps(&act);
	assert_int_equal(
	    act.credential->mint->give_back(&act.work), MINT_ERRAND);
	tell_errand(&act);
	assert_told(&act, "DELETE https://api.github.com/installation/token\n"
			  "authorization: Bearer ghs_abc\n"
			  "accept: application/vnd.github+json\n"
			  "x-github-api-version: 2022-11-28\n\n");
	end_act(&act);
}

static void
git_gets_a_github_token_in_basic_and_gives_it_back_too(void **state)
{
	struct act act;

	(void)state;
	begin_act(&act, github_text, rsa_pem);
	memcpy(act.question.host, "git.example", 12);
	assert_int_equal(begin(&act), MINT_ERRAND);
	answer(&act, 201);
	value(&act, "token", "ghs_abc");
	value(&act, "expires_at", "2025-11-30T11:53:20Z");
	assert_int_equal(resume(&act), MINT_GRANTED);
	assert_granted(
	    &act, 0, "authorization", "Basic eC1hY2Nlc3MtdG9rZW46Z2hzX2FiYw==");
	forget_steps(&act);
	assert_int_equal(
	    act.credential->mint->give_back(&act.work), MINT_ERRAND);
	tell_errand(&act);
	assert_says(act.told, "authorization: Bearer ghs_abc\n");
	/* A time that is over, or none, gives no token. */
	forget_steps(&act);
	grant_done(&act.grant);
	assert_int_equal(begin(&act), MINT_ERRAND);
	answer(&act, 201);
	value(&act, "token", "ghs_abc");
	value(&act, "expires_at", "2025-11-30T10:53:20Z");
	assert_int_equal(resume(&act), MINT_REFUSED);
	answer(&act, 201);
	value(&act, "token", "ghs_abc");
	value(&act, "expires_at", "tomorrow");
	assert_int_equal(resume(&act), MINT_REFUSED);
	end_act(&act);
}

/* The JSON file that Google gives for a service account. */
static void
print_account(char *out, size_t size)
{
	int used = snprintf(out, size,
	    "{\"type\": \"service_account\", \"client_email\": "
	    "\"sa@p.example\", \"private_key_id\": \"k9\", "
	    "\"private_key\": \"");

	for (const char *at = rsa_pem; *at != '\0'; at++)
		used += snprintf(out + used, size - (size_t)used, "%s",
		    *at == '\n' ? "\\n" : (char[]){ *at, '\0' });
	used += snprintf(out + used, size - (size_t)used, "\"}");
	assert_in_range(used, 1, size - 1);
}

static void
a_service_account_signs_for_itself(void **state)
{
	char jwt[4096], account[8192];
	struct act act;

	(void)state;
	print_account(account, sizeof(account));
	begin_act(&act,
	    HEAD "\"kind\": \"gcp_service_account\","
		 " \"scope\": \"https://www.googleapis.com/auth/x\"}}}",
	    account);
	assert_int_equal(begin(&act), MINT_ERRAND);
	take_jwt(&act, rsa, jwt);
	assert_told(&act,
	    "POST https://oauth2.googleapis.com/token\n"
	    "accept: application/json\n"
	    "content-type: application/x-www-form-urlencoded\n\n"
	    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3A"
	    "jwt-bearer&assertion=<jwt>");
	assert_says(jwt, "\"kid\":\"k9\"");
	assert_says(jwt, "\"iss\":\"sa@p.example\"");
	assert_says(jwt, "\"aud\":\"https://oauth2.googleapis.com/token\"");
	assert_says(jwt, "\"scope\":\"https://www.googleapis.com/auth/x\"");
	/* Nobody is acted for. */
	assert_null(strstr(jwt, "\"sub\""));
	end_act(&act);
}

static void
a_workload_identity_takes_two_exchanges_for_a_service_account(void **state)
{
	struct act act;

	(void)state;
	begin_act(&act,
	    HEAD "\"kind\": \"gcp_workload_identity\", \"scope\": \"s1\","
		 " \"audience\": \"//iam.googleapis.com/p\","
		 " \"service_account\": \"sa@p.example\"}}}",
	    "id-token");
	assert_int_equal(begin(&act), MINT_ERRAND);
	assert_told(&act,
	    "POST https://sts.googleapis.com/v1/token\n"
	    "accept: application/json\n"
	    "content-type: application/x-www-form-urlencoded\n\n"
	    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3A"
	    "token-exchange&audience=%2F%2Fiam.googleapis.com%2Fp"
	    "&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2F"
	    "cloud-platform&requested_token_type=urn%3Aietf%3Aparams%3A"
	    "oauth%3Atoken-type%3Aaccess_token&subject_token_type=urn%3A"
	    "ietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt"
	    "&subject_token=id-token");
	answer(&act, 200);
	value(&act, "access_token", "federated");
	value(&act, "expires_in", "3600");
	assert_int_equal(resume(&act), MINT_ERRAND);
	assert_told(&act,
	    "POST https://iamcredentials.googleapis.com/v1/projects/-/"
	    "serviceAccounts/sa@p.example:generateAccessToken\n"
	    "accept: application/json\n"
	    "authorization: Bearer federated\n"
	    "content-type: application/json\n\n"
	    "{\"scope\":[\"s1\"],\"lifetime\":\"3600s\"}");
	answer(&act, 200);
	value(&act, "accessToken", "ya29");
	value(&act, "expireTime", "2025-11-30T11:23:20Z");
	assert_int_equal(resume(&act), MINT_GRANTED);
	assert_granted(&act, 0, "authorization", "Bearer ya29");
	assert_int_equal(act.grant.lease_ms, 1800000);
	end_act(&act);
}

static void
azure_takes_a_foreign_token_as_the_assertion_of_a_client(void **state)
{
	struct act act;

	(void)state;
	begin_act(&act,
	    HEAD "\"kind\": \"azure_federated\", \"tenant\": \"t1\","
		 " \"client_id\": \"app\", \"scope\":"
		 " \"https://vault.azure.net/.default\"}}}",
	    "id-token");
	assert_int_equal(begin(&act), MINT_ERRAND);
	assert_told(&act,
	    "POST https://login.microsoftonline.com/t1/oauth2/v2.0/token\n"
	    "accept: application/json\n"
	    "content-type: application/x-www-form-urlencoded\n\n"
	    "grant_type=client_credentials&client_id=app"
	    "&scope=https%3A%2F%2Fvault.azure.net%2F.default"
	    "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A"
	    "client-assertion-type%3Ajwt-bearer&client_assertion=id-token");
	answer(&act, 200);
	value(&act, "access_token", "eyJ0");
	assert_int_equal(resume(&act), MINT_GRANTED);
	/* A life that nobody tells is five minutes. */
	assert_int_equal(act.grant.lease_ms, 300000);
	end_act(&act);
}

static void
a_vault_is_entered_read_and_left(void **state)
{
	struct act act;

	(void)state;
	begin_act(&act,
	    HEAD "\"kind\": \"vault\", \"address\": \"https://v.example\","
		 " \"role\": \"agent\", \"path\": \"secret/data/db\","
		 " \"field\": \"key\", \"header\": \"x-api-key\"}}}",
	    "id-token");
	assert_int_equal(begin(&act), MINT_ERRAND);
	assert_told(&act, "POST https://v.example/v1/auth/jwt/login\n"
			  "content-type: application/json\n\n"
			  "{\"role\":\"agent\",\"jwt\":\"id-token\"}");
	answer(&act, 200);
	value(&act, "token", "hvs.1");
	assert_int_equal(resume(&act), MINT_ERRAND);
	assert_told(&act, "GET https://v.example/v1/secret/data/db\n"
			  "x-vault-token: hvs.1\n\n");
	assert_true(
	    cursor_equals(act.work.errand->wants[0].path, "data/data/key"));
	answer(&act, 200);
	value(&act, "value", "swordfish");
	assert_int_equal(resume(&act), MINT_ERRAND);
	assert_told(&act, "POST https://v.example/v1/auth/token/revoke-self\n"
			  "x-vault-token: hvs.1\n\n");
	answer(&act, 204);
	assert_int_equal(resume(&act), MINT_GRANTED);
	assert_granted(&act, 0, "x-api-key", "swordfish");
	end_act(&act);
}

#define AWS_SCOPES "\"regions\": [\"eu-central-1\"], \"services\": [\"s3\"]"

static void
a_role_of_aws_is_narrowed_by_a_session_policy(void **state)
{
	struct act act;

	(void)state;
	begin_act(&act,
	    HEAD "\"kind\": \"aws_web_identity\", \"role\":"
		 " \"arn:aws:iam::123456789012:role/agent\","
		 " \"sts_url\": \"https://sts.eu-central-1.amazonaws.com/\","
		 " \"session_policy\": {\"Version\": \"2012-10-17\"},"
		 " " AWS_SCOPES "}}}",
	    "id-token");
	memcpy(act.question.scope, "20251130/eu-central-1/s3", 25);
	assert_int_equal(begin(&act), MINT_ERRAND);
	assert_told(&act,
	    "POST https://sts.eu-central-1.amazonaws.com/\n"
	    "accept: application/json\n"
	    "content-type: application/x-www-form-urlencoded\n\n"
	    "Action=AssumeRoleWithWebIdentity&Version=2011-06-15"
	    "&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fagent"
	    "&RoleSessionName=run-1-a&DurationSeconds=900"
	    "&Policy=%7B%22Version%22%3A%222012-10-17%22%7D"
	    "&WebIdentityToken=id-token");
	answer(&act, 200);
	value(&act, "id", "ASIA1");
	value(&act, "secret", "abc");
	value(&act, "token", "session");
	value(&act, "until", "1764500900");
	assert_int_equal(resume(&act), MINT_GRANTED);
	assert_granted(&act, 0, "id", "ASIA1");
	assert_string_equal(act.grant.fields[1].name, "key");
	assert_int_equal(secret_bytes(act.grant.fields[1].value).left, 32);
	assert_granted(&act, 2, "token", "session");
	assert_int_equal(act.grant.lease_ms, 900000);
	end_act(&act);
}

static void
a_key_of_aws_signs_for_its_own_scopes_and_today_alone(void **state)
{
	static const struct {
		const char *scope;
		enum mint_step step;
	} cases[] = {
		{ "20251130/eu-central-1/s3", MINT_GRANTED },
		{ "20251201/eu-central-1/s3", MINT_REFUSED },
		{ "20251129/eu-central-1/s3", MINT_REFUSED },
		{ "20251130/us-east-1/s3", MINT_REFUSED },
		{ "20251130/eu-central-1/iam", MINT_REFUSED },
		{ "20251130/eu-central-1/s3/x", MINT_REFUSED },
		{ "20251130/eu-central-1", MINT_REFUSED },
		{ "", MINT_REFUSED },
	};
	/* Of the AWS manual: 20150830, us-east-1, iam. */
	static const unsigned char wanted[] = { 0xc4, 0xaf, 0xb1, 0xcc, 0x57,
		0x71, 0xd8, 0x71, 0x76, 0x3a, 0x39, 0x3e, 0x44, 0xb7, 0x03,
		0x57, 0x1b, 0x55, 0xcc, 0x28, 0x42, 0x4d, 0x1a, 0x5e, 0x86,
		0xda, 0x6e, 0xd3, 0xc1, 0x54, 0xa4, 0xb9 };
	unsigned char key[32];
	struct act act;

	(void)state;
	begin_act(&act, HEAD "\"kind\": \"sigv4\", " AWS_SCOPES "}}}",
	    "{\"access_key_id\": \"AKIA1\", \"secret_access_key\": \"x\"}");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(act.question.scope, cases[i].scope,
		    strlen(cases[i].scope) + 1);
		if (begin(&act) != cases[i].step)
			fail_msg("\"%s\" went wrong", cases[i].scope);
		grant_done(&act.grant);
	}
	end_act(&act);
	assert_true(mint_sigv4_derive(
	    cursor_of_text("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
	    "20150830/us-east-1/iam", key));
	assert_memory_equal(key, wanted, sizeof(wanted));
}

/* ---- refresh tokens ---- */

static const char refresh_text[] =
    HEAD "\"kind\": \"oauth2_refresh\", \"client_id\": \"exeat\","
	 " \"token_url\": \"https://id.example/token\"}}}";

static char folder[] = "/tmp/exeat-keep-XXXXXX";

static struct keep *
open_keep(void)
{
	struct problem problem;
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct keep *keep = keep_new(fd, &problem);

	assert_non_null(keep);
	return keep;
}

/* A new token came with the answer, or none. */
static void
refresh_once(const char *sends, const char *receives)
{
	char wanted[200];
	struct act act;

	begin_act(&act, refresh_text, "first");
	act.run.keep = open_keep();
	assert_int_equal(begin(&act), MINT_ERRAND);
	assert_in_range(
	    snprintf(wanted, sizeof(wanted), "&refresh_token=%s", sends), 1,
	    sizeof(wanted) - 1);
	assert_string_equal(
	    act.told + strlen(act.told) - strlen(wanted), wanted);
	answer(&act, 200);
	value(&act, "access_token", "abc");
	if (receives != NULL)
		value(&act, "refresh_token", receives);
	assert_int_equal(resume(&act), MINT_GRANTED);
	assert_granted(&act, 0, "authorization", "Bearer abc");
	end_act(&act);
	keep_free(act.run.keep);
}

static void
a_refresh_token_that_was_renewed_is_the_next_to_be_used(void **state)
{
	(void)state;
	refresh_once("first", NULL);
	refresh_once("first", "second");
	refresh_once("second", "third");
	refresh_once("third", NULL);
	refresh_once("third", "fourth");
}

static void
one_broker_renews_a_token_at_a_time(void **state)
{
	struct act one, other;

	(void)state;
	begin_act(&one, refresh_text, "locked");
	begin_act(&other, refresh_text, "locked");
	one.run.keep = open_keep();
	other.run.keep = open_keep();
	assert_int_equal(begin(&one), MINT_ERRAND);
	assert_int_equal(begin(&other), MINT_AGAIN);
	assert_string_equal(other.work.why, "another run is renewing c");
	forget_steps(&other);
	answer(&one, 503);
	assert_int_equal(resume(&one), MINT_REFUSED);
	assert_int_equal(begin(&other), MINT_ERRAND);
	end_act(&one);
	end_act(&other);
	keep_free(one.run.keep);
	keep_free(other.run.keep);
}

static void
without_a_place_to_keep_it_no_token_is_renewed(void **state)
{
	struct act act;

	(void)state;
	begin_act(&act, refresh_text, "first");
	assert_int_equal(begin(&act), MINT_REFUSED);
	end_act(&act);
}

/* Puts a folder where each new file would be written. */
static void
block_folder(void)
{
	DIR *list = opendir(folder);
	const struct dirent *file;
	char path[400];

	assert_non_null(list);
	while ((file = readdir(list)) != NULL) {
		int length = (int)strlen(file->d_name) - 5;

		if (length < 1 || strcmp(file->d_name + length, ".lock") != 0)
			continue;
		assert_in_range(snprintf(path, sizeof(path), "%s/%.*s.new",
				    folder, length, file->d_name),
		    1, sizeof(path) - 1);
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	}
	assert_int_equal(closedir(list), 0);
}

static void
a_token_that_cannot_be_kept_is_not_used(void **state)
{
	struct act act;

	(void)state;
	begin_act(&act, refresh_text, "unkept");
	act.run.keep = open_keep();
	assert_int_equal(begin(&act), MINT_ERRAND);
	block_folder();
	answer(&act, 200);
	value(&act, "access_token", "abc");
	value(&act, "refresh_token", "next");
	assert_int_equal(resume(&act), MINT_REFUSED);
	assert_int_equal(act.grant.count, 0);
	end_act(&act);
	keep_free(act.run.keep);
}

/* ---- the whole ---- */

static void
print_pem(EVP_PKEY *key, char *out, size_t size)
{
	BIO *bio = BIO_new(BIO_s_mem());
	int length;

	assert_int_equal(
	    PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
	length = BIO_read(bio, out, (int)size - 1);
	assert_in_range(length, 1, size - 1);
	out[length] = '\0';
	assert_int_equal(BIO_free(bio), 1);
}

static int
make_keys(void **state)
{
	(void)state;
	rsa = EVP_RSA_gen(2048);
	ec = EVP_EC_gen("P-256");
	if (rsa == NULL || ec == NULL || mkdtemp(folder) == NULL)
		return -1;
	print_pem(rsa, rsa_pem, sizeof(rsa_pem));
	print_pem(ec, ec_pem, sizeof(ec_pem));
	return 0;
}

static int
drop_keys(void **state)
{
	static const char remove[] = "/bin/rm";
	pid_t child = fork();
	int status = -1;

	(void)state;
	EVP_PKEY_free(rsa);
	EVP_PKEY_free(ec);
	if (child == 0) {
		(void)execl(remove, remove, "-r", folder, (char *)NULL);
		_exit(1);
	}
	return waitpid(child, &status, 0) == child ? status : -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_shows_its_secret_in_basic),
		cmocka_unit_test(a_client_shows_its_key_in_an_assertion),
		cmocka_unit_test(
		    an_issuer_that_says_no_is_quoted_and_nothing_is_granted),
		cmocka_unit_test(a_token_is_exchanged_at_a_foreign_issuer),
		cmocka_unit_test(
		    a_github_app_always_says_what_it_needs_and_gives_back_its_token),
		cmocka_unit_test(
		    git_gets_a_github_token_in_basic_and_gives_it_back_too),
		cmocka_unit_test(a_service_account_signs_for_itself),
		cmocka_unit_test(
		    a_workload_identity_takes_two_exchanges_for_a_service_account),
		cmocka_unit_test(
		    azure_takes_a_foreign_token_as_the_assertion_of_a_client),
		cmocka_unit_test(a_vault_is_entered_read_and_left),
		cmocka_unit_test(a_role_of_aws_is_narrowed_by_a_session_policy),
		cmocka_unit_test(
		    a_key_of_aws_signs_for_its_own_scopes_and_today_alone),
		cmocka_unit_test(
		    a_refresh_token_that_was_renewed_is_the_next_to_be_used),
		cmocka_unit_test(one_broker_renews_a_token_at_a_time),
		cmocka_unit_test(
		    without_a_place_to_keep_it_no_token_is_renewed),
		cmocka_unit_test(a_token_that_cannot_be_kept_is_not_used),
	};

	return cmocka_run_group_tests(tests, make_keys, drop_keys);
}
