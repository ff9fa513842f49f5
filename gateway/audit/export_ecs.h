/*
 * export_ecs - a row as an event of the Elastic Common Schema, version 9.5.
 *
 * Nested objects, as the JSON sources of that schema want it.  What it has no
 * field for stands under "labels".
 */
#ifndef GATEWAY_AUDIT_EXPORT_ECS_H
#define GATEWAY_AUDIT_EXPORT_ECS_H

struct json;
struct query_cell;

/* One object; version is Exeat's.  Entries are those of entry_page. */
void export_ecs(
    const struct query_cell *entry, const char *version, struct json *json);

#endif
