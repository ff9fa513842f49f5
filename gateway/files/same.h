/*
 * same - what two files hold, compared.
 */
#ifndef GATEWAY_FILES_SAME_H
#define GATEWAY_FILES_SAME_H

#include <stdbool.h>

/* Whether both hold the same bytes; false when one cannot be read. */
bool same_files(int one_directory, const char *one_name, int other_directory,
    const char *other_name);

/* Whether both are links with the same text. */
bool same_links(int one_directory, const char *one_name, int other_directory,
    const char *other_name);

/* Whether one of the needles, a list that ends with NULL, stands near the
 * beginning of the file; true when it cannot be read. */
bool same_holds(int directory, const char *name, const char *const *needles);

#endif
