/*
 * deny_call - runs a program that may not make one system call.
 *
 * usage: deny_call NUMBER PROGRAM [ARGUMENTS...]
 *
 * The call answers EPERM.  With this each step of a launch is made to fail as
 * a hardened machine would make it fail.
 */
#include "schema/attr.h"
#include "schema/cursor.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct cursor text;
	uint64_t number;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (argc < 3)
		return 99;
	text = cursor_of_text(argv[1]);
	if (!cursor_decimal(&text, UINT32_MAX, &number))
		return 99;
	code[1].k = (uint32_t)number;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return 99;
	(void)execve(argv[2], argv + 2, environ);
	perror(argv[2]);
	return 99;
}
