#include "gateway/launch/remote.h"

#include <string.h>
#include <sys/uio.h>

void
remote_begin(struct remote *remote, pid_t tid)
{
	remote->tid = tid;
	remote->next = 0;
	remote->begun = false;
	for (size_t i = 0; i < REMOTE_PAGES; i++)
		remote->pages[i].there = false;
}

static uint64_t
page_of(uint64_t address)
{
	return address - address % REMOTE_PAGE;
}

/* The place of a page that was read; REMOTE_PAGES when it was not. */
static size_t
find(const struct remote *remote, uint64_t from)
{
	size_t place = 0;

	while (place < REMOTE_PAGES && (!remote->pages[place].there ||
					   remote->pages[place].from != from))
		place++;
	return place;
}

static bool
is_among(const uint64_t *pages, size_t count, uint64_t from)
{
	for (size_t i = 0; i < count; i++)
		if (pages[i] == from)
			return true;
	return false;
}

/* One call for all of them: it ends at the first that cannot be read. */
static void
read_pages(struct remote *remote, const uint64_t *pages, size_t count)
{
	struct iovec ours[REMOTE_PAGES], theirs[REMOTE_PAGES];
	size_t places[REMOTE_PAGES];
	ssize_t got;

	for (size_t i = 0; i < count; i++) {
		size_t place = (remote->next + i) % REMOTE_PAGES;

		places[i] = place;
		remote->pages[place].there = false;
		ours[i] = (struct iovec){ remote->bytes[place], REMOTE_PAGE };
		theirs[i] = (struct iovec){ .iov_len = REMOTE_PAGE };
		memcpy(&theirs[i].iov_base, &pages[i], sizeof(pages[i]));
	}
	got = process_vm_readv(remote->tid, ours, count, theirs, count, 0);
	for (size_t i = 0; i < count && got >= REMOTE_PAGE; i++) {
		remote->pages[places[i]].from = pages[i];
		remote->pages[places[i]].there = true;
		remote->next = (places[i] + 1) % REMOTE_PAGES;
		got -= REMOTE_PAGE;
	}
}

/* Behind what was asked for: one that cannot be read ends the call. */
static size_t
add_guesses(const struct remote *remote, uint64_t *pages, size_t count)
{
	for (size_t i = 0; i < REMOTE_GUESSES && count < REMOTE_PAGES; i++)
		if (remote->guesses[i] != 0 &&
		    !is_among(pages, count, remote->guesses[i]))
			pages[count++] = remote->guesses[i];
	return count;
}

static void
keep_guesses(struct remote *remote, const uint64_t *pages, size_t count)
{
	for (size_t i = 0; i < REMOTE_GUESSES; i++)
		remote->guesses[i] = i < count ? pages[i] : 0;
}

void
remote_want(struct remote *remote, const uint64_t *addresses, size_t count)
{
	uint64_t pages[REMOTE_PAGES];
	size_t wanted = 0;

	for (size_t i = 0; i < count && wanted < REMOTE_PAGES; i++) {
		uint64_t from = page_of(addresses[i]);

		if (from != 0 && find(remote, from) == REMOTE_PAGES &&
		    !is_among(pages, wanted, from))
			pages[wanted++] = from;
	}
	if (wanted == 0)
		return;
	if (remote->begun)
		keep_guesses(remote, pages, wanted);
	else
		wanted = add_guesses(remote, pages, wanted);
	remote->begun = true;
	read_pages(remote, pages, wanted);
}

bool
remote_at(struct remote *remote, uint64_t address, struct cursor *ret)
{
	uint64_t from = page_of(address);
	size_t place = find(remote, from), skip = address - from;

	if (place == REMOTE_PAGES) {
		remote_want(remote, &address, 1);
		place = find(remote, from);
	}
	if (place == REMOTE_PAGES)
		return false;
	*ret = cursor_of(remote->bytes[place] + skip, REMOTE_PAGE - skip);
	return true;
}
