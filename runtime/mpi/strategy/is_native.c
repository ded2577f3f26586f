/*
 * Purpose: fast checks whether a single message is certain to be left to MPI. A yes is what pw_staging_open would
 * answer, and counts as a use of the site; every doubt is a no.
 */
#include "runtime/mpi/strategy/is_native.h"

_Static_assert((int)PW_RECALL_REGION == (int)PW_MEMORY_REGION_SHIFT, "a place is a region of memory");

_Thread_local pw_recall pw_left[PW_LEFT_TABLES][1 << PW_RECALL_BITS];

typedef struct asked {
    pw_call_kind kind;
    pw_note_use use;
    pw_site *site; /* the answer's, of a layout */
} asked;

/* Returns whether a message is certain to be left to MPI wherever it lies, or lies in host memory and is. A count that
 * MPI refuses may be left to it, too. */
static bool is_left(void *arg, const pw_entry *entry)
{
    asked *a = arg;

    if (pw_entry_is_left(entry))
        return true;
    if (!pw_memory_is_known_host((const char *)a->use.buf + entry->lowest))
        return false;
    if (!entry->layout || entry->gpu_only)
        return true;
    a->site = pw_native_site(entry, a->kind, a->use.role, (int64_t)((uint64_t)a->use.count * (uint64_t)entry->size));
    return a->site;
}

static bool is_left_learned(asked *a, uint64_t key, const pw_entry *entry, unsigned epoch)
{
    pw_recall now = {.key = key, .from = pw_recall_from(a->use.buf, entry->lowest), .more = UINT64_MAX, .epoch = epoch};

    if (!is_left(a, entry))
        return false;
    if (a->site) { /* both bounds count objects; its class of sizes has this message, a multiple of the type's size */
        now.least = (uint64_t)((a->site->least + entry->size - 1) / entry->size);
        now.more = (uint64_t)(a->site->most / entry->size) - now.least;
    }
    now.by = a->site;
    pw_recall_keep(pw_left_messages(a->kind, a->use.role), now, a->use.buf);
    return true;
}

/* Does what pw_is_native does, once it is known that hooks have nothing to look after. It stands apart, so that most
 * uses of noted types run little code: they are made between long calls of MPI, which leave none of it in the caches.
 */
static __attribute__((noinline)) bool is_left_found(pw_call_kind kind, pw_role role, MPI_Datatype type, const void *buf,
                                                    MPI_Count count, unsigned epoch, int staged)
{
    uint64_t key = pw_type_key(type);
    void *found = pw_handle_table_find(&pw_registry_types, key); /* a quick look may have marked it just now */
    asked a = {kind, {.buf = buf, .count = count, .role = role, .times = 1, .staged = staged, .alone = true}, NULL};

    if (!found)
        return false;
    if (!pw_note_is(found))
        return kind <= PW_CALL_NONBLOCKING ? is_left_learned(&a, key, found, epoch) : is_left(&a, found);
    a.use.is_native = is_left, a.use.arg = &a;
    return pw_registry_leaves_noted(type, &a.use, found);
}

bool pw_is_native(pw_call_kind kind, pw_role role, MPI_Datatype type, const void *buf, MPI_Count count, int peer,
                  int staged)
{
    unsigned epoch = pw_epoch_now(); /* before all else, since a change ends it */
    pw_handle_slot *front = pw_handle_front(&pw_registry_types, pw_type_key(type));

    if (pw_gate_has_unfinished() || !pw_memory_is_host_only()) /* hooks follow all messages to oneself in GPU memory */
        return false;
    if (count == 0 || peer == MPI_PROC_NULL)
        return true;
    return (pw_note_is(pw_handle_slot_look(front, pw_type_key(type))) &&
            pw_note_takes_few(type, buf, count, role, staged, front)) ||
           is_left_found(kind, role, type, buf, count, epoch, staged);
}
