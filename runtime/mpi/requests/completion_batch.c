/*
 * The operations behind an array of requests of one completing call: claimed when the batch is opened, settled for
 * the requests that MPI has completed, and released or unclaimed at the end. While an operation is claimed, no other
 * thread completes it.
 */
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/requests/internal.h"

#include <stddef.h>

bool pw_is_over(pw_pending *p, MPI_Request left)
{
    MPI_Status status;
    int done = 0;

    if (left != MPI_REQUEST_NULL)
        return pw_is_persistent(p) && PMPI_Request_get_status(left, &done, &status) == MPI_SUCCESS && done;
    p->persistent = p->stand_in != MPI_REQUEST_NULL;
    return true;
}

static bool find_room(pw_batch *b, int n, MPI_Request *requests)
{
    b->n = n;
    b->requests = requests;
    b->memory = NULL;
    b->ops = b->few_ops;
    b->statuses = b->few_statuses;
    if (n <= PW_BATCH_FEW)
        return true;
    b->bytes = (int64_t)n * (int64_t)(sizeof *b->ops + sizeof *b->statuses);
    b->memory = pw_pool_take(b->bytes);
    b->ops = b->memory;
    b->statuses = (MPI_Status *)(void *)(b->ops + n);
    return b->memory;
}

/* Returns whether requests[i] is also at an earlier place. Then it is a shared request that pw_request_is_shared does
 * not recognise, as Intel MPI's, and this batch itself has claimed the operation. */
static bool is_repeated(const MPI_Request *requests, int i)
{
    for (int k = 0; k < i; k++)
        if (requests[k] == requests[i])
            return true;
    return false;
}

/* Has MPI asked for the request by which it knows an operation, or lets the program have its own again. */
static void show_below(pw_batch *b, int i, bool below)
{
    if (b->ops[i] && b->ops[i]->stand_in != MPI_REQUEST_NULL)
        b->requests[i] = below ? b->ops[i]->stand_in : b->ops[i]->request;
}

bool pw_batch_open(pw_batch *b, int n, const MPI_Request *requests, int *rc, pw_verdict *verdict)
{
    pw_pending *first = NULL;
    int place = 0;

    *verdict = PW_PASS;
    b->elsewhere = false;
    if (!requests)
        return false;
    while (place < n && !(first = pw_pending_claim_to_look(requests[place], &b->elsewhere)))
        place++;
    if (!first)
        return false;
    if (!find_room(b, n, (MPI_Request *)(uintptr_t)requests)) {
        pw_pending_unclaim(first);
        *rc = pw_mpi_fail(MPI_COMM_SELF, PW_ERR_NOMEM);
        *verdict = PW_DONE;
        return false;
    }
    for (int i = 0; i < place; i++)
        b->ops[i] = NULL;
    b->ops[place] = first;
    for (int i = place + 1; i < n; i++) {
        bool claimed = false;

        b->ops[i] = pw_pending_claim_to_look(requests[i], &claimed);
        b->elsewhere = b->elsewhere || (claimed && !is_repeated(requests, i));
    }
    for (int i = place; i < n; i++)
        show_below(b, i, true);
    return true;
}

int pw_batch_failed(const pw_batch *b)
{
    for (int i = 0; i < b->n; i++)
        if (b->ops[i] && b->ops[i]->error != MPI_SUCCESS)
            return i;
    return -1;
}

bool pw_batch_is_held(pw_batch *b)
{
    for (int i = 0; i < b->n; i++)
        if (b->ops[i] && pw_pending_is_held(b->ops[i]))
            return true;
    return false;
}

bool pw_batch_hide(pw_batch *b)
{
    bool any = false;

    for (int i = 0; i < b->n; i++)
        if (b->ops[i] && pw_pending_is_held(b->ops[i])) {
            b->ops[i]->hidden = any = true;
            b->requests[i] = MPI_REQUEST_NULL;
        }
    return any;
}

void pw_batch_show(pw_batch *b)
{
    for (int i = 0; i < b->n; i++)
        if (b->ops[i] && b->ops[i]->hidden) {
            b->ops[i]->hidden = false;
            b->requests[i] = pw_pending_below(b->ops[i]);
        }
}

void pw_batch_close(pw_batch *b)
{
    for (int i = 0; i < b->n; i++)
        if (b->ops[i]) {
            show_below(b, i, false);
            pw_pending_unclaim(b->ops[i]);
        }
    if (b->memory)
        pw_pool_give(b->memory, b->bytes);
}

void pw_batch_begin(pw_batch *b, int k, int n, const int *places, const MPI_Status *statuses, int *next)
{
    for (*next = *next < k ? k : *next; *next < n; ++*next) {
        int place = places ? places[*next] : *next;
        pw_pending *p = place >= 0 && place < b->n ? b->ops[place] : NULL;

        if (p && !(statuses ? pw_pending_begin_settle(p, &statuses[*next]) : pw_pending_begin_prepare(p)))
            return;
    }
}

int pw_batch_settle(pw_batch *b, int place, MPI_Status *status, MPI_Comm *comm)
{
    pw_pending *p = b->ops[place];

    if (!p)
        return MPI_SUCCESS;
    show_below(b, place, false);
    b->ops[place] = NULL;
    pw_pending_free_once(p, &b->requests[place], !status);
    return pw_pending_settle(p, status, comm);
}
