#include "gateway/tls/inside.h"

#include "tests/gateway/tls/pair.h"

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/wait.h>

static const struct cursor nothing = { NULL, 0 };
static const char *const only_h1[] = { "http/1.1", NULL };
static const char *const only_h2[] = { "h2", NULL };
static const char *const both[] = { "h2", "http/1.1", NULL };

/* Case S21: the hello was read before, cut anywhere, whatever came with it. */
static void
hello_read_before_is_replayed_whole_or_in_part(void **state)
{
	struct pair pair;
	unsigned char hello[4096];
	struct problem problem;

	(void)state;
	pair_init(&pair);
	for (size_t cut = 1; cut < 600; cut += cut < 20 ? 1 : 61) {
		ssize_t length;
		int fd[2];

		peer_pair(fd);
		pair_dial(&pair, fd[0], "api.test", only_h1);
		assert_int_equal(
		    stream_handshake(pair.client, &problem), STATUS_AGAIN);
		pair_settle(fd[1], fd[1]);
		length = recv(fd[1], hello, cut, 0);
		assert_true(length > 0);
		pair_accept(&pair, fd[1], "api.test", only_h1,
		    cursor_of(hello, (size_t)length));
		pair_shake(&pair);
		assert_int_equal(pair.client_status, STATUS_OK);
		assert_int_equal(pair.server_status, STATUS_OK);
		pair_say(pair.client, "hello");
		pair_expect(pair.server, "hello");
		pair_disconnect(&pair);
	}
	pair_done(&pair);
}

static void
agree(struct pair *pair, const char *const *offered, const char *const *spoken,
    const char *agreed)
{
	int fd[2];

	peer_pair(fd);
	pair_accept(pair, fd[1], "api.test", spoken, nothing);
	pair_dial(pair, fd[0], "api.test", offered);
	pair_shake(pair);
	assert_int_equal(pair->client_status, STATUS_OK);
	assert_int_equal(pair->server_status, STATUS_OK);
	assert_true(cursor_equals(stream_alpn(pair->server), agreed));
	assert_true(cursor_equals(stream_alpn(pair->client), agreed));
	pair_disconnect(pair);
}

/* Case S08: a client of gRPC offers h2 alone, and must get it. */
static void
best_protocol_that_the_client_offers_is_chosen(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	agree(&pair, only_h2, both, "h2");
	agree(&pair, both, both, "h2");
	agree(&pair, both, only_h1, "http/1.1");
	agree(&pair, only_h1, both, "http/1.1");
	agree(&pair, NULL, both, "");
	agree(&pair, both, NULL, "");
	pair_done(&pair);
}

static void
client_that_offers_nothing_we_speak_is_told_so(void **state)
{
	struct pair pair;
	int fd[2];

	(void)state;
	pair_init(&pair);
	peer_pair(fd);
	pair_accept(&pair, fd[1], "api.test", only_h1, nothing);
	pair_dial(&pair, fd[0], "api.test", only_h2);
	pair_shake(&pair);
	assert_int_equal(pair.server_status, STATUS_MALFORMED);
	assert_int_equal(pair.client_status, STATUS_MALFORMED);
	assert_non_null(
	    strstr(pair.client_problem.text, "no application protocol"));
	pair_done(&pair);
}

static void
client_that_distrusts_us_is_named_as_the_cause(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair_connect(&pair, "other.test", "api.test");
	assert_int_equal(pair.client_status, STATUS_REFUSED);
	assert_int_equal(pair.server_status, STATUS_MALFORMED);
	assert_non_null(strstr(pair.server_problem.text, "alert"));
	pair_done(&pair);
}

/* A program of the sandbox, as plain OpenSSL. */
struct plain {
	SSL_CTX *context;
	SSL *ssl;
};

static void
plain_init(struct plain *plain, struct pair *pair)
{
	plain->context = SSL_CTX_new(TLS_client_method());
	assert_non_null(plain->context);
	assert_int_equal(
	    X509_STORE_add_cert(SSL_CTX_get_cert_store(plain->context),
		run_ca_certificate(pair->ca)),
	    1);
	SSL_CTX_set_verify(plain->context, SSL_VERIFY_PEER, NULL);
	plain->ssl = NULL;
}

/* Returns what our side says of the handshake. */
static int
plain_connect(
    struct plain *plain, struct pair *pair, const char *host, SSL_SESSION *from)
{
	int fd[2], status = STATUS_AGAIN;
	size_t put;

	peer_pair(fd);
	pair_accept(pair, fd[1], host, NULL, nothing);
	plain->ssl = SSL_new(plain->context);
	assert_int_equal(
	    SSL_set_tlsext_host_name(plain->ssl, unconst(host)), 1);
	assert_int_equal(SSL_set_fd(plain->ssl, fd[0]), 1);
	if (from != NULL)
		assert_int_equal(SSL_set_session(plain->ssl, from), 1);
	for (int i = 0; i < 20 && status == STATUS_AGAIN; i++) {
		(void)SSL_connect(plain->ssl);
		pair_settle(fd[0], fd[1]);
		status = stream_handshake(pair->server, &pair->server_problem);
	}
	if (status == STATUS_OK) {
		(void)SSL_connect(plain->ssl);
		assert_int_equal(
		    stream_write(pair->server, "x", 1, &put), STATUS_OK);
		pair_read_plain(plain->ssl);
	}
	ERR_clear_error();
	return status;
}

static void
plain_disconnect(struct plain *plain, struct pair *pair)
{
	int fd = SSL_get_fd(plain->ssl);

	SSL_set_shutdown(plain->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(STEAL(plain->ssl));
	(void)close(fd);
	pair_disconnect(pair);
}

static void
ticket_resumes_for_its_host_and_no_other(void **state)
{
	struct pair pair;
	struct plain plain;
	SSL_SESSION *session;

	(void)state;
	pair_init(&pair);
	plain_init(&plain, &pair);
	assert_int_equal(
	    plain_connect(&plain, &pair, "api.test", NULL), STATUS_OK);
	assert_false(stream_is_resumed(pair.server));
	session = SSL_get1_session(plain.ssl);
	plain_disconnect(&plain, &pair);
	assert_int_equal(
	    plain_connect(&plain, &pair, "api.test", session), STATUS_OK);
	assert_true(stream_is_resumed(pair.server));
	plain_disconnect(&plain, &pair);
	assert_int_equal(
	    plain_connect(&plain, &pair, "other.test", session), STATUS_OK);
	assert_false(stream_is_resumed(pair.server));
	plain_disconnect(&plain, &pair);
	SSL_SESSION_free(session);
	SSL_CTX_free(plain.context);
	pair_done(&pair);
}

static void
version_before_tls_12_is_refused(void **state)
{
	static const struct {
		int version, expected;
	} cases[] = { { TLS1_1_VERSION, STATUS_MALFORMED },
		{ TLS1_2_VERSION, STATUS_OK }, { TLS1_3_VERSION, STATUS_OK } };
	struct pair pair;
	struct plain plain;

	(void)state;
	pair_init(&pair);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		plain_init(&plain, &pair);
		SSL_CTX_set_security_level(plain.context, 0);
		assert_int_equal(SSL_CTX_set_min_proto_version(
				     plain.context, cases[i].version),
		    1);
		assert_int_equal(SSL_CTX_set_max_proto_version(
				     plain.context, cases[i].version),
		    1);
		assert_int_equal(plain_connect(&plain, &pair, "api.test", NULL),
		    cases[i].expected);
		plain_disconnect(&plain, &pair);
		SSL_CTX_free(plain.context);
	}
	pair_done(&pair);
}

static void
bytes_that_are_no_tls_are_refused(void **state)
{
	struct pair pair;
	struct problem problem;
	int fd[2];

	(void)state;
	pair_init(&pair);
	peer_pair(fd);
	pair_accept(&pair, fd[1], "api.test", NULL,
	    cursor_of_text("GET / HTTP/1.1\r\nHost: api.test\r\n\r\n"));
	assert_int_equal(
	    stream_handshake(pair.server, &problem), STATUS_MALFORMED);
	assert_true(problem.text[0] != '\0');
	(void)close(fd[0]);
	pair_done(&pair);
}

static void
client_that_leaves_is_told_from_one_that_errs(void **state)
{
	struct pair pair;
	struct problem problem;
	int fd[2];

	(void)state;
	pair_init(&pair);
	peer_pair(fd);
	pair_accept(&pair, fd[1], "api.test", NULL, nothing);
	assert_int_equal(stream_handshake(pair.server, &problem), STATUS_AGAIN);
	(void)close(fd[0]);
	assert_int_equal(
	    stream_handshake(pair.server, &problem), STATUS_CLOSED);
	assert_non_null(strstr(problem.text, "left during"));
	pair_done(&pair);
}

/* Answers one request with a body of its own path. */
static void
serve_once(struct pair *pair, int listening)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
				     "Connection: close\r\n\r\nwell";
	char head[4096];
	size_t got, put;
	struct pollfd wait = { listening, POLLIN, 0 };
	int fd, status;

	assert_true(poll(&wait, 1, PEER_PATIENCE_MS) > 0);
	fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(fd >= 0);
	pair_accept(pair, fd, "localhost", only_h1, nothing);
	while ((status = stream_handshake(
		    pair->server, &pair->server_problem)) == STATUS_AGAIN)
		pair_wait(pair->server, true);
	assert_int_equal(status, STATUS_OK);
	while (
	    stream_read(pair->server, head, sizeof(head), &got) == STATUS_AGAIN)
		pair_wait(pair->server, true);
	assert_memory_equal(head, "GET /some HTTP/1.1", 18);
	assert_int_equal(
	    stream_write(pair->server, answer, sizeof(answer) - 1, &put),
	    STATUS_OK);
	/* A client that has its answer may be gone already. */
	status = stream_shutdown(pair->server);
	assert_true(status == STATUS_OK || status == STATUS_SYSTEM);
	pair_disconnect(pair);
}

/* curl with nothing but the bundle: what the programs in a sandbox do. */
static void
curl_trusts_the_leaf(void **state)
{
	struct pair pair;
	struct cursor pem;
	int listening = peer_listening("127.0.0.1", 0), said[2], status;
	int bundle = memfd_create("bundle", 0);
	char url[64], file[32], answer[64] = { 0 };
	char *const arguments[] = { (char[]){ "/usr/bin/curl" },
		(char[]){ "-sS" }, (char[]){ "--cacert" }, file, url, NULL };
	pid_t child;

	(void)state;
	pair_init(&pair);
	pem = run_ca_pem(pair.ca);
	assert_int_equal(write(bundle, pem.at, pem.left), pem.left);
	assert_true(snprintf(file, sizeof(file), "/dev/fd/%d", bundle) > 0);
	assert_true(snprintf(url, sizeof(url), "https://localhost:%u/some",
			(unsigned)peer_own_end(listening).port) > 0);
	assert_int_equal(pipe(said), 0);
	child = pair_spawn(arguments, bundle, said[1]);
	if (child < 0) {
		print_message("curl is not installed\n");
		skip();
	}
	(void)close(said[1]);
	serve_once(&pair, listening);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(said[0], answer, sizeof(answer)), 4);
	assert_string_equal(answer, "well");
	(void)close(said[0]);
	(void)close(bundle);
	(void)close(listening);
	pair_done(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    hello_read_before_is_replayed_whole_or_in_part),
		cmocka_unit_test(
		    best_protocol_that_the_client_offers_is_chosen),
		cmocka_unit_test(
		    client_that_offers_nothing_we_speak_is_told_so),
		cmocka_unit_test(
		    client_that_distrusts_us_is_named_as_the_cause),
		cmocka_unit_test(ticket_resumes_for_its_host_and_no_other),
		cmocka_unit_test(version_before_tls_12_is_refused),
		cmocka_unit_test(bytes_that_are_no_tls_are_refused),
		cmocka_unit_test(client_that_leaves_is_told_from_one_that_errs),
		cmocka_unit_test(curl_trusts_the_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
