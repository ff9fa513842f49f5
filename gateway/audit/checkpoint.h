/*
 * checkpoint - the tree over all blocks at one time, signed.
 *
 * A note in the form of C2SP tlog-checkpoint: the log's name, the number of
 * blocks and the root, then an Ed25519 signature.  So tools and witnesses of
 * transparency logs read it.
 */
#ifndef GATEWAY_AUDIT_CHECKPOINT_H
#define GATEWAY_AUDIT_CHECKPOINT_H

#include "gateway/audit/digest.h"
#include "gateway/audit/signer.h"

#define CHECKPOINT_ORIGIN 64 /* with its NUL; ours has 45 */
#define CHECKPOINT_NOTE 512 /* the largest that is read or written */
#define CHECKPOINT_KEY 160 /* the text of a public key, with its NUL */

struct checkpoint {
	char origin[CHECKPOINT_ORIGIN];
	uint64_t size;
	struct digest root;
	uint8_t key_id[4];
	uint8_t signature[SIGNER_SIGNATURE];
};

/* How the log of this chain is named. */
int checkpoint_origin(struct cursor chain, char ret[CHECKPOINT_ORIGIN])
    MUST_CHECK;

/* Signs origin, size and root of checkpoint, and fills in the rest. */
int checkpoint_sign(struct checkpoint *checkpoint, const struct signer *signer)
    MUST_CHECK;

/* Appends the note. */
void checkpoint_write(
    const struct checkpoint *checkpoint, struct cursor_writer *out);

/* Takes one note from the front; what follows it stays. */
int checkpoint_read(struct cursor *from, struct checkpoint *ret) MUST_CHECK;

/* Whether key has signed it. */
bool checkpoint_is_signed_by(const struct checkpoint *checkpoint,
    const uint8_t key[SIGNER_KEY]) MUST_CHECK;

/* "NAME+KEYID+BASE64", as C2SP signed-note writes a verifier's key. */
int checkpoint_key_text(const char *origin, const uint8_t key[SIGNER_KEY],
    char ret[CHECKPOINT_KEY]) MUST_CHECK;

#endif
