#include "runtime/engine/gpu/peer/foreign.h"

#include "base/log.h"
#include "runtime/engine/gpu/joined.h"
#include "runtime/engine/gpu/peer/opened.h"

enum {
    KEPT = 256,
    REFUSALS = 4 /* after so many in a row this file no longer asks the driver */
};

static const int64_t most_bytes = (int64_t)1 << 30;

typedef struct foreign {
    pw_peer_block block; /* base NULL: the slot is free */
    pw_gpu *owner;       /* the context in which it was registered; every GPU of the process can use it */
    pw_cu_ptr device;
    int users;
    int64_t used; /* `clock` at the last use */
} foreign;

/* The singleton, guarded by the lock. Registering a block, which happens once, also holds the lock. */
static struct {
    pthread_mutex_t lock;
    foreign many[KEPT];
    int high; /* slots from here on were never used */
    int blocks, refusals;
    int64_t bytes, clock, registrations;
    pw_gpu
        *reader; /* the context that has last moved a message from the program's memory of another process; or NULL */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- registering ------------------------------------------------------------------------------------------------- */

static void drop(foreign *f, bool driver)
{
    pw_gpu_scope scope;

    if (driver && pw_gpu_is_alive(f->owner) && pw_gpu_enter(f->owner, &scope) == PW_OK) {
        pw_cu_check(pw_cu.host_unregister((void *)(uintptr_t)f->block.base), "cuMemHostUnregister");
        pw_gpu_leave(&scope);
    }
    table.bytes -= (int64_t)f->block.bytes;
    table.blocks--;
    *f = (foreign){.users = 0};
}

void pw_gpu_foreign_close(const pw_gpu *gpu, bool driver)
{
    pthread_mutex_lock(&table.lock);
    for (int i = 0; i < table.high; i++)
        if (table.many[i].block.base && table.many[i].owner == gpu)
            drop(&table.many[i], driver);
    if (table.reader == gpu)
        table.reader = NULL;
    pthread_mutex_unlock(&table.lock);
}

static pw_gpu_dependent dependent = {.close = pw_gpu_foreign_close};

/* The context must be current. */
static pw_status register_block(pw_gpu *gpu, const pw_peer_block *block, foreign *f)
{
    void *base = (void *)(uintptr_t)block->base;
    pw_status status = pw_cu_check(
        pw_cu.host_register(base, block->bytes, PW_CU_REGISTER_PORTABLE | PW_CU_REGISTER_MAPPED | PW_CU_REGISTER_READ),
        "cuMemHostRegister");

    if (status != PW_OK)
        return status;
    pw_gpu_depend(&dependent);
    *f = (foreign){.block = *block, .owner = gpu};
    table.registrations++;
    table.blocks++;
    table.bytes += (int64_t)block->bytes;
    status = pw_cu_check(pw_cu.host_device_pointer(&f->device, base, 0), "cuMemHostGetDevicePointer");
    if (status != PW_OK)
        drop(f, true);
    return status;
}

static foreign *find(const char *base)
{
    for (int i = 0; i < table.high; i++)
        if (table.many[i].block.base == base)
            return &table.many[i];
    return NULL;
}

static foreign *least_recently_used(void)
{
    foreign *oldest = NULL;

    for (int i = 0; i < table.high; i++) {
        foreign *f = &table.many[i];

        if (f->block.base && f->users == 0 && (!oldest || f->used < oldest->used))
            oldest = f;
    }
    return oldest;
}

/* Returns a free slot, and unregisters blocks until there is room for `bytes` bytes. NULL: all blocks are in use. */
static foreign *make_slot(size_t bytes)
{
    foreign *f;

    while (table.blocks == KEPT || table.bytes + (int64_t)bytes > most_bytes) {
        f = least_recently_used();
        if (!f)
            return NULL;
        drop(f, true);
    }
    f = find(NULL);
    return f ? f : &table.many[table.high++];
}

static foreign *add(pw_gpu *gpu, const pw_peer_block *block)
{
    foreign *f = table.refusals < REFUSALS ? make_slot(block->bytes) : NULL;

    if (!f)
        return NULL;
    if (register_block(gpu, block, f) == PW_OK) {
        table.refusals = 0;
        return f;
    }
    if (++table.refusals == REFUSALS)
        pw_log(PW_LOG_INFO, "the driver does not register memory of other processes: messages are copied once more");
    return NULL;
}

/* ---- using ------------------------------------------------------------------------------------------------------- */

static bool is_good(const foreign *f, const pw_peer_block *block)
{
    return f->block.removed == block->removed && f->block.bytes == block->bytes && pw_gpu_is_alive(f->owner);
}

/* The context of `gpu` must be current. */
static foreign *take(pw_gpu *gpu, const pw_peer_block *block)
{
    foreign *f;

    pthread_mutex_lock(&table.lock);
    f = find(block->base);
    if (f && !is_good(f, block)) {
        if (f->users == 0)
            drop(f, true);
        f = NULL;
    }
    if (!f && !find(block->base))
        f = add(gpu, block);
    if (f) {
        f->users++;
        f->used = ++table.clock;
    }
    pthread_mutex_unlock(&table.lock);
    return f;
}

static void give(foreign *f)
{
    pthread_mutex_lock(&table.lock);
    f->users--;
    pthread_mutex_unlock(&table.lock);
}

static foreign *enter_and_take(pw_gpu *gpu, const pw_peer_block *block)
{
    pw_gpu_scope scope;
    foreign *f;

    if (!pw_cu.host_register || !pw_cu.host_unregister || !pw_gpu_is_alive(gpu) || pw_gpu_enter(gpu, &scope) != PW_OK)
        return NULL;
    f = take(gpu, block);
    pw_gpu_leave(&scope);
    return f;
}

static bool unpack_from(const pw_gpu_order *order, pw_gpu_packed packed)
{
    pw_gpu_order o = *order;

    o.packed = packed;
    o.direction = PW_UNPACK;
    return pw_gpu_carry_out(&o) == PW_OK;
}

static bool unpack_registered(const pw_gpu_order *order, const void *from, const pw_peer_block *block)
{
    foreign *f = enter_and_take(order->buffer.place.gpu, block);
    bool done;

    if (!f)
        return false;
    done = unpack_from(order,
                       pw_gpu_packed_at((pw_gpu_packed){.host = (void *)(uintptr_t)block->base, .device = f->device},
                                        (const char *)from - block->base));
    give(f);
    return done;
}

/* Whether the owner of opened memory has lived until now. The driver frees the GPU memory of a process that ends, maybe
 * while it is read, so what was read counts only then. The segment's own memory stays. */
static bool has_lived(const pw_peer_exported *e)
{
    return pw_segment_owner_lives(e->segment);
}

static bool unpack_replica(const pw_gpu_order *order, const pw_peer_block *block)
{
    pw_gpu_opened *o = block->replicated ? pw_gpu_opened_take(order->buffer.place.gpu, &block->replica) : NULL;
    bool done;

    if (!o)
        return false;
    done = unpack_from(order, (pw_gpu_packed){.device = o->device}) && has_lived(&block->replica);
    pw_gpu_opened_give(o);
    if (done && order->buffer.layout)
        atomic_fetch_add_explicit(&order->buffer.layout->stats.from_gpu, 1, memory_order_relaxed);
    return done;
}

bool pw_gpu_foreign_unpack(const pw_gpu_order *order, const void *from, const pw_peer_block *block)
{
    if (from == block->base && unpack_replica(order, block))
        return true;
    if (block->lazy || !unpack_registered(order, from, block))
        return false;
    pw_gpu_opened_want(&block->replica, order->bytes);
    return true;
}

/* ---- from the program's memory of another process ---------------------------------------------------------------- */

/* One message: objects of a layout, the first of which has its origin at `there`, or bytes from there on; and the order
 * to unpack it. */
typedef struct objects {
    const pw_gpu_order *order;
    pw_layout *layout; /* NULL: bytes */
    pw_cu_ptr there;
    int64_t count, bytes;
} objects;

static bool pack_to(const objects *o, pw_cu_ptr packed)
{
    const pw_gpu_order order = {.buffer = {.layout = o->layout,
                                           .place = o->order->buffer.place,
                                           .base = (void *)(uintptr_t)o->there,
                                           .count = o->count,
                                           .bytes = o->bytes},
                                .packed = {.device = packed},
                                .bytes = o->bytes,
                                .direction = PW_PACK,
                                .path = PW_GPU_DIRECT};

    return pw_gpu_carry_out(&order) == PW_OK;
}

/* To the packed side of the order. */
static bool pack_all(const objects *o)
{
    const pw_gpu_packed to = o->order->packed;

    return o->layout ? pack_to(o, to.device)
                     : pw_gpu_copy(o->order->buffer.place.gpu, to.device, o->there, o->bytes) == PW_OK;
}

static bool unpack_bytes(const objects *o, pw_cu_ptr packed)
{
    pw_gpu_order order = *o->order;

    order.bytes = o->bytes;
    order.path = PW_GPU_DIRECT;
    return unpack_from(&order, (pw_gpu_packed){.device = packed});
}

static bool move_in_two(const objects *o)
{
    pw_gpu *gpu = o->order->buffer.place.gpu;
    pw_gpu_block *block = NULL;
    bool done;

    if (pw_gpu_take(gpu, PW_GPU_DEVICE_MEMORY, o->bytes, &block) != PW_OK)
        return false;
    done = pack_to(o, block->device) && unpack_bytes(o, block->device);
    pw_gpu_give(gpu, block);
    return done;
}

static bool move_joined(const objects *o)
{
    const pw_buffer *b = &o->order->buffer;
    pw_joined joined;
    pw_diag diag;
    bool done;

    if (o->bytes % b->layout->size != 0 || pw_layout_join(o->layout, b->layout, &joined, &diag) != PW_OK)
        return move_in_two(o);
    done = pw_gpu_joined_copy(&(pw_gpu_copy_order){.joined = &joined,
                                                   .gpu = b->place.gpu,
                                                   .from = (const void *)(uintptr_t)o->there,
                                                   .to = b->base,
                                                   .bytes = o->bytes}) == PW_OK;
    pw_layout_unref(joined.layout);
    return done;
}

static bool move_objects(const objects *o)
{
    const pw_buffer *b = &o->order->buffer;

    if (!o->layout)
        return unpack_bytes(o, o->there);
    if (!b->layout)
        return pack_to(o, pw_cu_address((char *)b->base + b->offset));
    return move_joined(o);
}

/* Does what `act` does with the message, whose memory is open meanwhile. */
static bool with_opened(const pw_gpu_order *order, const pw_stand_in *from, bool (*act)(const objects *o))
{
    pw_gpu_opened *opened = pw_gpu_opened_take(order->buffer.place.gpu, &from->exported);
    objects o = {.order = order, .layout = from->layout, .count = from->count, .bytes = from->bytes};
    bool done;

    if (!opened)
        return false;
    o.there = opened->device + (from->remote - from->exported.memory.address);
    done = act(&o) && has_lived(&from->exported);
    pw_gpu_opened_give(opened);
    return done;
}

static pw_gpu *reader(void)
{
    pw_gpu *gpu;

    pthread_mutex_lock(&table.lock);
    gpu = table.reader;
    pthread_mutex_unlock(&table.lock);
    return gpu;
}

/* Packs a part of the message into host memory: one kernel packs all of it, and the part is copied. */
static bool pack_to_host(const pw_stand_in *from, void *to, int64_t bytes)
{
    pw_gpu *gpu = reader();
    pw_gpu_block *block = NULL;
    pw_gpu_order order = {.buffer = {.place = {.kind = PW_PLACE_DEVICE, .gpu = gpu}}};
    bool done;

    if (!gpu || pw_gpu_take(gpu, PW_GPU_DEVICE_MEMORY, from->bytes, &block) != PW_OK)
        return false;
    order.packed = pw_gpu_packed_in(block);
    done = with_opened(&order, from, pack_all) &&
           pw_gpu_copy(gpu, pw_cu_address(to), block->device + (pw_cu_ptr)from->first, bytes) == PW_OK;
    pw_gpu_give(gpu, block);
    return done;
}

static void note_reader(pw_gpu *gpu)
{
    bool is_new;

    pthread_mutex_lock(&table.lock);
    is_new = table.reader != gpu;
    table.reader = gpu;
    pthread_mutex_unlock(&table.lock);
    if (is_new) {
        pw_gpu_depend(&dependent);
        pw_stand_in_pack_by(pack_to_host);
    }
}

bool pw_gpu_foreign_move(const pw_gpu_order *order, const pw_stand_in *from)
{
    bool done = with_opened(order, from, move_objects);

    if (done)
        note_reader(order->buffer.place.gpu);
    if (done && order->buffer.layout)
        atomic_fetch_add_explicit(&order->buffer.layout->stats.from_gpu, 1, memory_order_relaxed);
    return done;
}

pw_gpu_foreign_usage pw_gpu_foreign_usage_now(void)
{
    pw_gpu_foreign_usage usage;

    pthread_mutex_lock(&table.lock);
    usage = (pw_gpu_foreign_usage){.blocks = table.blocks, .bytes = table.bytes, .registrations = table.registrations};
    pthread_mutex_unlock(&table.lock);
    return usage;
}
