/*
 * Two files with unlike views, written in turns from one type of memory. The MPI is made to be slow with packed bytes
 * in the one, and with the type in the other: each file must be written in the way that is fast there.
 */
#include "tests/mpi/io/files.h"
#include "tests/mpi/support/count_calls.h"
#include "tests/mpi/support/harness.h"

#include <time.h>

enum { BYTES = 64 << 10, BLOCK = 256, ROUNDS = 56, SETTLED = 48 /* the round by which the first window is over */ };

static bool packed_is_slow, slow;

static void before_write(MPI_Datatype type)
{
    struct timespec long_time = {.tv_nsec = 2000000};

    slow = (type == MPI_BYTE) == packed_is_slow;
    if (slow)
        nanosleep(&long_time, NULL);
}

static MPI_Datatype every_other(int block)
{
    MPI_Datatype type;

    MPI_Type_vector(BYTES / block, block, 2 * block, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_File open_view(const char *name, int block)
{
    char *path = test_file_path(name);
    MPI_Datatype view = every_other(block);
    MPI_File fh;

    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh);
    MPI_File_set_view(fh, 0, MPI_BYTE, view, "native", MPI_INFO_NULL);
    MPI_Type_free(&view);
    free(path);
    return fh;
}

static void check_all(void)
{
    MPI_File files[2] = {open_view("long", 16 << 10), open_view("short", 1 << 10)};
    MPI_Datatype type = every_other(BLOCK);
    char *memory = calloc(2, BYTES);

    count_before_write = before_write;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2; i++) {
            packed_is_slow = i;
            MPI_File_write_at(files[i], 0, memory, 1, type, MPI_STATUS_IGNORE);
            CHECK(round < SETTLED || !slow, "round %d: file %d is written %s", round, i, i ? "packed" : "by its type");
        }
    MPI_File_close(&files[0]);
    MPI_File_close(&files[1]);
    MPI_Type_free(&type);
    free(memory);
}

int main(int argc, char **argv)
{
    return test_run(&argc, &argv, check_all);
}
