/* Transposes: one leg of a two-dimensional FFT's alltoall, and a whole matrix. */
#include "bench/hand.h"
#include "bench/suite.h"

enum { FFT_RANKS = 4, COMPLEX_BYTES = 2 * sizeof(double) };

static MPI_Datatype complex_type(void)
{
    return bench_contiguous(2, MPI_DOUBLE);
}

/* The local N/p rows of an N x N matrix; one destination gets N/p of their columns, transposed. */
static void *fft_matrix(const bench_spec *spec, bench_row *row, hand_matrix *m)
{
    long n = spec->args[0], rows = n / FFT_RANKS;
    void *array = bench_array(row, (int64_t)n * rows * COMPLEX_BYTES);
    *m = (hand_matrix){array, n, rows, rows};
    return array;
}

static void build_fft_send(const bench_spec *spec, bench_row *row)
{
    hand_matrix *m = bench_hand(row, hand_pack_transpose_complex, hand_unpack_transpose_complex, sizeof *m);
    void *array = fft_matrix(spec, row, m);
    int n = (int)spec->args[0], rows = n / FFT_RANKS;
    MPI_Datatype column = bench_resized(0, COMPLEX_BYTES, bench_vector(rows, 1, n, complex_type()));
    bench_part_add(row, bench_contiguous(rows, column), 1, array);
}

static void build_fft_receive(const bench_spec *spec, bench_row *row)
{
    hand_matrix *m = bench_hand(row, hand_pack_block_complex, hand_unpack_block_complex, sizeof *m);
    void *array = fft_matrix(spec, row, m);
    int n = (int)spec->args[0], rows = n / FFT_RANKS;
    MPI_Aint extent = (MPI_Aint)COMPLEX_BYTES * rows;
    bench_part_add(row, bench_resized(0, extent, bench_vector(rows, rows, n, complex_type())), 1, array);
}

static void build_transpose(const bench_spec *spec, bench_row *row)
{
    int n = (int)spec->args[0];
    double *array = bench_array(row, (int64_t)n * n * (int64_t)sizeof *array);
    MPI_Datatype column = bench_resized(0, sizeof *array, bench_vector(n, 1, n, MPI_DOUBLE));
    bench_part_add(row, bench_contiguous(n, column), 1, array);
    hand_matrix *m = bench_hand(row, hand_pack_transpose_double, hand_unpack_transpose_double, sizeof *m);
    *m = (hand_matrix){array, n, n, n};
}

void bench_add_transposes(bench_suite *suite)
{
    static const int ffts[] = {256, 768, 1536}, sizes[] = {64, 256, 500, 1000, 1024};
    for (int i = 0; i < 6; i++) {
        int64_t n = ffts[i % 3];
        bench_spec *spec = bench_add(suite, i < 3 ? "FFT2_send" : "FFT2_recv",
                                     i < 3 ? build_fft_send : build_fft_receive, n * n / FFT_RANKS * COMPLEX_BYTES);
        spec->args[0] = n;
        bench_params(spec, "N=%d p=%d", (int)n, FFT_RANKS);
    }
    for (int i = 0; i < 5; i++) {
        int64_t n = sizes[i];
        bench_spec *spec = bench_add(suite, "Transpose", build_transpose, n * n * (int64_t)sizeof(double));
        spec->args[0] = n;
        bench_params(spec, "N=%d", (int)n);
    }
}
