/*
 * client - one run at the writer: its parent's connection and its producers.
 *
 * Which run a channel speaks for is fixed when it is made.  A parent's first
 * frame names the run; from then on it may bring policies and producers, and
 * at last the end.  The run's first and last row are the writer's own, and
 * the last one is written however the parent ends: by its word, or by going
 * away ("lost").  Producers get LIMIT_AUDIT_LEAVE_MS to go before it.
 */
#ifndef GATEWAY_AUDIT_CLIENT_H
#define GATEWAY_AUDIT_CLIENT_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>

struct clients;
struct keeper;
struct writer;

/*
 * The runs at one writer.  on_idle is called when the last one has gone; it
 * may not be called while there are others.
 */
struct clients *clients_new(struct writer *writer, struct keeper *keeper,
    void (*on_idle)(void *arg), void *arg) MUST_CHECK;

/* Drops them all; their rows must be committed. */
void clients_free(struct clients *clients);
size_t clients_count(const struct clients *clients);

/* How many of them have not come to their end yet. */
size_t clients_at_work(const struct clients *clients);

/* Takes a parent's connection; it is closed when there is no room. */
void clients_add(struct clients *clients, int fd);

#endif
