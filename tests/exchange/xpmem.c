/*
 * Stands in for XPMEM's library. The number of a process's segment is its pid. Only memory of files can be attached, of
 * which the owner has a descriptor: a range is mapped from that file. Anything else fails, as of a process without
 * memory there.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { ATTACHED = 512, PATH = 300, LINE = 512 };

typedef struct range {
    void *base; /* NULL: the place is free */
    size_t bytes;
} range;

static range attached[ATTACHED];

struct xpmem_addr {
    int64_t apid;
    off_t offset;
};

EXPORT int xpmem_stand_in_attached(void);
EXPORT int64_t xpmem_make(void *address, size_t bytes, int permit_type, void *permit);
EXPORT int xpmem_remove(int64_t segment);
EXPORT int64_t xpmem_get(int64_t segment, int flags, int permit_type, void *permit);
EXPORT int xpmem_release(int64_t access);
EXPORT void *xpmem_attach(struct xpmem_addr from, size_t bytes, void *address);
EXPORT int xpmem_detach(void *address);

int xpmem_stand_in_attached(void)
{
    int n = 0;

    for (int i = 0; i < ATTACHED; i++)
        n += attached[i].base != NULL;
    return n;
}

int64_t xpmem_make(void *address, size_t bytes, int permit_type, void *permit)
{
    return !address && bytes == SIZE_MAX && permit_type == 1 && (uintptr_t)permit == 0600 ? getpid() : -1;
}

int xpmem_remove(int64_t segment)
{
    return segment == getpid() ? 0 : -1;
}

int64_t xpmem_get(int64_t segment, int flags, int permit_type, void *permit)
{
    return flags == 2 && permit_type == 1 && !permit ? segment + ((int64_t)1 << 32) : -1;
}

int xpmem_release(int64_t access)
{
    return access >> 32 == 1 ? 0 : -1;
}

/* The file of the mapping that has these bytes, and where in it they begin. */
static bool find_file(pid_t pid, uint64_t begin, size_t bytes, unsigned long *inode, uint64_t *at)
{
    char path[PATH], line[LINE];
    bool found = false;
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        uint64_t from, to;

        found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %lu", &from, &to, at, inode) == 4 && *inode &&
                begin >= from && begin + bytes <= to;
        *at += begin - from;
    }
    if (maps)
        fclose(maps);
    return found;
}

static int open_file(pid_t pid, unsigned long inode)
{
    char path[PATH];
    struct dirent *d;
    struct stat s;
    int fd = -1;
    DIR *files;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    files = opendir(path);
    while (files && fd < 0 && (d = readdir(files))) {
        snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, d->d_name);
        if (stat(path, &s) == 0 && s.st_ino == inode)
            fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (files)
        closedir(files);
    return fd;
}

void *xpmem_attach(struct xpmem_addr from, size_t bytes, void *address)
{
    pid_t pid = (pid_t)(from.apid & INT32_MAX);
    unsigned long inode;
    void *base;
    uint64_t at;
    int fd, i = 0;

    while (i < ATTACHED && attached[i].base)
        i++;
    if (address || from.apid >> 32 != 1 || i == ATTACHED || !find_file(pid, (uint64_t)from.offset, bytes, &inode, &at))
        return (void *)-1;
    fd = open_file(pid, inode);
    base = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)at);
    close(fd);
    if (base != MAP_FAILED)
        attached[i] = (range){base, bytes};
    return base;
}

int xpmem_detach(void *address)
{
    for (int i = 0; i < ATTACHED; i++)
        if (attached[i].base && attached[i].base == address) {
            munmap(address, attached[i].bytes);
            attached[i].base = NULL;
            return 0;
        }
    return -1;
}
