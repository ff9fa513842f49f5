#include "gateway/files/manifest.h"

#include "gateway/proc/fd.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_VERSION 1
#define MANIFEST_NEW ".new-manifest"

/* The workspace's path, the names and the numbers. */
#define MANIFEST_BYTES 65536

static bool
take_text(const json_t *object, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (text == NULL || strlen(text) >= size)
		return false;
	memcpy(out, text, strlen(text) + 1);
	return true;
}

static bool
take_number(const json_t *object, const char *key, int64_t *ret)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		return false;
	*ret = json_integer_value(value);
	return true;
}

/* A name that leads nowhere else. */
static bool
is_layer_name(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

static bool
take_layers(const json_t *object, struct manifest *manifest)
{
	const json_t *layers = json_object_get(object, "layers");
	size_t count = json_array_size(layers);

	if (!json_is_array(layers) || count > LIMIT_STACK)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *name = json_string_value(json_array_get(layers, i));

		if (name == NULL || strlen(name) > MANIFEST_LAYER ||
		    !is_layer_name(name))
			return false;
		memcpy(manifest->layers[i], name, strlen(name) + 1);
	}
	manifest->layer_count = count;
	return true;
}

static bool
take_all(const json_t *object, struct manifest *manifest)
{
	int64_t version, device, inode;

	if (!take_number(object, "version", &version) ||
	    version != MANIFEST_VERSION ||
	    !take_text(
		object, "name", manifest->name, sizeof(manifest->name)) ||
	    !take_text(object, "run", manifest->run, sizeof(manifest->run)) ||
	    !take_text(object, "workspace", manifest->workspace,
		sizeof(manifest->workspace)) ||
	    !take_number(object, "device", &device) ||
	    !take_number(object, "inode", &inode) ||
	    !take_number(object, "base_ns", &manifest->base_ns) ||
	    !take_layers(object, manifest))
		return false;
	manifest->device = (uint64_t)device;
	manifest->inode = (uint64_t)inode;
	manifest->discard = json_is_true(json_object_get(object, "discard"));
	return manifest->workspace[0] == '/';
}

static ssize_t
read_text(int fd, char *text)
{
	ssize_t got;

	do
		got = read(fd, text, MANIFEST_BYTES);
	while (got < 0 && errno == EINTR);
	return got;
}

int
manifest_read(
    int folder, const char *file, struct manifest *ret, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct manifest manifest = { .layer_count = 0 };
	char *text;
	json_t *object = NULL;
	ssize_t length;
	bool good;

	if (fd < 0 && errno == ENOENT)
		return STATUS_NOT_FOUND;
	if (fd < 0)
		return problem_errno(reterr, "cannot open %s", file);
	text = malloc(MANIFEST_BYTES);
	length = text == NULL ? -1 : read_text(fd, text);
	if (length > 0)
		object = json_loadb(
		    text, (size_t)length, JSON_REJECT_DUPLICATES, NULL);
	good = take_all(object, &manifest);
	json_decref(object);
	free(text);
	if (!good)
		return problem_set(
		    reterr, "%s does not read as a manifest", file);
	*ret = manifest;
	return STATUS_OK;
}

static json_t *
to_json(const struct manifest *manifest)
{
	json_t *layers = json_array();

	for (size_t i = 0; i < manifest->layer_count; i++)
		if (json_array_append_new(
			layers, json_string(manifest->layers[i])) != 0)
			goto fail;
	return json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:o}",
	    "version", MANIFEST_VERSION, "name", manifest->name, "run",
	    manifest->run, "workspace", manifest->workspace, "device",
	    (json_int_t)manifest->device, "inode", (json_int_t)manifest->inode,
	    "base_ns", (json_int_t)manifest->base_ns, "discard",
	    manifest->discard ? 1 : 0, "layers", layers);
fail:
	json_decref(layers);
	return NULL;
}

static bool
write_text(int folder, const char *text)
{
	size_t length = strlen(text);
	ON_SCOPE_EXIT(fd_done)
	int fd = openat(folder, MANIFEST_NEW,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
	    S_IRUSR | S_IWUSR);

	return fd >= 0 && write(fd, text, length) == (ssize_t)length;
}

int
manifest_write(int folder, const char *file, const struct manifest *manifest,
    struct problem *reterr)
{
	json_t *object = to_json(manifest);
	char *text = object == NULL ? NULL : json_dumps(object, JSON_INDENT(2));
	int status = STATUS_OK;

	if (text == NULL) {
		(void)problem_set(reterr,
		    "the workspace's path is not UTF-8, or there is no memory");
		status = problem_cure(
		    reterr, "rename the folder, or use --files direct");
	} else if (!write_text(folder, text) ||
		   renameat(folder, MANIFEST_NEW, folder, file) != 0) {
		status = problem_errno(reterr, "cannot write %s", file);
	}
	free(text);
	json_decref(object);
	return status;
}
