/*
 * What PACKWRIGHT_Type_commit_all asks of the interposer: learn a type, compile its kernel, make choices and staging
 * buffers for one object. Nothing here sends a message or reads the program's data.
 */
#include "runtime/mpi/strategy/prepare.h"

#include "base/env.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/strategy/strategy.h"
#include "runtime/mpi/types/registry.h"

/* The layout by which messages of this type in host memory are moved. NULL: they are left to MPI. */
static pw_layout *layout_of(const pw_entry *entry)
{
    return entry && !entry->gpu_only ? entry->layout : NULL;
}

/* Makes a staging buffer for one object on each side, and leaves it to the messages. Outbound ones get their pages,
 * which takes longer than moving the object. */
static void make_staging(int64_t bytes)
{
    static const pw_pool_side sides[] = {PW_POOL_OWN, PW_POOL_OUTBOUND};

    if (bytes < PW_LEAST_READ || bytes > pw_env_size(PW_ENV_STAGING))
        return;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        pw_pool_give_to(sides[i], pw_pool_take_from(sides[i], bytes), bytes);
}

/* Makes the choices for messages of one object, so that the first one does not wait for the tables that choices need.
 * They depend on where the buffer is, and nothing reads it. */
static void choose(const pw_entry *entry)
{
    static const pw_role roles[] = {PW_SEND, PW_RECV};
    static const pw_call_kind kinds[] = {PW_CALL_BLOCKING, PW_CALL_NONBLOCKING};
    char buffer;

    for (int i = 0; i < 4; i++) {
        pw_message m = {.kind = kinds[i / 2],
                        .role = roles[i % 2],
                        .entry = entry,
                        .buffer = {.base = &buffer, .count = 1},
                        .once = true};

        if (pw_message_describe(&m))
            pw_message_is_left(&m);
    }
}

void packwright_prepare_type(MPI_Datatype type)
{
    pw_entry *entry;
    pw_layout *layout;

    if (!pw_gate_enter())
        return;
    pw_gate_is_lasting(); /* no message is timed */
    entry = pw_registry_learn(type);
    layout = layout_of(entry);
    if (layout) {
        make_staging(layout->size);
        choose(entry);
        pw_layout_make_kernel(layout);
    }
    pw_gate_leave();
}
