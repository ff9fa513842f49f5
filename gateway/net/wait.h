/*
 * wait - a time span in the form that libevent takes.
 */
#ifndef GATEWAY_NET_WAIT_H
#define GATEWAY_NET_WAIT_H

#include <sys/time.h>

static inline struct timeval
wait_ms(unsigned ms)
{
	return (struct timeval){ .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };
}

#endif
