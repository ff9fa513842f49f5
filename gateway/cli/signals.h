/*
 * signals - those that whoever runs us means for the command.
 *
 * A terminal sends its own to the whole foreground, the command included, so
 * where a signal came from is told with it.
 */
#ifndef GATEWAY_CLI_SIGNALS_H
#define GATEWAY_CLI_SIGNALS_H

#include "gateway/proc/loop.h"

#include <stdbool.h>

struct signals;

typedef void signals_call(int number, bool from_terminal, void *arg);

/*
 * Takes SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH and
 * SIGCONT until it is freed; then they do again what they did before.  NULL
 * when there is no memory.
 */
struct signals *signals_new(struct loop *loop, signals_call *call, void *arg)
    MUST_CHECK;
void signals_free(struct signals *signals);

#endif
