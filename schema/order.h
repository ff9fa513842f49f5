/*
 * order - what a parent tells its gateway, and what it hears back.
 *
 * Down: perhaps ORDER_VIA, one ORDER_LAYER for each policy of the stack (its
 * text as a sealed memfd), then ORDER_BEGIN; for another policy its layers and
 * ORDER_SWAP, answered by ORDER_SWAPPED or ORDER_KEPT; later ORDER_STOP.  Up:
 * ORDER_READY once the run can start, ORDER_FAILED when it cannot, ORDER_TALLY
 * as the last word.
 */
#ifndef SCHEMA_ORDER_H
#define SCHEMA_ORDER_H

#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/problem.h"

#include <stdbool.h>

/*
 * One layer; the name is for messages: the file it came from.  The digest is
 * of the text in the descriptor: rows name a rule's policy by it.
 */
#define ORDER_DIGEST 32
struct order_layer {
	char name[LIMIT_RULE_TEXT + 1];
	uint8_t sha256[ORDER_DIGEST];
};

struct order_begin {
	char run[LIMIT_RUN_UID + 1];
	uint8_t id[16]; /* the run's own, for request ids */
	bool observe; /* refuse nothing that a rule would; say what it would */
};

struct order_tally {
	uint64_t requests, refused, flows, names, bytes_out, bytes_in;
};

void order_layer_write(
    const struct order_layer *layer, struct cursor_writer *out);
int order_layer_read(struct cursor body, struct order_layer *ret) MUST_CHECK;

void order_begin_write(
    const struct order_begin *begin, struct cursor_writer *out);
int order_begin_read(struct cursor body, struct order_begin *ret) MUST_CHECK;

/* The clouds whose metadata services have a look-alike. */
enum order_cloud {
	ORDER_CLOUD_NONE,
	ORDER_CLOUD_AWS,
	ORDER_CLOUD_GCP,
	ORDER_CLOUD_COUNT
};

/*
 * ORDER_LURE, before ORDER_BEGIN: a placeholder that the sandbox has in the
 * place of a credential.  It is no secret, and worth nothing anywhere.
 */
struct order_lure {
	char credential[LIMIT_CREDENTIAL_NAME + 1];
	char value[LIMIT_PLACEHOLDER + 1];
	bool signs; /* a key to sign with, which is never sent */
	enum order_cloud cloud; /* whose metadata service tells it, too */
};
void order_lure_write(const struct order_lure *lure, struct cursor_writer *out);
int order_lure_read(struct cursor body, struct order_lure *ret) MUST_CHECK;

/*
 * ORDER_VIA, first of all: the house's own proxy, through which connections
 * leave.  Without it they leave directly.
 */
struct order_via {
	char host[LIMIT_HOST + 1]; /* canonical name, or text of an address */
	uint16_t port;
	char credential[LIMIT_CREDENTIAL_NAME + 1]; /* its login; or empty */
};
void order_via_write(const struct order_via *via, struct cursor_writer *out);
int order_via_read(struct cursor body, struct order_via *ret) MUST_CHECK;

/* ORDER_SWAP: the layers sent since the last change are the policy now. */
struct order_swap {
	char by[LIMIT_PRINCIPAL + 1]; /* who wants it, for the audit */
};
void order_swap_write(const struct order_swap *swap, struct cursor_writer *out);
int order_swap_read(struct cursor body, struct order_swap *ret) MUST_CHECK;

/* ORDER_FAILED and ORDER_KEPT: the text and the cure of a problem. */
void order_failed_write(
    const struct problem *problem, struct cursor_writer *out);
int order_failed_read(struct cursor body, struct problem *ret) MUST_CHECK;

void order_tally_write(
    const struct order_tally *tally, struct cursor_writer *out);
int order_tally_read(struct cursor body, struct order_tally *ret) MUST_CHECK;

#endif
