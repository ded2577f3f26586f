/*
 * A list of requests may name one request twice: Intel MPI gives all sends that are over the same handle, and no value
 * tells that it is shared. The second place must not look as if another thread had claimed the operation, since the
 * call then waited for that thread for ever.
 */
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/requests/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The only operation, the request it is known by, and whether somebody has claimed it. */
static pw_pending operation = {.stand_in = MPI_REQUEST_NULL};
static MPI_Request known;
static bool is_claimed;

pw_pending *pw_pending_claim_to_look(MPI_Request request, bool *elsewhere)
{
    if (request != known)
        return NULL;
    if (is_claimed)
        *elsewhere = true;
    return is_claimed ? NULL : (is_claimed = true, &operation);
}

void pw_pending_unclaim(pw_pending *p)
{
    assert_ptr_equal(p, &operation);
    is_claimed = false;
}

void *pw_pool_take_from(pw_pool_side side, int64_t bytes)
{
    (void)side, (void)bytes;
    return NULL;
}

int pw_mpi_fail(MPI_Comm comm, pw_status status)
{
    (void)comm, (void)status;
    return MPI_ERR_OTHER;
}

static MPI_Request request_of(int i)
{
    static char places[4];
    MPI_Request request;
    uintptr_t value = (uintptr_t)&places[i];

    memcpy(&request, &value, sizeof request);
    return request;
}

static bool open(pw_batch *b, MPI_Request first, MPI_Request second)
{
    MPI_Request requests[] = {first, second};
    pw_verdict verdict;
    int rc;

    return pw_batch_open(b, 2, requests, &rc, &verdict);
}

static void a_repeated_request_is_not_elsewhere(void **state)
{
    pw_batch b;

    (void)state;
    known = request_of(0);
    is_claimed = false;
    assert_true(open(&b, known, known));
    assert_ptr_equal(b.ops[0], &operation);
    assert_null(b.ops[1]);
    assert_false(b.elsewhere);
}

static void what_another_thread_has_claimed_is_elsewhere(void **state)
{
    pw_batch b;

    (void)state;
    known = request_of(0);
    is_claimed = true;
    assert_false(open(&b, known, request_of(1)));
    assert_true(b.elsewhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repeated_request_is_not_elsewhere),
        cmocka_unit_test(what_another_thread_has_claimed_is_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
