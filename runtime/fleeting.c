#include "runtime/fleeting.h"

#include "runtime/handle_table.h"
#include "runtime/layout/layout.h"
#include "runtime/memory.h"
#include "runtime/model/decide.h"
#include "runtime/strategy/fragile.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    NEWEST = 4,   /* a type that is freed while it is among as many learned last has died young */
    ENOUGH = 32,  /* as many young deaths, and types are noted */
    MOST = 64,    /* more of them do not count */
    PER_OLD = 16, /* what a type that stays alive takes away */
    NOTES_BITS = 6,
    SIZES = 84 /* classes of sizes, to 4 MiB; the types of longer messages are always learned */
};

typedef struct note {
    _Atomic uint64_t key; /* 0: free */
    _Atomic int uses;
} note;

/* The singleton. */
static struct {
    bool enabled;
    _Atomic int young;               /* young deaths, less PER_OLD for each type that grew old */
    _Atomic unsigned births;         /* of types that were learned */
    _Atomic uint64_t newest[NEWEST]; /* 0: dead */
    note notes[1 << NOTES_BITS];
    /* By size: how many types were learned in vain, to PW_FLEETING_IN_VAIN, and then how many were not learned. */
    _Atomic uint8_t in_vain[SIZES];
} fleeting;

/* The size of the message for which this thread has a type learned, plus one; 0: of none. */
static _Thread_local int awaited;

static note *note_of(uint64_t key)
{
    return &fleeting.notes[pw_handle_hash(key) >> (64 - NOTES_BITS)];
}

static bool is_noted(const note *n, uint64_t key)
{
    return key && atomic_load_explicit(&n->key, memory_order_relaxed) == key;
}

static void died_young(void)
{
    if (atomic_load_explicit(&fleeting.young, memory_order_relaxed) < MOST)
        atomic_fetch_add_explicit(&fleeting.young, 1, memory_order_relaxed);
}

static void grew_old(void)
{
    int young = atomic_load_explicit(&fleeting.young, memory_order_relaxed);

    atomic_store_explicit(&fleeting.young, young > PER_OLD ? young - PER_OLD : 0, memory_order_relaxed);
}

void pw_fleeting_start(void)
{
    fleeting.enabled = !pw_strategy_is_forced() && !pw_layout_use_is_told() && !pw_fragile_is_staged();
}

bool pw_fleeting_note(MPI_Datatype type)
{
    uint64_t key = pw_type_key(type), empty = 0;
    note *n = note_of(key);

    if (atomic_load_explicit(&fleeting.young, memory_order_relaxed) < ENOUGH || !fleeting.enabled ||
        atomic_load_explicit(&pw_memory_now, memory_order_relaxed) != PW_MEMORY_HOST_ONLY)
        return false;
    /* Another type in its place is not driven out, since that would never be learned. */
    if (!is_noted(n, key) &&
        !atomic_compare_exchange_strong_explicit(&n->key, &empty, key, memory_order_relaxed, memory_order_relaxed))
        return false;
    atomic_store_explicit(&n->uses, 0, memory_order_relaxed);
    return true;
}

void pw_fleeting_born(MPI_Datatype type)
{
    unsigned birth = atomic_fetch_add_explicit(&fleeting.births, 1, memory_order_relaxed);

    if (atomic_exchange_explicit(&fleeting.newest[birth % NEWEST], pw_type_key(type), memory_order_relaxed))
        grew_old();
}

/* Takes the note away, if there is one. Threads that use the type at once may all find it: they learn it once. */
static bool end_note(uint64_t key)
{
    note *n = note_of(key);

    if (!is_noted(n, key))
        return false;
    atomic_store_explicit(&n->key, 0, memory_order_relaxed);
    return true;
}

bool pw_fleeting_freed(MPI_Datatype type)
{
    uint64_t key = pw_type_key(type);

    if (end_note(key)) {
        died_young();
        return true;
    }
    for (int i = 0; i < NEWEST; i++) {
        uint64_t same = key;

        if (atomic_load_explicit(&fleeting.newest[i], memory_order_relaxed) == key &&
            atomic_compare_exchange_strong_explicit(&fleeting.newest[i], &same, 0, memory_order_relaxed,
                                                    memory_order_relaxed)) {
            died_young();
            break;
        }
    }
    return false;
}

/* While no GPU's memory may come in, all that a type reaches is the host's. */
static bool is_host(const void *buf)
{
    return pw_memory_is_host(buf) && pw_memory_is_known_host(buf);
}

/* Would learning the type of a message of so many bytes be in vain, as far as is known? */
static bool is_in_vain(int64_t bytes)
{
    int size = bytes > 0 ? pw_decision_size(bytes) : SIZES, n;

    if (size >= SIZES)
        return false;
    n = atomic_load_explicit(&fleeting.in_vain[size], memory_order_relaxed);
    if (n < PW_FLEETING_IN_VAIN || n == PW_FLEETING_IN_VAIN + PW_FLEETING_AGAIN - 1) {
        awaited = size + 1;
        return false;
    }
    atomic_store_explicit(&fleeting.in_vain[size], (uint8_t)(n + 1), memory_order_relaxed);
    return true;
}

/* Threads that come here at once may count as one. */
void pw_fleeting_decided(bool staged)
{
    _Atomic uint8_t *in_vain;
    int n;

    if (!awaited)
        return;
    in_vain = &fleeting.in_vain[awaited - 1];
    awaited = 0;
    n = atomic_load_explicit(in_vain, memory_order_relaxed);
    atomic_store_explicit(in_vain,
                          (uint8_t)(staged                    ? 0
                                    : n < PW_FLEETING_IN_VAIN ? n + 1
                                                              : PW_FLEETING_IN_VAIN),
                          memory_order_relaxed);
}

bool pw_fleeting_stays(MPI_Datatype type, const void *buf, MPI_Count count)
{
    note *n = note_of(pw_type_key(type));
    MPI_Count size;
    int64_t bytes;
    int uses;

    if (!is_noted(n, pw_type_key(type)) || !is_host(buf) || PMPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        __builtin_mul_overflow((int64_t)size, (int64_t)count, &bytes) ||
        (bytes > PW_FLEETING_BYTES && !is_in_vain(bytes)))
        return false;
    uses = atomic_load_explicit(&n->uses, memory_order_relaxed) + 1;
    atomic_store_explicit(&n->uses, uses, memory_order_relaxed); /* threads that use it at once may count as one */
    if (uses == PW_FLEETING_USES)
        grew_old();
    return uses < PW_FLEETING_USES;
}

bool pw_fleeting_take(MPI_Datatype type)
{
    return end_note(pw_type_key(type));
}

void pw_fleeting_close(void)
{
    for (int i = 0; i < 1 << NOTES_BITS; i++)
        atomic_store(&fleeting.notes[i].key, 0);
    for (int i = 0; i < NEWEST; i++)
        atomic_store(&fleeting.newest[i], 0);
    for (int i = 0; i < SIZES; i++)
        atomic_store(&fleeting.in_vain[i], 0);
}
