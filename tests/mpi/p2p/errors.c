/*
 * Misuse. Each is done twice, through MPI_ and through PMPI_, under a counting error handler: same error class, the
 * handler called as often, position and memory alike.
 */
#include "tests/mpi/support/harness.h"

static int handled;

static void count_errors(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static MPI_Datatype type;
static test_buffer memory;
static unsigned char packed[4096];

/* ---- pack and unpack --------------------------------------------------------------------------------------------- */

typedef struct pack_case {
    const char *what;
    int count, size, position;
    bool null_comm, null_type, null_position, uncommitted;
} pack_case;

/* The types of the set occupy 160 bytes packed. */
static const pack_case pack_cases[] = {
    {"nothing wrong", 1, 4096, 3, false, false, false, false},
    {"just enough room", 1, 163, 3, false, false, false, false},
    {"one byte too little", 1, 162, 3, false, false, false, false},
    {"no room at all", 1, 0, 0, false, false, false, false},
    {"negative size", 1, -1, 0, false, false, false, false},
    {"negative count", -1, 4096, 0, false, false, false, false},
    {"negative position", 1, 4096, -8, false, false, false, false},
    {"position behind the end", 1, 100, 200, false, false, false, false},
    {"count zero", 0, 4096, 5, false, false, false, false},
    {"null communicator", 1, 4096, 0, true, false, false, false},
    {"null type", 1, 4096, 0, false, true, false, false},
    {"null position", 1, 4096, 0, false, false, true, false},
    {"uncommitted type", 1, 4096, 0, false, false, false, true},
};

typedef struct outcome {
    int class, handled, position;
    unsigned char packed[sizeof packed];
    unsigned char memory[2048];
} outcome;

static outcome run_pack(const pack_case *c, bool unpack, bool native)
{
    static MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
    MPI_Comm comm = c->null_comm ? MPI_COMM_NULL : MPI_COMM_WORLD;
    int position = c->position, *p = c->null_position ? NULL : &position;
    MPI_Datatype t = c->null_type ? MPI_DATATYPE_NULL : type;
    outcome o;

    if (uncommitted == MPI_DATATYPE_NULL)
        PMPI_Type_vector(20, 1, 3, MPI_DOUBLE, &uncommitted);
    if (c->uncommitted)
        t = uncommitted;
    memset(&o, 0, sizeof o);
    handled = 0;
    test_fill(packed, sizeof packed, 1);
    test_buffer_fill(&memory, 2);
    if (unpack)
        o.class =
            test_class_of((native ? PMPI_Unpack : MPI_Unpack)(packed, c->size, p, memory.origin, c->count, t, comm));
    else
        o.class = test_class_of((native ? PMPI_Pack : MPI_Pack)(memory.origin, c->count, t, packed, c->size, p, comm));
    o.handled = handled;
    o.position = position;
    memcpy(o.packed, packed, sizeof packed);
    memcpy(o.memory, memory.memory, memory.bytes);
    return o;
}

/* Whether MPICH, with a contiguous type, ends the program by an assertion, since part of an element is to be unpacked,
 * or writes in front of the buffer. */
static bool is_deadly(const pack_case *c, bool unpack)
{
    int size = 0;
    MPI_Aint lb, extent;

    PMPI_Type_size(type, &size);
    PMPI_Type_get_true_extent(type, &lb, &extent);
    if (extent != size || c->count <= 0)
        return false;
    return c->position < 0 || (unpack && c->size - c->position < size && (c->size - c->position) % 8);
}

static void check_pack_cases(bool unpack)
{
    for (size_t i = 0; i < sizeof pack_cases / sizeof *pack_cases; i++) {
        const pack_case *c = &pack_cases[i];

        if (is_deadly(c, unpack))
            continue;
        outcome ours = run_pack(c, unpack, false), theirs = run_pack(c, unpack, true);
        const char *name = unpack ? "unpack" : "pack";

        CHECK(ours.class == theirs.class, "%s, %s: class %d, natively %d", name, c->what, ours.class, theirs.class);
        CHECK(ours.handled == theirs.handled, "%s, %s: handler called %d times, natively %d", name, c->what,
              ours.handled, theirs.handled);
        CHECK(ours.position == theirs.position, "%s, %s: position %d, natively %d", name, c->what, ours.position,
              theirs.position);
        CHECK(!memcmp(ours.packed, theirs.packed, sizeof packed), "%s, %s: packed bytes", name, c->what);
        CHECK(!memcmp(ours.memory, theirs.memory, sizeof ours.memory), "%s, %s: memory", name, c->what);
    }
}

static void check_packs(MPI_Datatype of)
{
    type = of;
    MPI_Type_commit(&type);
    memory = test_buffer_create(type, 1);
    check_pack_cases(false);
    check_pack_cases(true);
}

/* Contiguous types take a way of their own, also where their bytes begin behind the buffer. */
static void check_contiguous_packs(void)
{
    MPI_Datatype of;

    MPI_Type_create_hindexed_block(1, 20, (MPI_Aint[]){0}, MPI_DOUBLE, &of);
    check_packs(of);
    test_buffer_free(&memory);
    MPI_Type_free(&type);
    MPI_Type_create_hindexed_block(1, 20, (MPI_Aint[]){24}, MPI_DOUBLE, &of);
    check_packs(of);
    test_buffer_free(&memory);
    MPI_Type_free(&type);
}

/* ---- send and receive -------------------------------------------------------------------------------------------- */

typedef struct p2p_case {
    const char *what;
    int count, peer, tag;
    bool null_comm, null_type;
} p2p_case;

static const p2p_case p2p_cases[] = {
    {"negative count", -1, 0, 1, false, false},           {"peer too large", 1, 1000, 1, false, false},
    {"negative peer", 1, -77, 1, false, false},           {"negative tag", 1, 0, -77, false, false},
    {"null communicator", 1, 0, 1, true, false},          {"null type", 1, 0, 1, false, true},
    {"MPI_PROC_NULL", 1, MPI_PROC_NULL, 1, false, false}, {"PROC_NULL, bad tag", 1, MPI_PROC_NULL, -77, false, false},
};

static void check_p2p_cases(void)
{
    for (size_t i = 0; i < sizeof p2p_cases / sizeof *p2p_cases; i++) {
        const p2p_case *c = &p2p_cases[i];
        MPI_Comm comm = c->null_comm ? MPI_COMM_NULL : MPI_COMM_WORLD;
        MPI_Datatype t = c->null_type ? MPI_DATATYPE_NULL : type;
        int ours, theirs, first;

        handled = 0;
        ours = test_class_of(MPI_Send(memory.origin, c->count, t, c->peer, c->tag, comm));
        first = handled;
        theirs = test_class_of(PMPI_Send(memory.origin, c->count, t, c->peer, c->tag, comm));
        CHECK(ours == theirs && handled == 2 * first, "send, %s: class %d (handler %d), natively %d (%d)", c->what,
              ours, first, theirs, handled - first);
        handled = 0;
        ours = test_class_of(MPI_Recv(memory.origin, c->count, t, c->peer, c->tag, comm, MPI_STATUS_IGNORE));
        first = handled;
        theirs = test_class_of(PMPI_Recv(memory.origin, c->count, t, c->peer, c->tag, comm, MPI_STATUS_IGNORE));
        CHECK(ours == theirs && handled == 2 * first, "receive, %s: class %d (handler %d), natively %d (%d)", c->what,
              ours, first, theirs, handled - first);
    }
}

/* A message longer than what was posted, small and large: MPI_ERR_TRUNCATE, and nothing written outside. */
static void check_truncation(int rank, int elements)
{
    MPI_Datatype wide, narrow;
    double *values = malloc(sizeof(double) * (size_t)elements);

    for (int i = 0; i < elements; i++)
        values[i] = i;
    MPI_Type_vector(elements / 2, 1, 3, MPI_DOUBLE, &narrow);
    MPI_Type_vector(elements, 1, 3, MPI_DOUBLE, &wide);
    MPI_Type_commit(&narrow);
    MPI_Type_commit(&wide);
    for (int native = 0; native < 2; native++) {
        if (rank == 0) {
            MPI_Send(values, elements, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        } else if (rank == 1) {
            test_buffer got = test_buffer_create(wide, 1), before = test_buffer_create(wide, 1);
            MPI_Status status;
            int rc, bad = 0;

            test_buffer_fill(&got, 3);
            test_buffer_fill(&before, 3);
            handled = 0;
            rc = (native ? PMPI_Recv : MPI_Recv)(got.origin, 1, narrow, 0, 1, MPI_COMM_WORLD, &status);
            CHECK(test_class_of(rc) == MPI_ERR_TRUNCATE && handled == TEST_HANDLER_CALLS,
                  "%d elements too many, native %d: class %d, handler %d", elements / 2, native, test_class_of(rc),
                  handled);
            /* Bytes that the posted type does not name are as they were. */
            for (size_t i = 0; i < got.bytes; i++) {
                long at = (long)i - (long)(got.origin - got.memory);
                bool named = at >= 0 && at < 24L * (elements / 2) && at % 24 < 8;

                bad += !named && got.memory[i] != before.memory[i];
            }
            CHECK(bad == 0, "%d elements, native %d: %d bytes scribbled", elements, native, bad);
            test_buffer_free(&got);
            test_buffer_free(&before);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&narrow);
    MPI_Type_free(&wide);
    free(values);
}

/* ---- messages to oneself that are too long ---------------------------------------------------------------------- */

typedef enum sending { SEND, RSEND, BSEND, ISEND, SEND_INIT, SENDRECV, LATE_RECV, SENDINGS } sending;

static const char *const sending_names[] = {
    "Send", "Rsend", "Bsend", "Isend", "Send_init", "Sendrecv", "Isend before Recv"};

#define TO_SELF rank, 7, MPI_COMM_WORLD

static int start(sending by, bool native, void *out, MPI_Datatype t, int rank, MPI_Request *sent)
{
    int rc;

    switch (by) {
    case SEND: return (native ? PMPI_Send : MPI_Send)(out, 2, t, TO_SELF);
    case RSEND: return (native ? PMPI_Rsend : MPI_Rsend)(out, 2, t, TO_SELF);
    case BSEND: return (native ? PMPI_Bsend : MPI_Bsend)(out, 2, t, TO_SELF);
    case SEND_INIT:
        rc = (native ? PMPI_Send_init : MPI_Send_init)(out, 2, t, TO_SELF, sent);
        return rc == MPI_SUCCESS ? (native ? PMPI_Start : MPI_Start)(sent) : rc;
    default: return (native ? PMPI_Isend : MPI_Isend)(out, 2, t, TO_SELF, sent);
    }
}

/* Sends two objects and receives one, as `in_type`, which may be contiguous. Returns the class of the receive. */
static int too_long_for_self(sending by, bool native, void *out, MPI_Datatype t, void *in, int in_count,
                             MPI_Datatype in_type, int rank)
{
    MPI_Request sent = MPI_REQUEST_NULL, received;
    int rc;

    handled = 0;
    if (by == SENDRECV)
        return test_class_of((native ? PMPI_Sendrecv : MPI_Sendrecv)(out, 2, t, rank, 7, in, in_count, in_type, rank, 7,
                                                                     MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (by != LATE_RECV)
        (native ? PMPI_Irecv : MPI_Irecv)(in, in_count, in_type, TO_SELF, &received);
    CHECK(start(by, native, out, t, rank, &sent) == MPI_SUCCESS, "%s to self", sending_names[by]);
    if (by == LATE_RECV)
        rc = (native ? PMPI_Recv : MPI_Recv)(in, in_count, in_type, TO_SELF, MPI_STATUS_IGNORE);
    else
        rc = (native ? PMPI_Wait : MPI_Wait)(&received, MPI_STATUS_IGNORE);
    (native ? PMPI_Wait : MPI_Wait)(&sent, MPI_STATUS_IGNORE);
    if (sent != MPI_REQUEST_NULL)
        MPI_Request_free(&sent);
    return test_class_of(rc);
}

/* Whether Open MPI finds the error depends on whether the message is derived or contiguous, short or long. The result
 * must always be the native one. */
static void check_truncation_to_self(int rank, int elements)
{
    static char buffer[1 << 16];
    double *out = calloc((size_t)elements * 4, sizeof *out), *in = calloc((size_t)elements * 4, sizeof *in);
    MPI_Datatype strided;
    void *detached;
    int size;

    MPI_Type_vector(elements, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int by = 0; by < SENDINGS; by++)
        for (int dense = 0; dense < 2; dense++) {
            MPI_Datatype in_type = dense ? MPI_DOUBLE : strided;
            int in_count = dense ? elements : 1, class[2], calls[2];

            for (int native = 0; native < 2; native++) {
                class[native] = too_long_for_self((sending)by, native, out, strided, in, in_count, in_type, rank);
                calls[native] = handled;
            }
            CHECK(class[0] == class[1] && calls[0] == calls[1],
                  "%s of 2 x %d doubles to self into %s: class %d (handler %d), natively %d (%d)", sending_names[by],
                  elements, dense ? "an array" : "the type", class[0], calls[0], class[1], calls[1]);
        }
    MPI_Buffer_detach(&detached, &size);
    MPI_Type_free(&strided);
    free(out);
    free(in);
}

/* ---- messages that are too long, with an error handler that returns ---------------------------------------------- */

/* Where this MPI reports success once a handler has returned (MPICH from 4.3 on), memory must be as natively. Where it
 * reports the error, memory may also be as before. Staging memory must never deliver an earlier message. */
static void check_told(int rank, int elements)
{
    MPI_Errhandler handler;
    MPI_Datatype t;

    MPI_Comm_create_errhandler(count_errors, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Type_vector(elements, 1, 2, MPI_INT, &t);
    MPI_Type_commit(&t);
    for (int too_many = 0; too_many < 2; too_many++) {
        test_buffer got[3], sent = test_buffer_create(MPI_INT, 2 * elements);
        int class[2] = {MPI_SUCCESS, MPI_SUCCESS};

        test_buffer_fill(&sent, 8 + (unsigned)too_many);
        for (int i = 0; i < 3; i++) {
            got[i] = test_buffer_create(t, 1);
            test_buffer_fill(&got[i], 4);
        }
        for (int native = 0; native < 2; native++)
            if (rank == 0)
                MPI_Send(sent.origin, elements * (1 + too_many), MPI_INT, 1, 1, MPI_COMM_WORLD);
            else
                class[native] = test_class_of(
                    (native ? PMPI_Recv : MPI_Recv)(got[native].origin, 1, t, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(class[0] == class[1], "%d of %d elements, with an error handler: class %d, natively %d", elements,
              elements * (1 + too_many), class[0], class[1]);
        CHECK(test_buffer_equal(&got[0], &got[1]) || (class[1] && test_buffer_equal(&got[0], &got[2])),
              "%d of %d elements, with an error handler: memory", elements, elements * (1 + too_many));
        for (int i = 0; i < 3; i++)
            test_buffer_free(&got[i]);
        test_buffer_free(&sent);
    }
    MPI_Type_free(&t);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Datatype vector;
    int rc, rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    handler = test_handler_create(count_errors);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    check_contiguous_packs();
    MPI_Type_vector(20, 1, 3, MPI_DOUBLE, &vector);
    check_packs(vector);
    check_p2p_cases();
    for (int elements = 1; elements <= 1024; elements *= 4)
        check_truncation_to_self(rank, elements);
    if (size == 2) {
        check_truncation(rank, 16);
        check_truncation(rank, 1000);
        check_truncation(rank, 200000);
        check_told(rank, 4);
        check_told(rank, 1000);
        check_told(rank, 100000);
    }
    test_handler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
