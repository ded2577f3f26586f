/*
 * A table of allocations that are open or were refused, under one lock, which is also held while the driver opens or
 * closes one. An allocation with users stays open, unless its context ends.
 */
#include "runtime/exchange/gpu/opened.h"

#include "base/log.h"

#include <string.h>

enum {
    KEPT = 256,
    REFUSERS = 32 /* after so many processes whose memory could not be opened, no others are tried */
};

/* The singleton, guarded by the lock. Opening, which happens once, also holds the lock. */
static struct {
    pthread_mutex_t lock;
    pw_gpu_opened many[KEPT];
    const void *refusers[REFUSERS]; /* the segments of these processes */
    int nrefusers;
    int64_t opened, taken;
    uint64_t clock; /* of uses */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool can_open(void)
{
    return pw_cu.ipc_open && pw_cu.ipc_close && pw_cu.device_uuid && pw_cu.p2p_attribute;
}

static bool is_gpu(int device, const pw_segment_exported *memory)
{
    pw_cu_uuid uuid;

    return pw_cu.device_uuid(&uuid, device) == PW_CU_OK && !memcmp(&uuid, memory->gpu, sizeof uuid);
}

/* Whether the memory's GPU is this one or has a faster link to it than the bus. (Such links carry atomic operations,
 * the bus does not.) A GPU that this process does not see is assumed to have one. */
static bool is_near(const pw_gpu *gpu, const pw_segment_exported *memory)
{
    int own, other, atomics;

    if (pw_cu.device_get(&own, gpu->ordinal) != PW_CU_OK)
        return false;
    for (int i = 0; pw_cu.device_get(&other, i) == PW_CU_OK; i++)
        if (is_gpu(other, memory))
            return other == own ||
                   (pw_cu.p2p_attribute(&atomics, PW_CU_P2P_ATOMICS, own, other) == PW_CU_OK && atomics);
    return true;
}

/* Opens an allocation in the context, which must be current. 0: refused. */
static pw_cu_ptr open_memory(const pw_gpu *gpu, const pw_segment_exported *memory)
{
    pw_cu_ptr device = 0;
    pw_cu_ipc handle;

    memcpy(&handle, memory->handle, sizeof handle);
    if (!is_near(gpu, memory) ||
        pw_cu_check(pw_cu.ipc_open(&device, handle, PW_CU_IPC_PEER_ACCESS), "cuIpcOpenMemHandle") != PW_OK)
        return 0;
    table.opened++;
    return device;
}

static void drop(pw_gpu_opened *o, bool driver)
{
    pw_gpu_scope scope;

    if (driver && o->device && pw_gpu_is_alive(o->owner) && pw_gpu_enter(o->owner, &scope) == PW_OK) {
        pw_cu_check(pw_cu.ipc_close(o->device), "cuIpcCloseMemHandle");
        pw_gpu_leave(&scope);
    }
    *o = (pw_gpu_opened){.segment = NULL};
}

void pw_gpu_opened_close(const pw_gpu *gpu, bool driver)
{
    pthread_mutex_lock(&table.lock);
    for (int i = 0; i < KEPT; i++)
        if (table.many[i].segment && table.many[i].owner == gpu)
            drop(&table.many[i], driver);
    pthread_mutex_unlock(&table.lock);
}

static pw_gpu_dependent dependent = {.close = pw_gpu_opened_close};

static bool is_refuser(const void *segment)
{
    for (int i = 0; i < table.nrefusers; i++)
        if (table.refusers[i] == segment)
            return true;
    return table.nrefusers == REFUSERS;
}

static void add_refuser(const pw_peer_exported *e)
{
    if (is_refuser(e->segment))
        return;
    if (table.nrefusers == 0)
        pw_log(PW_LOG_INFO, "device memory of another process cannot be opened, or is far: its messages are read in "
                            "pinned memory");
    table.refusers[table.nrefusers++] = e->segment;
    atomic_store_explicit(e->wanted, 0, memory_order_relaxed);
}

/* ---- using ------------------------------------------------------------------------------------------------------- */

static pw_gpu_opened *find(const pw_gpu *gpu, const pw_peer_exported *e)
{
    for (int i = 0; i < KEPT; i++) {
        pw_gpu_opened *o = &table.many[i];

        if (o->segment == e->segment && o->number == e->memory.number && o->owner == gpu)
            return o;
    }
    return NULL;
}

/* Returns a free slot, or closes the allocation that was used least recently. NULL: all are in use. */
static pw_gpu_opened *make_slot(void)
{
    pw_gpu_opened *o = pw_lru_find(table.many, KEPT, sizeof *o, false);

    if (o && o->segment)
        drop(o, true);
    return o;
}

/* Closes what its owner has freed since, as this allocation's addresses tell: the driver may refuse to open two at the
 * same addresses. False: a thread still uses such memory. */
static bool close_freed(const pw_peer_exported *e)
{
    for (int i = 0; i < KEPT; i++) {
        pw_gpu_opened *o = &table.many[i];

        if (o->segment != e->segment || o->number == e->memory.number ||
            o->address >= e->memory.address + e->memory.bytes || e->memory.address >= o->address + o->bytes)
            continue;
        if (o->lru.users > 0)
            return false;
        drop(o, true);
    }
    return true;
}

/* The context must be current. */
static pw_gpu_opened *add(pw_gpu *gpu, const pw_peer_exported *e)
{
    pw_gpu_opened *o = is_refuser(e->segment) || !close_freed(e) ? NULL : make_slot();

    if (!o)
        return NULL;
    pw_gpu_depend(&dependent);
    *o = (pw_gpu_opened){.lru = {.used = ++table.clock},
                         .segment = e->segment,
                         .number = e->memory.number,
                         .address = e->memory.address,
                         .bytes = e->memory.bytes,
                         .owner = gpu};
    o->device = open_memory(gpu, &e->memory);
    if (!o->device)
        add_refuser(e);
    return o;
}

static pw_gpu_opened *take(pw_gpu *gpu, const pw_peer_exported *e)
{
    pw_gpu_opened *o;

    pthread_mutex_lock(&table.lock);
    o = find(gpu, e);
    if (!o)
        o = add(gpu, e);
    if (o && o->device) {
        pw_lru_take(&o->lru, &table.clock);
        table.taken++;
    } else {
        o = NULL;
    }
    pthread_mutex_unlock(&table.lock);
    return o;
}

pw_gpu_opened *pw_gpu_opened_take(pw_gpu *gpu, const pw_peer_exported *e)
{
    pw_gpu_scope scope;
    pw_gpu_opened *o;

    if (!e->memory.number || !can_open() || !pw_gpu_is_alive(gpu) || pw_gpu_enter(gpu, &scope) != PW_OK)
        return NULL;
    o = take(gpu, e);
    pw_gpu_leave(&scope);
    return o;
}

void pw_gpu_opened_give(pw_gpu_opened *o)
{
    pthread_mutex_lock(&table.lock);
    o->lru.users--;
    pthread_mutex_unlock(&table.lock);
}

void pw_gpu_opened_want(const pw_peer_exported *e, int64_t bytes)
{
    bool refuser;

    if (bytes < PW_GPU_OPENED_LEAST || !can_open() || atomic_load_explicit(e->wanted, memory_order_relaxed))
        return;
    pthread_mutex_lock(&table.lock);
    refuser = is_refuser(e->segment);
    pthread_mutex_unlock(&table.lock);
    if (!refuser)
        atomic_store_explicit(e->wanted, 1, memory_order_relaxed);
}

pw_gpu_opened_usage pw_gpu_opened_usage_now(void)
{
    pw_gpu_opened_usage usage;

    pthread_mutex_lock(&table.lock);
    usage = (pw_gpu_opened_usage){.opened = table.opened, .taken = table.taken};
    pthread_mutex_unlock(&table.lock);
    return usage;
}
