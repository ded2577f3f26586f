/*
 * Memory that programs ask MPI for, where PACKWRIGHT_ONE_COPY puts it into memory that receivers can map. Data: none
 * but the heap's. Invariant: memory goes back to where it came from, by its address.
 */
#include "runtime/exchange/heap.h"
#include "runtime/exchange/xpmem.h"
#include "runtime/mpi/strategy/direct.h"

#include "hooks.h"

/* Returns whether MPI_Alloc_mem takes this memory from the heap. Memory shorter than the shortest message that goes by
 * one copy need not be mapped by receivers, so MPI allocates it. */
static bool is_shared(MPI_Aint size)
{
    return pw_direct_is_meant() && size >= pw_direct_least();
}

pw_verdict pw_hook_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr, int *rc)
{
    void *memory = baseptr && is_shared(size) ? pw_heap_take((size_t)size) : NULL;

    (void)info;
    if (!memory)
        return PW_PASS;
    *(void **)baseptr = memory;
    *rc = MPI_SUCCESS;
    return PW_DONE;
}

pw_verdict pw_hook_Free_mem(void *base, int *rc)
{
    pw_xpmem_note_removal();
    if (!pw_heap_give(base))
        return PW_PASS;
    *rc = MPI_SUCCESS;
    return PW_DONE;
}
