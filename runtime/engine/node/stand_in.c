#include "runtime/engine/node/stand_in.h"

#include "runtime/engine/node/board.h"
#include "runtime/engine/node/peers.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { TILE = 16 << 10 };

static const size_t most_copied = (size_t)1 << 30;

/* The singleton, set once at start. */
static pw_stand_in_engine *engine_of;

void pw_stand_in_start(pw_stand_in_engine *engine)
{
    engine_of = engine;
}

/* ---- the sender's memory ----------------------------------------------------------------------------------------- */

/* The addresses that the objects of a record touch in the sender. */
typedef struct touched {
    uint64_t lowest;
    size_t bytes;
} touched;

/* The numbers of a record may be anything. False: they are no objects of that layout. */
static bool find_touched(const pw_stand_in_record *r, const pw_layout *l, touched *out)
{
    __int128 last, lowest, bytes;

    if (r->count == 0 || r->count > INT64_MAX || (unsigned __int128)r->count * (uint64_t)l->size != r->bytes)
        return false;
    last = (__int128)(r->count - 1) * l->extent;
    lowest = (__int128)r->memory + l->nest->lo + (last < 0 ? last : 0);
    bytes = (__int128)r->memory + l->nest->hi + (last > 0 ? last : 0) - lowest;
    *out = (touched){(uint64_t)lowest, (size_t)bytes};
    return lowest > 0 && bytes > 0 && bytes <= INT64_MAX && lowest + bytes <= INT64_MAX;
}

/* Reads the addresses into memory of this process. The system makes its pages. */
static const char *copy_of(pid_t pid, const touched *t, pw_stand_in *out)
{
    struct iovec to = {.iov_len = t->bytes}, of = {(void *)(uintptr_t)t->lowest, t->bytes};

    if (t->bytes > most_copied)
        return NULL;
    to.iov_base = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (to.iov_base == MAP_FAILED)
        return NULL;
    out->copy = to.iov_base;
    out->copy_bytes = t->bytes;
    if (syscall(SYS_process_vm_readv, pid, &to, 1UL, &of, 1UL, 0UL) == (long)t->bytes)
        return to.iov_base;
    munmap(to.iov_base, t->bytes);
    return NULL;
}

static bool reach(pid_t pid, const pw_stand_in_record *r, pw_stand_in *out)
{
    pw_peer_block block;
    const char *lowest;
    touched t;

    if (!find_touched(r, out->layout, &t))
        return false;
    lowest = pw_peer_memory(pid, (const void *)(uintptr_t)t.lowest, t.bytes, &block);
    if (!lowest)
        lowest = copy_of(pid, &t, out);
    out->memory = (const char *)((uintptr_t)lowest + (uintptr_t)(r->memory - t.lowest));
    return lowest;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

bool pw_stand_in_open(pid_t pid, const void *remote, size_t bytes, pw_stand_in *out)
{
    pw_segment_header *h = pw_peer_header(pid);
    pw_stand_in_record r;
    pw_layout_engine *engine;

    if (!h || !engine_of || !pw_segment_find_stand_in(h, (uintptr_t)remote, bytes, &r))
        return false;
    engine = engine_of();
    *out = (pw_stand_in){.layout = engine ? pw_board_get(pid, r.text, engine) : NULL,
                         .count = (int64_t)r.count,
                         .bytes = (int64_t)r.bytes,
                         .message = (const void *)(uintptr_t)r.base,
                         .first = (int64_t)((uintptr_t)remote - r.base),
                         .answered = &h->stand_ins[r.number].answered};
    if (out->layout && reach(pid, &r, out))
        return true;
    pw_layout_unref(out->layout);
    return false;
}

void pw_stand_in_pack(const pw_stand_in *s, void *to, int64_t bytes)
{
    pw_layout_pack_part(s->layout, s->memory, s->first, s->first + bytes, to);
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

bool pw_stand_in_move(const pw_stand_in *s, pw_layout *layout, void *to, int64_t room)
{
    pw_joined joined;
    pw_diag diag;

    if (s->bytes > room)
        return false;
    if (s->bytes % layout->size != 0 || pw_layout_join(s->layout, layout, &joined, &diag) != PW_OK) {
        move_in_tiles(s, layout, to);
        return true;
    }
    if (pw_joined_is_ready(&joined, s->bytes))
        pw_layout_copy(&joined, s->memory, to, s->bytes);
    else
        move_in_tiles(s, layout, to);
    pw_layout_unref(joined.layout);
    return true;
}

void pw_stand_in_close(pw_stand_in *s, int64_t bytes)
{
    if (s->copy)
        munmap(s->copy, s->copy_bytes);
    pw_layout_unref(s->layout);
    atomic_fetch_add_explicit(s->answered, (uint64_t)bytes, memory_order_release);
}
