/* Chooses the blocks that a picture shows. */
#include "tools/draw/draw.h"

#include "base/grow.h"

#include <stdlib.h>

enum {
    SHOW_ALL = 160, /* types with at most this many blocks are shown whole */
    FIRST = 5,      /* iterations kept at the start of a long stream or list */
    LAST = 3,       /* iterations kept at its end */
    MAX_BLOCKS = 60000
};

typedef struct sampler {
    pw_draw_sample *out;
    bool whole, nomem;
} sampler;

static void add_block(sampler *s, int64_t mem, int64_t packed, int64_t bytes)
{
    pw_draw_sample *out = s->out;
    pw_draw_block *grown;

    if (bytes == 0 || s->nomem || out->n == MAX_BLOCKS)
        return;
    grown = pw_grow(out->blocks, out->n, &out->room, sizeof *grown);
    s->nomem = !grown;
    if (!grown)
        return;
    out->blocks = grown;
    out->blocks[out->n++] = (pw_draw_block){mem, packed, bytes};
}

/* Returns the iteration to show after i of n: after the first few follow the last few. */
static int64_t next_shown(const sampler *s, int64_t i, int64_t n)
{
    i++;
    return !s->whole && i >= FIRST && i < n - LAST ? n - LAST : i;
}

static void visit(sampler *s, const pw_node *node, int64_t mem, int64_t packed);

static void visit_blocks(sampler *s, const pw_node *node, int64_t mem, int64_t packed)
{
    int64_t shown = 0;

    for (int64_t i = 0; i < node->blocks_list.n; i++) {
        if (i == shown) {
            add_block(s, mem + node->blocks_list.offs[i], packed, node->blocks_list.lens[i]);
            shown = next_shown(s, i, node->blocks_list.n);
        }
        packed += node->blocks_list.lens[i];
    }
}

static void visit_seq(sampler *s, const pw_node *node, int64_t mem, int64_t packed)
{
    int64_t shown = 0;

    for (int64_t i = 0; i < node->seq.n; i++) {
        if (i == shown) {
            visit(s, node->seq.children[i], mem + node->seq.offs[i], packed);
            /* The members of a struct differ, so up to a few dozen are all shown. */
            shown = node->seq.n <= 64 ? i + 1 : next_shown(s, i, node->seq.n);
        }
        packed += node->seq.children[i]->size;
    }
}

static void visit(sampler *s, const pw_node *node, int64_t mem, int64_t packed)
{
    /* The number of blocks is bounded here, since a few iterations on each of many levels are too many. */
    if (s->nomem || s->out->n == MAX_BLOCKS)
        return;
    switch (node->kind) {
    case PW_BYTES: add_block(s, mem, packed, node->bytes.n); break;
    case PW_STREAM:
        for (int64_t i = 0; i < node->stream.count; i = next_shown(s, i, node->stream.count))
            visit(s, node->stream.child, mem + i * node->stream.stride, packed + i * node->stream.child->size);
        break;
    case PW_INDEX:
        for (int64_t i = 0; i < node->index.n; i = next_shown(s, i, node->index.n))
            visit(s, node->index.child, mem + node->index.offs[i], packed + i * node->index.child->size);
        break;
    case PW_BLOCKS: visit_blocks(s, node, mem, packed); break;
    case PW_SEQ: visit_seq(s, node, mem, packed); break;
    }
}

pw_status pw_draw_sample_make(const pw_type *type, int64_t count, pw_draw_sample *out)
{
    sampler s = {.out = out};

    *out = (pw_draw_sample){0};
    s.whole = type->root->blocks <= SHOW_ALL && count <= SHOW_ALL / (type->root->blocks + 1);
    for (int64_t i = 0; i < count; i = next_shown(&s, i, count))
        visit(&s, type->root, i * type->extent, i * type->root->size);
    if (!s.nomem)
        return PW_OK;
    pw_draw_sample_free(out);
    return PW_ERR_NOMEM;
}

void pw_draw_sample_free(pw_draw_sample *sample)
{
    free(sample->blocks);
    *sample = (pw_draw_sample){0};
}
