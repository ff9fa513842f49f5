#include "gateway/cli/swap.h"

#include "gateway/cli/ledger.h"
#include "gateway/cli/policies.h"
#include "gateway/proc/channel.h"
#include "schema/order.h"
#include "schema/status.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum swap_state {
	SWAP_IDLE,
	SWAP_TOLD,
	SWAP_SENT
};

struct swap {
	struct swap_order order;
	enum swap_state state;
	struct policies layers;
	size_t kept; /* of them the writer has said that it keeps */
	struct order_swap last; /* who wants it */
};

struct swap *
swap_new(const struct swap_order *order)
{
	struct swap *swap = calloc(1, sizeof(*swap));

	if (swap != NULL)
		swap->order = *order;
	return swap;
}

void
swap_free(struct swap *swap)
{
	if (swap == NULL)
		return;
	policies_done(&swap->layers);
	free(swap);
}

static void
end(struct swap *swap, const struct problem *problem)
{
	swap->state = SWAP_IDLE;
	policies_done(&swap->layers);
	swap->order.on_end(problem, swap->order.arg);
}

static void
end_badly(struct swap *swap, const char *text)
{
	struct problem problem = { .text = "" };

	(void)problem_set(&problem, "%s", text);
	end(swap, &problem);
}

/* The ceilings first, in copies of their descriptors. */
static int
put_ceilings(struct swap *swap, struct problem *reterr)
{
	const struct policies *old = swap->order.policies;

	for (size_t i = 0; i < old->ceiling_count; i++) {
		struct policies_layer *layer =
		    &swap->layers.layers[swap->layers.count];

		*layer = old->layers[i];
		layer->fd = fcntl(old->layers[i].fd, F_DUPFD_CLOEXEC, 0);
		if (layer->fd < 0)
			return problem_errno(reterr, "cannot keep a ceiling");
		swap->layers.count++;
	}
	return STATUS_OK;
}

static int
take_layers(struct swap *swap, struct policies *layers, struct problem *reterr)
{
	int status = put_ceilings(swap, reterr);

	if (status != STATUS_OK)
		return status;
	if (swap->layers.count + layers->count > LIMIT_LAYERS)
		return problem_set(
		    reterr, "there are more than %d policies", LIMIT_LAYERS);
	for (size_t i = 0; i < layers->count; i++)
		swap->layers.layers[swap->layers.count++] = layers->layers[i];
	layers->count = 0;
	return STATUS_OK;
}

int
swap_begin(struct swap *swap, struct policies *layers, const char *by,
    struct problem *reterr)
{
	int status;

	if (swap->state != SWAP_IDLE)
		return problem_set(reterr, "another policy is being set");
	if (layers->count == 0)
		return problem_set(reterr, "no policy is named");
	status = take_layers(swap, layers, reterr);
	for (size_t i = 0; status == STATUS_OK && i < swap->layers.count; i++)
		if (ledger_add_policy(swap->order.audit,
			&swap->layers.layers[i],
			swap->order.settings) != STATUS_OK)
			status = problem_set(reterr,
			    "the audit writer does not take the policy");
	if (status != STATUS_OK) {
		policies_done(&swap->layers);
		return status;
	}
	memcpy(swap->last.by, by, strlen(by) + 1);
	swap->kept = 0;
	swap->state = SWAP_TOLD;
	return STATUS_OK;
}

static void
send_layers(struct swap *swap)
{
	unsigned char packet[LIMIT_PRINCIPAL + 64];
	struct cursor_writer out =
	    frame_begin(FRAME_ORDER_SWAP, packet, sizeof(packet));
	int status = policies_send(&swap->layers, swap->order.gateway);

	order_swap_write(&swap->last, &out);
	if (status == STATUS_OK)
		status = channel_send(swap->order.gateway, &out, NULL, 0);
	if (status == STATUS_OK)
		swap->state = SWAP_SENT;
	else
		end_badly(swap, "the gateway does not take the policy");
}

bool
swap_take(struct swap *swap, const struct frame *frame)
{
	struct problem problem = { .text = "" };

	if (frame->type == FRAME_AUDIT_LOADED && swap->state == SWAP_TOLD &&
	    cursor_is_empty(&frame->body)) {
		if (++swap->kept == swap->layers.count)
			send_layers(swap);
		return true;
	}
	if (swap->state != SWAP_SENT)
		return false;
	if (frame->type == FRAME_ORDER_SWAPPED &&
	    cursor_is_empty(&frame->body)) {
		end(swap, NULL);
		return true;
	}
	if (frame->type == FRAME_ORDER_KEPT &&
	    order_failed_read(frame->body, &problem) == STATUS_OK) {
		end(swap, &problem);
		return true;
	}
	return false;
}
