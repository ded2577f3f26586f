#include "runtime/collective/stays.h"

#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* Mostly a block is like the one before, and known. */
bool pw_each_stays(const void *buf, pw_counts counts, const MPI_Aint *displs, const MPI_Datatype *types, int blocks,
                   const bool *absent, int *left)
{
    const pw_entry *entry = NULL;
    MPI_Datatype last_type = MPI_DATATYPE_NULL;
    int64_t last_count = 0, bytes;
    uintptr_t last_region = 0;

    for (int i = 0; i < blocks; i++) {
        int64_t count = pw_count_at(counts, i);
        const char *at = (const char *)buf + displs[i];

        if (RARELY(absent && absent[i]) || RARELY(count == 0))
            continue;
        if (types[i] != last_type) {
            last_type = types[i];
            last_count = 0;
            entry = pw_entry_of(last_type);
        }
        if (RARELY(!entry))
            return false;
        at += entry->lowest;
        if (count == last_count && pw_memory_region(at) == last_region)
            continue;
        last_count = count;
        last_region = pw_memory_region(at);
        if (RARELY(count < 0))
            return false;
        if (RARELY(!entry->layout && !entry->dense))
            continue;
        if (RARELY(!pw_memory_is_known_host(at)))
            return false;
        if (entry->layout && (RARELY(__builtin_mul_overflow(count, entry->size, &bytes)) ||
                              RARELY(!pw_message_stays(entry, PW_CALL_COLLECTIVE, bytes, left))))
            return false;
    }
    return true;
}

bool pw_all_stay(const void *buf, pw_counts counts, const int *displs, const MPI_Datatype *types, int blocks,
                 const bool *absent, int *left)
{
    const pw_entry *entry, *largest = NULL;
    int64_t bytes, total = 0, most = 0;

    for (int i = 0; i < blocks; i++) {
        int64_t count = pw_count_at(counts, i);

        if (count == 0 || (absent && absent[i]))
            continue;
        entry = pw_entry_of(types[i]);
        if (!entry || count < 0 || (!entry->layout && !entry->dense) ||
            !pw_memory_is_known_host((const char *)buf + displs[i] + entry->lowest) ||
            __builtin_mul_overflow(count, entry->size, &bytes) || __builtin_add_overflow(total, bytes, &total))
            return false;
        if (entry->layout && bytes > most) {
            most = bytes;
            largest = entry;
        }
    }
    return !largest || pw_message_stays(largest, PW_CALL_COLLECTIVE, total, left);
}

/* Was a message of this size native when last decided about? */
static bool is_native(const pw_entry *entry, int64_t bytes)
{
    const pw_decision *d =
        atomic_load_explicit(&entry->native[PW_CALL_COLLECTIVE][pw_native_slot(bytes)], memory_order_acquire);

    return d && bytes >= d->least && bytes <= d->most &&
           atomic_load_explicit(&d->chosen, memory_order_relaxed) == PW_STRATEGY_NATIVE;
}

bool pw_together_stay(const void *buf, pw_counts counts, const MPI_Aint *displs, const MPI_Datatype *types, int blocks,
                      const bool *absent, int *left)
{
    const pw_entry *entry, *largest = NULL;
    int64_t bytes, total = 0, most = 0;

    for (int i = 0; i < blocks; i++) {
        int64_t count = pw_count_at(counts, i);

        if (count == 0 || (absent && absent[i]))
            continue;
        entry = pw_entry_of(types[i]);
        if (!entry || count < 0 || __builtin_mul_overflow(count, entry->size, &bytes))
            return false;
        if (!entry->layout && !entry->dense)
            continue;
        if (!pw_memory_is_known_host((const char *)buf + displs[i] + entry->lowest))
            return false;
        if (!entry->layout)
            continue;
        if (is_native(entry, bytes)) {
            if (!pw_message_stays(entry, PW_CALL_COLLECTIVE, bytes, left))
                return false;
            continue;
        }
        if (__builtin_add_overflow(total, bytes, &total))
            return false;
        if (bytes > most) {
            most = bytes;
            largest = entry;
        }
    }
    return !largest || pw_message_stays(largest, PW_CALL_COLLECTIVE, total, left);
}
