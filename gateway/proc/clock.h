/*
 * clock - what time it is; the only place that asks.
 *
 * Wall time is for rows and certificates, monotonic time for deadlines and
 * durations.  Everything below the programs takes the time as an argument.
 */
#ifndef GATEWAY_PROC_CLOCK_H
#define GATEWAY_PROC_CLOCK_H

#include <stdint.h>

/* Microseconds since 1970, and since some start. */
int64_t clock_wall_us(void);
int64_t clock_monotonic_us(void);

/* As monotonic time, and what the machine slept is counted too: the time in
 * which the kernel tells when a process began. */
int64_t clock_boottime_us(void);

#endif
