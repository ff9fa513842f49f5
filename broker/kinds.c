#include "broker/kinds.h"

#include "broker/mint_aws.h"
#include "broker/mint_azure.h"
#include "broker/mint_certificate.h"
#include "broker/mint_gcp.h"
#include "broker/mint_github.h"
#include "broker/mint_oauth.h"
#include "broker/mint_sigv4.h"
#include "broker/mint_static.h"
#include "broker/mint_vault.h"

#include <string.h>

static const struct mint *const kinds[] = {
	&mint_bearer,
	&mint_basic,
	&mint_header,
	&mint_query,
	&mint_placeholder,
	&mint_oauth2_client,
	&mint_oauth2_refresh,
	&mint_token_exchange,
	&mint_github_app,
	&mint_gcp_service_account,
	&mint_gcp_workload_identity,
	&mint_aws_web_identity,
	&mint_azure_federated,
	&mint_vault,
	&mint_sigv4,
	&mint_client_certificate,
};

const struct mint *
kinds_find(const char *kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i]->kind, kind) == 0)
			return kinds[i];
	return NULL;
}
