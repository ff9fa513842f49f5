/*
 * mint_gcp - access tokens of Google Cloud: for the key of a service account
 * (RFC 7523 section 2.1), or for a workload identity, and then perhaps in the
 * name of a service account.
 */
#ifndef BROKER_MINT_GCP_H
#define BROKER_MINT_GCP_H

#include "broker/mint.h"

extern const struct mint mint_gcp_service_account;
extern const struct mint mint_gcp_workload_identity;

#endif
