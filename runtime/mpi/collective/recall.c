#include "runtime/mpi/collective/recall.h"

_Thread_local pw_recalled_call pw_recalled_calls[1 << PW_RECALL_CALL_BITS];
_Thread_local pw_recalled_lists pw_recalled_with_lists[1 << PW_RECALL_LIST_BITS];

/* The arrays are there, if blocks of them mattered. */
void pw_recall_list(pw_recalled_list *list, int blocks, const int *counts, pw_displs displs, const MPI_Datatype *types)
{
    list->blocks = blocks;
    for (int i = 0; i < blocks; i++) {
        list->counts[i] = counts[i];
        list->displs[i] = pw_displ_at(displs, i);
        if (types)
            list->types[i] = types[i];
    }
}
