/* Turns the types of the input into shapes and names. */
#include "passes/passes.h"
#include "tools/command.h"
#include "tools/compile/compile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A type with too many loops is compiled as a list of at most so many blocks. */
enum { LIST_MAX = 1 << 20 };

static pw_status no_memory(void)
{
    pw_command_error("compile", "out of memory");
    return PW_ERR_NOMEM;
}

/* ---- names -------------------------------------------------------------------------------------------- */

static const char *text(pw_arena *arena, const char *a, const char *b, const char *c)
{
    size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    char *s = pw_arena_alloc(arena, n);

    if (s)
        snprintf(s, n, "%s%s%s", a, b, c);
    return s;
}

/* Returns the name of an item. Variants of one entry are called NAME_0, NAME_1, … NULL: out of memory. */
static const char *item_name(const pw_input *input, int64_t item, const pw_aot_names *names, pw_arena *arena)
{
    pw_input_item i = pw_input_get(input, item);
    const char *name = names->only ? names->only : i.name;
    char number[24] = "";

    if (i.variants > 1)
        snprintf(number, sizeof number, "_%" PRId64, i.variant);
    return *name ? text(arena, name, number, "") : "";
}

/* Says once what all variants of an entry lack. */
static pw_status refuse_nameless(const pw_input *input, int64_t item)
{
    pw_input_item i = pw_input_get(input, item);
    pw_diag diag = {.status = PW_ERR_INVALID, .line = i.line, .col = i.col};

    snprintf(diag.text, sizeof diag.text, "a type needs a name to be compiled: write 'NAME = ' before it%s",
             pw_input_count(input) == 1 ? ", or say --name=NAME" : "");
    if (i.variant == 0)
        pw_input_error_at(input, &diag);
    return PW_ERR_INVALID;
}

static pw_status name_type(const pw_input *input, const pw_aot_names *names, pw_arena *arena, pw_aot_type *t)
{
    t->name = item_name(input, t->item, names, arena);
    if (t->name && !*t->name)
        return refuse_nameless(input, t->item);
    t->pack = t->name ? text(arena, names->prefix, "pack_", t->name) : NULL;
    t->unpack = t->name ? text(arena, names->prefix, "unpack_", t->name) : NULL;
    return t->pack && t->unpack ? PW_OK : no_memory();
}

/* An identifier of the output and the type that it belongs to. */
typedef struct symbol {
    const char *name;
    const pw_aot_type *type;
} symbol;

static int by_name(const void *a, const void *b)
{
    const symbol *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : (x->type > y->type) - (x->type < y->type);
}

/* Refuses equal names of functions or macros. For example, "a" with two variants and "a_1" would have one name twice.
 */
static pw_status check_symbols(const pw_input *input, const pw_aot_names *names, pw_aot_types *types)
{
    static const char *const suffixes[] = {"_SIZE", "_EXTENT", "_LO", "_HI"};
    int64_t n = 0, nerrors = 0;
    symbol *all = calloc((size_t)types->n, 6 * sizeof *all);

    for (int64_t i = 0; all && i < types->n; i++) {
        const pw_aot_type *t = &types->at[i];

        all[n++] = (symbol){t->pack, t};
        all[n++] = (symbol){t->unpack, t};
        for (int s = 0; s < 4; s++) {
            const char *name = text(types->arena, names->prefix, t->name, suffixes[s]);

            if (name)
                all[n++] = (symbol){name, t};
        }
    }
    if (n < 6 * types->n) {
        free(all);
        return no_memory();
    }
    qsort(all, (size_t)n, sizeof *all, by_name);
    for (int64_t i = 1; i < n && nerrors < 20; i++) {
        pw_diag diag = {0};

        if (strcmp(all[i - 1].name, all[i].name) != 0)
            continue;
        pw_diag_set(&diag, PW_ERR_INVALID, "'%.60s' would be there twice: another type makes it, too", all[i].name);
        pw_input_error(input, all[i].type->item, &diag);
        nerrors++;
    }
    free(all);
    return nerrors ? PW_ERR_INVALID : PW_OK;
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

typedef struct block_list {
    int64_t n, cap;
    int64_t *offs, *lens;
    bool no_memory;
} block_list;

static bool add_block(void *arg, int64_t off, int64_t n)
{
    block_list *list = arg;

    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * (size_t)list->cap : 1024;
        int64_t *offs = realloc(list->offs, cap * sizeof *offs);
        int64_t *lens = realloc(list->lens, cap * sizeof *lens);

        list->offs = offs ? offs : list->offs;
        list->lens = lens ? lens : list->lens;
        list->no_memory = !offs || !lens;
        if (list->no_memory || list->n >= LIST_MAX)
            return false;
        list->cap = (int64_t)cap;
    }
    list->offs[list->n] = off;
    list->lens[list->n++] = n;
    return true;
}

/* Lowers the type as one list of blocks. */
static pw_status lower_listed(const pw_type *type, pw_arena *arena, pw_nest **out, pw_diag *diag)
{
    block_list list = {0};
    pw_builder b = {.arena = arena};
    pw_type listed = {.lb = type->lb, .extent = type->extent};
    pw_status status;

    if (type->root->blocks > LIST_MAX)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "too irregular to compile: more than %d blocks", LIST_MAX);
    if (!pw_walk(type->root, 0, add_block, &list))
        b.status = PW_ERR_NOMEM;
    listed.root = pw_build_blocks(&b, list.n, list.offs, list.lens);
    free(list.offs);
    free(list.lens);
    status = b.status;
    return status ? pw_diag_status(diag, status) : pw_lower(&listed, out, NULL, diag);
}

static pw_status shape_of(pw_aot_type *t, bool baked, pw_diag *diag)
{
    pw_status status = (baked ? pw_shape_create_baked : pw_shape_create)(t->nest, &t->shape);

    return status ? pw_diag_status(diag, status) : PW_OK;
}

/* Lowers a type. If only baked code will exist, a type that is too irregular for loops becomes a list of blocks. */
static pw_status lower(pw_aot_type *t, bool baked, pw_arena *arena, pw_diag *diag)
{
    pw_status status = pw_lower(&t->type, &t->nest, NULL, diag);

    if (status == PW_OK) {
        status = shape_of(t, baked, diag);
        if (status != PW_OK || !baked || pw_backend_takes(t->shape))
            return status;
        pw_shape_unref(t->shape);
        pw_nest_destroy(t->nest);
        t->shape = NULL;
        t->nest = NULL;
    } else if (status != PW_ERR_UNSUPPORTED || !baked) {
        return status;
    }
    status = lower_listed(&t->type, arena, &t->nest, diag);
    return status == PW_OK ? shape_of(t, baked, diag) : status;
}

static pw_status make_kernel(const pw_input *input, bool baked, pw_arena *arena, pw_aot_type *t)
{
    pw_diag diag = {0};
    pw_type raw;
    pw_status status = pw_input_build(input, t->item, arena, &raw);

    if (status != PW_OK)
        return status; /* the error has been reported */
    status = pw_canonicalise(&raw, arena, &t->type, NULL, &diag);
    if (status == PW_OK)
        status = lower(t, baked, arena, &diag);
    if (status == PW_ERR_UNSUPPORTED && !baked)
        return PW_OK; /* a run leaves this type to MPI, so it has no shape */
    if (status == PW_OK) {
        status = pw_shape_bind(t->shape, t->nest, arena, &t->args);
        if (status != PW_OK)
            pw_diag_status(&diag, status);
    }
    if (status != PW_OK)
        pw_input_error(input, t->item, &diag);
    return status;
}

/* ---- all of them -------------------------------------------------------------------------------------- */

pw_status pw_aot_types_load(const pw_input *input, const pw_aot_names *names, pw_aot_types *out)
{
    int64_t n = pw_input_count(input);
    pw_status status = PW_OK;

    *out = (pw_aot_types){.arena = pw_arena_create()};
    out->at = out->arena ? pw_arena_array(out->arena, (size_t)n, sizeof *out->at) : NULL;
    if (!out->at)
        return no_memory();
    for (; out->n < n; out->n++) {
        out->at[out->n] = (pw_aot_type){.item = out->n, .name = ""};
        if (names && name_type(input, names, out->arena, &out->at[out->n]) != PW_OK)
            status = PW_ERR_INVALID;
    }
    if (names && status == PW_OK)
        status = check_symbols(input, names, out);
    for (int64_t i = 0; i < n && status == PW_OK; i++)
        status = make_kernel(input, names != NULL, out->arena, &out->at[i]);
    return status;
}

void pw_aot_types_free(pw_aot_types *types)
{
    for (int64_t i = 0; i < types->n; i++) {
        pw_shape_unref(types->at[i].shape);
        pw_nest_destroy(types->at[i].nest);
    }
    pw_arena_destroy(types->arena);
    *types = (pw_aot_types){0};
}
