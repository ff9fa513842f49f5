#include "gateway/files/snapshot.h"

#include "gateway/files/beneath.h"
#include "gateway/files/box.h"
#include "gateway/proc/fd.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE "sealing"

static bool
is_name(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= LIMIT_RUN_UID &&
	       strspn(name,
		   "abcdefghijklmnopqrstuvwxyz"
		   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == length &&
	       name[0] != '.';
}

/* A folder of the store; it is made when it is missing. */
static int
open_folder(
    const char *store, const char *name, int *ret_fd, struct problem *reterr)
{
	char path[LIMIT_PATH];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", store, name) >=
	    (int)sizeof(path))
		return problem_set(reterr, "the path of %s is too long", store);
	if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST)
		return problem_errno(reterr, "cannot make %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return problem_errno(reterr, "cannot open %s", path);
	*ret_fd = fd;
	return STATUS_OK;
}

/* The box's list of hidden paths goes along, before the tree does. */
static int
link_hidden(const struct box *box, int layer)
{
	if (linkat(box->folder, "hidden", layer, "hidden", 0) != 0 &&
	    errno != EEXIST)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

/* An empty layer as the sandbox's owner has it. */
static int
renew(const struct box *box, int layer)
{
	ON_SCOPE_EXIT(fd_done) int hidden = -1;
	struct stat st;

	if (fstatat(layer, "tree", &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (mkdirat(box->folder, "upper", S_IRWXU) != 0 && errno != EEXIST) ||
	    fchmodat(box->folder, "upper", st.st_mode & 01777, 0) != 0 ||
	    (unlinkat(box->folder, "hidden", 0) != 0 && errno != ENOENT))
		return STATUS_SYSTEM;
	hidden = openat(box->folder, "hidden",
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (hidden < 0)
		return STATUS_SYSTEM;
	if (geteuid() == 0 && (fchownat(box->folder, "upper", st.st_uid,
				   st.st_gid, AT_SYMLINK_NOFOLLOW) != 0 ||
				  fchown(hidden, st.st_uid, st.st_gid) != 0))
		return STATUS_SYSTEM;
	return unlinkat(box->folder, NOTE, 0) == 0 ? STATUS_OK : STATUS_SYSTEM;
}

static void
put_layer(struct manifest *manifest, const char *id)
{
	if (manifest->layer_count > 0 && strcmp(manifest->layers[0], id) == 0)
		return;
	memmove(manifest->layers[1], manifest->layers[0],
	    manifest->layer_count * sizeof(manifest->layers[0]));
	memcpy(manifest->layers[0], id, strlen(id) + 1);
	manifest->layer_count++;
}

/* Every step can have been done before. */
static int
seal(struct box *box, const char *id, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int layers = -1;
	ON_SCOPE_EXIT(fd_done) int layer = -1;
	struct stat st;
	int status = open_folder(box->store, "layers", &layers, reterr);

	if (status != STATUS_OK)
		return status;
	if (mkdirat(layers, id, S_IRWXU) != 0 && errno != EEXIST)
		return problem_errno(reterr, "cannot make a layer");
	layer = beneath_open(layers, id, O_RDONLY | O_DIRECTORY);
	if (layer < 0)
		return problem_errno(reterr, "cannot open a layer");
	if (fstatat(layer, "tree", &st, AT_SYMLINK_NOFOLLOW) != 0 &&
	    (link_hidden(box, layer) != STATUS_OK ||
		renameat2(box->folder, "upper", layer, "tree",
		    RENAME_NOREPLACE) != 0))
		return problem_errno(reterr, "cannot seal the layer");
	put_layer(&box->manifest, id);
	status =
	    manifest_write(box->folder, "manifest", &box->manifest, reterr);
	if (status != STATUS_OK)
		return status;
	return renew(box, layer) == STATUS_OK
		   ? STATUS_OK
		   : problem_errno(reterr, "cannot begin a new layer");
}

static int
write_note(const struct box *box, const char *id)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = openat(box->folder, NOTE,
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	    S_IRUSR | S_IWUSR);
	size_t length = strlen(id);

	return fd >= 0 && write(fd, id, length) == (ssize_t)length
		   ? STATUS_OK
		   : STATUS_SYSTEM;
}

int
snapshot_finish(struct box *box, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = openat(box->folder, NOTE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char id[MANIFEST_LAYER + 1];
	ssize_t length;

	if (fd < 0)
		return errno == ENOENT
			   ? STATUS_OK
			   : problem_errno(reterr, "cannot read a note");
	length = read(fd, id, sizeof(id) - 1);
	id[length < 0 ? 0 : length] = '\0';
	/* Killed before it was written: nothing had been begun. */
	if (!is_name(id))
		return unlinkat(box->folder, NOTE, 0) == 0
			   ? STATUS_OK
			   : problem_errno(reterr, "cannot remove a note");
	return seal(box, id, reterr);
}

/* A name of its own for each layer. */
static int
draw_id(char id[MANIFEST_LAYER + 1])
{
	unsigned long long draw[2];

	if (getrandom(draw, sizeof(draw), 0) != (ssize_t)sizeof(draw) ||
	    snprintf(
		id, MANIFEST_LAYER + 1, "%016llx%016llx", draw[0], draw[1]) < 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

static int
name_it(const struct box *box, const char *name, int snapshots,
    struct problem *reterr)
{
	struct manifest manifest = box->manifest;

	memcpy(manifest.run, manifest.name, sizeof(manifest.run));
	memset(manifest.name, 0, sizeof(manifest.name));
	memcpy(manifest.name, name, strlen(name));
	manifest.discard = false;
	return manifest_write(snapshots, name, &manifest, reterr);
}

int
snapshot_take(struct box *box, const char *name, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int snapshots = -1;
	char id[MANIFEST_LAYER + 1];
	struct stat st;
	int status;

	if (!is_name(name)) {
		(void)problem_set(reterr, "%.80s names no snapshot", name);
		return problem_cure(
		    reterr, "use letters, digits, dots and dashes");
	}
	if (box->manifest.layer_count + 1 > LIMIT_STACK - 1)
		return problem_set(reterr, "%s lies over %zu layers already",
		    box->manifest.name, box->manifest.layer_count);
	status = open_folder(box->store, "snapshots", &snapshots, reterr);
	if (status != STATUS_OK)
		return status;
	if (fstatat(snapshots, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		(void)problem_set(
		    reterr, "there is a snapshot %s already", name);
		return problem_cure(reterr, "choose another name");
	}
	if (draw_id(id) != STATUS_OK || write_note(box, id) != STATUS_OK)
		return problem_errno(reterr, "cannot begin to seal");
	status = seal(box, id, reterr);
	return status == STATUS_OK ? name_it(box, name, snapshots, reterr)
				   : status;
}

int
snapshot_read(const char *store, const char *name, struct manifest *ret,
    struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int snapshots = -1;
	char path[LIMIT_PATH];
	int status = STATUS_NOT_FOUND;

	if (snprintf(path, sizeof(path), "%s/snapshots", store) >=
	    (int)sizeof(path))
		return problem_set(reterr, "the path of %s is too long", store);
	snapshots = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (snapshots >= 0 && is_name(name))
		status = manifest_read(snapshots, name, ret, reterr);
	if (status != STATUS_NOT_FOUND)
		return status;
	(void)problem_set(
	    reterr, "there is no snapshot %.80s (ref.missing)", name);
	return problem_cure(reterr, "exeat snapshot RUN NAME makes one");
}
