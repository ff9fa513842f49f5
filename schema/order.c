#include "schema/order.h"

#include "schema/status.h"

#include <string.h>

void
order_layer_write(const struct order_layer *layer, struct cursor_writer *out)
{
	cursor_put_string(out, layer->name);
	cursor_put(out, layer->sha256, sizeof(layer->sha256));
}

int
order_layer_read(struct cursor body, struct order_layer *ret)
{
	struct order_layer layer;

	if (!cursor_string(&body, layer.name, sizeof(layer.name)) ||
	    !cursor_copy(&body, sizeof(layer.sha256), layer.sha256) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = layer;
	return STATUS_OK;
}

void
order_begin_write(const struct order_begin *begin, struct cursor_writer *out)
{
	cursor_put_string(out, begin->run);
	cursor_put(out, begin->id, sizeof(begin->id));
	cursor_put_u8(out, begin->observe ? 1 : 0);
}

int
order_begin_read(struct cursor body, struct order_begin *ret)
{
	struct order_begin begin;
	uint8_t observe;

	if (!cursor_string(&body, begin.run, sizeof(begin.run)) ||
	    begin.run[0] == '\0' ||
	    !cursor_copy(&body, sizeof(begin.id), begin.id) ||
	    !cursor_u8(&body, &observe) || observe > 1 ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	begin.observe = observe == 1;
	*ret = begin;
	return STATUS_OK;
}

void
order_lure_write(const struct order_lure *lure, struct cursor_writer *out)
{
	cursor_put_string(out, lure->credential);
	cursor_put_string(out, lure->value);
	cursor_put_u8(out, lure->signs);
	cursor_put_u8(out, (uint8_t)lure->cloud);
}

int
order_lure_read(struct cursor body, struct order_lure *ret)
{
	struct order_lure lure;
	uint8_t signs, cloud;

	if (!cursor_string(&body, lure.credential, sizeof(lure.credential)) ||
	    lure.credential[0] == '\0' ||
	    !cursor_string(&body, lure.value, sizeof(lure.value)) ||
	    strlen(lure.value) < LIMIT_NEEDLE_LEAST ||
	    !cursor_u8(&body, &signs) || signs > 1 ||
	    !cursor_u8(&body, &cloud) || cloud >= ORDER_CLOUD_COUNT ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	lure.signs = signs == 1;
	lure.cloud = (enum order_cloud)cloud;
	*ret = lure;
	return STATUS_OK;
}

void
order_via_write(const struct order_via *via, struct cursor_writer *out)
{
	cursor_put_string(out, via->host);
	cursor_put_u16(out, via->port);
	cursor_put_string(out, via->credential);
}

int
order_via_read(struct cursor body, struct order_via *ret)
{
	struct order_via via;

	if (!cursor_string(&body, via.host, sizeof(via.host)) ||
	    via.host[0] == '\0' || !cursor_u16(&body, &via.port) ||
	    via.port == 0 ||
	    !cursor_string(&body, via.credential, sizeof(via.credential)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = via;
	return STATUS_OK;
}

void
order_swap_write(const struct order_swap *swap, struct cursor_writer *out)
{
	cursor_put_string(out, swap->by);
}

int
order_swap_read(struct cursor body, struct order_swap *ret)
{
	struct order_swap swap;

	if (!cursor_string(&body, swap.by, sizeof(swap.by)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = swap;
	return STATUS_OK;
}

void
order_failed_write(const struct problem *problem, struct cursor_writer *out)
{
	cursor_put_string(out, problem->text);
	cursor_put_string(out, problem->cure);
}

int
order_failed_read(struct cursor body, struct problem *ret)
{
	struct problem problem = { 0 };

	if (!cursor_string(&body, problem.text, sizeof(problem.text)) ||
	    !cursor_string(&body, problem.cure, sizeof(problem.cure)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = problem;
	return STATUS_OK;
}

void
order_tally_write(const struct order_tally *tally, struct cursor_writer *out)
{
	cursor_put_u64(out, tally->requests);
	cursor_put_u64(out, tally->refused);
	cursor_put_u64(out, tally->flows);
	cursor_put_u64(out, tally->names);
	cursor_put_u64(out, tally->bytes_out);
	cursor_put_u64(out, tally->bytes_in);
}

int
order_tally_read(struct cursor body, struct order_tally *ret)
{
	struct order_tally tally;

	if (!cursor_u64(&body, &tally.requests) ||
	    !cursor_u64(&body, &tally.refused) ||
	    !cursor_u64(&body, &tally.flows) ||
	    !cursor_u64(&body, &tally.names) ||
	    !cursor_u64(&body, &tally.bytes_out) ||
	    !cursor_u64(&body, &tally.bytes_in) || !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = tally;
	return STATUS_OK;
}
