/*
 * mint_aws - keys of an AWS role for a web identity, narrowed by a session
 * policy, that sign as those of mint_sigv4 do.
 */
#ifndef BROKER_MINT_AWS_H
#define BROKER_MINT_AWS_H

#include "broker/mint.h"

extern const struct mint mint_aws_web_identity;

#endif
