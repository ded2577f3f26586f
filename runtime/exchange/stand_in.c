/*
 * The way of one message from its offer to the user's memory. An offer of another process may hold anything: it is
 * copied first, and every number is checked (find_touched) before memory is read by it.
 */
#include "runtime/exchange/stand_in.h"

#include "runtime/engine/memory/view.h"
#include "runtime/engine/move/move.h"
#include "runtime/exchange/board.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const size_t most_copied = (size_t)1 << 30;

/* The singleton. */
static struct {
    pw_stand_in_engine *engine;           /* set once at start */
    _Atomic(pw_stand_in_packer *) packer; /* NULL: no GPU reads here */
} start;

void pw_stand_in_start(pw_stand_in_engine *engine)
{
    start.engine = engine;
}

void pw_stand_in_pack_by(pw_stand_in_packer *packer)
{
    atomic_store_explicit(&start.packer, packer, memory_order_relaxed);
}

/* ---- the sender's memory ----------------------------------------------------------------------------------------- */

static pw_buffer objects_of(const pw_stand_in *s)
{
    return (pw_buffer){.layout = s->layout, .base = (void *)s->memory, .count = s->count, .bytes = s->bytes};
}

/* Finds the addresses in the sender that the objects touch; their numbers may be anything. False: they cannot be. */
static bool find_touched(pw_stand_in *s)
{
    const pw_buffer objects = objects_of(s);
    int64_t lo, bytes;
    __int128 lowest;

    if (s->count <= 0 || (__int128)s->count * (s->layout ? s->layout->size : 1) != s->bytes ||
        !pw_view_bounds(&objects, &lo, &bytes))
        return false;
    lowest = (__int128)s->remote + lo;
    s->lowest = (uint64_t)lowest;
    s->stretch = (size_t)bytes;
    return lowest > 0 && bytes > 0 && lowest + bytes <= INT64_MAX;
}

static void set_memory(pw_stand_in *s, const void *lowest)
{
    s->memory = (const char *)((uintptr_t)lowest + (uintptr_t)(s->remote - s->lowest));
}

/* Looks for the addresses in this process. */
static void find_mapped(pw_stand_in *s)
{
    pw_peer_block block;
    const void *lowest = pw_peer_memory(s->block->pid, (const void *)(uintptr_t)s->lowest, s->stretch, &block);

    if (!lowest || block.lazy)
        lowest = pw_xpmem_attach(s->block->replica.segment, s->lowest, s->stretch, &s->attached);
    if (lowest)
        set_memory(s, lowest);
}

/* Reads the addresses into memory of this process. The system makes its pages. */
static bool read_copy(pw_stand_in *s)
{
    struct iovec to = {.iov_len = s->stretch}, of = {(void *)(uintptr_t)s->lowest, s->stretch};

    if (s->stretch > most_copied)
        return false;
    to.iov_base = mmap(NULL, s->stretch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (to.iov_base == MAP_FAILED)
        return false;
    if (syscall(SYS_process_vm_readv, s->block->pid, &to, 1UL, &of, 1UL, 0UL) == (long)s->stretch) {
        s->copy = to.iov_base;
        set_memory(s, to.iov_base);
        return true;
    }
    munmap(to.iov_base, s->stretch);
    return false;
}

/* Finds the layout of the objects. False: they have one that cannot be read. */
static bool find_layout(pw_stand_in *s)
{
    const pw_segment_text text = s->block->offer->text;
    pw_layout_engine *engine = start.engine ? start.engine() : NULL;

    if (text.address)
        s->layout = engine ? pw_board_get(s->block->pid, &text, engine) : NULL;
    return s->layout || !text.address;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

bool pw_stand_in_open(const pw_peer_block *block, const void *from, size_t bytes, pw_stand_in *out)
{
    pw_segment_offer *o = block->offer;
    const pw_segment_exported *device = &block->replica.memory;

    *out = (pw_stand_in){.block = block,
                         .remote = atomic_load_explicit(&o->memory, memory_order_relaxed),
                         .count = (int64_t)atomic_load_explicit(&o->count, memory_order_relaxed),
                         .bytes = (int64_t)block->message,
                         .first = (const char *)from - block->base};
    if (out->bytes == 0 || out->first + (int64_t)bytes > out->bytes)
        return false;
    if (find_layout(out) && find_touched(out) &&
        (!device->number || pw_segment_exported_has(device, out->lowest, out->stretch))) {
        if (!device->number)
            find_mapped(out);
        return true;
    }
    pw_layout_unref(out->layout);
    return false;
}

/* Whether the CPU has the objects, or a copy of all that they stretch over. */
static bool is_reached(pw_stand_in *s)
{
    return s->layout && !s->block->replica.memory.number && (s->memory || read_copy(s));
}

bool pw_stand_in_pack(pw_stand_in *s, void *to, int64_t bytes)
{
    pw_stand_in_packer *packer = atomic_load_explicit(&start.packer, memory_order_relaxed);

    if (s->block->replica.memory.number)
        return packer && packer(s, to, bytes);
    if (!is_reached(s))
        return false;
    pw_layout_pack_part(s->layout, s->memory, s->first, s->first + bytes, to);
    return true;
}

bool pw_stand_in_move(pw_stand_in *s, pw_layout *layout, void *to)
{
    const pw_buffer objects = {.layout = layout, .base = to, .count = s->bytes / layout->size, .bytes = s->bytes};
    pw_buffer from;

    if (!is_reached(s))
        return false;
    from = objects_of(s);
    return pw_move_now(&from, &objects, NULL) == PW_OK;
}

void pw_stand_in_close(pw_stand_in *s, int64_t bytes)
{
    if (s->whole || !s->copy)
        atomic_fetch_add_explicit(&s->block->offer->answered, (uint64_t)bytes, memory_order_release);
    if (s->copy)
        munmap(s->copy, s->stretch);
    pw_reach_give(s->attached);
    pw_layout_unref(s->layout);
}
