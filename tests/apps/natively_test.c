/* rows_call_natively of bench/apps: what a library of the process calls, by name and by a kept address, and back. */
#include "rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int ask(int by_address); /* of the library: what the function that it has called says */

enum { THROUGH, PAST };

int MPI_Initialized(int *flag)
{
    *flag = THROUGH;
    return MPI_SUCCESS;
}

int PMPI_Initialized(int *flag)
{
    *flag = PAST;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    return MPI_Initialized(flag);
}

int PMPI_Finalized(int *flag)
{
    return PMPI_Initialized(flag);
}

int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    fail_msg("a reference cannot be changed");
    return code;
}

static void calls_of_libraries_go_past_and_back(void **state)
{
    (void)state;
    for (int by_address = 0; by_address < 2; by_address++) {
        assert_int_equal(ask(by_address), THROUGH);
        rows_call_natively(true);
        assert_int_equal(ask(by_address), PAST);
        rows_call_natively(false);
        assert_int_equal(ask(by_address), THROUGH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_of_libraries_go_past_and_back)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
