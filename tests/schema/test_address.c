#include "schema/address.h"

#include "schema/status.h"
#include "tests/schema/dice.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

static struct address
address_of(const char *text)
{
	struct address address;

	if (address_parse(text, strlen(text), &address) != STATUS_OK)
		fail_msg("%s is refused", text);
	return address;
}

static void
every_address_has_one_spelling(void **state)
{
	static const char *const rows[][2] = {
		{ "192.0.2.1", "192.0.2.1" },
		{ "0.0.0.0", "0.0.0.0" },
		{ "::", "::" },
		{ "0:0:0:0:0:0:0:1", "::1" },
		{ "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
		/* B07: the IPv4 address inside is the address. */
		{ "::ffff:192.0.2.1", "192.0.2.1" },
		{ "::FFFF:c000:201", "192.0.2.1" },
	};
	char printed[ADDRESS_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct address address = address_of(rows[i][0]);

		address_print(&address, printed);
		assert_string_equal(printed, rows[i][1]);
	}
}

/* B11: other spellings that some library would dial. */
static void
odd_spellings_are_refused(void **state)
{
	static const char *const bad[] = { "", "127.1", "127.0.0", "0177.0.0.1",
		"127.0.0.01", "0x7f.0.0.1", "2130706433", "127.0.0.1.",
		"127.0.0.256", " 127.0.0.1", "127.0.0.1 ", "127.0.0.1:80",
		"[::1]", "::1%lo", "fe80::1%25eth0", ":::", "1::2::3",
		"12345::", "::ffff:127.1", "localhost",
		"1111:1111:1111:1111:1111:1111:1111:1111:1111" };
	struct address address = { .length = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (address_parse(bad[i], strlen(bad[i]), &address) ==
		    STATUS_OK)
			fail_msg("%s is taken", bad[i]);
	assert_int_equal(
	    address_parse("127.0.0.1\0", 10, &address), STATUS_MALFORMED);
	assert_int_equal(address.length, 77);
}

/* B07 and B09: each special range, its first and last address, and around. */
static const struct {
	const char *text;
	enum address_kind kind;
} kinds[] = {
	{ "0.0.0.0", ADDRESS_UNSPECIFIED },
	{ "0.255.255.255", ADDRESS_UNSPECIFIED },
	{ "1.0.0.0", ADDRESS_PUBLIC },
	{ "9.255.255.255", ADDRESS_PUBLIC },
	{ "10.0.0.0", ADDRESS_PRIVATE },
	{ "10.255.255.255", ADDRESS_PRIVATE },
	{ "11.0.0.0", ADDRESS_PUBLIC },
	{ "100.63.255.255", ADDRESS_PUBLIC },
	{ "100.64.0.0", ADDRESS_SHARED },
	{ "100.100.100.200", ADDRESS_METADATA },
	{ "100.127.255.255", ADDRESS_SHARED },
	{ "100.128.0.0", ADDRESS_PUBLIC },
	{ "127.0.0.1", ADDRESS_LOOPBACK },
	{ "127.255.255.255", ADDRESS_LOOPBACK },
	{ "128.0.0.0", ADDRESS_PUBLIC },
	{ "169.254.0.1", ADDRESS_LINK_LOCAL },
	{ "169.254.169.254", ADDRESS_METADATA },
	{ "169.254.169.253", ADDRESS_LINK_LOCAL },
	{ "172.15.255.255", ADDRESS_PUBLIC },
	{ "172.16.0.0", ADDRESS_PRIVATE },
	{ "172.31.255.255", ADDRESS_PRIVATE },
	{ "172.32.0.0", ADDRESS_PUBLIC },
	{ "192.0.2.1", ADDRESS_DOCUMENTATION },
	{ "192.168.255.255", ADDRESS_PRIVATE },
	{ "198.17.255.255", ADDRESS_PUBLIC },
	{ "198.18.0.0", ADDRESS_BENCHMARK },
	{ "198.19.255.255", ADDRESS_BENCHMARK },
	{ "198.20.0.0", ADDRESS_PUBLIC },
	{ "223.255.255.255", ADDRESS_PUBLIC },
	{ "224.0.0.0", ADDRESS_MULTICAST },
	{ "240.0.0.0", ADDRESS_RESERVED },
	{ "255.255.255.254", ADDRESS_RESERVED },
	{ "255.255.255.255", ADDRESS_BROADCAST },
	{ "::", ADDRESS_UNSPECIFIED },
	{ "::1", ADDRESS_LOOPBACK },
	{ "2606:4700::1", ADDRESS_PUBLIC },
	{ "2001:db8::1", ADDRESS_DOCUMENTATION },
	{ "2001::1", ADDRESS_RESERVED },
	{ "fc00::1", ADDRESS_PRIVATE },
	{ "fdff::1", ADDRESS_PRIVATE },
	{ "fd00:ec2::254", ADDRESS_METADATA },
	{ "fe80::1", ADDRESS_LINK_LOCAL },
	{ "febf::1", ADDRESS_LINK_LOCAL },
	{ "ff02::1", ADDRESS_MULTICAST },
	/* The IPv4 address inside decides. */
	{ "::ffff:169.254.169.254", ADDRESS_METADATA },
	{ "::ffff:0.0.0.0", ADDRESS_UNSPECIFIED },
	{ "::127.0.0.1", ADDRESS_LOOPBACK },
	{ "64:ff9b::10.0.0.1", ADDRESS_PRIVATE },
	{ "64:ff9b::8.8.8.8", ADDRESS_PUBLIC },
	{ "2002:7f00:1::", ADDRESS_LOOPBACK },
	{ "2002:808:808::1", ADDRESS_PUBLIC },
	/* Where in it the IPv4 address stands, only its net knows. */
	{ "64:ff9b:1:a00:0:100:808:808", ADDRESS_RESERVED },
};

static void
special_ranges_end_where_they_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct address address = address_of(kinds[i].text);
		enum address_kind kind = address_kind(&address);

		if (kind != kinds[i].kind)
			fail_msg(
			    "%s is %s", kinds[i].text, address_kind_name(kind));
	}
}

static void
no_address_is_nothing(void **state)
{
	struct address none = { 0 }, inside = { .length = 77 };
	char printed[ADDRESS_TEXT_MAX];

	(void)state;
	assert_false(address_is_set(&none));
	assert_int_equal(address_kind(&none), ADDRESS_UNSPECIFIED);
	assert_false(address_embedded(&none, &inside));
	assert_int_equal(inside.length, 77);
	address_print(&none, printed);
	assert_string_equal(printed, "-");
}

/* Whatever bytes: printed, parsed, and through a sockaddr, the same. */
static void
what_is_printed_is_read_again(void **state)
{
	struct dice dice = { .state = 3 };

	(void)state;
	for (unsigned i = 0; i < 50000; i++) {
		bool v6 = dice_throw(&dice, 2) == 1;
		struct sockaddr_storage storage;
		struct endpoint endpoint, again;
		char printed[ADDRESS_TEXT_MAX];
		uint8_t bytes[16];
		struct address parsed;

		for (size_t k = 0; k < 16; k++)
			bytes[k] = dice_throw(&dice, 3) == 0
				       ? (uint8_t)dice_throw(&dice, 256)
				       : 0;
		endpoint.address = v6 ? address_v6(bytes) : address_v4(bytes);
		endpoint.port = (uint16_t)dice_throw(&dice, 65536);
		address_print(&endpoint.address, printed);
		parsed = address_of(printed);
		assert_true(address_equals(&parsed, &endpoint.address));
		assert_true(endpoint_to_sockaddr(&endpoint, &storage) > 0);
		assert_int_equal(endpoint_from_sockaddr(
				     (const struct sockaddr *)&storage, &again),
		    STATUS_OK);
		assert_true(endpoint_equals(&endpoint, &again));
	}
}

static void
an_endpoint_has_its_port_behind(void **state)
{
	struct endpoint endpoint = { .address = address_of("192.0.2.1"),
		.port = 80 };
	char printed[ENDPOINT_TEXT_MAX];
	struct sockaddr_un other = { .sun_family = AF_UNIX };

	(void)state;
	endpoint_print(&endpoint, printed);
	assert_string_equal(printed, "192.0.2.1:80");
	endpoint.address =
	    address_of("ffff:eeee:dddd:cccc:bbbb:aaaa:9999:8888");
	endpoint.port = 65535;
	endpoint_print(&endpoint, printed);
	assert_string_equal(
	    printed, "[ffff:eeee:dddd:cccc:bbbb:aaaa:9999:8888]:65535");
	assert_int_equal(
	    endpoint_from_sockaddr((const struct sockaddr *)&other, &endpoint),
	    STATUS_MALFORMED);
	assert_int_equal(endpoint.port, 65535);
}

static int
parse_cidr(const char *text, struct cidr *ret)
{
	return cidr_parse(text, strlen(text), ret);
}

static void
a_prefix_holds_what_it_covers_and_no_more(void **state)
{
	static const struct {
		const char *prefix, *address;
		bool inside;
	} rows[] = {
		{ "0.0.0.0/0", "255.255.255.255", true },
		{ "0.0.0.0/0", "::1", false },
		{ "::/0", "2001:db8::1", true },
		{ "::/0", "192.0.2.1", false },
		{ "10.0.0.0/8", "10.255.255.255", true },
		{ "10.0.0.0/8", "11.0.0.0", false },
		{ "192.0.2.128/25", "192.0.2.127", false },
		{ "192.0.2.128/25", "192.0.2.255", true },
		{ "192.0.2.1", "192.0.2.1", true },
		{ "192.0.2.1", "192.0.2.0", false },
		{ "2001:db8::/33", "2001:db8:7fff::", true },
		{ "2001:db8::/33", "2001:db8:8000::", false },
		{ "2001:db8::1/128", "2001:db8::1", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct address address = address_of(rows[i].address);
		struct cidr cidr;

		assert_int_equal(parse_cidr(rows[i].prefix, &cidr), STATUS_OK);
		assert_int_equal(
		    cidr_contains(&cidr, &address), rows[i].inside);
	}
}

static void
prefixes_that_mean_something_else_are_refused(void **state)
{
	static const char *const bad[] = { "", "/", "/8", "10.0.0.0/",
		"10.0.0.0/33", "::/129", "10.0.0.0/8/8", "10.0.0.0/+8",
		"10.0.0.0/8 ", "10/8", "::ffff:10.0.0.0/104", "a.test/8" };
	struct cidr cidr = { .bits = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse_cidr(bad[i], &cidr) != STATUS_MALFORMED)
			fail_msg("%s is taken", bad[i]);
	assert_int_equal(parse_cidr("10.0.0.1/8", &cidr), STATUS_REFUSED);
	assert_int_equal(parse_cidr("::1/127", &cidr), STATUS_REFUSED);
	assert_int_equal(parse_cidr("128.0.0.0/0", &cidr), STATUS_REFUSED);
	assert_int_equal(cidr.bits, 77);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_has_one_spelling),
		cmocka_unit_test(odd_spellings_are_refused),
		cmocka_unit_test(special_ranges_end_where_they_end),
		cmocka_unit_test(no_address_is_nothing),
		cmocka_unit_test(what_is_printed_is_read_again),
		cmocka_unit_test(an_endpoint_has_its_port_behind),
		cmocka_unit_test(a_prefix_holds_what_it_covers_and_no_more),
		cmocka_unit_test(prefixes_that_mean_something_else_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
