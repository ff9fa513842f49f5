/* Tests of gateway/files/sensitive. */
#include "gateway/files/sensitive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
keys_and_tokens_are_secrets(void **state)
{
	static const char *const names[] = { ".env", ".env.production",
		".netrc", "id_ed25519", "a.kdbx", "x.tfstate",
		"x.tfstate.backup", "service-account-1.json" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct sensitive_needles *needles = NULL;

		assert_true(sensitive_is_secret(names[i], &needles));
		assert_null(needles->list[0]);
	}
}

static void
some_are_secrets_by_what_stands_in_them(void **state)
{
	const struct sensitive_needles *needles = NULL;

	(void)state;
	assert_true(sensitive_is_secret("server.key", &needles));
	assert_string_equal(needles->list[0], "PRIVATE KEY");
	assert_true(sensitive_is_secret(".npmrc", NULL));
}

static void
examples_are_made_to_be_shown(void **state)
{
	static const char *const names[] = { ".env.example", ".env.sample",
		"env", "my.env", "id_rsa.pub", "x.tfstate.template" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(sensitive_is_secret(names[i], NULL));
}

static void
exact_names_are_secrets_by_themselves(void **state)
{
	(void)state;
	for (const char *const *name = sensitive_exact; *name != NULL; name++)
		assert_true(sensitive_is_secret(*name, NULL));
}

static void
settings_of_the_host_are_watched_at_any_depth(void **state)
{
	static const char *const yes[] = { ".git/hooks/pre-commit",
		"sub/.git/hooks/x", ".git/config", ".git/commondir",
		".git/modules/a/b/config", ".git/modules/a/hooks/post-merge",
		"sub/.git", ".gitmodules", ".vscode/settings.json", "a/.idea/x",
		".envrc", "a/.envrc", ".husky/_/h", ".mcp.json",
		".claude/settings.json", "CLAUDE.md", "docs/AGENTS.md",
		".github/workflows/ci.yml", ".vscode",
		".git/worktrees/w/commondir" };
	static const char *const no[] = { ".git/HEAD", ".git/objects/ab/cd",
		".git/refs/heads/main", "src/main.c", ".github/README",
		"config", "hooks/pre-commit", "CLAUDE.md.txt", ".gitignore",
		"a.vscode/x" };

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(sensitive_is_watched(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(sensitive_is_watched(no[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_tokens_are_secrets),
		cmocka_unit_test(some_are_secrets_by_what_stands_in_them),
		cmocka_unit_test(examples_are_made_to_be_shown),
		cmocka_unit_test(exact_names_are_secrets_by_themselves),
		cmocka_unit_test(settings_of_the_host_are_watched_at_any_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
