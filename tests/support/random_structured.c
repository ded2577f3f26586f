/* Layouts that programs make: the passes and the kernels' special cases are about these. */
#include "tests/support/random_internal.h"

typedef struct shape_budget {
    int64_t size, span;
} shape_budget;

/* Sizes of basic and small derived types, as a multiple of the unit so that neighbours stay aligned. */
static int64_t element_size(pw_gen *g, const shape_budget *left)
{
    static const int64_t usual[] = {1, 2, 4, 4, 8, 8, 8, 12, 16, 24};
    int64_t n = usual[pw_gen_range(g, 0, 9)];

    n = (n + g->unit - 1) / g->unit * g->unit;
    return n <= left->size && n <= left->span ? n : 1;
}

/* The distance of neighbours that touch, or nearly so where the unit asks for it. */
static int64_t pitch_of(const pw_gen *g, int64_t size)
{
    return (size + g->unit - 1) / g->unit * g->unit;
}

/* A count of objects of `size` packed bytes, `span` apart, that the budget allows: at least 1. */
static int64_t take_count(pw_gen *g, shape_budget *left, int64_t size, int64_t span, int64_t most)
{
    int64_t by_size = left->size / (size > 0 ? size : 1), by_span = left->span / (span > 0 ? span : 1);
    int64_t limit = by_size < by_span ? by_size : by_span;
    int64_t count = pw_gen_range(g, 1, limit < most ? limit : most);

    left->size /= count;
    left->span /= count;
    return count;
}

/* One to four nested streams, each beyond the span of the one below: vectors of vectors, subarrays. Some descend. */
static const pw_node *nested_vectors(pw_gen *g, const pw_node *element, shape_budget left, int64_t *extent)
{
    const pw_node *node = element;
    int64_t pitch = element ? pitch_of(g, element->size) : 0, levels = pw_gen_range(g, 1, 4);

    for (int64_t i = 0; i < levels && node; i++) {
        int64_t full, count;

        if (pw_rng_one_in(&g->rng, 3))
            pitch += g->unit * pw_gen_range(g, 0, 4); /* a gap, as from resized */
        full = pw_gen_range(g, 1, 6);
        count = take_count(g, &left, node->size, pitch * full, 24);
        node = pw_build_stream(g->b, count, pw_rng_one_in(&g->rng, 6) ? -pitch : pitch, node);
        pitch *= count + full - 1; /* the array is larger than the part of it */
    }
    *extent = pitch;
    return node;
}

static const pw_node *vectors(pw_gen *g, int64_t *extent)
{
    shape_budget left = {g->max_size, g->max_span / 8};
    int64_t n = element_size(g, &left);

    return nested_vectors(g, pw_gen_bytes(g, n), left, extent);
}

/* A box inside an array: streams with the array's pitches, moved to the box's start. */
static const pw_node *subarray(pw_gen *g, int64_t *extent)
{
    shape_budget left = {g->max_size, g->max_span / 4};
    int64_t element = element_size(g, &left), pitch = pitch_of(g, element), start = 0, dims = pw_gen_range(g, 1, 4);
    const pw_node *node = pw_gen_bytes(g, element);

    for (int64_t d = 0; d < dims && node; d++) {
        int64_t count = take_count(g, &left, node->size, pitch, 16);
        int64_t before = pw_gen_range(g, 0, 2), after = pw_gen_range(g, 0, 2);

        if (left.span < pitch * 4)
            before = after = 0;
        node = pw_build_stream(g->b, count, pitch, node);
        start += before * pitch;
        pitch *= before + count + after;
    }
    *extent = pitch;
    if (pitch > g->max_span / 2)
        return node;
    return pw_build_shift(g->b, start, node);
}

/* Struct of arrays: streams one after another. */
static const pw_node *struct_of_streams(pw_gen *g, int64_t *extent)
{
    const pw_node *children[5];
    int64_t offs[5], n = 0, members = pw_gen_range(g, 2, 5), at = 0, count = 0;

    for (; n < members && at < g->max_span / 2; n++) {
        shape_budget left = {g->max_size / members, g->max_span / (2 * members)};
        int64_t element = element_size(g, &left);
        int64_t pitch = pitch_of(g, element) + (pw_rng_one_in(&g->rng, 2) ? g->unit * pw_gen_range(g, 0, 2) : 0);
        int64_t fits = take_count(g, &left, element, pitch, 32);

        count = n > 0 && pw_rng_one_in(&g->rng, 2) && count <= fits ? count : fits;
        children[n] = pw_build_stream(g->b, count, pitch, pw_gen_bytes(g, element));
        offs[n] = at;
        at += pitch * count + (pw_rng_one_in(&g->rng, 2) ? g->unit * pw_gen_range(g, 0, 4) : 0);
    }
    *extent = at;
    return pw_build_seq(g->b, n, offs, children);
}

/* Array of structs with holes (pair types among them); sometimes of equal members, which are a stream in hiding. */
static const pw_node *stream_of_structs(pw_gen *g, int64_t *extent)
{
    shape_budget left = {g->max_size, g->max_span / 4};
    int64_t offs[6], n = 0, members = pw_gen_range(g, 2, 6), at = 0, count;
    bool equal = pw_rng_one_in(&g->rng, 3);
    int64_t element = element_size(g, &left), gap = g->unit * pw_gen_range(g, 0, 2);
    const pw_node *children[6], *node;

    for (; n < members && at < left.span; n++) {
        if (!equal) {
            element = element_size(g, &(shape_budget){left.size / members, left.span});
            gap = g->unit * pw_gen_range(g, 0, 2);
        }
        if (element * (n + 1) > left.size)
            element = 0;
        children[n] = pw_gen_bytes(g, element);
        offs[n] = at;
        at += pitch_of(g, element) + gap;
    }
    node = pw_build_seq(g->b, n, offs, children);
    if (!node)
        return NULL;
    count = take_count(g, &left, node->size, at, 40);
    *extent = at * count;
    return pw_build_stream(g->b, count, at, node);
}

/* An offset list that is a progression, a nested one, a repeated pattern, nearly one of these, or shuffled. */
static void regular_offsets(pw_gen *g, int64_t n, int64_t pitch, int64_t *offs)
{
    int64_t inner = pw_gen_range(g, 1, n > 1 ? n / 2 : 1), row = pitch * (inner + pw_gen_range(g, 0, 3));
    int64_t pattern = pw_gen_range(g, 0, 4);

    for (int64_t i = 0; i < n; i++) {
        switch (pattern) {
        case 0: offs[i] = i * pitch; break;
        case 1: offs[i] = (n - 1 - i) * pitch; break;
        case 2: offs[i] = i / inner * row + i % inner * pitch; break;
        case 3: offs[i] = i / inner * row + (i % inner) * (i % inner + 1) / 2 % inner * pitch; break;
        default: offs[i] = i % inner * (row / pitch) * pitch + i / inner * pitch; break;
        }
    }
    if (pw_rng_one_in(&g->rng, 4))
        offs[pw_gen_range(g, 0, n - 1)] += pitch;
    for (int64_t i = n - 1; i > 0 && pattern == 3; i--) {
        int64_t j = pw_gen_range(g, 0, i), kept = offs[i];

        offs[i] = offs[j];
        offs[j] = kept;
    }
}

enum { LIST = 96 };

static const pw_node *index_list(pw_gen *g, int64_t *extent)
{
    shape_budget left = {g->max_size, g->max_span / 64};
    int64_t offs[LIST], element = element_size(g, &left), pitch, n;
    const pw_node *child = pw_gen_bytes(g, element);

    if (child && pw_rng_one_in(&g->rng, 4))
        child = pw_build_stream(g->b, 2, 2 * pitch_of(g, element), child);
    if (!child)
        return NULL;
    pitch = pitch_of(g, child->hi);
    if (pw_rng_one_in(&g->rng, 2))
        pitch *= pw_gen_range(g, 1, 3);
    n = take_count(g, &left, child->size, 1, LIST);
    if (n * n * pitch > g->max_span)
        n = 1;
    regular_offsets(g, n, pitch, offs);
    *extent = n * n * pitch;
    return pw_build_index(g->b, n, offs, child);
}

/* Equal lengths, adjacent blocks and truly irregular ones: what indexed types decode to. */
static const pw_node *block_list(pw_gen *g, int64_t *extent)
{
    int64_t offs[LIST], lens[LIST], n = pw_gen_range(g, 1, g->max_size < LIST ? g->max_size : LIST);
    int64_t at = 0, most = g->max_size / n, length = pw_gen_range(g, 1, most < 64 ? most : 64);
    bool equal = pw_rng_one_in(&g->rng, 3);

    for (int64_t i = 0; i < n; i++) {
        lens[i] = equal ? length : pw_gen_range(g, 0, length);
        if (at + lens[i] > g->max_span)
            lens[i] = 0;
        offs[i] = at;
        at += lens[i];
        if (!pw_rng_one_in(&g->rng, 3) && at + length < g->max_span)
            at += equal && i % 2 ? length : pw_gen_range(g, 0, length);
    }
    *extent = pw_gen_unit(g, at + g->unit);
    return pw_build_blocks(g->b, n, offs, lens);
}

/* ctg(rows)[resized(0, e)[vec(columns, 1, rows)[e]]]: packed order and memory order disagree. */
static const pw_node *transpose(pw_gen *g, int64_t *extent)
{
    shape_budget left = {g->max_size, g->max_span / 4};
    int64_t element = element_size(g, &left);
    int64_t near = pitch_of(g, element);
    int64_t rows = take_count(g, &left, element, near, 40), columns = take_count(g, &left, element, near, 40);
    int64_t pitch = rows * near + (pw_rng_one_in(&g->rng, 3) ? g->unit * pw_gen_range(g, 0, 4) : 0);
    const pw_node *column = pw_build_stream(g->b, columns, pitch, pw_gen_bytes(g, element));

    /* A lone column, one element further for each object of the call. */
    if (pw_rng_one_in(&g->rng, 3)) {
        *extent = near;
        return column;
    }
    *extent = columns * pitch;
    return pw_build_stream(g->b, rows, near, column);
}

const pw_node *pw_gen_structured(pw_gen *g, int64_t *extent)
{
    const pw_node *node;

    *extent = 0;
    switch (pw_gen_range(g, 0, 7)) {
    case 0: node = vectors(g, extent); break;
    case 1:
    case 2: node = subarray(g, extent); break;
    case 3: node = struct_of_streams(g, extent); break;
    case 4: node = stream_of_structs(g, extent); break;
    case 5: node = index_list(g, extent); break;
    case 6: node = block_list(g, extent); break;
    default: node = transpose(g, extent); break;
    }
    *extent = pw_gen_unit(g, *extent);
    /* What hangs below frontends' dup and resized: displaced, or as one entry of something larger. */
    if (node && node->hi < g->max_span / 2 && pw_rng_one_in(&g->rng, 6))
        node = pw_build_shift(g->b, pw_gen_unit(g, pw_gen_range(g, -64, 64)), node);
    return node;
}
