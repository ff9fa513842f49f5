/*
 * describe - what a rule covers, in words.
 */
#ifndef POLICY_DESCRIBE_H
#define POLICY_DESCRIBE_H

#include "policy/rule.h"

/* One sentence without a period; long lists are cut and counted. */
void describe_rule(const struct rule *rule, struct cursor_writer *out);

/* Parts of it, for other sentences. */
void describe_targets(const struct rule *rule, struct cursor_writer *out);
void describe_ports(const struct rule *rule, struct cursor_writer *out);
void describe_methods(const struct rule *rule, struct cursor_writer *out);
void describe_paths(const struct rule *rule, struct cursor_writer *out);

/* The programs it is for; for which messages; how much it lets through. */
void describe_programs(const struct rule *rule, struct cursor_writer *out);
void describe_messages(const struct rule *rule, struct cursor_writer *out);
void describe_quota(const struct quota *quota, struct cursor_writer *out);

#endif
