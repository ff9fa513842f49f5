/*
 * watch_hear - reports of the inside, a table of what each is good for.
 *
 * The inside keeps an order; whoever speaks out of turn is lost.
 */
#ifndef GATEWAY_LAUNCH_WATCH_HEAR_H
#define GATEWAY_LAUNCH_WATCH_HEAR_H

struct watch;

/* Everything that the inside has said by now. */
void watch_hear(struct watch *watch);

/* The inside is gone, or speaks out of turn. */
void watch_lose(struct watch *watch);

/* The command runs, once all is built and the parent said so. */
void watch_let_go(struct watch *watch);

/* Takes a listener of notices; arg is the struct watch. */
void watch_record(int fd, void *arg);

#endif
