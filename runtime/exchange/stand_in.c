/*
 * The way of one message from its record to the user's memory. A record of another process may hold anything: it is
 * copied first, and every number is checked (find_touched) before memory is read by it.
 */
#include "runtime/exchange/stand_in.h"

#include "runtime/exchange/board.h"
#include "runtime/exchange/peers.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { TILE = 16 << 10 };

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

/* Finds the bounds of the objects of a record, whose numbers may be anything. False: they are no objects of that
 * layout.
 */
static bool find_bounds(const pw_stand_in_record *r, const pw_layout *l, int64_t *lo, int64_t *bytes)
{
    *lo = 0;
    *bytes = (int64_t)r->bytes;
    if (!l)
        return r->count == r->bytes;
    return r->count > 0 && r->count <= INT64_MAX && (unsigned __int128)r->count * (uint64_t)l->size == r->bytes &&
           pw_layout_bounds(l, (int64_t)r->count, lo, bytes);
}

/* Finds the addresses that the objects touch in the sender. False: there are no such objects. */
static bool find_touched(const pw_stand_in_record *r, pw_stand_in *out)
{
    int64_t lo, bytes;
    __int128 lowest;

    if (!find_bounds(r, out->layout, &lo, &bytes))
        return false;
    lowest = (__int128)r->memory + lo;
    out->lowest = (uint64_t)lowest;
    out->stretch = (size_t)bytes;
    return lowest > 0 && bytes > 0 && lowest + bytes <= INT64_MAX;
}

/* Whether the allocation has all of the addresses. */
static bool has_touched(const pw_segment_exported *e, const pw_stand_in *s)
{
    return s->lowest >= e->address && s->stretch <= e->bytes && s->lowest - e->address <= e->bytes - s->stretch;
}

static void set_memory(pw_stand_in *s, const void *lowest)
{
    s->memory = (const char *)((uintptr_t)lowest + (uintptr_t)(s->remote - s->lowest));
}

/* Looks for the addresses in this process. */
static void find_mapped(const pw_segment_header *h, pw_stand_in *out)
{
    pw_peer_block block;
    const void *lowest = pw_peer_memory(out->pid, (const void *)(uintptr_t)out->lowest, out->stretch, &block);

    if (!lowest)
        lowest = pw_xpmem_attach(h, out->lowest, out->stretch, &out->attached);
    if (lowest)
        set_memory(out, lowest);
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
    if (syscall(SYS_process_vm_readv, s->pid, &to, 1UL, &of, 1UL, 0UL) == (long)s->stretch) {
        s->copy = to.iov_base;
        set_memory(s, to.iov_base);
        return true;
    }
    munmap(to.iov_base, s->stretch);
    return false;
}

/* Finds the layout of a record. False: it has one that cannot be read. */
static bool find_layout(pid_t pid, const pw_stand_in_record *r, pw_stand_in *out)
{
    pw_layout_engine *engine = start.engine ? start.engine() : NULL;

    if (r->text == PW_SEGMENT_NO_TEXT)
        return true;
    out->layout = engine && r->text >= 0 ? pw_board_get(pid, (uint32_t)r->text, engine) : NULL;
    return out->layout;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

bool pw_stand_in_open(pid_t pid, const void *remote, size_t bytes, pw_stand_in *out)
{
    pw_segment_header *h = pw_peer_header(pid);
    pw_stand_in_record r;

    if (!h || !pw_segment_find_stand_in(h, (uintptr_t)remote, bytes, &r))
        return false;
    *out = (pw_stand_in){.pid = pid,
                         .remote = r.memory,
                         .count = (int64_t)r.count,
                         .bytes = (int64_t)r.bytes,
                         .message = (const void *)(uintptr_t)r.base,
                         .first = (int64_t)((uintptr_t)remote - r.base),
                         .answered = &h->stand_ins[r.number].answered,
                         .took = &h->stand_ins[r.number].took,
                         .late = &h->stand_ins[r.number].late,
                         .exported = {.segment = h, .wanted = &h->wanted, .memory = r.exported}};
    if (find_layout(pid, &r, out) && find_touched(&r, out) && (!r.exported.number || has_touched(&r.exported, out))) {
        if (!r.exported.number)
            find_mapped(h, out);
        return true;
    }
    pw_layout_unref(out->layout);
    return false;
}

static bool is_in_host_memory(const pw_stand_in *s)
{
    return s->layout && !s->exported.memory.number;
}

bool pw_stand_in_pack(pw_stand_in *s, void *to, int64_t bytes)
{
    pw_stand_in_packer *packer = atomic_load_explicit(&start.packer, memory_order_relaxed);

    if (s->exported.memory.number)
        return packer && packer(s, to, bytes);
    if (!is_in_host_memory(s) || (!s->memory && !read_copy(s)))
        return false;
    pw_layout_pack_part(s->layout, s->memory, s->first, s->first + bytes, to);
    return true;
}

/* Two passes over memory that stays in the first caches. */
static void move_in_tiles(const pw_stand_in *s, pw_layout *layout, void *to)
{
    _Alignas(64) char tile[TILE];

    for (int64_t first = 0, last; first < s->bytes; first = last) {
        last = s->bytes - first > TILE ? first + TILE : s->bytes;
        pw_layout_pack_part(s->layout, s->memory, first, last, tile);
        pw_layout_unpack_part(layout, to, first, last, tile);
    }
}

static void move_joined(pw_stand_in *s, const pw_joined *joined, pw_layout *layout, void *to)
{
    if (pw_joined_is_ready(joined, s->bytes))
        pw_layout_copy(joined, s->memory, to, s->bytes);
    else
        move_in_tiles(s, layout, to);
}

bool pw_stand_in_move(pw_stand_in *s, pw_layout *layout, void *to, int64_t room)
{
    pw_joined joined;
    pw_diag diag;

    if (s->bytes > room || !is_in_host_memory(s) || (!s->memory && !read_copy(s)))
        return false;
    if (s->bytes % layout->size == 0 && pw_layout_join(s->layout, layout, &joined, &diag) == PW_OK) {
        move_joined(s, &joined, layout, to);
        pw_layout_unref(joined.layout);
    } else
        move_in_tiles(s, layout, to);
    s->whole = true;
    return true;
}

bool pw_stand_in_lives(const pw_stand_in *s)
{
    return pw_segment_owner_lives(s->exported.segment);
}

void pw_stand_in_tell(const pw_stand_in *s, int64_t ns)
{
    atomic_store_explicit(s->took, ns > 0 ? (uint64_t)ns : 0, memory_order_relaxed);
}

void pw_stand_in_close(pw_stand_in *s, int64_t bytes)
{
    if (s->whole || !s->copy)
        atomic_fetch_add_explicit(s->answered, (uint64_t)bytes, memory_order_release);
    if (s->copy)
        munmap(s->copy, s->stretch);
    pw_reach_give(s->attached);
    pw_layout_unref(s->layout);
}
