/* LLVM IR and assembly side by side, linked by line. */
#include "tools/inspect/html.h"

#include <stdlib.h>
#include <string.h>

static void put_line(FILE *out, unsigned number, const char *at, size_t n)
{
    if (number)
        fprintf(out, "<span class='code' data-line='%u'>", number);
    else
        fputs("<span class='code'>", out);
    pw_html_escape(out, at, n);
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

void pw_html_code(FILE *out, const char *ir, const char *assembly)
{
    fputs("<div class='pair'><div><h3>LLVM IR</h3><pre class='pane'>", out);
    put_ir(out, ir);
    fputs("</pre></div><div><h3>Assembly</h3><pre class='pane'>", out);
    put_assembly(out, assembly);
    fputs("</pre></div></div>\n", out);
}
