/* IR -> .ddt text. Byte displacements throughout, so that no inner extent matters. */
#include "frontend/ddt/ddt.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void print_bytes(FILE *out, int64_t n)
{
    if (n == 1)
        fputs("byte", out);
    else
        fprintf(out, "ctg(%" PRId64 ")[byte]", n);
}

/* What ctg(n)[byte] is built to. */
static bool is_row_of_bytes(const pw_node *node)
{
    const pw_node *child = node->stream.child;

    return node->stream.stride == 1 && node->stream.count != 1 && child->kind == PW_BYTES && child->bytes.n == 1;
}

static int64_t shown(int64_t n, int64_t elide)
{
    return elide > 0 && n > elide ? elide : n;
}

static void print_rest(FILE *out, int64_t n, int64_t elide)
{
    if (shown(n, elide) < n)
        fprintf(out, " … %" PRId64 " more", n - elide);
}

static void print_node(FILE *out, const pw_node *node, int64_t elide)
{
    switch (node->kind) {
    case PW_BYTES: print_bytes(out, node->bytes.n); return;
    case PW_STREAM:
        if (is_row_of_bytes(node)) {
            print_bytes(out, node->stream.count);
            return;
        }
        fprintf(out, "hvec(%" PRId64 " 1 %" PRId64 ")[", node->stream.count, node->stream.stride);
        print_node(out, node->stream.child, elide);
        fputc(']', out);
        return;
    case PW_INDEX:
        fputs("hidxb(1:", out);
        for (int64_t i = 0; i < shown(node->index.n, elide); i++)
            fprintf(out, "%s%" PRId64, i ? "," : " ", node->index.offs[i]);
        print_rest(out, node->index.n, elide);
        fputs(")[", out);
        print_node(out, node->index.child, elide);
        fputc(']', out);
        return;
    case PW_BLOCKS:
        fputs("hidx(", out);
        for (int64_t i = 0; i < shown(node->blocks_list.n, elide); i++)
            fprintf(out, "%s%" PRId64 ",%" PRId64, i ? " " : "", node->blocks_list.offs[i], node->blocks_list.lens[i]);
        print_rest(out, node->blocks_list.n, elide);
        fputs(")[byte]", out);
        return;
    case PW_SEQ:
        fputs("struct(", out);
        for (int64_t i = 0; i < shown(node->seq.n, elide); i++) {
            fprintf(out, "%s%" PRId64 ": ", i ? ", " : "", node->seq.offs[i]);
            print_node(out, node->seq.children[i], elide);
        }
        print_rest(out, node->seq.n, elide);
        fputc(')', out);
        return;
    }
}

char *pw_ddt_print(const pw_type *type)
{
    return pw_ddt_print_short(type, 0);
}

char *pw_ddt_print_short(const pw_type *type, int64_t elide)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out, "resized(%" PRId64 " %" PRId64 ")[", type->lb, type->extent);
    print_node(out, type->root, elide);
    fputc(']', out);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}
