/*
 * mint_azure - access tokens of Microsoft Entra for a federated credential:
 * client credentials, with a foreign token as the client's assertion.
 */
#ifndef BROKER_MINT_AZURE_H
#define BROKER_MINT_AZURE_H

#include "broker/mint.h"

extern const struct mint mint_azure_federated;

#endif
