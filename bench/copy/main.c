/*
 * Copies from layout to layout: one pass by a joined kernel beside packing and unpacking.
 *
 *   joined   one pass, compiled
 *   tier0    one pass, interpreted
 *   staged   packed into a buffer and unpacked from it by compiled kernels, as messages to oneself are
 *   pieces   the same in pieces of 16 KiB, whole objects of the side with the larger ones where they fit
 *   hand     a loop, -O3 -march=native
 *
 * Peers run in turns; medians of ns a call. Every peer is compared with the loop first. --quick only compares.
 */
#include "bench/clock.h"
#include "bench/copy/copy.h"
#include "runtime/engine/layout/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEERS = 5, ROUNDS = 15, PIECE = 16 << 10 };

static const char *const names[PEERS] = {"joined", "tier0", "staged", "pieces", "hand"};

typedef struct subject {
    const copy_row *row;
    pw_layout *src, *dst;
    pw_joined joined, interpreted;
    int64_t bytes, src_span, dst_span;
    char *from, *to, *stage, *expected;
} subject;

static void *allocate(int64_t bytes)
{
    void *p = aligned_alloc(4096, ((size_t)bytes + 8191) / 4096 * 4096);

    if (!p)
        abort();
    return p;
}

/* ---- peers --------------------------------------------------------------------------------------------- */

static void run_pieces(const subject *s)
{
    int64_t step = s->bytes <= PIECE ? s->bytes : PIECE;

    for (int64_t at = 0; at < s->bytes; at += step) {
        int64_t end = s->bytes - at < step ? s->bytes : at + step;

        pw_layout_pack_part(s->src, s->from, at, end, s->stage);
        pw_layout_unpack_part(s->dst, s->to, at, end, s->stage);
    }
}

static void run(const subject *s, int peer)
{
    switch (peer) {
    case 0: pw_layout_copy(&s->joined, s->from, s->to, s->bytes); break;
    case 1: pw_layout_copy(&s->interpreted, s->from, s->to, s->bytes); break;
    case 2:
        pw_layout_pack(s->src, s->from, s->bytes / s->src->size, s->stage);
        pw_layout_unpack(s->dst, s->to, s->bytes / s->dst->size, s->stage);
        break;
    case 3: run_pieces(s); break;
    default: s->row->hand(s->row, s->from, s->to); break;
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static pw_type regular(pw_builder *b, int64_t n, int64_t stride, const pw_node *child)
{
    return (pw_type){.root = pw_build_stream(b, n, stride, child), .extent = n * stride + 64};
}

static const pw_node *record(pw_builder *b, int64_t second)
{
    int64_t offs[2] = {0, second}, lens[2] = {4, 16};

    return pw_build_blocks(b, 2, offs, lens);
}

static int make_rows(pw_builder *b, int64_t bytes, copy_row *rows)
{
    int64_t rows64 = bytes / 64, words = bytes / 8, records = bytes / 20, side = 8, n = 0;
    int64_t *list = pw_arena_alloc(b->arena, (size_t)rows64 * 8);

    while (side * side * 4 <= words)
        side *= 2;
    for (int64_t i = 0; i < rows64; i++)
        list[i] = i * 128 + i * 7919 % 7 * 8;
    rows[n++] = (copy_row){.name = "rows of 64 B",
                           .n = rows64,
                           .block = 64,
                           .src_stride = 128,
                           .dst_stride = 96,
                           .hand = hand_rows,
                           .src = regular(b, rows64, 128, pw_build_bytes(b, 64, 8)),
                           .dst = regular(b, rows64, 96, pw_build_bytes(b, 64, 8))};
    rows[n++] = (copy_row){.name = "words",
                           .n = words,
                           .block = 8,
                           .src_stride = 32,
                           .dst_stride = 24,
                           .hand = hand_words,
                           .src = regular(b, words, 32, pw_build_bytes(b, 8, 8)),
                           .dst = regular(b, words, 24, pw_build_bytes(b, 8, 8))};
    rows[n++] = (copy_row){.name = "rows of 64 B to words",
                           .n = words,
                           .inner = 8,
                           .src_stride = 128,
                           .dst_stride = 24,
                           .hand = hand_spread,
                           .src = regular(b, rows64, 128, pw_build_bytes(b, 64, 8)),
                           .dst = regular(b, words, 24, pw_build_bytes(b, 8, 8))};
    rows[n++] = (copy_row){
        .name = "transpose",
        .n = words / side * side,
        .inner = side,
        .src_stride = side * 8 + 64,
        .dst_stride = words / side * 8 + 64,
        .hand = hand_transpose,
        .src = regular(b, words / side, side * 8 + 64, pw_build_bytes(b, side * 8, 8)),
        .dst = regular(b, words / side, 8, pw_build_stream(b, side, words / side * 8 + 64, pw_build_bytes(b, 8, 8)))};
    rows[n++] = (copy_row){.name = "list of 64 B to rows",
                           .n = rows64,
                           .block = 64,
                           .dst_stride = 96,
                           .list = list,
                           .hand = hand_gather,
                           .src = {.root = pw_build_index(b, rows64, list, pw_build_bytes(b, 64, 8)), .extent = 8},
                           .dst = regular(b, rows64, 96, pw_build_bytes(b, 64, 8))};
    rows[n++] = (copy_row){.name = "records",
                           .n = records,
                           .src_stride = 40,
                           .dst_stride = 32,
                           .hand = hand_records,
                           .src = regular(b, records, 40, record(b, 16)),
                           .dst = regular(b, records, 32, record(b, 8))};
    return (int)n;
}

/* ---- measuring ----------------------------------------------------------------------------------------- */

static void check(const subject *s)
{
    memset(s->to, 0, (size_t)s->dst_span);
    run(s, PEERS - 1);
    memcpy(s->expected, s->to, (size_t)s->dst_span);
    for (int p = 0; p < PEERS - 1; p++) {
        memset(s->to, 0, (size_t)s->dst_span);
        run(s, p);
        if (memcmp(s->to, s->expected, (size_t)s->dst_span) != 0) {
            fprintf(stderr, "%s, %" PRId64 " bytes: %s is wrong\n", s->row->name, s->bytes, names[p]);
            exit(1);
        }
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double sample(const subject *s, int peer, int64_t runs)
{
    double began;

    run(s, peer);
    began = bench_cpu_now();
    for (int64_t i = 0; i < runs; i++)
        run(s, peer);
    return (bench_cpu_now() - began) / (double)runs;
}

static void measure(const subject *s)
{
    double times[PEERS][ROUNDS];
    int64_t runs = 400000 / s->bytes + 1;

    for (int round = 0; round < ROUNDS; round++)
        for (int p = 0; p < PEERS; p++)
            times[(p + round) % PEERS][round] = sample(s, (p + round) % PEERS, runs);
    printf("%-22s %8" PRId64, s->row->name, s->bytes);
    for (int p = 0; p < PEERS; p++) {
        qsort(times[p], ROUNDS, sizeof **times, compare);
        printf(" %11.0f", times[p][ROUNDS / 2]);
    }
    printf("  %5.2f %5.2f %5.2f\n", times[2][ROUNDS / 2] / times[0][ROUNDS / 2],
           times[3][ROUNDS / 2] / times[0][ROUNDS / 2], times[4][ROUNDS / 2] / times[0][ROUNDS / 2]);
}

static pw_layout *layout(pw_layout_engine *engine, const pw_type *type)
{
    pw_layout *l;
    pw_diag diag;

    if (pw_layout_get(engine, type, &l, &diag) != PW_OK) {
        fprintf(stderr, "%s\n", diag.text);
        exit(1);
    }
    return l;
}

static void join(pw_layout_engine *engine, const copy_row *row, pw_layout **src, pw_layout **dst, pw_joined *out)
{
    pw_diag diag;

    *src = layout(engine, &row->src);
    *dst = layout(engine, &row->dst);
    if (pw_layout_join(*src, *dst, out, &diag) != PW_OK) {
        fprintf(stderr, "%s: %s\n", row->name, diag.text);
        exit(1);
    }
}

static void bench_row(pw_layout_engine *compiled, pw_layout_engine *interpreter, const copy_row *row, bool quick)
{
    pw_layout *others[2];
    subject s = {.row = row, .bytes = row->src.root->size};

    join(compiled, row, &s.src, &s.dst, &s.joined);
    join(interpreter, row, &others[0], &others[1], &s.interpreted);
    s.src_span = row->src.root->hi;
    s.dst_span = row->dst.root->hi;
    s.from = allocate(s.src_span);
    s.to = allocate(s.dst_span);
    s.expected = allocate(s.dst_span);
    s.stage = allocate(s.bytes);
    for (int64_t i = 0; i < s.src_span; i++)
        s.from[i] = (char)(i * 7 + i / 251);
    check(&s);
    if (!quick)
        measure(&s);
    free(s.from);
    free(s.to);
    free(s.expected);
    free(s.stage);
    pw_layout_unref(s.joined.layout);
    pw_layout_unref(s.interpreted.layout);
    pw_layout_unref(s.src);
    pw_layout_unref(s.dst);
    pw_layout_unref(others[0]);
    pw_layout_unref(others[1]);
}

static pw_layout_engine *make_engine(pw_jit_mode mode)
{
    static pw_layout_config configs[2];
    pw_layout_config *c = &configs[mode == PW_JIT_OFF];
    pw_layout_engine *engine;

    pw_layout_config_from_env(c);
    c->mode = mode;
    c->cache.dir = NULL;
    if (pw_layout_engine_create(c, &engine) != PW_OK)
        exit(1);
    return engine;
}

int main(int argc, char **argv)
{
    static const int64_t sizes[] = {1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20};
    bool quick = argc > 1 && !strcmp(argv[1], "--quick");
    pw_layout_engine *compiled = make_engine(PW_JIT_SYNC), *interpreter = make_engine(PW_JIT_OFF);

    printf("%-22s %8s", "row", "bytes");
    for (int p = 0; p < PEERS; p++)
        printf(" %8s ns", names[p]);
    printf("  joined is so many times as fast as staged, pieces, hand\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pw_builder b = {.arena = pw_arena_create()};
        copy_row rows[8];
        int n = make_rows(&b, sizes[i], rows);

        for (int k = 0; k < n && b.status == PW_OK; k++)
            bench_row(compiled, interpreter, &rows[k], quick);
        if (b.status != PW_OK)
            exit(1);
        pw_arena_destroy(b.arena);
    }
    pw_layout_engine_destroy(compiled);
    pw_layout_engine_destroy(interpreter);
    return 0;
}
