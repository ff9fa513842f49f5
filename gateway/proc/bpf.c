#include "gateway/proc/bpf.h"

#include "schema/status.h"

#include <assert.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
/* Numbers from here on are the x32 forms of the same calls. */
#define FIRST_FOREIGN 0x40000000
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#define FIRST_FOREIGN 0x40000000
#else
/* cppcheck-suppress preprocessorErrorDirective; it defines no machine. */
#error "system calls are not listed for this architecture"
#endif

void
bpf_emit(struct bpf *f, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
	assert(f->length < BPF_PROGRAM_MAX);
	f->code[f->length++] = (struct sock_filter){ code, yes, no, value };
}

void
bpf_load(struct bpf *f, size_t offset)
{
	bpf_emit(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

void
bpf_load_number(struct bpf *f)
{
	bpf_load(f, offsetof(struct seccomp_data, nr));
}

void
bpf_load_argument(struct bpf *f, size_t index)
{
	bpf_load(
	    f, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

void
bpf_answer(struct bpf *f, uint32_t action)
{
	bpf_emit(f, BPF_RET | BPF_K, action, 0, 0);
}

void
bpf_when(struct bpf *f, uint16_t comparison, uint32_t value)
{
	bpf_emit(f, BPF_JMP | BPF_K | comparison, value, 0, 1);
}

void
bpf_deny_when(struct bpf *f, uint16_t comparison, uint32_t value, int error)
{
	bpf_when(f, comparison, value);
	bpf_answer(f, SECCOMP_RET_ERRNO | (uint32_t)error);
}

size_t
bpf_block_begin(struct bpf *f, unsigned number, size_t argument)
{
	bpf_emit(f, BPF_JMP | BPF_K | BPF_JEQ, number, 0, 0);
	bpf_load_argument(f, argument);
	return f->length - 2;
}

void
bpf_block_end(struct bpf *f, size_t begin)
{
	bpf_answer(f, SECCOMP_RET_ALLOW);
	f->code[begin].jf = (uint8_t)(f->length - begin - 1);
}

void
bpf_native_only(struct bpf *f)
{
	bpf_load(f, offsetof(struct seccomp_data, arch));
	bpf_emit(f, BPF_JMP | BPF_K | BPF_JEQ, NATIVE, 1, 0);
	bpf_answer(f, SECCOMP_RET_KILL_PROCESS);
	bpf_load_number(f);
	bpf_when(f, BPF_JGE, FIRST_FOREIGN);
	bpf_answer(f, SECCOMP_RET_KILL_PROCESS);
}

int
bpf_install(struct bpf *f)
{
	struct sock_fprog program = { .filter = f->code,
		.len = (unsigned short)f->length };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}
