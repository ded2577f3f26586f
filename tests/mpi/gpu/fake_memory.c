/* Memory of the stand-in: an arena for each device, which the CPU sees at another address than the program does. */
#define _GNU_SOURCE
#include "tests/mpi/gpu/fake.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEVICES = 2, ALLOCATIONS = 8192, GRAIN = 512, READ_ONLY = 8 /* CU_MEMHOSTREGISTER_READ_ONLY */ };
static size_t arena_bytes = FAKE_ARENA; /* unless FAKE_ARENA_GIB says otherwise */

typedef enum kind { DEVICE, IMPORTED, PINNED, REGISTERED, MANAGED } kind;

typedef struct allocation {
    kind kind;
    uint64_t address;
    size_t bytes;
    fake_context_t *context;
    int device, arena; /* `arena`: the device in whose arena the bytes lie */
    bool used, to_cpu;
    bool pooled;     /* as memory of stream-ordered pools: other processes cannot open it */
    uint64_t number; /* of all that was ever allocated */
    char *shadow;    /* the CPU's address of imported memory */
} allocation;

static struct {
    pthread_mutex_t lock;
    char *seen[DEVICES], *shadow[DEVICES]; /* where the program sees the arena, and where this file does */
    int files[DEVICES];                    /* the arenas, for other processes to open */
    size_t top[DEVICES];
    allocation list[ALLOCATIONS];
    int n;
    uint64_t numbers;
    int protection;
    bool peers; /* contexts reach each other's memory */
    void *place;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .protection = PROT_NONE};

static void make_arena(int device)
{
    int fd;

    if (memory.seen[device])
        return;
    if (getenv("FAKE_ARENA_GIB"))
        arena_bytes = strtoull(getenv("FAKE_ARENA_GIB"), NULL, 0) << 30;
    fd = memfd_create("fake-gpu", 0);
    if (fd < 0 || ftruncate(fd, (off_t)arena_bytes) != 0)
        abort();
    memory.seen[device] = mmap(device == 1 ? memory.place : NULL, arena_bytes, memory.protection, MAP_SHARED, fd, 0);
    memory.shadow[device] = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memory.files[device] = fd;
}

void fake_place(void *at)
{
    memory.place = at;
}

void fake_open_memory(bool open)
{
    pthread_mutex_lock(&memory.lock);
    memory.protection = open ? PROT_READ | PROT_WRITE : PROT_NONE;
    for (int d = 0; d < DEVICES; d++)
        if (memory.seen[d])
            mprotect(memory.seen[d], arena_bytes, memory.protection);
    pthread_mutex_unlock(&memory.lock);
}

static allocation *record(kind k, uint64_t address, size_t bytes, fake_context_t *context)
{
    int i = 0;

    while (i < memory.n && memory.list[i].used)
        i++;
    if (i == ALLOCATIONS)
        return NULL;
    memory.n = i == memory.n ? i + 1 : memory.n;
    memory.list[i] = (allocation){.kind = k,
                                  .address = address,
                                  .bytes = bytes,
                                  .context = context,
                                  .device = context ? context->device : 0,
                                  .arena = context ? context->device : 0,
                                  .used = true,
                                  .number = ++memory.numbers};
    return &memory.list[i];
}

static allocation *find(uint64_t address)
{
    for (int i = 0; i < memory.n; i++)
        if (memory.list[i].used && address - memory.list[i].address < memory.list[i].bytes)
            return &memory.list[i];
    return NULL;
}

static size_t arena_piece(size_t bytes)
{
    return (bytes + 2 * GRAIN - 1) & ~(size_t)(GRAIN - 1);
}

static uint64_t arena_take(int device, size_t bytes)
{
    uint64_t address;

    make_arena(device);
    if (memory.top[device] + bytes + GRAIN > arena_bytes)
        return 0;
    address = (uint64_t)(uintptr_t)memory.seen[device] + memory.top[device];
    memory.top[device] += arena_piece(bytes);
    return address;
}

/* The latest allocation gives its addresses to the next one. */
static void arena_give(const allocation *a)
{
    size_t at = a->address - (uint64_t)(uintptr_t)memory.seen[a->arena];

    if (at + arena_piece(a->bytes) == memory.top[a->arena])
        memory.top[a->arena] = at;
}

int cuMemAlloc_v2(uint64_t *out, size_t bytes);
int cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
    fake_context_t *context = fake_current();
    uint64_t address;
    int result;

    if (!fake_enter(__func__, &result))
        return result;
    if (!context)
        return FAKE_NO_CONTEXT;
    pthread_mutex_lock(&memory.lock);
    address = arena_take(context->device, bytes);
    if (address && !record(DEVICE, address, bytes, context))
        address = 0;
    pthread_mutex_unlock(&memory.lock);
    *out = address;
    return address ? FAKE_OK : FAKE_NO_MEMORY;
}

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    int result;

    (void)flags;
    if (!fake_enter(__func__, &result))
        return result;
    if (!fake_current())
        return FAKE_NO_CONTEXT;
    *out = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    pthread_mutex_lock(&memory.lock);
    record(PINNED, (uint64_t)(uintptr_t)*out, bytes, fake_current());
    pthread_mutex_unlock(&memory.lock);
    return FAKE_OK;
}

static int forget(uint64_t address, kind k)
{
    allocation *a;
    int result = FAKE_INVALID;

    pthread_mutex_lock(&memory.lock);
    a = find(address);
    if (a && a->address == address && a->kind == k) {
        a->used = false;
        if (k == DEVICE)
            arena_give(a);
        result = FAKE_OK;
    }
    pthread_mutex_unlock(&memory.lock);
    return result;
}

int cuMemFree_v2(uint64_t address);
int cuMemFree_v2(uint64_t address)
{
    int result;

    return fake_enter(__func__, &result) ? forget(address, DEVICE) : result;
}

int cuMemFreeHost(void *p);
int cuMemFreeHost(void *p)
{
    int result;

    if (!fake_enter(__func__, &result))
        return result;
    result = forget((uint64_t)(uintptr_t)p, PINNED);
    if (result == FAKE_OK)
        free(p);
    return result;
}

int cuMemHostGetDevicePointer_v2(uint64_t *out, void *p, unsigned flags);
int cuMemHostGetDevicePointer_v2(uint64_t *out, void *p, unsigned flags)
{
    int result;

    (void)flags;
    if (!fake_enter(__func__, &result))
        return result;
    *out = (uint64_t)(uintptr_t)p;
    return FAKE_OK;
}

/* Returns whether this process may write there. */
static bool is_writable(const void *p)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long begin, end;
    char may_write = '-', line[512];
    bool found = false;

    while (!found && maps && fgets(line, sizeof line, maps))
        found =
            sscanf(line, "%lx-%lx r%c", &begin, &end, &may_write) == 3 && (uintptr_t)p >= begin && (uintptr_t)p < end;
    if (maps)
        fclose(maps);
    return found && may_write == 'w';
}

/* As the driver does, refuses to register memory twice, and refuses read-only memory unless the flag for it is given.
 */
static int check_registering(const void *host, size_t bytes, unsigned flags)
{
    uint64_t first = (uint64_t)(uintptr_t)host;

    if (!fake_current())
        return FAKE_NO_CONTEXT;
    if (!(flags & READ_ONLY) && !is_writable(host))
        return FAKE_INVALID;
    for (int i = 0; i < memory.n; i++) {
        const allocation *a = &memory.list[i];

        if (a->used && a->address < first + bytes && first < a->address + a->bytes)
            return FAKE_REGISTERED;
    }
    return FAKE_OK;
}

int cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags);
int cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
    int result;

    if (!fake_enter(__func__, &result))
        return result;
    pthread_mutex_lock(&memory.lock);
    result = check_registering(host, bytes, flags);
    if (result == FAKE_OK && !record(REGISTERED, (uint64_t)(uintptr_t)host, bytes, fake_current()))
        result = FAKE_NO_MEMORY;
    pthread_mutex_unlock(&memory.lock);
    return result;
}

int cuMemHostUnregister(void *host);
int cuMemHostUnregister(void *host)
{
    int result;

    if (!fake_enter(__func__, &result))
        return result;
    return fake_current() ? forget((uint64_t)(uintptr_t)host, REGISTERED) : FAKE_NO_CONTEXT;
}

int cuMemAllocManaged(uint64_t *out, size_t bytes, unsigned flags);
int cuMemAllocManaged(uint64_t *out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = (uint64_t)(uintptr_t)aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    pthread_mutex_lock(&memory.lock);
    record(MANAGED, *out, bytes, fake_current());
    pthread_mutex_unlock(&memory.lock);
    return FAKE_OK;
}

int cuMemPrefetchAsync(uint64_t managed, size_t bytes, int device, void *stream);
int cuMemPrefetchAsync(uint64_t managed, size_t bytes, int device, void *stream)
{
    (void)bytes, (void)stream;
    pthread_mutex_lock(&memory.lock);
    find(managed)->to_cpu = device < 0;
    pthread_mutex_unlock(&memory.lock);
    return FAKE_OK;
}

static void *shadow_of(const allocation *a, uint64_t address)
{
    if (a->kind == IMPORTED)
        return a->shadow + (address - a->address);
    return memory.shadow[a->arena] + (address - (uint64_t)(uintptr_t)memory.seen[a->arena]);
}

void *fake_reach(const fake_context_t *context, uint64_t address, size_t bytes, bool copy)
{
    allocation *a;
    void *p = NULL;

    pthread_mutex_lock(&memory.lock);
    a = find(address);
    if (a && address + bytes > a->address + a->bytes)
        a = NULL; /* beyond the end of the allocation, or into its neighbour */
    else if (a && a->kind != DEVICE && a->kind != IMPORTED)
        p = (void *)(uintptr_t)address;
    else if (a && (copy || a->context == context || memory.peers))
        p = shadow_of(a, address);
    else if (!a && copy && !find(address + bytes - 1))
        p = (void *)(uintptr_t)address;
    pthread_mutex_unlock(&memory.lock);
    return p;
}

/* Every context then reaches the memory of all. */
int cuCtxEnablePeerAccess(fake_context_t *peer, unsigned flags);
int cuCtxEnablePeerAccess(fake_context_t *peer, unsigned flags)
{
    FAKE_ENTER();
    if (!fake_current() || !peer || peer == fake_current() || flags)
        return FAKE_INVALID;
    pthread_mutex_lock(&memory.lock);
    memory.peers = true;
    pthread_mutex_unlock(&memory.lock);
    return FAKE_OK;
}

int cuMemcpy(uint64_t to, uint64_t from, size_t bytes);
int cuMemcpy(uint64_t to, uint64_t from, size_t bytes)
{
    void *t = fake_reach(NULL, to, bytes, true), *f = fake_reach(NULL, from, bytes, true);

    if (!t || !f)
        return FAKE_INVALID;
    memcpy(t, f, bytes);
    return FAKE_OK;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    return cuMemcpy(to, (uint64_t)(uintptr_t)from, bytes);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    return cuMemcpy((uint64_t)(uintptr_t)to, from, bytes);
}

/* ---- what other processes open ----------------------------------------------------------------------------------- */

bool fake_export(uint64_t address, fake_exported *out)
{
    allocation *a;
    bool found;

    pthread_mutex_lock(&memory.lock);
    a = find(address);
    found = a && a->kind == DEVICE && a->address == address && !a->pooled;
    if (found)
        *out = (fake_exported){.pid = getpid(),
                               .file = memory.files[a->arena],
                               .device = a->device,
                               .at = address - (uint64_t)(uintptr_t)memory.seen[a->arena],
                               .bytes = a->bytes};
    pthread_mutex_unlock(&memory.lock);
    return found;
}

uint64_t fake_import(void *shadow, size_t bytes)
{
    void *seen = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    allocation *a;

    pthread_mutex_lock(&memory.lock);
    a = record(IMPORTED, (uint64_t)(uintptr_t)seen, bytes, fake_current());
    a->shadow = shadow;
    pthread_mutex_unlock(&memory.lock);
    return a->address;
}

bool fake_forget_import(uint64_t address)
{
    return forget(address, IMPORTED) == FAKE_OK;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address);
int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address)
{
    allocation *a;
    int result;

    if (!fake_enter(__func__, &result))
        return result;
    pthread_mutex_lock(&memory.lock);
    a = find(address);
    if (a) {
        *base = a->address;
        *bytes = a->bytes;
    }
    pthread_mutex_unlock(&memory.lock);
    return a ? FAKE_OK : FAKE_NOT_FOUND;
}

void fake_pool(uint64_t address)
{
    pthread_mutex_lock(&memory.lock);
    find(address)->pooled = true;
    pthread_mutex_unlock(&memory.lock);
}

void fake_hand_over(uint64_t address, void *context)
{
    allocation *a;

    pthread_mutex_lock(&memory.lock);
    a = find(address);
    if (!a) {
        fprintf(stderr, "fake_hand_over: nothing is allocated at %#" PRIx64 "\n", address);
        abort();
    }
    a->context = context;
    a->device = a->context->device;
    a->number = ++memory.numbers;
    pthread_mutex_unlock(&memory.lock);
}

static bool is_device(kind k)
{
    return k == DEVICE || k == IMPORTED || k == MANAGED;
}

int cuPointerGetAttributes(unsigned n, const int *attributes, void **values, uint64_t address);
int cuPointerGetAttributes(unsigned n, const int *attributes, void **values, uint64_t address)
{
    allocation none = {.used = false}, *a;
    int result;

    if (!fake_enter(__func__, &result))
        return result;
    pthread_mutex_lock(&memory.lock);
    a = find(address);
    a = a ? a : &none;
    for (unsigned i = 0; i < n; i++) {
        switch (attributes[i]) {
        case 1: *(void **)values[i] = a->context; break;
        case 2: *(unsigned *)values[i] = !a->used ? 0 : is_device(a->kind) ? 2 : 1; break;
        case 3: *(uint64_t *)values[i] = a->used ? address : 0; break;
        case 7: *(unsigned long long *)values[i] = a->used ? a->number : 0; break;
        case 8: *(bool *)values[i] = a->used && a->kind == MANAGED; break;
        case 9: *(int *)values[i] = a->used ? a->device : -2; break;
        case 13: *(bool *)values[i] = a->used && a->kind == DEVICE && !a->pooled; break;
        default: break;
        }
    }
    pthread_mutex_unlock(&memory.lock);
    return FAKE_OK;
}

int cuMemRangeGetAttribute(void *data, size_t size, int attribute, uint64_t address, size_t bytes);
int cuMemRangeGetAttribute(void *data, size_t size, int attribute, uint64_t address, size_t bytes)
{
    allocation *a;

    (void)size, (void)attribute, (void)bytes;
    pthread_mutex_lock(&memory.lock);
    a = find(address);
    *(int *)data = a && a->to_cpu ? -1 : -2;
    pthread_mutex_unlock(&memory.lock);
    return FAKE_OK;
}
