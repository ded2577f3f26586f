/* The sorts of MPI calls, since the MPI below is not equally good at all of them. Knows nothing of MPI. */
#ifndef PW_RUNTIME_CALL_SORT_H
#define PW_RUNTIME_CALL_SORT_H

typedef enum pw_call_sort {
    PW_CALL_BLOCKING,    /* point to point */
    PW_CALL_NONBLOCKING, /* point to point with a request, persistent ones included */
    PW_CALL_COLLECTIVE,
    PW_CALL_NEIGHBOUR, /* a collective of neighbourhoods */
    PW_CALL_ONE_SIDED,
    PW_CALL_IO,
    PW_CALL_SORTS
} pw_call_sort;

#endif
