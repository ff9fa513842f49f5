/*
 * terms - what a rule asks of requests and of programs, key by key.
 *
 * Each function reads the value of one key into the rule; what is wrong with
 * it is reported with its place.
 */
#ifndef POLICY_TERMS_H
#define POLICY_TERMS_H

#include <jansson.h>

struct place;
struct report;
struct rule;

void terms_read_methods(struct rule *rule, json_t *value,
    const struct place *place, const struct report *report);
void terms_read_upgrade(struct rule *rule, json_t *value,
    const struct place *place, const struct report *report);
void terms_read_path(struct rule *rule, json_t *value,
    const struct place *place, const struct report *report);
void terms_read_query(struct rule *rule, json_t *value,
    const struct place *place, const struct report *report);
void terms_read_exe(struct rule *rule, json_t *value, const struct place *place,
    const struct report *report);
void terms_read_mcp(struct rule *rule, json_t *value, const struct place *place,
    const struct report *report);

#endif
