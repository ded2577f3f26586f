/* Source and machine code side by side, linked by line: LLVM IR and assembly; CUDA, PTX and SASS. */
#define _GNU_SOURCE /* memmem */
#include "tools/inspect/html.h"

#include "base/markup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_line(FILE *out, unsigned number, const char *at, size_t n)
{
    if (number)
        fprintf(out, "<span class='code' data-line='%u'>", number);
    else
        fputs("<span class='code'>", out);
    pw_markup_put(out, at, n);
    fputs("</span>\n", out);
}

static bool begins(const char *at, const char *word)
{
    return !strncmp(at, word, strlen(word));
}

/* Lines of IR that assembly can come from are instructions, which are indented. */
static void put_ir(FILE *out, const char *text)
{
    unsigned number = 1;

    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1, number++)
        put_line(out, begins(text, "  ") ? number : 0, text, (size_t)(end - text));
}

/* What the line numbers brought into the assembly: files and temporary labels. */
static bool is_of_lines(const char *at)
{
    return begins(at, "\t.file\t") || begins(at, ".Ltmp") || begins(at, "\t.section\t.debug") ||
           begins(at, ".Lfunc_begin") || begins(at, "\t.cfi_");
}

static void put_assembly(FILE *out, const char *text)
{
    unsigned number = 0;

    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        if (begins(text, "\t.loc\t")) {
            const char *line = strchr(text + 6, ' ');

            number = line && line < end ? (unsigned)strtoul(line, NULL, 10) : 0;
            continue;
        }
        if (is_of_lines(text))
            continue;
        put_line(out, begins(text, "\t") && text[1] != '.' ? number : 0, text, (size_t)(end - text));
    }
}

static void begin_pane(FILE *out, const char *title)
{
    fprintf(out, "<div><h3>%s</h3><pre class='pane'>", title);
}

void pw_html_code(FILE *out, const char *ir, const char *assembly)
{
    fputs("<div class='pair'>", out);
    begin_pane(out, "LLVM IR");
    put_ir(out, ir);
    fputs("</pre></div>", out);
    begin_pane(out, "Assembly");
    put_assembly(out, assembly);
    fputs("</pre></div></div>\n", out);
}

/* ---- GPUs ------------------------------------------------------------------------------------------------------- */

/* Where the line of a `.loc` was inlined, if it was. A kernel inlines a function at several places; the last `.loc`
 * counts, since PTX names the callers of a line before it. */
typedef struct call {
    unsigned line, column, caller, caller_column;
} call;

typedef struct calls {
    call *at;
    size_t n;
} calls;

static call *find_call(const calls *c, unsigned line, unsigned column)
{
    for (size_t i = c->n; i > 0; i--)
        if (c->at[i - 1].line == line && c->at[i - 1].column == column)
            return &c->at[i - 1];
    return NULL;
}

static void add_call(calls *c, call found)
{
    call *known = find_call(c, found.line, found.column), *grown;

    if (known) {
        *known = found;
        return;
    }
    grown = realloc(c->at, (c->n + 1) * sizeof *grown);
    if (!grown)
        return; /* instructions of this function stay without a line */
    c->at = grown;
    c->at[c->n++] = found;
}

/* Returns the line from `first` on that a `.loc` directive leads to; 0: none. */
static unsigned kernel_line(calls *c, const char *directive, const char *end, unsigned first)
{
    static const char mark[] = "inlined_at ";
    const char *inlined = memmem(directive, (size_t)(end - directive), mark, strlen(mark));
    call at = {0};

    if (sscanf(directive, " .loc %*u %u %u", &at.line, &at.column) != 2)
        return 0;
    if (inlined && sscanf(inlined + strlen(mark), "%*u %u %u", &at.caller, &at.caller_column) == 2)
        add_call(c, at);
    for (size_t depth = 0; at.line < first; depth++) {
        const call *up = find_call(c, at.line, at.column);

        if (!up || depth > c->n)
            return 0;
        at = (call){.line = up->caller, .column = up->caller_column};
    }
    return at.line;
}

/* Debug information, which begins with the names of files, ends the text. */
static void put_ptx(FILE *out, const char *text, unsigned first)
{
    calls c = {0};
    unsigned number = 0;

    for (const char *end; (end = strchr(text, '\n')) != NULL && !begins(text, "\t.file\t"); text = end + 1) {
        if (begins(text, "\t.loc\t"))
            number = kernel_line(&c, text, end, first);
        else
            put_line(out, begins(text, "\t") && text[1] != '.' && text[1] != '/' ? number : 0, text,
                     (size_t)(end - text));
    }
    free(c.at);
}

/* Before its instructions nvdisasm names a line and where that was inlined, from the inside out. */
static void put_sass(FILE *out, const char *text, unsigned first)
{
    static const char mark[] = "\", line ";
    unsigned number = 0;
    bool named = false; /* the line before was a name */

    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        bool names = begins(text, "\t//## File ");

        if (names) {
            const char *at = memmem(text, (size_t)(end - text), mark, strlen(mark));
            unsigned line = at ? (unsigned)strtoul(at + strlen(mark), NULL, 10) : 0;

            number = named && number ? number : line >= first ? line : 0;
        } else {
            put_line(out, begins(text, "        /*") ? number : 0, text, (size_t)(end - text));
        }
        named = names;
    }
}

void pw_html_gpu_code(FILE *out, const char *cuda, unsigned first, const char *ptx, const char *sass)
{
    unsigned number = first;

    fputs("<div class='pair'>", out);
    begin_pane(out, "CUDA");
    for (const char *end; (end = strchr(cuda, '\n')) != NULL; cuda = end + 1)
        put_line(out, number++, cuda, (size_t)(end - cuda));
    fputs("</pre></div>", out);
    if (ptx) {
        begin_pane(out, "PTX");
        put_ptx(out, ptx, first);
        fputs("</pre></div>", out);
    }
    if (sass) {
        begin_pane(out, "SASS");
        put_sass(out, sass, first);
        fputs("</pre></div>", out);
    }
    fputs("</div>\n", out);
}
