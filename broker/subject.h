/*
 * subject - what a run shows to a cloud that federates: a token that its owner
 * has given, as a file that somebody else renews.
 */
#ifndef BROKER_SUBJECT_H
#define BROKER_SUBJECT_H

#include "broker/mint.h"

/* Borrows; empty when there is none, and then work->why says so. */
struct cursor subject_token(struct mint_work *work);

/* A name of this run, of the letters that AWS and others allow. */
#define SUBJECT_NAME_MAX 64
void subject_name(const struct mint_work *work, char out[SUBJECT_NAME_MAX + 1]);

#endif
