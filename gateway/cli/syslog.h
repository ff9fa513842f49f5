/*
 * syslog - lines to a syslog daemon, as RFC 5424 messages.
 *
 * The daemon is named unix:PATH, udp:HOST:PORT or tcp:HOST:PORT.  Over TCP
 * each message has its length before it (RFC 6587 section 3.4.1).  None of
 * these answers, so a message is delivered at most once.
 */
#ifndef GATEWAY_CLI_SYSLOG_H
#define GATEWAY_CLI_SYSLOG_H

#include "schema/cursor.h"
#include "schema/problem.h"

#include <stdbool.h>

struct syslog_target {
	int fd;
	bool counts; /* the length goes first */
	char machine[256];
};

int syslog_open(const char *target, struct syslog_target *ret,
    struct problem *reterr) MUST_CHECK;
void syslog_close(struct syslog_target *target);

/* at is RFC 3339; text has no line ends.  STATUS_PROBLEM when it is gone. */
int syslog_send(struct syslog_target *target, struct cursor at,
    struct cursor text, bool is_alert, struct problem *reterr) MUST_CHECK;

#endif
