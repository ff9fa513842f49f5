#include "gateway/launch/environment.h"

#include "gateway/launch/plan.h"
#include "gateway/launch/trust.h"
#include "gateway/launch/view.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const struct plan_variable defaults[] = {
	{ "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
		  "/bin" },
	{ "LANG", "C.UTF-8" },
	/* OpenSSL, Go, and what is built on them. */
	{ "SSL_CERT_FILE", TRUST_BUNDLE },
	{ "SSL_CERT_DIR", TRUST_DIRECTORY },
	{ "CURL_CA_BUNDLE", TRUST_BUNDLE },
	{ "GIT_SSL_CAINFO", TRUST_BUNDLE },
	/* Python: requests, pip, uv. */
	{ "REQUESTS_CA_BUNDLE", TRUST_BUNDLE },
	{ "PIP_CERT", TRUST_BUNDLE },
	{ "UV_NATIVE_TLS", "true" },
	/* Node, npm, Deno. */
	{ "NODE_EXTRA_CA_CERTS", TRUST_BUNDLE },
	{ "npm_config_cafile", TRUST_BUNDLE },
	{ "DENO_CERT", TRUST_BUNDLE },
	/* Others that bring roots of their own. */
	{ "CARGO_HTTP_CAINFO", TRUST_BUNDLE },
	{ "AWS_CA_BUNDLE", TRUST_BUNDLE },
	{ "BUNDLE_SSL_CA_CERT", TRUST_BUNDLE },
	{ "COMPOSER_CAFILE", TRUST_BUNDLE },
	{ "NIX_SSL_CERT_FILE", TRUST_BUNDLE },
	{ "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", TRUST_BUNDLE },
	{ "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", TRUST_BUNDLE },
	{ "HTTPLIB2_CA_CERTS", TRUST_BUNDLE },
	{ "PERL_LWP_SSL_CA_FILE", TRUST_BUNDLE },
	{ "HEX_CACERTS_PATH", TRUST_BUNDLE },
	/* A Java that brings its own store reads this one all the same. */
	{ "JAVA_TOOL_OPTIONS", "-Djavax.net.ssl.trustStore=" TRUST_KEYSTORE
			       " -Djavax.net.ssl.trustStorePassword=changeit" },
};

#define PROXY "http://exeat.internal:3128"
#define LOCAL "localhost,127.0.0.1,::1"

/*
 * Programs disagree about which spelling they read.  SOCKS is spoken there
 * too, but httpx does not even start where a variable names it and it lacks
 * a library for that.
 */
static const struct plan_variable proxies[] = {
	{ "http_proxy", PROXY },
	{ "HTTP_PROXY", PROXY },
	{ "https_proxy", PROXY },
	{ "HTTPS_PROXY", PROXY },
	{ "all_proxy", PROXY },
	{ "ALL_PROXY", PROXY },
	{ "no_proxy", LOCAL },
	{ "NO_PROXY", LOCAL },
};

#define PROXIES (sizeof(proxies) / sizeof(proxies[0]))
#define DEFAULTS (sizeof(defaults) / sizeof(defaults[0]))
#define OF_USER 4 /* HOME, USER, LOGNAME, SHELL */

/* http_proxy, ALL_PROXY, NPM_CONFIG_HTTPS_PROXY, no_proxy ... */
static bool
names_a_proxy(const char *name)
{
	size_t length = strlen(name);

	return length >= 6 && strcasecmp(name + length - 6, "_proxy") == 0;
}

const char *
environment_get(const struct environment *environment, const char *name)
{
	size_t length = strlen(name);

	for (char **at = environment->list; *at != NULL; at++)
		if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
			return *at + length + 1;
	return NULL;
}

/* There is room for it; a variable that is there stays as it is. */
static bool
add(struct environment *environment, size_t *count, const char *name,
    const char *value)
{
	if (environment_get(environment, name) != NULL)
		return true;
	if (asprintf(&environment->list[*count], "%s=%s", name, value) < 0) {
		environment->list[*count] = NULL;
		return false;
	}
	(*count)++;
	return true;
}

static bool
add_user(struct environment *environment, size_t *count, const char *user)
{
	char home[64];

	if (snprintf(home, sizeof(home), VIEW_HOME_PARENT "/%s", user) >=
	    (int)sizeof(home))
		return false;
	return add(environment, count, "HOME", home) &&
	       add(environment, count, "USER", user) &&
	       add(environment, count, "LOGNAME", user) &&
	       add(environment, count, "SHELL",
		   access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh");
}

int
environment_build(const struct plan *plan, struct environment *ret)
{
	struct environment environment;
	size_t count = 0;
	bool fits = true;

	environment.list =
	    calloc(plan->env_count + DEFAULTS + PROXIES + OF_USER + 1,
		sizeof(*environment.list));
	if (environment.list == NULL)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; fits && i < plan->env_count; i++)
		if (!names_a_proxy(plan->env[i].name))
			fits = add(&environment, &count, plan->env[i].name,
			    plan->env[i].value);
	fits = fits && add_user(&environment, &count, plan->user);
	for (size_t i = 0; fits && plan->proxy && i < PROXIES; i++)
		fits = add(
		    &environment, &count, proxies[i].name, proxies[i].value);
	for (size_t i = 0; fits && i < DEFAULTS; i++)
		fits = add(
		    &environment, &count, defaults[i].name, defaults[i].value);
	if (!fits) {
		environment_done(&environment);
		return STATUS_NO_MEMORY;
	}
	*ret = environment;
	return STATUS_OK;
}

bool
environment_default(size_t place, const char **ret_name, const char **ret_value)
{
	if (place >= DEFAULTS)
		return false;
	*ret_name = defaults[place].name;
	*ret_value = defaults[place].value;
	return true;
}

void
environment_done(struct environment *environment)
{
	if (environment->list == NULL)
		return;
	for (char **at = environment->list; *at != NULL; at++)
		free(*at);
	free(environment->list);
	environment->list = NULL;
}
