/* TEMPI's two-dimensional objects: rows of b bytes, 512 apart, built in three ways. */
#include "bench/hand.h"
#include "bench/suite.h"

enum { TEMPI_PITCH = 512 };

typedef enum tempi_form { TEMPI_VECTOR, TEMPI_HVECTOR, TEMPI_SUBARRAY, TEMPI_FORMS } tempi_form;

static MPI_Datatype rows_type(tempi_form form, int n, int b)
{
    switch (form) {
    case TEMPI_VECTOR: return bench_vector(n, b, TEMPI_PITCH, MPI_BYTE);
    case TEMPI_HVECTOR: return bench_hvector(n, 1, TEMPI_PITCH, bench_contiguous(b, MPI_BYTE));
    default: return bench_subarray(2, (int[]){n, TEMPI_PITCH}, (int[]){n, b}, (int[]){0, 0}, MPI_ORDER_C, MPI_BYTE);
    }
}

/* args: form, b, rows of one object, count. Objects follow each other as their extents say: the subarray's is
 * whole rows, the others' end with the last block. */
static void build(const bench_spec *spec, bench_row *row)
{
    tempi_form form = (tempi_form)spec->args[0];
    long b = spec->args[1], n = spec->args[2];
    int count = (int)spec->args[3];
    char *array = bench_array(row, n * count * TEMPI_PITCH);
    bench_part_add(row, rows_type(form, (int)n, (int)b), count, array);
    hand_rows *rows = bench_hand(row, hand_pack_rows, hand_unpack_rows, sizeof *rows);
    long extent = form == TEMPI_SUBARRAY ? n * TEMPI_PITCH : (n - 1) * TEMPI_PITCH + b;
    *rows = (hand_rows){array, count, extent, n, b, TEMPI_PITCH};
}

void bench_add_tempi(bench_suite *suite)
{
    static const char *const forms[] = {"vector", "hvector", "subarray"};
    static const int64_t payloads[] = {1 << 10, 64 << 10, 1 << 20, 4 << 20};
    int npayloads = suite->quick ? 2 : 4;
    for (int p = 0; p < npayloads; p++)
        for (int64_t b = 1; b <= TEMPI_PITCH; b *= 2)
            for (int64_t count = 1; count <= 8; count += 7)
                for (int form = 0; form < TEMPI_FORMS; form++) {
                    int64_t n = payloads[p] / b / count;
                    if (n < 1)
                        continue;
                    bench_spec *spec = bench_add(suite, "TEMPI_2D", build, n * count * TEMPI_PITCH);
                    spec->args[0] = form;
                    spec->args[1] = b;
                    spec->args[2] = n;
                    spec->args[3] = count;
                    bench_params(spec, "%dK b=%d count=%d %s", (int)(payloads[p] >> 10), (int)b, (int)count,
                                 forms[form]);
                }
}
