/* Two-phase collective writes and reads of a view: typed Alltoallw to aggregators, then contiguous MPI_File_write_at.
   Prototype. Everything is a 4-D array of bytes in C order whose slowest dimension no rank divides. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
enum { GAP = 16, MAXR = 64, MAXP = 256 };
typedef struct { const char *name; int g[4]; int split[4]; bool gap; } pattern; /* split: ranks along the dimension */
static int rank, ranks;
typedef struct piece { MPI_Offset at; int bytes; MPI_Datatype mem[MAXR], in[MAXR]; int mdisp[MAXR]; } piece;
typedef struct plan { int pieces, rounds; piece *p; unsigned char *stage; } plan;
static void starts_of(const pattern *x, int r, int l[4], int s[4])
{
    for (int d = 3; d >= 0; d--) { l[d] = x->g[d] / x->split[d]; s[d] = r % x->split[d] * l[d]; r /= x->split[d]; }
}
static size_t product(const int *a, int from) { size_t p = 1; for (int d = from; d < 4; d++) p *= (size_t)a[d]; return p; }
/* The bytes [lo, hi) of my packed memory as a type at MPI_BOTTOM-like displacement 0 of the buffer. */
static MPI_Datatype mem_type(const pattern *x, size_t all, size_t lo, size_t hi)
{
    MPI_Datatype t;
    size_t half = all / 2;
    MPI_Aint at[2]; int n = 0, len[2];
    if (!x->gap) { at[0] = (MPI_Aint)lo; len[0] = (int)(hi - lo); n = 1; }
    else {
        if (lo < half) { at[n] = (MPI_Aint)lo; len[n++] = (int)((hi < half ? hi : half) - lo); }
        if (hi > half) { size_t b = lo > half ? lo : half; at[n] = (MPI_Aint)(b + GAP); len[n++] = (int)(hi - b); }
    }
    MPI_Type_create_hindexed(n, len, at, MPI_BYTE, &t); MPI_Type_commit(&t); return t;
}
static void make_plan(const pattern *x, plan *out, size_t limit, int aggs)
{
    int l[4], s[4]; starts_of(x, rank, l, s);
    size_t row = product(x->g, 1), lrow = product(l, 1), all = product(l, 0);
    int n0 = x->g[0], per = (n0 + aggs - 1) / aggs, step = (int)(limit / row); if (step < 1) step = 1; if (step > per) step = per;
    int rounds = (per + step - 1) / step;
    out->rounds = rounds; out->p = calloc((size_t)rounds, sizeof(piece)); 
    if (posix_memalign((void **)&out->stage, 4096, row * (size_t)step)) abort();
    for (int k = 0; k < rounds; k++) {
        piece *p = &out->p[k];
        for (int a = 0; a < ranks; a++) {           /* what I give to aggregator a */
            int lo = a * per + k * step, hi = lo + step; if (hi > (a + 1) * per) hi = (a + 1) * per; if (hi > n0) hi = n0;
            if (a >= aggs || lo >= hi) { p->mem[a] = MPI_DATATYPE_NULL; }
            else p->mem[a] = mem_type(x, all, (size_t)lo * lrow, (size_t)hi * lrow);
            if (a != rank) continue;
            for (int r = 0; r < ranks; r++) {
                int rl[4], rs[4]; starts_of(x, r, rl, rs);
                if (a >= aggs || lo >= hi) { p->in[r] = MPI_DATATYPE_NULL; continue; }
                int g[4] = {hi - lo, x->g[1], x->g[2], x->g[3]}; rl[0] = hi - lo; rs[0] = 0;
                MPI_Type_create_subarray(4, g, rl, rs, MPI_ORDER_C, MPI_BYTE, &p->in[r]); MPI_Type_commit(&p->in[r]);
            }
            p->at = (MPI_Offset)row * lo; p->bytes = a < aggs && hi > lo ? (int)(row * (size_t)(hi - lo)) : 0;
        }
    }
}
static double t_x, t_io;
static void two_phase(MPI_File plain, const plan *pl, unsigned char *mem, bool reads)
{
    int sc[MAXR], rc[MAXR], z[MAXR] = {0}; MPI_Datatype st[MAXR], rt[MAXR];
    for (int k = 0; k < pl->rounds; k++) {
        const piece *p = &pl->p[k];
        for (int r = 0; r < ranks; r++) {
            sc[r] = p->mem[r] != MPI_DATATYPE_NULL; st[r] = sc[r] ? p->mem[r] : MPI_BYTE;
            rc[r] = p->in[r] != MPI_DATATYPE_NULL; rt[r] = rc[r] ? p->in[r] : MPI_BYTE;
        }
        double a = MPI_Wtime();
        if (reads && p->bytes) MPI_File_read_at(plain, p->at, pl->stage, p->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        double b = MPI_Wtime();
        if (reads) MPI_Alltoallw(pl->stage, rc, z, rt, mem, sc, z, st, MPI_COMM_WORLD);
        else MPI_Alltoallw(mem, sc, z, st, pl->stage, rc, z, rt, MPI_COMM_WORLD);
        double c = MPI_Wtime();
        if (!reads && p->bytes) MPI_File_write_at(plain, p->at, pl->stage, p->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        double d = MPI_Wtime();
        t_io += (b - a) + (d - c); t_x += c - b;
    }
}
static int by(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return (x > y) - (x < y); }
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *folder = argv[1]; int turns = atoi(argv[2]); int aggs = argc > 3 ? atoi(argv[3]) : ranks; bool fresh = argc > 4;
    int sx = 2, sy = ranks / 2; if (ranks == 1) sx = sy = 1;
    pattern all[] = {
        {"7935 4-D 16^4 x 192", {16, 16, 16, 16 * 192}, {1, 1, sy, sx}, false},
        {"7935 4-D 16^4 x 576", {16, 16, 16, 16 * 576}, {1, 1, sy, sx}, false},
        {"7935 4-D 32^4 x 24", {32, 32, 32, 32 * 24}, {1, 1, sy, sx}, false},
        {"7645 4 KiB by turns", {4096, 1, 1, 4096 * ranks}, {1, 1, 1, ranks}, false},
        {"6985 gap, 1 KiB by turns", {8192, 1, 1, 1024 * ranks}, {1, 1, 1, ranks}, true},
        {"6985 gap, 128 B by turns", {65536, 1, 1, 128 * ranks}, {1, 1, 1, ranks}, true},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        pattern *x = &all[i]; char path[4096]; int l[4], s[4]; starts_of(x, rank, l, s);
        size_t bytes = product(l, 0), room = bytes + GAP;
        unsigned char *mem = malloc(room), *back = malloc(room); MPI_File viewed, plain; MPI_Datatype view, type; plan pl;
        snprintf(path, sizeof path, "%s/pw_tp", folder);
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &viewed);
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &plain);
        MPI_Type_create_subarray(4, x->g, l, s, MPI_ORDER_C, MPI_BYTE, &view); MPI_Type_commit(&view);
        MPI_File_set_view(viewed, 0, MPI_BYTE, view, "native", MPI_INFO_NULL);
        type = mem_type(x, bytes, 0, bytes);
        make_plan(x, &pl, 16 << 20, aggs);
        double best[2][2], io[2], xx[2];
        for (int reads = 0; reads < 2; reads++) {
            double t[2][64];
            for (int k = 0; k < turns + 2; k++) for (int way = 0; way < 2; way++) {
                unsigned char *m = reads ? back : mem;
                if (reads) memset(back, 0, room); else for (size_t j = 0; j < room; j++) mem[j] = (unsigned char)(j * 7 + (j >> 10) + (size_t)rank * 31 + (size_t)k + (size_t)way);
                if (fresh && !reads) { MPI_Barrier(MPI_COMM_WORLD); MPI_File_set_size(plain, 0); }
                if (k < 2) t_x = t_io = 0;
                MPI_Barrier(MPI_COMM_WORLD); double a = MPI_Wtime();
                if (way == 0 && !reads) MPI_File_write_at_all(viewed, 0, m, 1, type, MPI_STATUS_IGNORE);
                if (way == 0 && reads) MPI_File_read_at_all(viewed, 0, m, 1, type, MPI_STATUS_IGNORE);
                if (way == 1) two_phase(plain, &pl, m, reads);
                double b = MPI_Wtime() - a; MPI_Allreduce(MPI_IN_PLACE, &b, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
                if (k >= 2) t[way][k - 2] = b;
                if (!reads && k == turns + 1) { memset(back, 0, room); MPI_File_sync(plain); MPI_File_sync(viewed); MPI_Barrier(MPI_COMM_WORLD); MPI_File_read_at_all(viewed, 0, back, 1, type, MPI_STATUS_IGNORE); }
                if (k == turns + 1) for (size_t j = 0; j < room; j++) { bool gap = x->gap ? j >= bytes / 2 && j < bytes / 2 + GAP : j >= bytes; if (!gap && back[j] != mem[j]) { printf("WRONG %s reads %d way %d at %zu\n", x->name, reads, way, j); MPI_Abort(MPI_COMM_WORLD, 1); } }
            }
            for (int w = 0; w < 2; w++) { qsort(t[w], (size_t)turns, sizeof(double), by); best[reads][w] = t[w][turns / 2]; }
            io[reads] = t_io / turns; xx[reads] = t_x / turns;
        }
        for (int reads = 0; reads < 2 && !rank; reads++)
            printf("%-26s %-5s %5.1f MB a rank: MPI %8.2f ms, two-phase %8.2f ms (exchange %.2f, file %.2f): %.2f\n", x->name, reads ? "read" : "write", (double)bytes / 1e6, best[reads][0] * 1e3, best[reads][1] * 1e3, xx[reads] * 1e3, io[reads] * 1e3, best[reads][0] / best[reads][1]);
        MPI_File_close(&viewed); MPI_File_close(&plain); if (!rank) remove(path); MPI_Barrier(MPI_COMM_WORLD); fflush(stdout);
        free(mem); free(back); free(pl.stage);
    }
    MPI_Finalize();
}
