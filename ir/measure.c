#include "ir/measure.h"

/* Adds `n` packed bytes in `blocks` blocks touching [off + lo, off + hi). */
static bool add_part(pw_measure *m, int64_t off, const pw_measure *part)
{
    int64_t lo, hi;

    if (part->size == 0)
        return true;
    if (__builtin_add_overflow(off, part->lo, &lo) || __builtin_add_overflow(off, part->hi, &hi))
        return false;
    if (m->size == 0) {
        m->lo = lo;
        m->hi = hi;
    } else {
        m->lo = lo < m->lo ? lo : m->lo;
        m->hi = hi > m->hi ? hi : m->hi;
    }
    if (__builtin_add_overflow(m->blocks, part->blocks, &m->blocks))
        m->blocks = INT64_MAX;
    return !__builtin_add_overflow(m->size, part->size, &m->size);
}

static pw_measure facts(const pw_node *node)
{
    return (pw_measure){node->size, node->lo, node->hi, node->blocks, node->depth, node->kinds};
}

/* n > 0 instances of a child that is not empty, of which those at `first` and `last` bound the others. */
static bool add_instances(pw_measure *m, int64_t n, int64_t first, int64_t last, const pw_measure *child)
{
    if (!add_part(m, first, child) || (n > 1 && !add_part(m, last, child)))
        return false;
    if (__builtin_mul_overflow(n, child->blocks, &m->blocks))
        m->blocks = INT64_MAX;
    return !__builtin_mul_overflow(n, child->size, &m->size);
}

static bool measure_stream(const pw_node *node, pw_measure *m)
{
    pw_measure child = facts(node->stream.child);
    int64_t last, count = node->stream.count;

    m->depth = child.depth + 1;
    m->kinds |= child.kinds;
    if (count == 0 || child.size == 0)
        return true;
    return !__builtin_mul_overflow(count - 1, node->stream.stride, &last) && add_instances(m, count, 0, last, &child);
}

static bool measure_index(const pw_node *node, pw_measure *m)
{
    pw_measure child = facts(node->index.child);
    const int64_t *offs = node->index.offs;
    int64_t n = node->index.n, min, max;

    m->depth = child.depth + 1;
    m->kinds |= child.kinds;
    if (n == 0 || child.size == 0)
        return true;
    min = max = offs[0];
    for (int64_t i = 1; i < n; i++) {
        min = offs[i] < min ? offs[i] : min;
        max = offs[i] > max ? offs[i] : max;
    }
    return add_instances(m, n, min, max, &child);
}

static pw_status measure_blocks(const pw_node *node, pw_measure *m)
{
    bool overflows = false;

    m->depth = 1;
    for (int64_t i = 0; i < node->blocks_list.n; i++) {
        int64_t off = node->blocks_list.offs[i], len = node->blocks_list.lens[i], end;

        if (len < 0)
            return PW_ERR_INVALID;
        if (len == 0)
            continue;
        overflows |= __builtin_add_overflow(off, len, &end) | __builtin_add_overflow(m->size, len, &m->size);
        m->lo = m->blocks == 0 || off < m->lo ? off : m->lo;
        m->hi = m->blocks == 0 || end > m->hi ? end : m->hi;
        m->blocks++;
    }
    return overflows ? PW_ERR_OVERFLOW : PW_OK;
}

static bool measure_seq(const pw_node *node, pw_measure *m)
{
    m->depth = 1;
    for (int64_t i = 0; i < node->seq.n; i++) {
        pw_measure child = facts(node->seq.children[i]);

        if (m->depth < child.depth + 1)
            m->depth = child.depth + 1;
        m->kinds |= child.kinds;
        if (!add_part(m, node->seq.offs[i], &child))
            return false;
    }
    return true;
}

pw_status pw_measure_node(const pw_node *node, pw_measure *out)
{
    pw_measure m = {.kinds = 1U << node->kind};
    pw_status status = PW_OK;

    switch (node->kind) {
    case PW_BYTES:
        m.size = m.hi = node->bytes.n;
        m.blocks = node->bytes.n > 0;
        m.depth = 1;
        break;
    case PW_STREAM: status = measure_stream(node, &m) ? PW_OK : PW_ERR_OVERFLOW; break;
    case PW_INDEX: status = measure_index(node, &m) ? PW_OK : PW_ERR_OVERFLOW; break;
    case PW_BLOCKS: status = measure_blocks(node, &m); break;
    case PW_SEQ: status = measure_seq(node, &m) ? PW_OK : PW_ERR_OVERFLOW; break;
    }
    if (status == PW_OK && m.depth > PW_MAX_DEPTH)
        status = PW_ERR_UNSUPPORTED;
    if (status == PW_OK)
        *out = m;
    return status;
}
