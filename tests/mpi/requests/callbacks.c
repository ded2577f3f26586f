/*
 * Operations that are completed in callbacks which MPI calls within other calls: when an attribute is deleted, by
 * MPI_Comm_free, MPI_Comm_disconnect, MPI_Type_free or MPI_Finalize, and in an error handler. Whoever completes them,
 * the data is there. Run with each strategy; short messages, which come by way of staging memory with every MPI, and
 * long ones.
 */
#include "tests/mpi/support/completion.h"
#include "tests/mpi/support/count_calls.h"

#include <setjmp.h>

static int rank;

/* A message from rank 0 to rank 1 that another call completes. */
typedef struct pending {
    MPI_Request request;
    test_way way;
    MPI_Datatype type;
    int n;
    test_buffer buffer;
    const char *what;
    bool done;
} pending;

static pending *begin(test_way way, int n, const char *what)
{
    pending *p = malloc(sizeof *p);

    *p = (pending){.way = way, .type = test_type(1, n), .n = n, .what = what};
    p->buffer = test_buffer_create(p->type, 1);
    test_buffer_fill(&p->buffer, rank == 0 ? 7 : 4);
    if (rank == 0)
        MPI_Isend(p->buffer.origin, 1, p->type, 1, 5, MPI_COMM_WORLD, &p->request);
    else
        MPI_Irecv(p->buffer.origin, 1, p->type, 0, 5, MPI_COMM_WORLD, &p->request);
    return p;
}

static void complete(pending *p)
{
    test_complete(p->way, 1, &p->request, NULL, p->what);
    if (rank == 1) {
        test_buffer expected = test_expected(p->type, 1, 7, p->type, 1, 4);

        CHECK(test_buffer_equal(&p->buffer, &expected), "%s, %s, n=%d", p->what, test_way_name(p->way), p->n);
        test_buffer_free(&expected);
    }
    p->done = true;
}

static void end(pending *p)
{
    CHECK(p->done, "%s: the callback was not called", p->what);
    MPI_Type_free(&p->type);
    test_buffer_free(&p->buffer);
    free(p);
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static int comm_goes(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    complete(value);
    return MPI_SUCCESS;
}

static int type_goes(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)extra;
    complete(value);
    return MPI_SUCCESS;
}

static void set_comm(MPI_Comm comm, pending *p)
{
    int keyval;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_goes, &keyval, NULL);
    MPI_Comm_set_attr(comm, keyval, p);
    MPI_Comm_free_keyval(&keyval);
}

static void check_attributes(test_way way, int n)
{
    MPI_Datatype type = test_type(2, 5);
    pending *p = begin(way, n, "MPI_Comm_free");
    MPI_Comm comm;
    int keyval;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    set_comm(comm, p);
    MPI_Comm_free(&comm);
    end(p);

    p = begin(way, n, "MPI_Comm_disconnect");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    set_comm(comm, p);
    MPI_Comm_disconnect(&comm);
    end(p);

    p = begin(way, n, "MPI_Type_free");
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_goes, &keyval, NULL);
    MPI_Type_set_attr(type, keyval, p);
    MPI_Type_free_keyval(&keyval);
    MPI_Type_free(&type);
    end(p);
}

/* ---- error handlers ---------------------------------------------------------------------------------------------- */

static pending *in_handler;
static jmp_buf *way_out;
static bool ours_in_handler;

/* Returns whether Packwright carries out a call that is made here; if not, the tool below sees it. */
static bool is_ours(void)
{
    MPI_Datatype type = test_type(1, 300);
    test_buffer b = test_buffer_create(type, 1);
    int bytes = test_packed_bytes(type, 1), position = 0;
    unsigned char *packed = malloc((size_t)bytes);
    long before = count_pack;

    MPI_Pack(b.origin, 1, type, packed, bytes, &position, MPI_COMM_SELF);
    free(packed);
    test_buffer_free(&b);
    MPI_Type_free(&type);
    return count_pack == before;
}

static void handle(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    if (in_handler) {
        complete(in_handler);
        return;
    }
    ours_in_handler = is_ours();
    if (way_out)
        longjmp(*way_out, 1);
}

/* Makes a call that Packwright carries out and that fails. */
static void fail(void)
{
    MPI_Datatype type = test_type(1, 300);
    test_buffer b = test_buffer_create(type, 1);

    MPI_Send(b.origin, 1, type, 99, 1, MPI_COMM_SELF);
    test_buffer_free(&b);
    MPI_Type_free(&type);
}

static void check_handler(test_way way, int n)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    in_handler = begin(way, n, "error handler");
    fail();
    end(in_handler);
    in_handler = NULL;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

/* Leaves a call by an error handler that does not return. */
static __attribute__((noinline)) void leave(void)
{
    jmp_buf out;

    way_out = &out;
    if (!setjmp(out))
        fail();
    way_out = NULL;
}

/* After a call that was left this thread begins nothing of Packwright's, and completes operations that began before. */
static void check_way_out(void)
{
    MPI_Errhandler handler;
    pending *p = begin(TEST_WAITALL, 300, "after a longjmp");

    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    fail();
    CHECK(!ours_in_handler, "a call in an error handler");
    CHECK(is_ours(), "a call after one that failed");
    leave();
    CHECK(!is_ours(), "a call after one that was left");
    leave();
    complete(p);
    end(p);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first. The exit status reports what fails there. */
static int world_goes(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    complete(value);
    end(value);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    bool leaves = argc > 1; /* any argument: by longjmp, before the end */
    int rc, keyval;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int way = 0; way < TEST_WAYS; way++)
        for (int n = 30; n < 50000; n *= 30) {
            check_attributes((test_way)way, n);
            if (TEST_HANDLER_CALLS > 0)
                check_handler((test_way)way, n);
        }
    if (leaves)
        check_way_out();
    rc = test_result();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, world_goes, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, begin(TEST_WAIT, 30, "MPI_Finalize"));
    MPI_Comm_free_keyval(&keyval);
    MPI_Finalize();
    return rc || test_failures;
}
