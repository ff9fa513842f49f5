/*
 * export_ocsf - a row as an event of the Open Cybersecurity Schema
 * Framework, version 1.8.0, with the profiles security_control and host.
 *
 * What the class has no attribute for stands under "unmapped".  Version 1.8
 * has no object for an agent, so its name is actor.app_name.
 */
#ifndef GATEWAY_AUDIT_EXPORT_OCSF_H
#define GATEWAY_AUDIT_EXPORT_OCSF_H

struct json;
struct query_cell;

/* One object; version is Exeat's.  Entries are those of entry_page. */
void export_ocsf(
    const struct query_cell *entry, const char *version, struct json *json);

#endif
