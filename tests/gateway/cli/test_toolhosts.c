#include "gateway/cli/toolhosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Puts the hosts into one text: "a.test b.test:8080". */
static void
expect(toolhosts_reader *reader, const char *text, const char *hosts)
{
	struct toolhosts found = { 0 };
	char all[500];
	struct cursor_writer out = cursor_writer_of(all, sizeof(all) - 1);

	reader(&found, cursor_of_text(text));
	toolhosts_sort(&found);
	for (size_t i = 0; i < found.count; i++) {
		cursor_put_text(&out, i > 0 ? " " : "");
		cursor_put_text(&out, found.list[i].name.text);
		if (found.list[i].port == 0)
			continue;
		cursor_put_u8(&out, ':');
		cursor_put_decimal(&out, found.list[i].port);
	}
	all[out.used] = '\0';
	assert_false(found.incomplete);
	toolhosts_done(&found);
	assert_string_equal(all, hosts);
}

static void
a_url_names_its_host_and_an_unusual_port(void **state)
{
	(void)state;
	expect(toolhosts_words,
	    "https://A.test/x http://b.test:80 http://c.test:8080/ "
	    "https://d.test:443 sparse+https://e.test/i mirror+http://f.test/ "
	    "https://user:secret@g.test/ https://h.test?x",
	    "a.test b.test c.test:8080 d.test e.test f.test g.test h.test");
	expect(toolhosts_words,
	    "cdrom:[x] file:/x ftp://a.test ssh://a.test a.test direct off "
	    "https:// https://10.0.0.1/ https://[::1]/ https://127.1/ "
	    "https://a.test:x/ https://a.test:99999/",
	    "");
	expect(toolhosts_words, "https://a.test/1 https://a.test/2", "a.test");
}

static void
apt_lists_name_what_is_not_commented_out(void **state)
{
	(void)state;
	expect(toolhosts_apt_list,
	    "# deb http://no.test x main\n"
	    "deb http://a.test/debian x main # http://no.test\n"
	    "  deb-src\thttps://b.test/debian x main\n"
	    "deb [ arch=amd64 signed-by=/x ] http://c.test:3142/d x main\n"
	    "deb [arch=amd64] http://d.test/d x main\n"
	    "deb cdrom:[x]/ x main\ndebug http://no.test\n"
	    "deb [ unclosed http://no.test\ndeb",
	    "a.test b.test c.test:3142 d.test");
	expect(toolhosts_apt_list, "", "");
}

static void
apt_sources_name_what_is_enabled(void **state)
{
	(void)state;
	expect(toolhosts_apt_sources,
	    "Types: deb\nURIs: http://a.test/debian https://b.test/\n"
	    "# URIs: http://no.test\n  http://c.test/\nSuites: x\n"
	    " http://no.test\n"
	    "\n"
	    "Enabled: no\nURIs: http://no.test\n"
	    "\n"
	    "Enabled: yes\nURIs:\n http://d.test/\n",
	    "a.test b.test c.test d.test");
}

static void
npmrc_names_registries_of_all_scopes(void **state)
{
	(void)state;
	expect(toolhosts_npmrc,
	    "; registry=https://no.test/\n# registry=https://no.test/\n"
	    "registry = \"https://a.test/npm/\"\n"
	    "@scope:registry=https://b.test:4873\n"
	    "//c.test/:_authToken=https://no.test\nproxy=http://no.test\n"
	    "registry\nregistry=${REGISTRY}\n",
	    "a.test b.test:4873");
	expect(toolhosts_npm_default,
	    "other: new Definition('other', {\n default: 'https://no.test',\n"
	    "registry: new Definition('registry', {\n"
	    "  default: 'https://a.test/',\n  type: url",
	    "a.test");
	expect(toolhosts_npm_default, "new Definition('registry'", "");
}

static void
pip_conf_names_indexes_and_links(void **state)
{
	(void)state;
	expect(toolhosts_pip_conf,
	    "[global]\nindex-url = https://a.test/simple\n"
	    "extra-index-url =\n    https://b.test/simple\n"
	    "    https://c.test/simple\nproxy = http://no.test\n"
	    "    http://no.test\n"
	    "# index-url = https://no.test\nfind-links = /opt/x "
	    "https://d.test/\n",
	    "a.test b.test c.test d.test");
	expect(toolhosts_pip_default,
	    "PyPI = PackageIndex(\n    \"https://a.test/\", "
	    "file_storage_domain=\"files.test\")\nTest = "
	    "PackageIndex(\"https://no.test/\")",
	    "a.test files.test");
}

static void
cargo_and_go_name_their_proxies(void **state)
{
	(void)state;
	expect(toolhosts_cargo_toml,
	    "[registries.own]\nindex = \"sparse+https://a.test/index/\"\n"
	    "[source.mirror]\nregistry = 'https://b.test/git'\n"
	    "[http]\nproxy = \"http://no.test\"\n",
	    "a.test b.test");
	expect(toolhosts_go_env,
	    "GOPROXY=https://a.test,https://b.test|direct\n"
	    "GOSUMDB=sum.test\nGOFLAGS=-x\n",
	    "a.test b.test sum.test");
	expect(toolhosts_go_env,
	    "GOPROXY=off\nGOSUMDB=sum.test+key https://c.test/sum\n", "c.test");
	expect(toolhosts_go_env, "GOSUMDB=off\n", "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_names_its_host_and_an_unusual_port),
		cmocka_unit_test(apt_lists_name_what_is_not_commented_out),
		cmocka_unit_test(apt_sources_name_what_is_enabled),
		cmocka_unit_test(npmrc_names_registries_of_all_scopes),
		cmocka_unit_test(pip_conf_names_indexes_and_links),
		cmocka_unit_test(cargo_and_go_name_their_proxies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
