/*
 * Device memory of other processes, by the stand-in: a handle says which part of which open file it is. As with the
 * driver, a process cannot open its own memory, and here nothing twice.
 */
#define _GNU_SOURCE
#include "tests/mpi/gpu/fake.h"

#include "runtime/engine/gpu/driver.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IMPORTS = 1024, PAGE = 4096, PATH_BYTES = 64 };

typedef struct imported {
    uint64_t address; /* 0: the place is free */
    fake_exported what;
    fake_context_t *context;
    char *map;
    size_t bytes;
} imported;

static struct {
    pthread_mutex_t lock;
    imported many[IMPORTS];
} imports = {.lock = PTHREAD_MUTEX_INITIALIZER};

int cuIpcGetMemHandle(pw_cu_ipc *out, uint64_t address);
int cuIpcGetMemHandle(pw_cu_ipc *out, uint64_t address)
{
    fake_exported e;

    FAKE_ENTER();
    if (!fake_export(address, &e))
        return FAKE_INVALID;
    memset(out, 0, sizeof *out);
    memcpy(out, &e, sizeof e);
    return FAKE_OK;
}

/* Returns the address, or 0 with the reason in *why. */
static uint64_t map(imported *i, int *why)
{
    size_t before = i->what.at % PAGE;
    char path[PATH_BYTES];
    int fd;

    *why = FAKE_MAP_FAILED;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", i->what.pid, i->what.file);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return 0;
    i->bytes = before + i->what.bytes;
    i->map = mmap(NULL, i->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(i->what.at - before));
    close(fd);
    return i->map == MAP_FAILED ? 0 : fake_import(i->map + before, i->what.bytes);
}

static int add(uint64_t *out, const fake_exported *what)
{
    imported *place = NULL;
    int why = FAKE_NO_MEMORY;

    for (int i = 0; i < IMPORTS; i++) {
        imported *one = &imports.many[i];

        if (!one->address)
            place = one;
        else if (one->context == fake_current() && !memcmp(&one->what, what, sizeof *what))
            return FAKE_ALREADY_MAPPED;
    }
    if (!place)
        return why;
    *place = (imported){.what = *what, .context = fake_current()};
    *out = place->address = map(place, &why);
    return place->address ? FAKE_OK : why;
}

int cuIpcOpenMemHandle_v2(uint64_t *out, pw_cu_ipc handle, unsigned flags);
int cuIpcOpenMemHandle_v2(uint64_t *out, pw_cu_ipc handle, unsigned flags)
{
    fake_exported what;
    int result;

    FAKE_ENTER();
    memcpy(&what, &handle, sizeof what);
    if (!fake_current() || what.pid == getpid())
        return FAKE_NO_CONTEXT;
    if (flags != PW_CU_IPC_PEER_ACCESS)
        return FAKE_INVALID;
    pthread_mutex_lock(&imports.lock);
    result = add(out, &what);
    pthread_mutex_unlock(&imports.lock);
    return result;
}

int cuIpcCloseMemHandle(uint64_t address);
int cuIpcCloseMemHandle(uint64_t address)
{
    int result = FAKE_INVALID;

    FAKE_ENTER();
    pthread_mutex_lock(&imports.lock);
    for (int i = 0; i < IMPORTS; i++) {
        imported *one = &imports.many[i];

        if (address && one->address == address && one->context == fake_current() && fake_forget_import(address)) {
            munmap(one->map, one->bytes);
            one->address = 0;
            result = FAKE_OK;
        }
    }
    pthread_mutex_unlock(&imports.lock);
    return result;
}

int cuDeviceGetUuid(pw_cu_uuid *out, int device);
int cuDeviceGetUuid(pw_cu_uuid *out, int device)
{
    FAKE_ENTER();
    memset(out, device + 1, sizeof *out);
    return FAKE_OK;
}

int cuDeviceGetP2PAttribute(int *out, int attribute, int from, int to);
int cuDeviceGetP2PAttribute(int *out, int attribute, int from, int to)
{
    FAKE_ENTER();
    if (attribute != PW_CU_P2P_ATOMICS || from == to)
        return FAKE_INVALID;
    *out = 1;
    return FAKE_OK;
}
