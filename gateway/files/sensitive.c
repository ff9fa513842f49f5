#include "gateway/files/sensitive.h"

#include "gateway/files/glob.h"

#include <stddef.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
	const char *glob;
	struct sensitive_needles needles;
} secrets[] = {
	{ ".env", { { NULL } } },
	{ ".env.*", { { NULL } } },
	{ ".netrc", { { NULL } } },
	{ ".git-credentials", { { NULL } } },
	{ "id_rsa", { { NULL } } },
	{ "id_dsa", { { NULL } } },
	{ "id_ecdsa", { { NULL } } },
	{ "id_ed25519", { { NULL } } },
	{ "*.kdbx", { { NULL } } },
	{ "*.tfstate", { { NULL } } },
	{ "*.tfstate.backup", { { NULL } } },
	{ "service-account*.json", { { NULL } } },
	{ "*.pem", { { "PRIVATE KEY", NULL } } },
	{ "*.key", { { "PRIVATE KEY", NULL } } },
	{ ".npmrc", { { "_authToken", "_auth", "_password", NULL } } },
	{ ".pypirc", { { "password", NULL } } },
};

/* Like secrets by name, and made to be shown. */
static const char *const examples[] = { "*.example", "*.sample", "*.template" };

const char *const sensitive_exact[] = { ".env", ".env.local",
	".env.development", ".env.production", ".netrc", ".git-credentials",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", NULL };

/*
 * By who reads them.  The whole path is meant, at any depth: a subfolder is
 * opened in an editor or entered by a shell as easily as the top.
 */
static const char *const watched[] = {
	/* git; commondir would lead it to another config and other hooks */
	"**/.git",
	"**/.git/hooks/**",
	"**/.git/hooks",
	"**/.git/config",
	"**/.git/config.worktree",
	"**/.git/commondir",
	"**/.git/info/attributes",
	"**/.git/modules/**/config",
	"**/.git/modules/**/config.worktree",
	"**/.git/modules/**/commondir",
	"**/.git/modules/**/hooks",
	"**/.git/modules/**/hooks/**",
	"**/.git/worktrees/*/config.worktree",
	"**/.git/worktrees/*/commondir",
	"**/.git/worktrees/*/gitdir",
	"**/.gitmodules",
	"**/.husky",
	"**/.husky/**",
	/* editors */
	"**/.vscode",
	"**/.vscode/**",
	"**/.idea",
	"**/.idea/**",
	"**/.devcontainer",
	"**/.devcontainer/**",
	/* shells */
	"**/.envrc",
	/* agents */
	"**/.mcp.json",
	"**/.claude",
	"**/.claude/**",
	"**/.codex",
	"**/.codex/**",
	"**/.cursor",
	"**/.cursor/**",
	"**/.gemini",
	"**/.gemini/**",
	"**/CLAUDE.md",
	"**/AGENTS.md",
	/* builds elsewhere */
	"**/.github/workflows",
	"**/.github/workflows/**",
};

bool
sensitive_is_secret(const char *name, const struct sensitive_needles **ret)
{
	for (size_t i = 0; i < COUNT(examples); i++)
		if (glob_matches(examples[i], name))
			return false;
	for (size_t i = 0; i < COUNT(secrets); i++) {
		if (!glob_matches(secrets[i].glob, name))
			continue;
		if (ret != NULL)
			*ret = &secrets[i].needles;
		return true;
	}
	return false;
}

bool
sensitive_is_watched(const char *path)
{
	for (size_t i = 0; i < COUNT(watched); i++)
		if (glob_matches(watched[i], path))
			return true;
	return false;
}
