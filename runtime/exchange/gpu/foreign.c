/*
 * Purpose: GPUs of this process read messages of other processes. Data: the reads under way when MPI's call has
 * returned (late reads), and those that a thread gathers for one launch. Invariant: what a read needs (opened memory, a
 * layout) stays until the read is over.
 */
#include "runtime/exchange/gpu/foreign.h"

#include "runtime/engine/memory/pool.h"
#include "runtime/engine/memory/view.h"
#include "runtime/engine/model/model.h"
#include "runtime/engine/move/move.h"
#include "runtime/exchange/gpu/opened.h"
#include "runtime/exchange/late.h"
#include "runtime/exchange/segment.h"

enum {
    MOST_LATE = 24, /* late reads at a time, which leaves lanes for other transfers (pool.h) */
    MOST_GATHERED = 256
};

/* The context that has last moved a message from another program's buffer. NULL: none. */
static _Atomic(pw_gpu *) reader;

static void forget_reader(const pw_gpu *gpu, bool driver)
{
    pw_gpu *expected = (pw_gpu *)(uintptr_t)gpu;

    (void)driver;
    atomic_compare_exchange_strong(&reader, &expected, NULL);
}

static pw_gpu_dependent dependent = {.close = forget_reader};

static pw_gpu_order unpacking(const pw_gpu_order *order, pw_gpu_packed packed)
{
    pw_gpu_order o = *order;

    o.packed = packed;
    o.direction = PW_UNPACK;
    return o;
}

static pw_gpu_packed packed_at(const pw_reached *r, const void *from, const pw_peer_block *block)
{
    return pw_gpu_packed_at((pw_gpu_packed){.host = (void *)(uintptr_t)block->base, .device = r->at},
                            (const char *)from - block->base);
}

static void count_from_gpu(pw_layout *layout)
{
    if (layout)
        atomic_fetch_add_explicit(&layout->stats.from_gpu, 1, memory_order_relaxed);
}

/* ---- late reads -------------------------------------------------------------------------------------------------- */

/* A late read under way, and what must stay until its end. */
typedef struct late_read {
    pw_gpu_transfer *transfer;
    const pw_segment_header *sender;
    pw_reached *reached;
    bool registered;   /* it reads a block of a segment; else GPU memory */
    pw_layout *layout; /* whose kernel runs, with a reference; NULL: none */
} late_read;

_Static_assert(sizeof(late_read) <= PW_CELL_BYTES, "a late read fits a cell");

/* The singleton: the number of late reads under way. Threads that begin some at once may exceed the bound. */
static _Atomic int late_reads;

/* Releases what the read holds, and says whether its bytes count. The driver frees the GPU memory of a process that
 * ends, maybe while it is read, so what was read in opened memory counts only if its owner has lived until now. The
 * segment's own memory stays. */
static bool leave(const late_read *r)
{
    bool counts = r->registered || pw_segment_owner_has_waited(r->sender);

    pw_reach_give(r->reached);
    pw_layout_unref(r->layout);
    return counts;
}

/* ---- gathering --------------------------------------------------------------------------------------------------- */

/* A signal of this process, and what it reaches at the end of a launch. Signal 0 of value 0: there is none. */
typedef struct ending {
    uint32_t signal;
    uint64_t value;
} ending;

/* The reads that this thread gathers. */
static _Thread_local struct {
    pw_gathering what;
    int reads, before;      /* that wait for their launch; at the last look */
    double ns;              /* that their bytes take by the model */
    ending next, under_way; /* of the launch that they wait for; of the one before */
} gathered;

static bool is_under_way(const ending *e)
{
    const pw_segment_header *own = pw_segment_own_header();

    return own && e->value > 0 &&
           (int64_t)(atomic_load_explicit(&own->signals[e->signal].value, memory_order_acquire) - e->value) < 0;
}

static void launch_gathered(void)
{
    if (gathered.reads == 0)
        return;
    pw_gpu_launch_begun();
    gathered.under_way = gathered.next;
    gathered.reads = gathered.before = 0;
    gathered.ns = 0;
}

static void count_gathered(const late_read *r, int64_t bytes, ending end)
{
    const pw_facts *f = &pw_model_now()->facts;

    gathered.reads++;
    gathered.ns += (double)bytes / (r->registered ? f->mapped : f->peer_bytes);
    gathered.next = end;
}

/* Whether a launch is due before the end of the call: what has been gathered takes as long to read as a launch. */
static bool is_due(void)
{
    return gathered.what == PW_GATHER_BLOCKS && gathered.ns >= pw_model_now()->facts.peer_launch &&
           !is_under_way(&gathered.under_way);
}

void pw_gpu_foreign_gather(pw_gathering what)
{
    launch_gathered();
    gathered.what = what;
}

pw_gathering pw_gpu_foreign_gathers(void)
{
    return gathered.what;
}

void pw_gpu_foreign_look(void)
{
    bool more = gathered.reads > gathered.before;

    gathered.before = gathered.reads;
    if (gathered.reads > 0 && !more && !is_under_way(&gathered.under_way))
        launch_gathered();
}

/* Whether the read can wait for others. */
static bool is_gathered(const pw_gpu_order *order)
{
    bool suits = gathered.what == PW_GATHER_ALL || (gathered.what == PW_GATHER_BLOCKS && order->in_call);

    return suits && pw_gpu_is_fusable(order);
}

/* Launches a read that holds what *r says, or gathers it. The launch has a lane of its own, or shares it with the reads
 * of this process alone, so that the sender can wait for its end. Where that is not possible the read is over on
 * return, and *late NULL. False: it has failed. */
static bool launch(late_read *r, const pw_gpu_order *order, pw_segment_late *record, void **late)
{
    late_read *kept = pw_cell_take();
    pw_gpu_order begun = *order;
    pw_status status;
    ending end;

    begun.alone = !is_gathered(order);
    begun.ahead = begun.foreign = true;
    r->transfer = kept ? pw_gpu_begin(&begun) : NULL;
    if (r->transfer && pw_gpu_signals(r->transfer, &end.signal, &end.value)) {
        atomic_fetch_add_explicit(&late_reads, 1, memory_order_relaxed);
        r->layout = order->buffer.layout;
        if (r->layout)
            pw_layout_ref(r->layout);
        *kept = *r;
        *late = kept;
        if (!begun.alone)
            count_gathered(r, order->bytes, end);
        pw_late_tell(record, end.signal, end.value);
        if (is_due())
            launch_gathered();
        return true;
    }
    pw_cell_give(kept);
    status = r->transfer ? pw_gpu_finish(r->transfer) : pw_gpu_carry_out(order);
    return leave(r) && status == PW_OK;
}

pw_status pw_gpu_foreign_finish(void *late)
{
    const late_read r = *(late_read *)late;
    pw_status status = pw_gpu_finish(r.transfer);

    atomic_fetch_sub_explicit(&late_reads, 1, memory_order_relaxed);
    pw_cell_give(late);
    return leave(&r) || status != PW_OK ? status : PW_ERR_IO;
}

/* Reads as launch does if the read may be a late one, else at once. */
static bool read_by(late_read *r, const pw_gpu_order *order, pw_segment_late *record, void **late)
{
    bool done;

    if (late && pw_late_may(r->sender, record) &&
        atomic_load_explicit(&late_reads, memory_order_relaxed) < (is_gathered(order) ? MOST_GATHERED : MOST_LATE))
        return launch(r, order, record, late);
    done = pw_gpu_carry_out(order) == PW_OK;
    return leave(r) && done;
}

/* ---- from the segment of another process ------------------------------------------------------------------------- */

static bool unpack_registered(const pw_gpu_order *order, const void *from, const pw_peer_block *block, void **late)
{
    late_read r = {.sender = block->replica.segment,
                   .reached = pw_gpu_registered_take(order->buffer.place.gpu, block),
                   .registered = true};
    pw_gpu_order o;

    if (!r.reached)
        return false;
    o = unpacking(order, packed_at(r.reached, from, block));
    return read_by(&r, &o, block->late, late);
}

static bool unpack_replica(const pw_gpu_order *order, const void *from, const pw_peer_block *block, void **late)
{
    late_read r = {.sender = block->replica.segment};
    pw_gpu_order o;

    r.reached = block->form == PW_OFFER_REPLICA ? pw_gpu_opened_take(order->buffer.place.gpu, &block->replica) : NULL;
    if (!r.reached)
        return false;
    o = unpacking(order, (pw_gpu_packed){.device = r.reached->at + (pw_cu_ptr)((const char *)from - block->base)});
    if (!read_by(&r, &o, block->late, late))
        return false;
    count_from_gpu(order->buffer.layout);
    return true;
}

bool pw_gpu_foreign_unpack(const pw_gpu_order *order, const void *from, const pw_peer_block *block, void **late)
{
    if (unpack_replica(order, from, block, late))
        return true;
    if (block->lazy || !unpack_registered(order, from, block, late))
        return false;
    pw_gpu_opened_want(&block->replica);
    return true;
}

/* ---- from the program's memory of another process ---------------------------------------------------------------- */

/* The objects of a message, in memory that is open for a GPU. */
static pw_buffer objects_of(const pw_stand_in *from, const pw_reached *opened, pw_memory_place place)
{
    return (pw_buffer){.layout = from->layout,
                       .place = place,
                       .base = (void *)(uintptr_t)(opened->at + (from->remote - from->block->replica.memory.address)),
                       .count = from->layout ? from->count : 1,
                       .bytes = from->bytes};
}

void pw_gpu_repeat_forget(pw_gpu_repeat *repeat)
{
    pw_layout_unref(repeat->order.buffer.layout);
    *repeat = (pw_gpu_repeat){.at = 0};
}

static void keep(pw_gpu_repeat *repeat, const pw_gpu_order *one, const late_read *r, const pw_peer_block *block,
                 pw_layout *layout)
{
    if (one->buffer.layout)
        pw_layout_ref(one->buffer.layout);
    pw_gpu_repeat_forget(repeat);
    *repeat = (pw_gpu_repeat){*one, block->replica, r->reached->at, block->late, layout};
}

/* Moves by one transfer, which may be a late read, or in two passes. */
static bool move_objects(const pw_buffer *from, const pw_gpu_order *order, late_read *r, const pw_peer_block *block,
                         void **late, pw_gpu_repeat *repeat)
{
    pw_buffer to = order->buffer;
    pw_gpu_order one;
    pw_move move;
    bool done;

    to.bytes = from->bytes;
    to.count = to.layout ? to.bytes / to.layout->size : 1;
    pw_move_open(&move, from, &to);
    if (pw_move_as_one(&move, &one)) {
        one.in_call = order->in_call && pw_view_is_dense(from);
        if (repeat)
            keep(repeat, &one, r, block, order->buffer.layout);
        done = read_by(r, &one, block->late, late);
    } else {
        done = pw_move_finish(&move) == PW_OK;
        done = leave(r) && done;
    }
    pw_move_close(&move);
    return done;
}

static bool pack_opened(pw_gpu *gpu, const pw_stand_in *from, pw_cu_ptr packed)
{
    const pw_memory_place place = {.kind = PW_PLACE_DEVICE, .device = gpu->ordinal, .gpu = gpu};
    const pw_buffer to = {.place = place, .base = (void *)(uintptr_t)packed, .count = 1, .bytes = from->bytes};
    pw_reached *opened = pw_gpu_opened_take(gpu, &from->block->replica);
    pw_buffer objects;
    bool done;

    if (!opened)
        return false;
    objects = objects_of(from, opened, place);
    done = pw_move_now(&objects, &to, NULL) == PW_OK && pw_segment_owner_has_waited(from->block->replica.segment);
    pw_reach_give(opened);
    return done;
}

/* Packs a part of the message into host memory: one kernel packs all of it, and the part is copied. */
static bool pack_to_host(const pw_stand_in *from, void *to, int64_t bytes)
{
    pw_gpu *gpu = atomic_load(&reader);
    pw_gpu_block *block = NULL;
    bool done;

    if (!gpu || pw_gpu_take(gpu, PW_GPU_DEVICE_MEMORY, from->bytes, &block) != PW_OK)
        return false;
    done = pack_opened(gpu, from, block->device) &&
           pw_gpu_copy(gpu, pw_cu_address(to), block->device + (pw_cu_ptr)from->first, bytes) == PW_OK;
    pw_gpu_give(gpu, block);
    return done;
}

static void note_reader(pw_gpu *gpu)
{
    if (atomic_load(&reader) == gpu)
        return;
    atomic_store(&reader, gpu);
    pw_gpu_depend(&dependent);
    pw_stand_in_pack_by(pack_to_host);
}

bool pw_gpu_foreign_move(const pw_gpu_order *order, const pw_stand_in *from, void **late, pw_gpu_repeat *repeat)
{
    late_read r = {.sender = from->block->replica.segment,
                   .reached = pw_gpu_opened_take(order->buffer.place.gpu, &from->block->replica)};
    pw_buffer objects;

    if (!r.reached)
        return false;
    objects = objects_of(from, r.reached, order->buffer.place);
    if (!move_objects(&objects, order, &r, from->block, late, repeat))
        return false;
    note_reader(order->buffer.place.gpu);
    count_from_gpu(order->buffer.layout);
    return true;
}

bool pw_gpu_foreign_repeat(const pw_gpu_repeat *repeat, void **late)
{
    pw_gpu *gpu = repeat->order.buffer.place.gpu;
    late_read r = {.sender = repeat->memory.segment,
                   .reached = repeat->order.bytes > 0 ? pw_gpu_opened_take(gpu, &repeat->memory) : NULL};

    if (!r.reached || r.reached->at != repeat->at) {
        pw_reach_give(r.reached);
        return false;
    }
    if (!read_by(&r, &repeat->order, repeat->record, late))
        return false;
    count_from_gpu(repeat->layout);
    return true;
}
