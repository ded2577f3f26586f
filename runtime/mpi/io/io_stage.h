/*
 * What MPI gets in place of a buffer that is written to a file or read from one: a stage, as bytes; or, for GPU memory
 * and a file whose data representation is not "native", a mirror in host memory, with the program's type.
 */
#ifndef PW_RUNTIME_IO_STAGE_H
#define PW_RUNTIME_IO_STAGE_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/io/io_cost.h"
#include "runtime/mpi/strategy/mirror.h"

typedef enum pw_io_use { PW_IO_WRITE, PW_IO_READ } pw_io_use;

/* A call, as the program has made it. */
typedef struct pw_io_call {
    pw_io_use use;
    pw_io_time time;
    MPI_File fh;
    const void *buf; /* not written to when use is PW_IO_WRITE */
    MPI_Count count;
    MPI_Datatype type;
} pw_io_call;

/* Plain data: may be moved. */
typedef struct pw_io_stage {
    pw_stage stage;
    pw_mirror mirror; /* of GPU memory, if MPI is to be told the type; else it gets the stage's bytes */
    void *data;
    MPI_Count count;
    MPI_Datatype type;
} pw_io_stage;

/* The stage of a call, filled. False: there is none, and the hook returns *verdict, with *rc. */
bool pw_io_stage_open(pw_io_stage *s, const pw_io_call *call, pw_verdict *verdict, int *rc);
/* The same for an operation that outlives the call. Returns `bytes` bytes of the pool for what must be kept about it;
 * they are taken before MPI is called, since an operation that has begun cannot be taken back. NULL: as false above. */
void *pw_io_stage_open_kept(pw_io_stage *s, int64_t bytes, const pw_io_call *call, pw_verdict *verdict, int *rc);
/* Out of memory after the stage was opened: closes it, and says what the hook returns. */
void pw_io_stage_give_up(pw_io_stage *s, const pw_io_call *call, pw_verdict *verdict, int *rc);
/* MPI has read into the stage: what came goes to the program's buffer. */
pw_status pw_io_stage_unpack(pw_io_stage *s, const MPI_Status *status);
void pw_io_stage_close(pw_io_stage *s);

/* Reports a failure of ours as one of the call on `fh`, as pw_mpi_fail does. */
int pw_io_fail(MPI_File fh, pw_status status);

#endif
