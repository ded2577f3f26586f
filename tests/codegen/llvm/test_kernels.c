/* Every kind of region, on this CPU and on every lower level that it can run. */
#include "tests/codegen/llvm/kernels.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static const int64_t counts[] = {0, 1, 2, 5};

static void parse(const char *text, pw_arena *arena, pw_type *type)
{
    pw_diag diag = {0};
    if (pw_parse(text, arena, type, NULL, &diag) != PW_OK) {
        print_error("%s\n%s\n", text, diag.text);
        fail();
    }
}

static void check_text(kernels *k, const char *text)
{
    pw_arena *arena = pw_arena_create();
    pw_type type;
    pw_target target;
    parse(text, arena, &type);
    for (int t = 0; pw_target_compatible(t, &target); t++) {
        /* For this code x86-64-v2 is the same as x86-64. */
        if (t > 0 && strcmp(target.cpu, "x86-64-v2") == 0)
            continue;
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            check_kernel(k, &type, counts[i], &target, 17, text);
        if (t == 0)
            check_embedded(k, &type, 3, &target, strlen(text), text);
    }
    pw_arena_destroy(arena);
}

static void check_format(kernels *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void check_format(kernels *k, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    check_text(k, text);
}

static void fixed_types(void **state)
{
    static const char *const types[] = {
        "type(lb 0, extent 0) { bytes 0 align 1 }",
        "type(lb 0, extent 100) { bytes 100 align 4 }",
        "type(lb 0, extent 88) { bytes 84 align 4 }",
        /* 3-D faces */
        "type(lb 0, extent 8000) { stream 3 stride 800 { stream 10 stride 80 { bytes 80 align 8 } } }",
        "type(lb 0, extent 8000) { stream 10 stride 800 { stream 3 stride 80 { bytes 80 align 8 } } }",
        "type(lb 0, extent 8000) { stream 10 stride 800 { stream 10 stride 80 { bytes 24 align 8 } } }",
        "type(lb 0, extent 8000) { seq { @72 stream 10 stride 800 { stream 10 stride 80 { bytes 8 align 8 } } } }",
        /* backwards, and with a negative extent */
        "type(lb -800, extent 8) { stream 30 stride -24 { bytes 8 align 8 } }",
        "type(lb 0, extent -4000) { stream 30 stride 100 { bytes 12 align 4 } }",
        "type(lb 0, extent 4000) { stream 40 stride -12 { bytes 4 align 4 } }",
        /* overlapping */
        "type(lb 0, extent 400) { stream 30 stride 4 { bytes 12 align 4 } }",
        /* structs, with far and absolute members */
        "type(lb 0, extent 24) { seq { @0 bytes 1 align 1 @8 bytes 8 align 8 @16 bytes 4 align 4 } }",
        "type(lb 0, extent 40) { seq { @32 bytes 2 align 2 @8 bytes 8 align 8 @16 bytes 4 align 4 @0 bytes 7 align 1 } "
        "}",
        "type(lb 0, extent 90000) { seq { @0 bytes 3 align 1 @100 stream 20 stride 50 { bytes 7 align 1 } "
        "@70000 bytes 5000 align 1 } }",
        "type(lb 0, extent 64) { seq { @8192 bytes 300 align 4 @-8192 bytes 8 align 8 } }",
        /* lists of blocks */
        "type(lb 0, extent 9000) { blocks [0:8, 72:31, 24:1, 880:600, 2000:64, 2100:63, 2200:65, 2300:128, 2500:129, "
        "3000:256, 3300:257, 4000:2047, 6100:2048, 8200:3, 8300:7, 8400:17] }",
        "type(lb 0, extent 100) { stream 5 stride 100 { blocks [0:3, 10:1, 20:2] } }",
        /* a transposed struct */
        "type(lb 0, extent 12) { stream 9 stride 12 { stream 7 stride 108 { bytes 12 align 4 } } }",
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        check_text(*state, types[i]);
}

/* Code for another CPU of x86-64, which runs on each CPU that shuffles bytes: what LLVM takes beyond that is of no use
 * to kernels. */
static void check_for(kernels *k, const char *cpu, const char *text)
{
    pw_arena *arena = pw_arena_create();
    pw_type type;
    pw_target target;
    parse(text, arena, &type);
    assert_int_equal(pw_target_parse("x86_64", cpu, &target, NULL), PW_OK);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        check_kernel(k, &type, counts[i], &target, 17, text);
    pw_arena_destroy(arena);
}

static void vectors(void **state)
{
    static const int strides[] = {1, 3, 4, 8, 24, 100, 1000, 5000};
    for (int n = 1; n <= 40; n++) {
        int stride = n + strides[n % 8];
        check_format(*state, "type(lb 0, extent %d) { stream 21 stride %d { bytes %d align 1 } }", 21 * stride, stride,
                     n);
    }
}

/* Words at every small distance: whole windows, and the rest behind them. */
static void small_strides(void **state)
{
    for (int word = 1; word <= 16; word *= 2)
        for (int gap = 1; gap <= 7; gap += 2) {
            int stride = word * (1 + gap);
            check_format(*state, "type(lb 0, extent %d) { stream %d stride %d { bytes %d align 1 } }", 150 * stride,
                         60 + 13 * gap, stride, word);
        }
}

/* Lines that share few sets of a cache are stored to twice, if they are more than the cache holds; and strides beside
 * those. For a Zen 5 longer blocks are stored repeatedly, too, and more often. */
static void set_strides(void **state)
{
    static const int strides[] = {512, 520, 1024, -1536, 3584, 4096, -4608};
    for (int word = 1; word <= 64; word *= 2)
        for (size_t i = 0; i < sizeof strides / sizeof *strides; i++)
            check_format(*state, "type(lb 0, extent %d) { stream 21 stride %d { bytes %d align 1 } }",
                         21 * abs(strides[i]), strides[i], word);
    for (int i = 0; i < 6 && pw_target_isa_of(pw_target_host()).byte_shuffles; i++) {
        static const int blocks[] = {1, 8, 24, 64, 72, 256}, far[] = {512, 2048, -4096, -1024, 8192, 4096};
        char text[128];
        snprintf(text, sizeof text, "type(lb 0, extent %d) { stream 101 stride %d { bytes %d align 1 } }",
                 101 * abs(far[i]), far[i], blocks[i]);
        check_for(*state, "znver5", text);
    }
}

/* Words on more pages than a TLB holds, if the call moves several objects. */
static void words_over_pages(void **state)
{
    for (int word = 1; word <= 8; word *= 2)
        for (int stride = 4100; stride >= -4100; stride -= 8200)
            check_format(*state, "type(lb 0, extent %d) { stream 701 stride %d { bytes %d align 1 } }", 701 * 4100,
                         stride, word);
}

static void long_blocks(void **state)
{
    static const int lengths[] = {48,  64,  65,  100,  127,  128,  200,  255,   256,   257,   258,  300,
                                  319, 320, 321, 1000, 2047, 2048, 5000, 16383, 16384, 16448, 40000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        check_format(*state, "type(lb 0, extent 300001) { stream 7 stride 42001 { bytes %d align 1 } }", lengths[i]);
}

/* The calls of a Zen 5 that move more than half its first-level cache copy blocks from 3072 bytes on by one
 * instruction. */
static void string_copies(void **state)
{
    static const char *const types[] = {
        "type(lb 0, extent 40000) { stream 9 stride 4099 { bytes 3072 align 1 } }",
        "type(lb 0, extent 40000) { stream 9 stride 4099 { bytes 3071 align 1 } }",
        "type(lb 0, extent 50000) { seq { @7 bytes 24577 align 1 @30000 bytes 300 align 1 } }",
        "type(lb 0, extent 70000) { blocks [0:3072, 5000:100, 9000:9001, 20000:3071, 30000:15000] }",
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        check_text(*state, types[i]);
        if (pw_target_isa_of(pw_target_host()).byte_shuffles)
            check_for(*state, "znver5", types[i]);
    }
}

static void transposes(void **state)
{
    static const int sides[] = {3, 8, 17, 33};
    for (int word = 1; word <= 16; word *= 2)
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            int n = sides[i], rows = n + (int)i;
            check_format(*state,
                         "type(lb 0, extent %d) { stream %d stride %d { stream %d stride %d { bytes %d align 1 } } }",
                         n * rows * word, n, word, rows, n * word, word);
        }
    /* Several tiles: of all rows that stay in a cache, of fewer as the rows share sets, of the fewest whole pages
     * apart. */
    check_text(*state,
               "type(lb 0, extent 106000) { stream 21 stride 8 { stream 530 stride 200 { bytes 8 align 8 } } }");
    check_text(*state, "type(lb 0, extent 46720) { stream 70 stride 8 { stream 73 stride 640 { bytes 8 align 8 } } }");
    check_text(*state,
               "type(lb 0, extent 172032) { stream 41 stride 8 { stream 42 stride 4096 { bytes 8 align 8 } } }");
    /* Long rows that begin behind whole vectors, in whole elements and within one, and rows that begin everywhere:
     * those of unpacks, then those of packs. */
    for (int from = 0; from < 64; from += 4) {
        for (int apart = 8320; apart <= 8328; apart += 8)
            check_format(*state,
                         "type(lb 0, extent 200000) { seq { @%d stream 1035 stride 8 { stream 21 stride %d { "
                         "bytes 8 align 4 } } } }",
                         from, apart);
        for (int word = 4; word <= 16; word *= 2)
            check_format(*state,
                         "type(lb 0, extent 420000) { seq { @0 bytes %d align 1 @64 stream 9 stride %d { stream 1040 "
                         "stride 400 { bytes %d align 4 } } } }",
                         from + 4, word, word);
    }
}

/* Uniform lists: offsets grow unevenly, so that no pass finds a stride; 8- and 16-bit tables are not enough. */
static void lists(void **state)
{
    bool gathers = pw_target_isa_of(pw_target_host()).byte_shuffles;
    static const int widths[] = {1, 3, 4, 8, 12, 24, 64, 300};
    char text[8192];
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int64_t scale = 1; scale <= 100; scale += 99) {
            size_t at = (size_t)snprintf(text, sizeof text, "type(lb 0, extent 8) { index [");
            for (int64_t i = 0; i < 61; i++)
                at += (size_t)snprintf(text + at, sizeof text - at, "%s%" PRId64, i ? "," : "",
                                       (i * i + i % 3) * scale + i * 2 * widths[w]);
            snprintf(text + at, sizeof text - at, "] { bytes %d align 1 } }", widths[w]);
            check_text(*state, text);
            if (gathers && (widths[w] == 4 || widths[w] == 8))
                check_for(*state, "sapphirerapids", text);
        }
}

static int setup(void **state)
{
    static kernels k;
    kernels_init(&k);
    *state = &k;
    return 0;
}

static int teardown(void **state)
{
    kernels *k = *state;
    print_message("%d kernels compiled\n", k->compiled);
    kernels_free(k);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_types),   cmocka_unit_test(vectors),          cmocka_unit_test(small_strides),
        cmocka_unit_test(set_strides),   cmocka_unit_test(words_over_pages), cmocka_unit_test(long_blocks),
        cmocka_unit_test(string_copies), cmocka_unit_test(transposes),       cmocka_unit_test(lists),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
