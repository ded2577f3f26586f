/* Writes trees in the text form that parse.c reads. */
#include "ir/ir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct printer {
    FILE *out;
    int64_t elide;
    int indent;
} printer;

static const char *const keywords[] = {
#define X(symbol, keyword) [PW_##symbol] = keyword,
    PW_NODE_KINDS(X)
#undef X
};

static int64_t shown(const printer *p, int64_t n)
{
    return p->elide > 0 && n > p->elide ? p->elide : n;
}

/* lens may be NULL. */
static void print_list(printer *p, int64_t n, const int64_t *offs, const int64_t *lens)
{
    int64_t limit = shown(p, n);

    fputs(" [", p->out);
    for (int64_t i = 0; i < limit; i++) {
        fprintf(p->out, "%s%" PRId64, i ? ", " : "", offs[i]);
        if (lens)
            fprintf(p->out, ":%" PRId64, lens[i]);
    }
    fputs(limit < n ? ", …]" : "]", p->out);
}

static void new_line(printer *p)
{
    fprintf(p->out, "\n%*s", 2 * p->indent, "");
}

static void print_node(printer *p, const pw_node *node);

static void print_child(printer *p, const pw_node *child)
{
    fputs(" {", p->out);
    p->indent++;
    new_line(p);
    print_node(p, child);
    p->indent--;
    new_line(p);
    fputc('}', p->out);
}

static void print_seq(printer *p, const pw_node *node)
{
    int64_t n = node->seq.n, limit = shown(p, n);

    fputs(" {", p->out);
    p->indent++;
    for (int64_t i = 0; i < limit; i++) {
        new_line(p);
        fprintf(p->out, "@%" PRId64 " ", node->seq.offs[i]);
        print_node(p, node->seq.children[i]);
    }
    if (limit < n) {
        new_line(p);
        fputs("…", p->out);
    }
    p->indent--;
    new_line(p);
    fputc('}', p->out);
}

/* One node a line, children two columns deeper; lists stay on the line. */
static void print_node(printer *p, const pw_node *node)
{
    fputs(keywords[node->kind], p->out);
    switch (node->kind) {
    case PW_BYTES: fprintf(p->out, " %" PRId64 " align %" PRId64, node->bytes.n, node->bytes.align); break;
    case PW_STREAM:
        fprintf(p->out, " %" PRId64 " stride %" PRId64, node->stream.count, node->stream.stride);
        print_child(p, node->stream.child);
        break;
    case PW_INDEX:
        print_list(p, node->index.n, node->index.offs, NULL);
        print_child(p, node->index.child);
        break;
    case PW_BLOCKS: print_list(p, node->blocks_list.n, node->blocks_list.offs, node->blocks_list.lens); break;
    case PW_SEQ: print_seq(p, node); break;
    }
}

void pw_print_to(FILE *out, const pw_type *type, int64_t elide)
{
    printer p = {.out = out, .elide = elide};

    fprintf(out, "type(lb %" PRId64 ", extent %" PRId64 ")", type->lb, type->extent);
    print_child(&p, type->root);
    fputc('\n', out);
}

char *pw_print(const pw_type *type, int64_t elide)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int failed;

    if (!out)
        return NULL;
    pw_print_to(out, type, elide);
    failed = ferror(out);
    if (fclose(out) || failed) {
        free(text);
        return NULL;
    }
    return text;
}
