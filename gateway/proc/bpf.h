/*
 * bpf - a seccomp filter put together instruction by instruction.
 *
 * libseccomp cannot answer one way for an unknown call and another for a known
 * one, and two forms of one list would have to be kept equal; so there is one
 * small assembler, for what we do to the sandbox and to ourselves.
 *
 * A filter that does not fit BPF_PROGRAM_MAX is a mistake of ours.
 */
#ifndef GATEWAY_PROC_BPF_H
#define GATEWAY_PROC_BPF_H

#include "schema/attr.h"

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#define BPF_PROGRAM_MAX 328

struct bpf {
	struct sock_filter code[BPF_PROGRAM_MAX];
	size_t length;
};

void bpf_emit(
    struct bpf *f, uint16_t code, uint32_t value, uint8_t yes, uint8_t no);

/* Loads a word of struct seccomp_data. */
void bpf_load(struct bpf *f, size_t offset);
void bpf_load_number(struct bpf *f);

/* The low half of an argument; both architectures are little-endian. */
void bpf_load_argument(struct bpf *f, size_t index);

void bpf_answer(struct bpf *f, uint32_t action);

/* Compares; if it holds, the next instruction runs, else the one after. */
void bpf_when(struct bpf *f, uint16_t comparison, uint32_t value);

void bpf_deny_when(
    struct bpf *f, uint16_t comparison, uint32_t value, int error);

/*
 * What follows, up to bpf_block_end(), is only for one call: everybody else
 * jumps over it.  Inside, the number is no longer loaded; an argument is.
 * What gets to the end of it is allowed.
 */
size_t bpf_block_begin(struct bpf *f, unsigned number, size_t argument);
void bpf_block_end(struct bpf *f, size_t begin);

/* Calls of another architecture, or of its other forms, kill the process. */
void bpf_native_only(struct bpf *f);

/* Needs no_new_privs; holds from now on.  STATUS_SYSTEM with errno set. */
int bpf_install(struct bpf *f) MUST_CHECK;

#endif
