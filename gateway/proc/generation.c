#include "gateway/proc/generation.h"

#include "schema/status.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES (GENERATION_SLOTS * sizeof(uint64_t))

/* Nobody may map it to write from now on; the mapping there is, may. */
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE)

struct generation {
	uint64_t *slots;
	int fd; /* -1 in a reader */
};

static int
map(struct generation *generation, int fd, int access)
{
	void *page = mmap(NULL, PAGE_BYTES, access, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return STATUS_SYSTEM;
	generation->slots = page;
	return STATUS_OK;
}

static int
fill(struct generation *generation)
{
	if (ftruncate(generation->fd, (off_t)PAGE_BYTES) != 0 ||
	    map(generation, generation->fd, PROT_READ | PROT_WRITE) !=
		STATUS_OK ||
	    fcntl(generation->fd, F_ADD_SEALS, SEALS) != 0)
		return STATUS_SYSTEM;
	/* 0 is what a slot that there is not reads as. */
	for (size_t i = 0; i < GENERATION_SLOTS; i++)
		generation->slots[i] = 1;
	return STATUS_OK;
}

int
generation_make(struct generation **ret)
{
	struct generation *generation = calloc(1, sizeof(*generation));

	if (generation == NULL)
		return STATUS_SYSTEM;
	generation->fd =
	    memfd_create("generation", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (generation->fd < 0 || fill(generation) != STATUS_OK) {
		generation_free(generation);
		return STATUS_SYSTEM;
	}
	*ret = generation;
	return STATUS_OK;
}

int
generation_fd(const struct generation *generation)
{
	return generation->fd;
}

int
generation_open(int fd, struct generation **ret)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct generation *generation;
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) != 0 ||
	    st.st_size != (off_t)PAGE_BYTES)
		return STATUS_REFUSED;
	generation = calloc(1, sizeof(*generation));
	if (generation == NULL)
		return STATUS_SYSTEM;
	generation->fd = -1;
	if (map(generation, fd, PROT_READ) != STATUS_OK) {
		generation_free(generation);
		return STATUS_SYSTEM;
	}
	*ret = generation;
	return STATUS_OK;
}

void
generation_free(struct generation *generation)
{
	if (generation == NULL)
		return;
	if (generation->slots != NULL)
		(void)munmap(generation->slots, PAGE_BYTES);
	if (generation->fd >= 0)
		(void)close(generation->fd);
	free(generation);
}

void
generation_bump(struct generation *generation, uint16_t slot)
{
	assert(slot < GENERATION_SLOTS);
	(void)__atomic_add_fetch(&generation->slots[slot], 1, __ATOMIC_SEQ_CST);
}

uint64_t
generation_read(const struct generation *generation, uint16_t slot)
{
	if (slot >= GENERATION_SLOTS)
		return 0;
	return __atomic_load_n(&generation->slots[slot], __ATOMIC_ACQUIRE);
}
