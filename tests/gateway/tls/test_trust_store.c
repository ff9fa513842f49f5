#include "gateway/tls/trust_store.h"

#include "tests/gateway/tls/pair.h"

#include <sys/mman.h>
#include <sys/stat.h>

/* A folder of its own, and one file in it. */
struct folder {
	char path[64], file[96];
};

static void
folder_make(struct folder *folder, const char *name, struct cursor text)
{
	FILE *out;

	assert_true(snprintf(folder->path, sizeof(folder->path), "%s",
			"/tmp/exeat-trust-XXXXXX") > 0);
	assert_non_null(mkdtemp(folder->path));
	assert_true(snprintf(folder->file, sizeof(folder->file), "%s/%s",
			folder->path, name) > 0);
	out = fopen(folder->file, "we");
	assert_non_null(out);
	assert_int_equal(fwrite(text.at, 1, text.left, out), text.left);
	assert_int_equal(fclose(out), 0);
}

static void
folder_remove(struct folder *folder)
{
	assert_int_equal(unlink(folder->file), 0);
	assert_int_equal(rmdir(folder->path), 0);
}

static struct run_ca *
authority(const char *name)
{
	struct problem problem;
	struct run_ca *ca = run_ca_new(name, pair_wall_us(), &problem);

	assert_non_null(ca);
	return ca;
}

/* How many certificates OpenSSL reads from it. */
static int
certificates_in(int fd)
{
	FILE *in = fdopen(dup(fd), "re");
	X509 *one;
	int count = 0;

	assert_non_null(in);
	while ((one = PEM_read_X509(in, NULL, NULL, NULL)) != NULL) {
		count++;
		X509_free(one);
	}
	ERR_clear_error();
	(void)fclose(in);
	return count;
}

/* Case T07: what replaces the system's roots holds them all, and ours. */
static void
bundle_has_the_roots_and_the_authority(void **state)
{
	struct run_ca *root = authority("root"), *run = authority("run");
	struct cursor text = run_ca_pem(root);
	struct folder folder;
	struct problem problem;
	struct trust_store *store;
	int fd;

	(void)state;
	/* The last line has no end, as happens in files made by hand. */
	text.left--;
	folder_make(&folder, "roots.pem", text);
	store = trust_store_read(folder.file, &problem);
	assert_non_null(store);
	assert_int_equal(
	    trust_store_bundle(store, run, &fd, &problem), STATUS_OK);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	assert_int_equal(certificates_in(fd), 2);
	(void)close(fd);
	assert_int_equal(
	    trust_store_bundle(NULL, run, &fd, &problem), STATUS_OK);
	assert_int_equal(certificates_in(fd), 1);
	(void)close(fd);
	trust_store_free(store);
	folder_remove(&folder);
	run_ca_free(root);
	run_ca_free(run);
}

static void
bundle_cannot_be_changed_any_more(void **state)
{
	struct run_ca *run = authority("run");
	struct problem problem;
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(
	    trust_store_bundle(NULL, run, &fd, &problem), STATUS_OK);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, run_ca_pem(run).left);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fcntl(fd, F_GET_SEALS),
	    F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	(void)close(fd);
	run_ca_free(run);
}

static void
folder_of_certificates_is_read_as_one(void **state)
{
	struct run_ca *root = authority("root");
	struct folder folder;
	struct problem problem;
	struct trust_store *store;

	(void)state;
	folder_make(&folder, "one.crt", run_ca_pem(root));
	store = trust_store_read(folder.path, &problem);
	assert_non_null(store);
	assert_int_equal(trust_store_roots(store).left, run_ca_pem(root).left);
	trust_store_free(store);
	folder_remove(&folder);
	run_ca_free(root);
}

static void
place_without_certificates_is_refused(void **state)
{
	struct folder folder;
	struct problem problem;

	(void)state;
	folder_make(&folder, "empty.pem", cursor_of_text("# nothing yet\n"));
	assert_null(trust_store_read(folder.file, &problem));
	assert_non_null(strstr(problem.text, "no certificate in"));
	assert_null(trust_store_read(folder.path, &problem));
	folder_remove(&folder);
	assert_null(trust_store_read(folder.file, &problem));
	assert_non_null(strstr(problem.text, "cannot read"));
}

static void
file_beyond_the_limit_is_refused(void **state)
{
	struct problem problem;
	int before = peer_descriptors();

	(void)state;
	assert_null(trust_store_read("/dev/zero", &problem));
	assert_non_null(strstr(problem.text, "too long"));
	assert_int_equal(peer_descriptors(), before);
}

/* Debian's bundle, where this machine has one: OpenSSL reads all of it. */
static void
roots_of_this_machine_are_read(void **state)
{
	struct problem problem;
	struct trust_store *store = trust_store_new(&problem);
	struct run_ca *run;
	int fd;

	(void)state;
	if (store == NULL) {
		print_message("%s\n", problem.text);
		skip();
	}
	run = authority("run");
	assert_int_equal(
	    trust_store_bundle(store, run, &fd, &problem), STATUS_OK);
	assert_true(certificates_in(fd) > 50);
	(void)close(fd);
	run_ca_free(run);
	trust_store_free(store);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bundle_has_the_roots_and_the_authority),
		cmocka_unit_test(bundle_cannot_be_changed_any_more),
		cmocka_unit_test(folder_of_certificates_is_read_as_one),
		cmocka_unit_test(place_without_certificates_is_refused),
		cmocka_unit_test(file_beyond_the_limit_is_refused),
		cmocka_unit_test(roots_of_this_machine_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
