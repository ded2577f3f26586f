/* The tree of a layout for Graphviz. */
#include "tools/draw/draw.h"

#include <inttypes.h>

enum { MAX_CHILDREN = 24, MAX_NODES = 400, MAX_LIST = 4 };

typedef struct dot {
    FILE *out;
    int next;
} dot;

static int print_node(dot *d, const pw_node *node);

static void print_list(FILE *out, int64_t n, const int64_t *offs)
{
    for (int64_t i = 0; i < n && i < MAX_LIST; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", offs[i]);
    fputs(n > MAX_LIST ? ", …" : "", out);
}

static void print_label(dot *d, const pw_node *node)
{
    switch (node->kind) {
    case PW_BYTES: fprintf(d->out, "bytes %" PRId64 "\\nalign %" PRId64, node->bytes.n, node->bytes.align); break;
    case PW_STREAM:
        fprintf(d->out, "stream %" PRId64 "\\nstride %" PRId64, node->stream.count, node->stream.stride);
        break;
    case PW_INDEX:
        fprintf(d->out, "index %" PRId64 "\\n", node->index.n);
        print_list(d->out, node->index.n, node->index.offs);
        break;
    case PW_BLOCKS:
        fprintf(d->out, "blocks %" PRId64 "\\n", node->blocks_list.n);
        print_list(d->out, node->blocks_list.n, node->blocks_list.offs);
        break;
    case PW_SEQ: fprintf(d->out, "seq %" PRId64, node->seq.n); break;
    }
    fprintf(d->out, "\\n%" PRId64 " B packed", node->size);
}

static void print_edge(dot *d, int from, const pw_node *child, const int64_t *offset)
{
    int to = print_node(d, child);

    fprintf(d->out, "  n%d -> n%d", from, to);
    if (offset)
        fprintf(d->out, " [label=\"@%" PRId64 "\"]", *offset);
    fputs(";\n", d->out);
}

static int print_node(dot *d, const pw_node *node)
{
    int id = d->next++;

    fprintf(d->out, "  n%d [label=\"", id);
    print_label(d, node);
    fputs("\"];\n", d->out);
    if (node->kind == PW_STREAM)
        print_edge(d, id, node->stream.child, NULL);
    else if (node->kind == PW_INDEX)
        print_edge(d, id, node->index.child, NULL);
    else if (node->kind == PW_SEQ)
        for (int64_t i = 0; i < node->seq.n && i < MAX_CHILDREN && d->next < MAX_NODES; i++)
            print_edge(d, id, node->seq.children[i], &node->seq.offs[i]);
    if (node->kind == PW_SEQ && node->seq.n > MAX_CHILDREN)
        fprintf(d->out, "  n%d -> more%d;\n  more%d [label=\"%" PRId64 " more\", style=dashed];\n", id, id, id,
                node->seq.n - MAX_CHILDREN);
    return id;
}

static void print_quoted(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
}

void pw_draw_dot(FILE *out, const char *title, const pw_type *type)
{
    dot d = {.out = out};

    fputs("digraph layout {\n  label=\"", out);
    print_quoted(out, title);
    fprintf(out, "\\nlb %" PRId64 ", extent %" PRId64 "\";\n", type->lb, type->extent);
    fputs("  node [shape=box, fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"monospace\", fontsize=9];\n",
          out);
    print_node(&d, type->root);
    fputs("}\n", out);
}
