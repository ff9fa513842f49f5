/*
 * ends - the channels between the programs of one run, by who holds which end.
 */
#ifndef GATEWAY_CLI_ENDS_H
#define GATEWAY_CLI_ENDS_H

#include "schema/attr.h"

#include <stdbool.h>

struct ends {
	int ours, gateway; /* parent and gateway */
	int launcher, handoff; /* launcher and gateway */
	int producer, writer; /* gateway and audit */
	int reins, bit; /* parent and launcher */
	int recorder, reader; /* launcher and audit; -1: nothing is recorded */
	int borrower, lender; /* gateway and broker; -1 without one */
	int witness, notary; /* broker and audit; -1 likewise */
};

/* STATUS_SYSTEM with errno set; ends_done() is due in any case. */
int ends_make(bool broker, bool recorder, struct ends *ret) MUST_CHECK;

/* Closes those that are left; -1 stands where one was taken. */
void ends_done(struct ends *ends);

#endif
