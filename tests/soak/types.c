/*
 * Many types made, committed and freed: most not used, some packed once, some sent to the rank itself.
 *
 *     types [COUNT [VARIANTS]]
 *
 * VARIANTS says how many layouts of each kind there are (1000). Memory is reported after each tenth.
 */
#include "soak.h"

#include <stdio.h>
#include <stdlib.h>

enum { TENTHS = 10, SCALE = 24, ROOM = 64 * 1024 };

static int buffer[ROOM], other[ROOM];
static char packed[ROOM * sizeof(int)];

static void use_in_pack(const soak_type *t, int base)
{
    int at = 0, from = 0;

    soak_fill(t, buffer, base);
    soak_fill(t, other, -1000);
    MPI_Pack(buffer, 1, t->handle, packed, (int)sizeof packed, &at, MPI_COMM_WORLD);
    MPI_Unpack(packed, at, &from, other, 1, t->handle, MPI_COMM_WORLD);
    soak_expect(soak_holds(t, other, base), "what was packed and unpacked");
}

static void use_in_message(const soak_type *t, int base)
{
    soak_fill(t, buffer, base);
    soak_fill(t, other, -1000);
    MPI_Sendrecv(buffer, 1, t->handle, 0, 1, other, 1, t->handle, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    soak_expect(soak_holds(t, other, base), "what was sent");
}

int main(int argc, char **argv)
{
    long count = soak_argument(argc, argv, 1, 10000), variants = soak_argument(argc, argv, 2, 1000), done = 0;
    double began;
    int status;

    MPI_Init(&argc, &argv);
    began = MPI_Wtime();
    for (int tenth = 1; tenth <= TENTHS; tenth++) {
        char when[32];

        for (; done < count / TENTHS * tenth; done++) {
            soak_type type = soak_make((int)(done % SOAK_KINDS), SCALE, (int)(done / SOAK_KINDS % variants));

            if (done % 10 == 3)
                use_in_pack(&type, (int)(done % 100000));
            else if (done % 10 == 7)
                use_in_message(&type, (int)(done % 100000));
            soak_free(&type);
        }
        snprintf(when, sizeof when, "%d/%d", tenth, TENTHS);
        soak_tell_memory(when, MPI_COMM_WORLD);
    }
    printf("%ld types in %.1f s\n", done, MPI_Wtime() - began);
    status = soak_end(MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
