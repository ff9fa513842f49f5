#include "gateway/tls/certificate.h"

#include "schema/address.h"
#include "schema/status.h"

#include <openssl/asn1.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>

#define SERIAL_BYTES 16

/* The left 160 bits of SHA-256, RFC 7093 section 2 (1). */
#define KEY_ID_BYTES 20

/* Bits of KeyUsage, RFC 5280 section 4.2.1.3. */
enum {
	USAGE_DIGITAL_SIGNATURE = 0,
	USAGE_KEY_CERT_SIGN = 5,
	USAGE_CRL_SIGN = 6
};

static int
status_of(int one_is_well)
{
	return one_is_well == 1 ? STATUS_OK : STATUS_PROBLEM;
}

struct evp_pkey_st *
certificate_key_new(void)
{
	return EVP_EC_gen("P-256");
}

static int
certificate_set_serial(X509 *certificate)
{
	unsigned char bytes[SERIAL_BYTES];
	BIGNUM *number;
	int status;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return STATUS_PROBLEM;
	/* Positive, and of the same length always. */
	bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40);
	number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	if (number == NULL)
		return STATUS_PROBLEM;
	status = BN_to_ASN1_INTEGER(
		     number, X509_get_serialNumber(certificate)) == NULL
		     ? STATUS_PROBLEM
		     : STATUS_OK;
	BN_free(number);
	return status;
}

struct x509_st *
certificate_new(struct evp_pkey_st *key, int64_t begins, int64_t ends)
{
	X509 *certificate = X509_new();

	if (certificate == NULL)
		return NULL;
	if (X509_set_version(certificate, X509_VERSION_3) != 1 ||
	    certificate_set_serial(certificate) != STATUS_OK)
		goto fail;
	if (ASN1_TIME_set(X509_getm_notBefore(certificate), begins) == NULL ||
	    ASN1_TIME_set(X509_getm_notAfter(certificate), ends) == NULL)
		goto fail;
	if (X509_set_pubkey(certificate, key) != 1)
		goto fail;
	return certificate;
fail:
	X509_free(certificate);
	return NULL;
}

int
certificate_set_name(struct x509_st *certificate, const char *name)
{
	X509_NAME *subject = X509_get_subject_name(certificate);

	return status_of(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
	    (const unsigned char *)name, -1, -1, 0));
}

static int
certificate_add(X509 *certificate, int nid, void *value, bool critical)
{
	return status_of(X509_add1_ext_i2d(
	    certificate, nid, value, critical, X509V3_ADD_DEFAULT));
}

static int
certificate_set_constraints(X509 *certificate, bool authority)
{
	BASIC_CONSTRAINTS *constraints = BASIC_CONSTRAINTS_new();
	int status = STATUS_PROBLEM;

	if (constraints == NULL)
		return STATUS_PROBLEM;
	if (authority) {
		constraints->ca = 0xff;
		/* Of what it signs, nothing may sign in turn. */
		constraints->pathlen = ASN1_INTEGER_new();
	}
	if (!authority || (constraints->pathlen != NULL &&
			      ASN1_INTEGER_set(constraints->pathlen, 0) == 1))
		status = certificate_add(
		    certificate, NID_basic_constraints, constraints, true);
	BASIC_CONSTRAINTS_free(constraints);
	return status;
}

static int
certificate_set_key_usage(X509 *certificate, bool authority)
{
	ASN1_BIT_STRING *bits = ASN1_BIT_STRING_new();
	int well, status = STATUS_PROBLEM;

	if (bits == NULL)
		return STATUS_PROBLEM;
	if (authority)
		well = ASN1_BIT_STRING_set_bit(bits, USAGE_KEY_CERT_SIGN, 1) ==
			   1 &&
		       ASN1_BIT_STRING_set_bit(bits, USAGE_CRL_SIGN, 1) == 1;
	else
		well = ASN1_BIT_STRING_set_bit(
			   bits, USAGE_DIGITAL_SIGNATURE, 1) == 1;
	if (well)
		status =
		    certificate_add(certificate, NID_key_usage, bits, true);
	ASN1_BIT_STRING_free(bits);
	return status;
}

static int
certificate_set_server_auth(X509 *certificate)
{
	EXTENDED_KEY_USAGE *uses = EXTENDED_KEY_USAGE_new();
	ASN1_OBJECT *server = OBJ_nid2obj(NID_server_auth);
	int status = STATUS_PROBLEM;

	if (uses == NULL)
		return STATUS_PROBLEM;
	if (server != NULL && sk_ASN1_OBJECT_push(uses, server) > 0)
		status = certificate_add(
		    certificate, NID_ext_key_usage, uses, false);
	EXTENDED_KEY_USAGE_free(uses);
	return status;
}

static ASN1_OCTET_STRING *
certificate_key_id(const X509 *certificate)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length;
	ASN1_OCTET_STRING *id;

	if (X509_pubkey_digest(certificate, EVP_sha256(), digest, &length) != 1)
		return NULL;
	id = ASN1_OCTET_STRING_new();
	if (id != NULL &&
	    ASN1_OCTET_STRING_set(id, digest, KEY_ID_BYTES) != 1) {
		ASN1_OCTET_STRING_free(id);
		return NULL;
	}
	return id;
}

static int
certificate_set_own_id(X509 *certificate)
{
	ASN1_OCTET_STRING *id = certificate_key_id(certificate);
	int status;

	if (id == NULL)
		return STATUS_PROBLEM;
	status =
	    certificate_add(certificate, NID_subject_key_identifier, id, false);
	ASN1_OCTET_STRING_free(id);
	return status;
}

static int
certificate_set_issuer_id(X509 *certificate, const X509 *issuer)
{
	AUTHORITY_KEYID *authority = AUTHORITY_KEYID_new();
	int status = STATUS_PROBLEM;

	if (authority == NULL)
		return STATUS_PROBLEM;
	authority->keyid = certificate_key_id(issuer);
	if (authority->keyid != NULL)
		status = certificate_add(certificate,
		    NID_authority_key_identifier, authority, false);
	AUTHORITY_KEYID_free(authority);
	return status;
}

int
certificate_set_use(struct x509_st *certificate, enum certificate_use use,
    struct x509_st *issuer)
{
	bool authority = use == CERTIFICATE_SIGNS_CERTIFICATES;
	int status = certificate_set_constraints(certificate, authority);

	if (status == STATUS_OK)
		status = certificate_set_key_usage(certificate, authority);
	if (status == STATUS_OK && !authority)
		status = certificate_set_server_auth(certificate);
	if (status == STATUS_OK)
		status = certificate_set_own_id(certificate);
	if (status == STATUS_OK)
		status = certificate_set_issuer_id(certificate, issuer);
	return status;
}

/* Gives the name's value and type; NULL when there is no memory. */
static ASN1_STRING *
host_value(const char *host, int *ret_type)
{
	struct address address;
	bool literal = address_parse(host, strlen(host), &address) == STATUS_OK;
	ASN1_STRING *value =
	    literal ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
	int set;

	if (value == NULL)
		return NULL;
	if (literal)
		set = ASN1_STRING_set(value, address.bytes, address.length);
	else
		set = ASN1_STRING_set(value, host, -1);
	if (set != 1) {
		ASN1_STRING_free(value);
		return NULL;
	}
	*ret_type = literal ? GEN_IPADD : GEN_DNS;
	return value;
}

int
certificate_set_host(
    struct x509_st *certificate, const char *host, bool critical)
{
	GENERAL_NAMES *names = GENERAL_NAMES_new();
	GENERAL_NAME *name = GENERAL_NAME_new();
	int type, status = STATUS_PROBLEM;
	ASN1_STRING *value = host_value(host, &type);

	if (names == NULL || name == NULL || value == NULL)
		goto done;
	GENERAL_NAME_set0_value(name, type, STEAL(value));
	if (sk_GENERAL_NAME_push(names, name) <= 0)
		goto done;
	name = NULL;
	status =
	    certificate_add(certificate, NID_subject_alt_name, names, critical);
done:
	ASN1_STRING_free(value);
	GENERAL_NAME_free(name);
	GENERAL_NAMES_free(names);
	return status;
}

int
certificate_sign(struct x509_st *certificate, struct x509_st *issuer,
    struct evp_pkey_st *issuer_key)
{
	if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) !=
	    1)
		return STATUS_PROBLEM;
	/* The length of the signature, or 0. */
	return X509_sign(certificate, issuer_key, EVP_sha256()) > 0
		   ? STATUS_OK
		   : STATUS_PROBLEM;
}
