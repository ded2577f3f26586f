/* The C header of ahead-of-time code. */
#include "frontend/ddt/ddt.h"
#include "tools/compile/compile.h"

#include <packwright/packwright.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE_SHOWN = 200 }; /* most bytes of a type's text that are shown */

static void print_guard(FILE *out, const char *path)
{
    const char *slash = strrchr(path, '/');

    fputs("PACKWRIGHT_", out);
    for (const char *c = slash ? slash + 1 : path; *c; c++)
        fputc(isalnum((unsigned char)*c) ? toupper((unsigned char)*c) : '_', out);
}

/* Prints text inside a comment, without what would end the comment. */
static void print_comment(FILE *out, const char *text, size_t limit)
{
    size_t n = strlen(text);

    for (size_t i = 0; i < n && i < limit; i++)
        fputc(text[i] == '*' && text[i + 1] == '/' ? ' ' : text[i] < ' ' ? ' ' : text[i], out);
    if (n > limit)
        fputs(" ...", out);
}

static void print_introduction(FILE *out, const pw_input *input, const pw_target *target)
{
    fprintf(out, "/*\n * Made by packwright %s from ", packwright_version());
    print_comment(out, pw_input_name(input), 200);
    fprintf(out, ", for %s-linux-gnu (%s). Do not edit.\n", target->arch, target->cpu);
    fputs(" *\n"
          " * pack_T copies `count` objects of the type T from memory to `packed`, one after another without gaps, in\n"
          " * the order of the type's elements (what MPI_Pack makes of them); unpack_T copies them back. Destinations\n"
          " * come first, as in memcpy.\n"
          " *\n"
          " *   T_SIZE      packed bytes of one object: `packed` has count * T_SIZE bytes\n"
          " *   T_EXTENT    bytes from one object to the next: object i begins at (char *)mem + i * T_EXTENT\n"
          " *   T_LO, T_HI  what one object touches are bytes of [T_LO, T_HI) from where it begins; T_LO may be\n"
          " *               negative, both are 0 for a type without bytes\n"
          " *\n"
          " * Nothing else is written, gaps are neither read nor written, and a count of 0 or less does nothing. No\n"
          " * alignment is required. `packed` and the memory of the objects must not overlap. The functions keep no\n"
          " * state: any number of threads may call them. They need no library.\n"
          " */\n",
          out);
}

/* Prints a macro that is an INT64_C constant, so that it has type int64_t and can be used in #if. */
static void print_constant(FILE *out, const pw_aot_names *names, const pw_aot_type *t, const char *suffix, int64_t v)
{
    if (v == INT64_MIN)
        fprintf(out, "#define %s%s_%s INT64_MIN\n", names->prefix, t->name, suffix);
    else
        fprintf(out, v < 0 ? "#define %s%s_%s (-INT64_C(%" PRIu64 "))\n" : "#define %s%s_%s INT64_C(%" PRIu64 ")\n",
                names->prefix, t->name, suffix, (uint64_t)(v < 0 ? -v : v));
}

static bool print_type(FILE *out, const pw_aot_names *names, const pw_aot_type *t)
{
    char *text = pw_ddt_print(&t->type);

    if (!text)
        return false;
    fprintf(out, "\n/* %s: ", t->name);
    print_comment(out, text, TYPE_SHOWN);
    fputs(" */\n", out);
    free(text);
    print_constant(out, names, t, "SIZE", t->type.root->size);
    print_constant(out, names, t, "EXTENT", t->type.extent);
    print_constant(out, names, t, "LO", t->type.root->lo);
    print_constant(out, names, t, "HI", t->type.root->hi);
    fprintf(out, "void %s(void *packed, const void *mem, int64_t count);\n", t->pack);
    fprintf(out, "void %s(void *mem, const void *packed, int64_t count);\n", t->unpack);
    return true;
}

char *pw_aot_header(const pw_input *input, const pw_aot_types *types, const pw_aot_names *names,
                    const pw_target *target, const char *path)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    bool ok = out != NULL;

    if (!out)
        return NULL;
    print_introduction(out, input, target);
    fputs("#ifndef ", out);
    print_guard(out, path);
    fputs("\n#define ", out);
    print_guard(out, path);
    fputs("\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n", out);
    for (int64_t i = 0; i < types->n && ok; i++)
        ok = print_type(out, names, &types->at[i]);
    fputs("\n#ifdef __cplusplus\n}\n#endif\n#endif\n", out);
    ok &= !ferror(out);
    if (fclose(out) == 0 && ok)
        return text;
    free(text);
    return NULL;
}
