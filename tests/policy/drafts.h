/*
 * drafts - random policies and questions from small alphabets, so that they
 * meet often; the same ones in every run.
 *
 * A program's first argument is how many cases it tries; with EXEAT_FULL=1 in
 * its environment it tries a million of each.
 */
#ifndef TESTS_POLICY_DRAFTS_H
#define TESTS_POLICY_DRAFTS_H

#include "policy/policy.h"
#include "policy/question.h"

#define DRAFT_RULES 5

struct draft {
	char rules[DRAFT_RULES + 1][500];
	size_t count;
};

/* The number of cases: the first argument, or a few thousand. */
unsigned drafts_cases(int argc, char **argv);

/* A number below another one. */
unsigned drafts_chance(unsigned below);
uint64_t drafts_state(void);
void drafts_set_state(uint64_t state);

/* One that leaves something unknown. */
const char *drafts_early_stage(void);

void draft_rule(struct draft *draft, bool deny);

/* NULL when it does not load. */
struct policy *draft_load(const struct draft *draft, bool backwards);

/* A draft that loads, and its policy. */
struct policy *draft_policy(struct draft *draft);

/* stage is "@connect " and the like, "" for all that is known, or NULL. */
void draft_question(struct question *question, const char *stage);

#endif
