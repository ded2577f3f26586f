#include "runtime/mpi/strategy/recall.h"

_Thread_local pw_recalled_message pw_recalled_messages[PW_RECALL_SORTS][1 << PW_RECALL_MESSAGE_BITS];

void pw_recall_note(unsigned sort, MPI_Datatype type, const void *buf, int64_t count, bool any_count,
                    const void *lowest, uint64_t version, int left)
{
    uintptr_t region = pw_memory_region(lowest) << PW_MEMORY_REGION_SHIFT;

    if (count == (int)count)
        *pw_recall_place(sort, type, buf) = (pw_recalled_message){.version = version,
                                                                  .from = region - ((uintptr_t)lowest - (uintptr_t)buf),
                                                                  .type = type,
                                                                  .count = (int)count,
                                                                  .matters = any_count ? 0 : -1,
                                                                  .left = left};
}
