/*
 * Batches: short transfers that a thread begins in a row share one launch (codegen/nvrtc/fused.h). The kernel accesses
 * their packed copies directly, also those of staged transfers: a copy for each would take longer. A batch belongs to a
 * lane, and the lane goes back to the pool when the last member is finished.
 */
#include "base/lock.h"
#include "base/log.h"
#include "codegen/nvrtc/start.h"
#include "runtime/engine/gpu/under_way.h"

#include <stdlib.h>

enum {
    /*
     * The fused kernel writes pieces of odd lengths by words of 8 bytes and less, which use the bus badly
     * (bench/gpu/fused.c). One launch for sixteen transfers of 4 KiB to pinned memory is 1.5 times as fast as sixteen
     * launches, at 16 KiB 0.6 times; from pinned memory it is 2.0 times as fast at 16 KiB and 0.7 times at 64 KiB. For
     * whole words both use the bus alike, and the limits are those of device memory.
     */
    ODD_PACKED = 8 << 10,
    ODD_UNPACKED = 32 << 10,
    UNKNOWN = -1
};

struct pw_gpu_batch {
    pw_gpu_lane *lane;
    pthread_mutex_t lock;
    bool open;        /* not launched yet, so members can be added; guarded by the lock */
    _Atomic int left; /* members that are not finished, plus one while the batch is collected */
    _Atomic int over; /* the pw_status of the batch; UNKNOWN until a thread has waited for it */
    pw_status begun;  /* PW_OK: the work is in the stream; written before `open` is cleared */
    bool promised;    /* others wait until the lane's flag has reached `value`; guarded by the lock */
    uint64_t value;
    int n;
    bool foreign; /* a member is so */
    int64_t bytes;
    pw_gpu_fused fused;
    pw_gpu_transfer members[PW_GPU_FUSED_JOBS];
};

typedef struct pw_gpu_batch batch;

/* The batch that this thread collects. Another thread that finishes a member may launch it, which closes it. */
static _Thread_local batch *collected;

/* ---- which transfers can be fused -------------------------------------------------------------------------------- */

/* The number of whole objects. Transfers with a part of an object are not fused. */
static int64_t objects_of(const pw_gpu_order *o)
{
    return o->buffer.layout ? o->bytes / o->buffer.layout->size : o->bytes;
}

static int64_t most_bytes(const pw_gpu_order *o, const pw_gpu_layout *l)
{
    int64_t most = l ? l->fused_most : pw_gpu_fused_most(NULL),
            odd = o->direction == PW_UNPACK ? ODD_UNPACKED : ODD_PACKED;

    return l && l->odd && o->packed.host && odd < most ? odd : most;
}

bool pw_gpu_batch_takes(const pw_gpu_order *o)
{
    const pw_gpu_layout *l = o->buffer.layout ? pw_gpu_layout_of(o->buffer.layout) : NULL;

    if (atomic_load_explicit(&o->buffer.place.gpu->fuseless, memory_order_relaxed) || (o->buffer.layout && !l) ||
        !o->packed.device || o->replica)
        return false;
    return o->bytes > 0 && o->bytes <= most_bytes(o, l) && (!l || o->bytes % o->buffer.layout->size == 0);
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

static pw_status launch_fused(batch *b)
{
    bool flagged = b->promised || pw_gpu_flag_pays(b->bytes, b->fused.direction);
    pw_status status = pw_gpu_launch_fused(b->lane, &b->fused, flagged);

    if (status != PW_OK && !atomic_exchange(&b->lane->gpu->fuseless, true))
        pw_log(PW_LOG_WARN, "GPU %d refuses several transfers in one launch (%s): they are launched one by one",
               b->lane->gpu->ordinal, pw_status_text(status));
    return status;
}

/* Launches the batch unless that is done. A single member uses its own kernel, which is faster. */
static void put_on_its_way(batch *b)
{
    PW_HOLD(&b->lock);

    if (!b->open)
        return;
    b->members[0].order.alone = b->promised;
    if (b->n > 0)
        b->begun = b->n == 1 ? pw_gpu_enqueue(&b->members[0]) : launch_fused(b);
    b->open = false;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static batch *batch_of(pw_gpu_lane *lane)
{
    batch *b = lane->batch;

    if (b || !(b = calloc(1, sizeof *b)))
        return b;
    pthread_mutex_init(&b->lock, NULL);
    b->lane = lane;
    for (int i = 0; i < PW_GPU_FUSED_JOBS; i++)
        b->members[i] = (pw_gpu_transfer){.lane = lane, .batch = b};
    return lane->batch = b;
}

static batch *open_batch(const pw_gpu_order *o)
{
    pw_gpu_lane *lane = pw_gpu_lane_take_kept(o->buffer.place.gpu);
    batch *b = lane ? batch_of(lane) : NULL;

    if (!b) {
        if (lane)
            pw_gpu_lane_give(lane);
        return NULL;
    }
    b->promised = b->foreign = false;
    b->n = 0;
    b->bytes = 0;
    pw_gpu_fused_begin(&b->fused);
    b->members[0].scratch = b->members[0].part = NULL;
    b->begun = PW_OK;
    atomic_store_explicit(&b->left, 1, memory_order_relaxed);
    atomic_store_explicit(&b->over, UNKNOWN, memory_order_relaxed);
    PW_HOLD(&b->lock);
    b->open = true;
    return b;
}

/* What the launch has not written, because it was none or has failed, is written when all is moved in other ways. */
static void keep_promise(batch *b)
{
    pw_gpu_lane_reach(b->lane, b->promised ? b->value : b->lane->value);
}

/* Releases a reference to the batch, of a finished member or of the collecting thread. The context must be current. */
static void let_go(batch *b)
{
    pw_gpu_lane *lane = b->lane;

    if (atomic_fetch_sub_explicit(&b->left, 1, memory_order_acq_rel) > 1)
        return;
    keep_promise(b);
    pw_gpu_give(lane->gpu, b->members[0].scratch);
    pw_gpu_give(lane->gpu, b->members[0].part);
    pw_gpu_lane_give(lane);
}

/* The context must be current. */
static void stop_collecting(void)
{
    batch *b = collected;

    collected = NULL;
    put_on_its_way(b);
    let_go(b);
}

/* The call that moves `count` objects, or bytes without a layout. */
static pw_gpu_call call_of(const pw_gpu_order *o, int64_t count)
{
    const pw_buffer *u = &o->buffer;
    char *here = (char *)u->base + (u->layout ? 0 : u->offset);
    void *there = (void *)(uintptr_t)o->packed.device;

    return (pw_gpu_call){.count = count,
                         .dst = o->direction == PW_UNPACK ? (void *)here : there,
                         .src = o->direction == PW_UNPACK ? there : (void *)here,
                         .direction = o->direction};
}

static pw_status add_job(batch *b, const pw_gpu_order *o)
{
    const pw_buffer *u = &o->buffer;
    pw_gpu_layout *l = u->layout ? pw_gpu_layout_of(u->layout) : NULL;
    pw_gpu_bound *bound = l ? pw_gpu_layout_bind(l, u->place.gpu) : NULL;
    const pw_gpu_call call = call_of(o, objects_of(o));

    if (l && (!bound || !bound->table_addresses))
        return PW_ERR_NOMEM;
    return pw_gpu_fused_add(&b->fused, l ? u->layout->nest : NULL, l ? bound->table_addresses : NULL, &call);
}

/* Whether the order differs from the last member's by its addresses alone. Then what was found out about that one holds
 * for it: it suits, and has the same jobs. */
static bool is_as_last(const batch *b, const pw_gpu_order *o)
{
    const pw_gpu_order *l = &b->members[b->n > 0 ? b->n - 1 : 0].order;

    return b->n > 0 && l->buffer.layout == o->buffer.layout && l->buffer.place.gpu == o->buffer.place.gpu &&
           l->bytes == o->bytes && l->direction == o->direction && l->foreign == o->foreign &&
           !l->packed.host == !o->packed.host && o->packed.device && !o->replica;
}

static pw_status add_job_as_last(pw_gpu_fused *f, const pw_gpu_order *o)
{
    const pw_gpu_call call = call_of(o, 0);

    return pw_gpu_fused_again(f, call.dst, call.src);
}

/* Makes an order a member of the batch. PW_ERR_OVERFLOW: the batch has no room for it, or is closed. */
static pw_status put(batch *b, const pw_gpu_order *o, bool as_last)
{
    PW_HOLD(&b->lock);
    pw_gpu_transfer *t = &b->members[b->n];
    pw_status status;

    if (!b->open || b->n == PW_GPU_FUSED_JOBS)
        return PW_ERR_OVERFLOW;
    status = as_last ? add_job_as_last(&b->fused, o) : add_job(b, o);
    if (status != PW_OK)
        return status;
    t->order = *o;
    b->bytes += o->bytes;
    b->foreign |= o->foreign;
    b->n++;
    atomic_fetch_add_explicit(&b->left, 1, memory_order_relaxed);
    return PW_OK;
}

/* All members end together, so packs of messages that wait to be sent do not join reads of what comes. */
static bool suits(const batch *b, const pw_gpu_order *o)
{
    return b->lane->gpu == o->buffer.place.gpu &&
           (b->members[0].order.direction == o->direction || !(b->foreign || o->foreign));
}

/* The context must be current. */
static pw_gpu_transfer *add(const pw_gpu_order *o)
{
    pw_status status = PW_ERR_OVERFLOW;

    for (int attempt = 0; attempt < 2 && status == PW_ERR_OVERFLOW; attempt++) {
        batch *b = collected ? collected : open_batch(o);

        collected = b;
        if (!b)
            return NULL;
        status = put(b, o, false);
        if (status == PW_OK)
            return &b->members[b->n - 1];
        if (status == PW_ERR_OVERFLOW || b->n == 0)
            stop_collecting();
    }
    return NULL;
}

void pw_gpu_launch_begun(void)
{
    PW_GPU_SCOPE(scope);

    if (collected && pw_gpu_enter(collected->lane->gpu, &scope) == PW_OK)
        stop_collecting();
}

pw_gpu_transfer *pw_gpu_batch_add(const pw_gpu_order *o)
{
    PW_GPU_SCOPE(scope);

    if (collected && is_as_last(collected, o) && put(collected, o, true) == PW_OK)
        return &collected->members[collected->n - 1];
    if (!pw_gpu_batch_takes(o))
        return NULL;
    if (collected && !suits(collected, o))
        pw_gpu_launch_begun();
    if ((collected && !suits(collected, o)) || pw_gpu_enter(o->buffer.place.gpu, &scope) != PW_OK)
        return NULL;
    return pw_gpu_fused_functions(o->buffer.place.gpu) ? add(o) : NULL;
}

bool pw_gpu_batch_signals(batch *b, uint32_t *number, uint64_t *value)
{
    PW_HOLD(&b->lock);
    pw_gpu_lane *lane = b->lane;

    if (lane->signal < 0)
        return false;
    if (b->open && !b->promised) {
        b->promised = true;
        b->value = lane->value + 1;
    }
    *number = (uint32_t)lane->signal;
    *value = b->value;
    return b->promised;
}

bool pw_gpu_batch_is_launched(batch *b)
{
    PW_HOLD(&b->lock);

    return !b->open;
}

/* ---- finishing --------------------------------------------------------------------------------------------------- */

static pw_status wait(batch *b)
{
    int over = atomic_load_explicit(&b->over, memory_order_acquire);
    pw_status status;

    if (over != UNKNOWN)
        return (pw_status)over;
    status = pw_gpu_lane_end(b->lane, b->begun);
    atomic_store_explicit(&b->over, (int)status, memory_order_release);
    return status;
}

/* Finishes a member without the context, if the batch is known to be done and has other unfinished members. False: the
 * caller does the whole work of finishing. */
static bool finish_quickly(batch *b)
{
    int left = atomic_load_explicit(&b->left, memory_order_relaxed);

    if (collected || atomic_load_explicit(&b->over, memory_order_acquire) != PW_OK)
        return false;
    while (left > 1)
        if (atomic_compare_exchange_weak_explicit(&b->left, &left, left - 1, memory_order_acq_rel,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Repeats a transfer as a whole, whatever the batch has moved. */
static pw_status repeat(const pw_gpu_order *o, pw_status status)
{
    pw_gpu *gpu = o->buffer.place.gpu;

    status = pw_gpu_judge(gpu, status);
    if (status == PW_OK || atomic_load_explicit(&gpu->lost, memory_order_relaxed))
        return status;
    pw_warn_once("several transfers in one launch failed on GPU %d (%s); they are carried out one by one", gpu->ordinal,
                 pw_status_text(status));
    return pw_gpu_carry_out(o);
}

pw_status pw_gpu_batch_finish(pw_gpu_transfer *t)
{
    batch *b = t->batch;
    pw_gpu *gpu = b->lane->gpu;
    pw_gpu_order again;
    PW_GPU_SCOPE(scope);
    pw_status status;

    if (finish_quickly(b))
        return PW_OK;
    again = t->order;
    if (pw_gpu_enter(gpu, &scope) != PW_OK) {
        keep_promise(b);
        return pw_gpu_judge(gpu, PW_ERR_IO);
    }
    pw_gpu_launch_begun();
    put_on_its_way(b);
    status = wait(b);
    if (status != PW_OK)
        status = repeat(&again, status);
    let_go(b);
    return status;
}
