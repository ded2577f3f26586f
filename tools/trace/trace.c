/* packwright trace: reads files that PACKWRIGHT_TRACE has written, and others like them. */
#include "base/replace.h"
#include "frontend/ddt/ddt.h"
#include "frontend/ddt/trace_record.h"
#include "jit-cache/hash_map.h"
#include "passes/passes.h"
#include "tools/command.h"
#include "tools/input/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One type of the input. Its record has the same place in the list of records, and that place as its owner. */
typedef struct traced {
    const char *text;  /* the canonical type */
    const char *given; /* its name in the input; "" for none, and for a name that was made of the hash */
} traced;

typedef struct merger {
    pw_arena *arena; /* holds the texts */
    pw_trace_record *records;
    traced *types;
    int64_t n, cap;
    const pw_source *source; /* the file being read */
} merger;

static bool no_memory(void)
{
    return pw_command_error("trace", "out of memory");
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool make_room(merger *m)
{
    int64_t cap = m->cap ? 2 * m->cap : 64;
    pw_trace_record *records;
    traced *types;

    if (m->n < m->cap)
        return true;
    records = realloc(m->records, (size_t)cap * sizeof *records);
    m->records = records ? records : m->records;
    types = realloc(m->types, (size_t)cap * sizeof *types);
    m->types = types ? types : m->types;
    if (!records || !types)
        return no_memory();
    m->cap = cap;
    return true;
}

/* Finds where each line begins; the last entry is the end of the text. malloc'ed. */
static const char **find_lines(const pw_source *source, int64_t *n)
{
    const char **lines;

    *n = 1;
    for (const char *p = source->text; (p = strchr(p, '\n')) != NULL; p++)
        ++*n;
    lines = calloc((size_t)*n + 1, sizeof *lines);
    if (!lines)
        return NULL;
    lines[0] = source->text;
    for (int64_t i = 1; i < *n; i++)
        lines[i] = strchr(lines[i - 1], '\n') + 1;
    lines[*n] = source->text + source->size;
    return lines;
}

static char *copy_text(pw_arena *arena, const char *text)
{
    return pw_arena_copy(arena, text, strlen(text) + 1);
}

static bool add_type(merger *m, const pw_type *raw, pw_arena *scratch, const pw_ddt_entry *entry,
                     pw_trace_record counts)
{
    pw_diag diag = {.line = entry->line, .col = entry->col};
    bool named = *entry->name && entry->variants == 1 && !pw_trace_is_name(entry->name);
    pw_type canonical;
    char *text;

    if (pw_canonicalise(raw, scratch, &canonical, NULL, &diag) != PW_OK) {
        diag.line = entry->line;
        diag.col = entry->col;
        pw_source_error(m->source, m->source->text, &diag);
        return false;
    }
    text = pw_ddt_print(&canonical);
    if (!text || !make_room(m)) {
        free(text);
        return no_memory();
    }
    counts.hash = pw_type_hash(&canonical);
    counts.owner = m->n;
    m->records[m->n] = counts;
    m->types[m->n] = (traced){copy_text(m->arena, text), named ? copy_text(m->arena, entry->name) : ""};
    free(text);
    if (!m->types[m->n].text || !m->types[m->n].given)
        return no_memory();
    m->n++;
    return true;
}

/* Adds an entry of the input. Every variant counts for itself. The comment in the line before has the counts. */
static bool add_entry(merger *m, const pw_ddt_unit *unit, int64_t i, const char *const *lines)
{
    pw_ddt_entry entry = pw_ddt_get(unit, i);
    pw_trace_record counts = {0};
    bool ok = true;

    if (entry.line > 1)
        pw_trace_parse(lines[entry.line - 2], (size_t)(lines[entry.line - 1] - lines[entry.line - 2]), &counts);
    for (int64_t k = 0; k < entry.variants && ok; k++) {
        pw_arena *scratch = pw_arena_create();
        pw_builder b = {.arena = scratch};
        pw_diag diag = {0};
        pw_dt built;

        if (!scratch)
            return no_memory();
        ok = pw_ddt_build(unit, i, k, &b, &built, &diag) == PW_OK;
        if (ok) {
            pw_type type = pw_dt_finish(built);

            ok = add_type(m, &type, scratch, &entry, counts);
        } else {
            pw_source_error(m->source, m->source->text, &diag);
        }
        pw_arena_destroy(scratch);
    }
    return ok;
}

static void report(void *source, const pw_diag *diag)
{
    pw_source_error(source, ((const pw_source *)source)->text, diag);
}

static bool read_trace(merger *m, const char *path)
{
    pw_source source;
    pw_ddt_unit *unit = NULL;
    int64_t nlines = 0;
    const char **lines = NULL;
    bool ok;

    if (!pw_source_read(path, PW_DDT_MAX_TEXT, &source))
        return false;
    m->source = &source;
    ok = pw_ddt_parse(source.text, source.size, report, &source, &unit) == PW_OK;
    if (ok && !(lines = find_lines(&source, &nlines)))
        ok = no_memory();
    for (int64_t i = 0; ok && i < pw_ddt_count(unit); i++)
        ok = add_entry(m, unit, i, lines);
    free(lines);
    pw_ddt_destroy(unit);
    pw_source_free(&source);
    return ok;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static pw_hash hash_text(const char *text)
{
    return pw_hash_bytes(text, strlen(text));
}

/*
 * Chooses names. A type is called by the first name that a rank gave it, unless another type got that name before.
 * `named` maps the type's hash to the name, `taken` maps the name's hash to the type's place.
 */
static bool choose_names(const merger *m, pw_hash_map *named, pw_hash_map *taken)
{
    for (int64_t i = 0; i < m->n; i++) {
        const char *given = m->types[i].given;
        pw_hash name = hash_text(given);

        if (!*given || pw_hash_map_get(named, m->records[i].hash) || pw_hash_map_get(taken, name))
            continue;
        if (pw_hash_map_put(named, m->records[i].hash, (void *)given) != PW_OK ||
            pw_hash_map_put(taken, name, (void *)given) != PW_OK)
            return no_memory();
    }
    return true;
}

/* Returns the text of all types, and merges the records. NULL: out of memory, which is reported. */
static char *merged_text(merger *m, int nfiles, size_t *size)
{
    pw_hash_map named = {0}, taken = {0};
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    bool ok = out && choose_names(m, &named, &taken);
    int64_t n = pw_trace_merge(m->records, m->n);

    if (ok)
        fprintf(out, "# Types of %d file%s, merged by packwright-trace(1).\n", nfiles, nfiles == 1 ? "" : "s");
    for (int64_t i = 0; ok && i < n; i++) {
        const pw_trace_record *r = &m->records[i];
        const char *given = pw_hash_map_get(&named, r->hash);
        char name[PW_TRACE_NAME];

        pw_trace_name(r->hash, name);
        pw_trace_print(out, r, given ? given : name, m->types[r->owner].text);
    }
    pw_hash_map_clear(&named);
    pw_hash_map_clear(&taken);
    if (out && fclose(out) == 0 && ok)
        return text;
    free(text);
    no_memory();
    return NULL;
}

static bool write_merged(merger *m, int nfiles, const char *output)
{
    size_t size = 0;
    char *text = merged_text(m, nfiles, &size);
    pw_diag diag = {0};

    if (!text)
        return false;
    if (!output)
        fwrite(text, 1, size, stdout); /* main checks stdout for errors */
    else if (pw_replace_file(output, text, size, &diag) != PW_OK)
        pw_command_error("trace", "%s", diag.text);
    free(text);
    return diag.status == PW_OK;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int merge(char **files, int nfiles, const char *output)
{
    merger m = {.arena = pw_arena_create()};
    bool ok = m.arena || no_memory();

    for (int i = 0; i < nfiles && ok; i++)
        ok = read_trace(&m, files[i]);
    ok = ok && write_merged(&m, nfiles, output);
    free(m.records);
    free(m.types);
    pw_arena_destroy(m.arena);
    return ok ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

static int run(int argc, char **argv)
{
    const pw_command *self = &pw_command_trace;
    const char *output = NULL;
    int nfiles = 0;

    if (argc < 2)
        return pw_usage_error(self, "what is to be done? There is 'merge'");
    if (strcmp(argv[1], "merge") != 0)
        return pw_usage_error(self, "'%s' is unknown; there is 'merge'", argv[1]);
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "-o") && i + 1 < argc && *argv[i + 1])
            output = argv[++i];
        else if (!strncmp(argv[i], "--output=", 9) && argv[i][9])
            output = argv[i] + 9;
        else if (!strcmp(argv[i], "-o") || !strcmp(argv[i], "--output") || !strcmp(argv[i], "--output="))
            return pw_usage_error(self, "%.8s needs a value", argv[i]);
        else if (argv[i][0] == '-' && argv[i][1])
            return pw_wrong_argument(self, argv[i]);
        else
            argv[2 + nfiles++] = argv[i];
    }
    return nfiles ? merge(argv + 2, nfiles, output) : pw_usage_error(self, "which files?");
}

const pw_command pw_command_trace = {
    "trace", "merge files that PACKWRIGHT_TRACE has written",
    "usage: packwright trace merge FILE... [-o OUTPUT]\n\n"
    "packwright run --trace=FILE (PACKWRIGHT_TRACE) writes the types that the ranks committed, in the\n"
    "datatype language, each with the number of commits, packs, unpacks, sends and receives as a comment.\n"
    "This command merges such files: types that are equal are there once, and their numbers are added. Names\n"
    "that you gave to types stay.\n\n"
    "  -o, --output=FILE     where the result goes (default: standard output)\n",
    run};
