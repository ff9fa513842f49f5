/*
 * needle: how a stream is cut makes no difference to what is found; hits rise
 * and never overlap; what is held never reaches behind the last hit; a plain
 * hit is really there, and where the plain string stands something is hit.
 */
#include "gateway/proto/needle.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

enum {
	HITS_MAX = 64
};

static const char *const texts[] = { "ghp_AAaa", "AAaaghp_AAaa",
	"\"\\/%%/+=", "aaaaaaaaaaaa" };

/* Takes the stream in pieces of at most so many bytes. */
static size_t
find_all(struct needle *needle, const uint8_t *bytes, size_t length,
    size_t piece, struct needle_hit hits[HITS_MAX])
{
	uint64_t floor = 0;
	size_t count = 0;

	needle_reset(needle);
	for (size_t at = 0; at < length; at += piece) {
		size_t size = length - at < piece ? length - at : piece;
		struct cursor in = cursor_of(bytes + at, size);
		struct needle_hit hit;

		while (needle_find(needle, &in, &hit)) {
			assert(hit.begin >= floor && hit.begin < hit.end);
			assert(hit.end <= at + size);
			floor = hit.end;
			if (count < HITS_MAX)
				hits[count++] = hit;
		}
		assert(needle_held(needle) <= at + size - floor);
	}
	return count;
}

static bool
is_plainly_in(const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (memmem(bytes, length, texts[i], strlen(texts[i])) != NULL)
			return true;
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor list[sizeof(texts) / sizeof(texts[0])];
	struct needle_hit whole[HITS_MAX], cut[HITS_MAX];
	size_t count, piece;
	struct needles *needles;
	struct needle *needle;

	if (length < 2)
		return 0;
	piece = bytes[0] % 16 + 1u;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		list[i] = cursor_of_text(texts[i]);
	needles =
	    needles_new(list, sizeof(texts) / sizeof(texts[0]), bytes[0] > 127);
	needle = needles == NULL ? NULL : needle_new(needles);
	if (needle != NULL) {
		count = find_all(needle, bytes, length, length, whole);
		assert(find_all(needle, bytes, length, piece, cut) == count);
		for (size_t i = 0; i < count; i++) {
			const char *text = texts[whole[i].which];

			assert(whole[i].begin == cut[i].begin);
			assert(whole[i].end == cut[i].end);
			if (whole[i].plain && bytes[0] <= 127)
				assert(memcmp(bytes + whole[i].begin, text,
					   strlen(text)) == 0);
		}
		assert(count > 0 || !is_plainly_in(bytes, length));
	}
	needle_free(needle);
	needles_free(needles);
	return 0;
}
