/*
 * The machine of a profile as a file system: fakemsr PROFILE MOUNTPOINT [FUSE option...], in the foreground.
 *
 *   dev/cpu/N/msr, dev/cpu/N/cpuid   as the drivers of that name show them
 *   sys/..., proc/...                the files of the profile, numbers running
 *   access_log                       which register was read on which CPU how often, what could not be read, and how
 *                                    often each file was read from its start
 *   control                          takes lines of a profile
 */
#define FUSE_USE_VERSION 31
#include <fuse.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

#define CPUS_MAX 4096

struct tally {
	uint32_t address;
	unsigned cpu;
	bool failed;
	unsigned long n;
};

static struct profile profile;
static struct tally *tally;
static size_t n_tallies;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count(uint32_t address, unsigned cpu, bool failed)
{
	size_t i = 0;

	while (i < n_tallies && (tally[i].address != address || tally[i].cpu != cpu || tally[i].failed != failed))
		i++;
	if (i == n_tallies) {
		struct tally *grown = realloc(tally, (n_tallies + 1) * sizeof(*tally));

		if (!grown)
			return;
		tally = grown;
		tally[n_tallies++] = (struct tally){ .address = address, .cpu = cpu, .failed = failed };
	}
	tally[i].n++;
}

static char *access_log(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < n_tallies; i++)
		fprintf(out, "%s 0x%x cpu %u reads %lu\n", tally[i].failed ? "miss" : "msr", tally[i].address,
			tally[i].cpu, tally[i].n);
	for (size_t i = 0; out && i < profile.n_files; i++)
		if (profile.file[i].reads)
			fprintf(out, "file %s reads %lu\n", profile.file[i].path, profile.file[i].reads);
	if (out)
		fclose(out);
	return text;
}

/* CPU of "/dev/cpu/3/msr", -1 for other paths. */
static int device_cpu(const char *path, const char *driver)
{
	char name[16];
	int cpu, len = 0;

	if (sscanf(path, "/dev/cpu/%d/%15s%n", &cpu, name, &len) != 2 || path[len] || strcmp(name, driver))
		return -1;
	return cpu >= 0 && cpu < (int)profile.cpus ? cpu : -1;
}

static bool is_cpu_folder(const char *path)
{
	int cpu, len = 0;

	return sscanf(path, "/dev/cpu/%d%n", &cpu, &len) == 1 && !path[len] && cpu >= 0 && cpu < (int)profile.cpus;
}

static bool is_folder(const char *path)
{
	size_t len = strlen(path + 1);

	if (!len || !strcmp(path, "/dev") || !strcmp(path, "/dev/cpu") || is_cpu_folder(path))
		return true;
	for (size_t i = 0; i < profile.n_files; i++)
		if (!strncmp(profile.file[i].path, path + 1, len) && profile.file[i].path[len] == '/')
			return true;
	return false;
}

static int on_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	int err = 0;

	(void)fi;
	*st = (struct stat){ .st_nlink = 1 };
	pthread_mutex_lock(&lock);
	if (is_folder(path))
		st->st_mode = S_IFDIR | 0755;
	else if ((device_cpu(path, "msr") >= 0 && profile.device_error != ENOENT) || device_cpu(path, "cpuid") >= 0)
		st->st_mode = S_IFREG | 0400;
	else if (!strcmp(path, "/control"))
		st->st_mode = S_IFREG | 0600;
	else if (!strcmp(path, "/access_log") || profile_file(&profile, path + 1))
		st->st_mode = S_IFREG | 0444, st->st_size = 4096;
	else
		err = -ENOENT;
	pthread_mutex_unlock(&lock);
	return err;
}

/* Names of the files' folders come once. */
static void fill_files(const char *path, void *buf, fuse_fill_dir_t fill)
{
	size_t len = strlen(path + 1);
	char(*seen)[256] = calloc(profile.n_files + 1, sizeof(*seen));
	size_t n = 0, k;

	for (size_t i = 0; seen && i < profile.n_files; i++) {
		const char *rest = profile.file[i].path;

		if (len && (strncmp(rest, path + 1, len) || rest[len] != '/'))
			continue;
		rest += len ? len + 1 : 0;
		snprintf(seen[n], sizeof(*seen), "%.*s", (int)strcspn(rest, "/"), rest);
		for (k = 0; strcmp(seen[k], seen[n]); k++)
			;
		if (k == n)
			fill(buf, seen[n++], NULL, 0, 0);
	}
	free(seen);
}

static int on_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *fi,
		      enum fuse_readdir_flags flags)
{
	char name[16];

	(void)offset;
	(void)fi;
	(void)flags;
	pthread_mutex_lock(&lock);
	fill(buf, ".", NULL, 0, 0);
	fill(buf, "..", NULL, 0, 0);
	if (!strcmp(path, "/")) {
		fill(buf, "dev", NULL, 0, 0);
		fill(buf, "access_log", NULL, 0, 0);
		fill(buf, "control", NULL, 0, 0);
	} else if (!strcmp(path, "/dev")) {
		fill(buf, "cpu", NULL, 0, 0);
	} else if (is_cpu_folder(path)) {
		if (profile.device_error != ENOENT)
			fill(buf, "msr", NULL, 0, 0);
		fill(buf, "cpuid", NULL, 0, 0);
	}
	for (unsigned i = 0; i < profile.cpus && !strcmp(path, "/dev/cpu"); i++) {
		snprintf(name, sizeof(name), "%u", i);
		fill(buf, name, NULL, 0, 0);
	}
	fill_files(path, buf, fill);
	pthread_mutex_unlock(&lock);
	return 0;
}

/* As seq_file does: reading from the start makes a new text, which the reads behind it continue. */
static char *render(const char *path)
{
	struct file *f = profile_file(&profile, path + 1);

	if (!f)
		return !strcmp(path, "/access_log") ? access_log() : NULL;
	f->reads++;
	return profile_render(&profile, f);
}

static int on_open(const char *path, struct fuse_file_info *fi)
{
	char **text;
	bool writes = (fi->flags & O_ACCMODE) != O_RDONLY;

	fi->direct_io = 1;
	fi->fh = 0;
	if (writes)
		return strcmp(path, "/control") ? -EACCES : 0;
	if (device_cpu(path, "msr") >= 0)
		return -profile.device_error;
	if (device_cpu(path, "cpuid") >= 0)
		return 0;
	text = calloc(1, sizeof(*text));
	if (!text)
		return -ENOMEM;
	fi->fh = (uintptr_t)text;
	return 0;
}

static int on_release(const char *path, struct fuse_file_info *fi)
{
	char **text = (char **)(uintptr_t)fi->fh;

	(void)path;
	if (text)
		free(*text);
	free(text);
	return 0;
}

static int read_msr(unsigned cpu, char *buf, size_t size, uint32_t address)
{
	uint64_t value;
	int err;

	if (size % sizeof(value))
		return -EINVAL;
	err = profile_msr(&profile, cpu, address, &value);
	count(address, cpu, err);
	for (size_t i = 0; i < size && !err; i += sizeof(value))
		memcpy(buf + i, &value, sizeof(value));
	return err ? -err : (int)size;
}

static int read_cpuid(unsigned cpu, char *buf, size_t size, uint64_t offset)
{
	uint32_t reg[4];

	if (size % sizeof(reg))
		return -EINVAL;
	profile_cpuid(&profile, cpu, (uint32_t)offset, (uint32_t)(offset >> 32), reg);
	for (size_t i = 0; i < size; i += sizeof(reg))
		memcpy(buf + i, reg, sizeof(reg));
	return (int)size;
}

static int read_text(const char *path, char **text, char *buf, size_t size, size_t offset)
{
	size_t len;

	if (offset == 0 || !*text) {
		free(*text);
		*text = render(path);
	}
	if (!*text)
		return -EIO;
	len = strlen(*text);
	if (offset >= len)
		return 0;
	if (size > len - offset)
		size = len - offset;
	memcpy(buf, *text + offset, size);
	return (int)size;
}

static int on_read(const char *path, char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
	int cpu, n;

	pthread_mutex_lock(&lock);
	if ((cpu = device_cpu(path, "msr")) >= 0)
		n = read_msr((unsigned)cpu, buf, size, (uint32_t)offset);
	else if ((cpu = device_cpu(path, "cpuid")) >= 0)
		n = read_cpuid((unsigned)cpu, buf, size, (uint64_t)offset);
	else
		n = fi->fh ? read_text(path, (char **)(uintptr_t)fi->fh, buf, size, (size_t)offset) : 0;
	pthread_mutex_unlock(&lock);
	return n;
}

static int on_write(const char *path, const char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
	char *text = strndup(buf, size), *save = NULL;
	bool good = text;

	(void)path;
	(void)offset;
	(void)fi;
	pthread_mutex_lock(&lock);
	for (char *line = strtok_r(text, "\n", &save); line && good; line = strtok_r(NULL, "\n", &save))
		good = profile_line(&profile, line);
	pthread_mutex_unlock(&lock);
	free(text);
	return good ? (int)size : -EINVAL;
}

static int on_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	(void)size;
	(void)fi;
	return strcmp(path, "/control") ? -EACCES : 0;
}

static const struct fuse_operations operations = {
	.getattr = on_getattr,
	.readdir = on_readdir,
	.open = on_open,
	.release = on_release,
	.read = on_read,
	.write = on_write,
	.truncate = on_truncate,
};

static bool load(const char *path)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;
	bool good = f;

	while (good && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		good = profile_line(&profile, line);
		if (!good)
			fprintf(stderr, "fakemsr: %s: not understood: %s\n", path, line);
	}
	if (!f)
		fprintf(stderr, "fakemsr: cannot read %s\n", path);
	else
		fclose(f);
	free(line);
	return good && profile.cpus > 0 && profile.cpus <= CPUS_MAX;
}

int main(int argc, char **argv)
{
	char *args[32] = { argv[0], NULL, (char *)"-f" };
	int n = 3;

	if (argc < 3 || argc > 30) {
		fprintf(stderr, "usage: fakemsr PROFILE MOUNTPOINT [FUSE option...]\n");
		return 2;
	}
	if (!load(argv[1]))
		return 2;
	args[1] = argv[2];
	for (int i = 3; i < argc; i++)
		args[n++] = argv[i];
	return fuse_main(n, args, &operations, NULL);
}
