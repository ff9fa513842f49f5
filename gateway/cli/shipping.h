/*
 * shipping - `exeat audit ship`: another program in our place.
 *
 * What speaks to PostgreSQL brings many libraries with it, so it is a program
 * of its own; libpq reads its variables and files as for any other client.
 */
#ifndef GATEWAY_CLI_SHIPPING_H
#define GATEWAY_CLI_SHIPPING_H

/* argv[0] is "ship".  Returns only when it cannot: an exit status. */
int shipping_run(int argc, char **argv);

#endif
