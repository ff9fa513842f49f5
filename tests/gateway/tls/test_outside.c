#include "gateway/tls/outside.h"

#include "gateway/tls/certificate.h"
#include "tests/gateway/tls/pair.h"

#include <signal.h>
#include <sys/wait.h>

#define HOUR 3600

/* A server as others write them, with a certificate made for the case. */
struct plain {
	SSL_CTX *context;
	SSL *ssl;
	EVP_PKEY *key;
	X509 *certificate;
	int fd;
};

/* Any may be wrong; what is 0 or NULL is as it should be. */
struct wrong {
	const char *host; /* instead of api.test */
	int64_t begins, ends; /* from now */
	bool self_signed, name_only;
	int version;
};

static void
plain_certify(
    struct plain *plain, const struct run_ca *ca, const struct wrong *wrong)
{
	int64_t now = time(NULL);
	const char *host = wrong->host == NULL ? "api.test" : wrong->host;
	X509 *certificate = certificate_new(plain->key, now + wrong->begins,
	    now + (wrong->ends == 0 ? HOUR : wrong->ends));
	X509 *issuer =
	    wrong->self_signed ? certificate : run_ca_certificate(ca);

	assert_non_null(certificate);
	assert_int_equal(certificate_set_name(certificate, host), STATUS_OK);
	assert_int_equal(
	    certificate_set_use(certificate, CERTIFICATE_SERVES, issuer),
	    STATUS_OK);
	if (!wrong->name_only)
		assert_int_equal(
		    certificate_set_host(certificate, host, false), STATUS_OK);
	assert_int_equal(certificate_sign(certificate, issuer,
			     wrong->self_signed ? plain->key : run_ca_key(ca)),
	    STATUS_OK);
	plain->certificate = certificate;
}

static void
plain_init(
    struct plain *plain, const struct run_ca *ca, const struct wrong *wrong)
{
	plain->key = certificate_key_new();
	plain_certify(plain, ca, wrong);
	plain->context = SSL_CTX_new(TLS_server_method());
	assert_int_equal(SSL_CTX_use_cert_and_key(plain->context,
			     plain->certificate, plain->key, NULL, 1),
	    1);
	if (wrong->version != 0) {
		SSL_CTX_set_security_level(plain->context, 0);
		assert_int_equal(SSL_CTX_set_min_proto_version(
				     plain->context, wrong->version),
		    1);
		assert_int_equal(SSL_CTX_set_max_proto_version(
				     plain->context, wrong->version),
		    1);
	}
}

static void
plain_done(struct plain *plain)
{
	SSL_CTX_free(plain->context);
	X509_free(plain->certificate);
	EVP_PKEY_free(plain->key);
}

/* The status and the words of our handshake with such a server. */
static void
plain_connect(struct plain *plain, struct pair *pair, const char *host)
{
	int fd[2];

	peer_pair(fd);
	pair_dial(pair, fd[0], host, NULL);
	plain->fd = fd[1];
	plain->ssl = SSL_new(plain->context);
	assert_int_equal(SSL_set_fd(plain->ssl, fd[1]), 1);
	pair->client_status = STATUS_AGAIN;
	for (int i = 0; i < 20; i++) {
		if (pair->client_status == STATUS_AGAIN)
			pair->client_status = stream_handshake(
			    pair->client, &pair->client_problem);
		(void)SSL_accept(plain->ssl);
		if (pair->client_status == STATUS_AGAIN)
			pair_settle(fd[0], fd[1]);
	}
	if (pair->client_status == STATUS_OK) {
		/* With a byte comes the ticket. */
		assert_int_equal(SSL_write(plain->ssl, "x", 1), 1);
		pair_expect(pair->client, "x");
	}
	ERR_clear_error();
}

static void
plain_disconnect(struct plain *plain, struct pair *pair)
{
	SSL_free(STEAL(plain->ssl));
	(void)close(plain->fd);
	pair_disconnect(pair);
}

static void
expect(struct pair *pair, const struct wrong *wrong, const char *host,
    int status, const char *words)
{
	struct plain plain;

	plain_init(&plain, pair->ca, wrong);
	plain_connect(&plain, pair, host);
	assert_int_equal(pair->client_status, status);
	if (words != NULL)
		assert_string_equal(pair->client_problem.text, words);
	plain_disconnect(&plain, pair);
	plain_done(&plain);
}

static void
certificate_that_does_not_hold_is_refused_in_words(void **state)
{
	const struct wrong well = { 0 },
			   expired = { .begins = -2 * HOUR, .ends = -HOUR };
	const struct wrong early = { .begins = HOUR, .ends = 2 * HOUR };
	const struct wrong own = { .self_signed = true };
	const struct wrong named = { .name_only = true };
	const struct wrong part = { .host = "api.test.evil.test" };
	struct pair pair;

	(void)state;
	pair_init(&pair);
	expect(&pair, &well, "api.test", STATUS_OK, NULL);
	expect(&pair, &expired, "api.test", STATUS_REFUSED,
	    "certificate has expired");
	expect(&pair, &early, "api.test", STATUS_REFUSED,
	    "certificate is not yet valid");
	expect(
	    &pair, &own, "api.test", STATUS_REFUSED, "self-signed certificate");
	expect(
	    &pair, &well, "other.test", STATUS_REFUSED, "host name mismatch");
	expect(&pair, &part, "api.test", STATUS_REFUSED, "host name mismatch");
	expect(&pair, &named, "api.test", STATUS_REFUSED, "host name mismatch");
	pair_done(&pair);
}

static void
certificate_of_another_authority_is_refused(void **state)
{
	const struct wrong well = { 0 };
	struct problem problem;
	struct run_ca *stranger = run_ca_new("test", pair_wall_us(), &problem);
	struct plain plain;
	struct pair pair;

	(void)state;
	pair_init(&pair);
	plain_init(&plain, stranger, &well);
	plain_connect(&plain, &pair, "api.test");
	assert_int_equal(pair.client_status, STATUS_REFUSED);
	assert_non_null(strstr(pair.client_problem.text, "unknown authority"));
	plain_disconnect(&plain, &pair);
	plain_done(&plain);
	run_ca_free(stranger);
	pair_done(&pair);
}

static void
literal_is_held_against_the_addresses_of_the_certificate(void **state)
{
	const struct wrong four = { .host = "192.0.2.7" };
	const struct wrong six = { .host = "2001:db8::7" };
	const struct wrong name = { 0 };
	struct pair pair;

	(void)state;
	pair_init(&pair);
	expect(&pair, &four, "192.0.2.7", STATUS_OK, NULL);
	expect(&pair, &six, "2001:db8::7", STATUS_OK, NULL);
	expect(
	    &pair, &four, "192.0.2.8", STATUS_REFUSED, "IP address mismatch");
	expect(
	    &pair, &name, "192.0.2.7", STATUS_REFUSED, "IP address mismatch");
	pair_done(&pair);
}

static void
version_before_tls_12_is_refused(void **state)
{
	const struct wrong old = { .version = TLS1_1_VERSION };
	const struct wrong enough = { .version = TLS1_2_VERSION };
	struct pair pair;

	(void)state;
	pair_init(&pair);
	expect(&pair, &old, "api.test", STATUS_MALFORMED, NULL);
	expect(&pair, &enough, "api.test", STATUS_OK, NULL);
	pair_done(&pair);
}

static bool
is_resumed(struct plain *plain, struct pair *pair, const char *host)
{
	bool resumed;

	plain_connect(plain, pair, host);
	assert_int_equal(pair->client_status, STATUS_OK);
	resumed = stream_is_resumed(pair->client);
	plain_disconnect(plain, pair);
	return resumed;
}

static void
session_is_resumed_with_the_same_host_only(void **state)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct wrong one = { .version = versions[i] };
		const struct wrong two = { .version = versions[i],
			.host = "other.test" };
		struct plain api, other;
		struct pair pair;

		pair_init(&pair);
		plain_init(&api, pair.ca, &one);
		plain_init(&other, pair.ca, &two);
		assert_false(is_resumed(&api, &pair, "api.test"));
		assert_true(is_resumed(&api, &pair, "api.test"));
		assert_true(is_resumed(&api, &pair, "api.test"));
		assert_false(is_resumed(&other, &pair, "other.test"));
		plain_done(&api);
		plain_done(&other);
		pair_done(&pair);
	}
}

/* The certificate changed hands: what was verified before counts no more. */
static void
refused_handshake_leaves_no_session(void **state)
{
	const struct wrong well = { 0 }, part = { .host = "other.test" };
	struct plain plain;
	struct pair pair;

	(void)state;
	pair_init(&pair);
	plain_init(&plain, pair.ca, &part);
	for (int i = 0; i < 2; i++) {
		plain_connect(&plain, &pair, "api.test");
		assert_int_equal(pair.client_status, STATUS_REFUSED);
		assert_false(stream_is_resumed(pair.client));
		plain_disconnect(&plain, &pair);
	}
	plain_done(&plain);
	expect(&pair, &well, "api.test", STATUS_OK, NULL);
	pair_done(&pair);
}

static void
roots_without_a_certificate_fail_closed(void **state)
{
	static const char cut[] = "-----BEGIN CERTIFICATE-----\nMIIB";
	static const char bad[] = "-----BEGIN CERTIFICATE-----\nMIIB\n"
				  "-----END CERTIFICATE-----\n";
	static const char *const wrong[] = { "", "# nothing\n", bad, cut };
	struct pair pair;
	struct problem problem;
	int fd[2];

	(void)state;
	pair_init(&pair);
	peer_pair(fd);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct outside_order order = { .host = "api.test",
			.fd = fd[0] };
		struct outside *outside =
		    outside_new(cursor_of_text(wrong[i]), pair.pool, &problem);

		assert_non_null(outside);
		assert_int_not_equal(
		    outside_load(outside, &problem), STATUS_OK);
		assert_true(problem.text[0] != '\0');
		assert_null(outside_connect(outside, &order, &problem));
		outside_free(outside);
	}
	(void)close(fd[0]);
	(void)close(fd[1]);
	pair_done(&pair);
}

static void
connection_without_a_host_is_refused(void **state)
{
	struct pair pair;
	struct problem problem;
	struct outside_order order = { .host = "" };
	int fd[2];

	(void)state;
	pair_init(&pair);
	peer_pair(fd);
	order.fd = fd[0];
	assert_null(outside_connect(pair.outside, &order, &problem));
	assert_int_equal(close(fd[0]), 0);
	(void)close(fd[1]);
	pair_done(&pair);
}

static void
write_pem(const char *path, X509 *certificate, EVP_PKEY *key)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	assert_int_equal(PEM_write_X509(out, certificate), 1);
	assert_int_equal(
	    PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL), 1);
	assert_int_equal(fclose(out), 0);
}

/* Begins openssl s_server with the certificate, and says where. */
static pid_t
s_server_start(const char *path, uint16_t *ret_port, int *ret_said)
{
	char text[4096] = { 0 }, *at;
	size_t have = 0;
	int in[2], said[2];
	char *const arguments[] = { (char[]){ "/usr/bin/openssl" },
		(char[]){ "s_server" }, (char[]){ "-accept" },
		(char[]){ "127.0.0.1:0" }, (char[]){ "-www" },
		(char[]){ "-cert" }, unconst(path), NULL };
	struct cursor port;
	uint64_t number;
	pid_t child;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	child = pair_spawn(arguments, in[0], said[1]);
	(void)close(in[0]);
	(void)close(in[1]);
	(void)close(said[1]);
	while (child > 0 && (at = strstr(text, "ACCEPT 127.0.0.1:")) == NULL) {
		ssize_t got =
		    read(said[0], text + have, sizeof(text) - 1 - have);

		assert_true(got > 0);
		have += (size_t)got;
	}
	if (child > 0) {
		port = cursor_of_text(at + strlen("ACCEPT 127.0.0.1:"));
		assert_true(cursor_decimal(&port, 65535, &number));
		*ret_port = (uint16_t)number;
	}
	*ret_said = said[0];
	return child;
}

static void
ask_s_server(struct pair *pair, uint16_t port)
{
	struct endpoint to = { peer_address("127.0.0.1"), port };
	int fd = peer_connected(SOCK_STREAM, &to), status;
	char page[65536];
	size_t got;

	peer_set_nonblocking(fd);
	pair_dial(pair, fd, "api.test", NULL);
	while ((status = stream_handshake(
		    pair->client, &pair->client_problem)) == STATUS_AGAIN)
		pair_wait(pair->client, true);
	assert_int_equal(status, STATUS_OK);
	pair_say(pair->client, "GET / HTTP/1.0\r\n\r\n");
	while ((status = stream_read(pair->client, page, sizeof(page), &got)) ==
	       STATUS_AGAIN)
		pair_wait(pair->client, true);
	assert_int_equal(status, STATUS_OK);
	assert_memory_equal(page, "HTTP/1.0 200 ok", 15);
	pair_disconnect(pair);
}

static void
server_of_openssl_answers(void **state)
{
	const struct wrong well = { 0 };
	char path[] = "/tmp/exeat-outside-XXXXXX";
	struct plain plain;
	struct pair pair;
	uint16_t port = 0;
	int said, file = mkostemp(path, O_CLOEXEC);
	pid_t child;

	(void)state;
	assert_true(file >= 0);
	pair_init(&pair);
	plain_init(&plain, pair.ca, &well);
	write_pem(path, plain.certificate, plain.key);
	child = s_server_start(path, &port, &said);
	if (child < 0) {
		(void)unlink(path);
		print_message("openssl is not installed\n");
		skip();
	}
	ask_s_server(&pair, port);
	ask_s_server(&pair, port);
	assert_int_equal(kill(child, SIGTERM), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void)close(said);
	(void)close(file);
	(void)unlink(path);
	plain_done(&plain);
	pair_done(&pair);
}

static void
server_that_is_not_tls_is_refused(void **state)
{
	struct pair pair;
	int fd[2];

	(void)state;
	pair_init(&pair);
	peer_pair(fd);
	pair_dial(&pair, fd[0], "api.test", NULL);
	assert_int_equal(send(fd[1], "220 ready\r\n", 11, 0), 11);
	assert_int_equal(stream_handshake(pair.client, &pair.client_problem),
	    STATUS_MALFORMED);
	pair_disconnect(&pair);
	(void)close(fd[1]);
	pair_done(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    certificate_that_does_not_hold_is_refused_in_words),
		cmocka_unit_test(certificate_of_another_authority_is_refused),
		cmocka_unit_test(
		    literal_is_held_against_the_addresses_of_the_certificate),
		cmocka_unit_test(version_before_tls_12_is_refused),
		cmocka_unit_test(session_is_resumed_with_the_same_host_only),
		cmocka_unit_test(refused_handshake_leaves_no_session),
		cmocka_unit_test(roots_without_a_certificate_fail_closed),
		cmocka_unit_test(connection_without_a_host_is_refused),
		cmocka_unit_test(server_that_is_not_tls_is_refused),
		cmocka_unit_test(server_of_openssl_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
