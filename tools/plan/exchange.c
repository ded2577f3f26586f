/* The messages of an exchange: the types of the input, and their destinations in the process grid. */
#include "tools/plan/plan.h"

#include "frontend/ddt/ddt.h"
#include "frontend/ddt/trace_record.h"
#include "passes/passes.h"
#include "tools/command.h"

#include <stdlib.h>
#include <string.h>

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Returns whether a type of a trace was never sent, nor packed to be sent: the comment above says so. A type without
 * such a comment counts as sent. */
static bool is_never_sent(const pw_input *input, int64_t item)
{
    int line = pw_input_get(input, item).line - 1;
    const char *text = pw_input_text(input), *end;
    pw_trace_record record;

    if (line < 1)
        return false;
    for (int i = 1; i < line; i++)
        text = strchr(text, '\n') + 1;
    end = strchr(text, '\n');
    return pw_trace_parse(text, (size_t)(end - text), &record) && record.sends == 0 && record.packs == 0;
}

/* Returns the bytes of `count` objects of a type. 0: there are none, or too many. */
static int64_t bytes_of(const pw_type *type, int64_t count)
{
    int64_t bytes;

    return __builtin_mul_overflow(type->root->size, count, &bytes) || bytes > INT64_MAX / 4 ? 0 : bytes;
}

static bool measure_type(const pw_input *input, int64_t item, int64_t count, pw_plan_type *out)
{
    pw_arena *arena = pw_arena_create();
    pw_input_item place = pw_input_get(input, item);
    char label[PW_INPUT_LABEL];
    pw_type type, canonical;
    pw_diag diag = {0};
    bool ok = false;

    pw_input_label(input, item, label);
    if (!arena || pw_input_build(input, item, arena, &type) != PW_OK)
        pw_command_error("plan", "out of memory");
    else if (pw_canonicalise(&type, arena, &canonical, NULL, &diag) != PW_OK)
        pw_input_error(input, item, &diag);
    else if (!(ok = (out->bytes = bytes_of(&canonical, count)) > 0))
        pw_command_error("plan", "%s: messages of %lld objects of the type '%s' have no bytes or too many",
                         pw_input_name(input), (long long)count, label);
    out->entry = place.entry;
    out->variant = place.variant;
    pw_arena_destroy(arena);
    return ok;
}

/* Measures those items whose numbers are in chosen[0, n). */
static bool measure_types(const pw_input *input, const int64_t *chosen, int n, pw_plan_exchange *x)
{
    x->types = calloc((size_t)n, sizeof *x->types);
    if (!x->types)
        return pw_command_error("plan", "out of memory");
    for (x->ntypes = 0; x->ntypes < n; x->ntypes++)
        if (!measure_type(input, chosen[x->ntypes], x->o->count, &x->types[x->ntypes]))
            return false;
    return true;
}

/* ---- directions -------------------------------------------------------------------------------------------------- */

/* The number of all neighbours in this many axes. */
static int all_neighbours(int axes)
{
    int n = 1;

    for (int i = 0; i < axes; i++)
        n *= 3;
    return n - 1;
}

/* Gives one type to each face, as many as there are for all of them, for each axis or for each side. */
static void direct_faces(pw_plan_exchange *x)
{
    int axes = x->o->axes;

    x->ndirections = 2 * axes;
    for (int i = 0; i < x->ndirections; i++) {
        int type = x->ntypes == 1 ? 0 : x->ntypes == axes ? i / 2 : i;

        x->directions[i] = (pw_plan_direction){.type = type, .received = type};
        x->directions[i].offset[i / 2] = i % 2 ? 1 : -1;
    }
}

/* Gives type i to neighbour i, the first axis fastest; the rank itself is none. */
static void direct_all(pw_plan_exchange *x)
{
    x->ndirections = x->ntypes;
    for (int i = 0; i < x->ntypes; i++) {
        int code = i < x->ntypes / 2 ? i : i + 1;

        x->directions[i] = (pw_plan_direction){.type = i, .received = i};
        for (int a = 0; a < x->o->axes; a++, code /= 3)
            x->directions[i].offset[a] = code % 3 - 1;
    }
}

static bool direct_by_order(const pw_input *input, pw_plan_exchange *x)
{
    int axes = x->o->axes, n = x->ntypes;

    if (n == all_neighbours(axes) && n > 2 * axes)
        direct_all(x);
    else if (n == 1 || n == axes || n == 2 * axes)
        direct_faces(x);
    else
        return pw_command_error(
            "plan",
            "%s has %d types that are sent; a halo in %d axes takes 1, %d, %d or %d of them by order, or --to says "
            "which neighbour gets which",
            pw_input_name(input), n, axes, axes, 2 * axes, all_neighbours(axes));
    return true;
}

static int64_t find_type(const pw_input *input, const char *name)
{
    for (int64_t i = 0; i < pw_input_count(input); i++) {
        char label[PW_INPUT_LABEL];

        pw_input_label(input, i, label);
        if (!strcmp(label, name))
            return i;
    }
    return -1;
}

/* Reports that there is no such type, with the names of the first ones that there are. */
static bool refuse_name(const pw_input *input, const char *name)
{
    char known[4 * (PW_INPUT_LABEL + 2)] = "";
    int64_t n = pw_input_count(input);

    for (int64_t i = 0; i < n && i < 3; i++) {
        char label[PW_INPUT_LABEL];

        pw_input_label(input, i, label);
        sprintf(known + strlen(known), "%s%s", i ? ", " : "", label);
    }
    return pw_command_error("plan", "%s has no type '%s'; it has %s%s", pw_input_name(input), name, known,
                            n > 3 ? ", ..." : "");
}

static bool choose_by_name(const pw_input *input, const char *name, int64_t *out)
{
    *out = find_type(input, name);
    return *out >= 0 || refuse_name(input, name);
}

/* Returns the option --from for what comes from the other end of `to`, the n-th one for the n-th message there. NULL:
 * there is none. */
static const pw_plan_to *find_from(const pw_plan_options *o, const pw_plan_to *to)
{
    int before = 0;

    for (const pw_plan_to *other = o->to; other < to; other++)
        before += !memcmp(other->offset, to->offset, sizeof to->offset);
    for (int i = 0; i < o->nfrom; i++) {
        bool is_opposite = true;

        for (int a = 0; a < o->axes; a++)
            is_opposite = is_opposite && o->from[i].offset[a] == -to->offset[a];
        if (is_opposite && before-- == 0)
            return &o->from[i];
    }
    return NULL;
}

static bool choose_from(const pw_input *input, const pw_plan_exchange *x, const pw_plan_to *to, int64_t *out)
{
    const pw_plan_to *from = find_from(x->o, to);
    char offset[PW_PLAN_AXES * 24] = "";

    for (int a = 0; a < x->o->axes; a++)
        sprintf(offset + strlen(offset), "%s%d", a ? "," : "", -to->offset[a]);
    if (!from)
        return pw_command_error("plan", "nothing says what messages of '%s' are received as: --from=%s=TYPE is missing",
                                to->type, offset);
    return choose_by_name(input, from->type, out);
}

static bool have_equal_bytes(const pw_input *input, const pw_plan_exchange *x)
{
    for (int i = 0; i < x->ndirections; i++) {
        const pw_plan_direction *d = &x->directions[i];
        long long sent = x->types[d->type].bytes, received = x->types[d->received].bytes;

        if (sent != received)
            return pw_command_error("plan", "%s: '%s' has %lld bytes, '%s' that receives it %lld", pw_input_name(input),
                                    x->o->to[i].type, sent, find_from(x->o, &x->o->to[i])->type, received);
    }
    return true;
}

static bool direct_by_name(const pw_input *input, pw_plan_exchange *x)
{
    int64_t chosen[2 * PW_PLAN_DIRECTIONS];
    int n = x->o->nto;

    x->in_place = x->o->nfrom > 0;
    x->ndirections = n;
    for (int i = 0; i < n; i++) {
        const pw_plan_to *to = &x->o->to[i];

        if (!choose_by_name(input, to->type, &chosen[i]) || (x->in_place && !choose_from(input, x, to, &chosen[n + i])))
            return false;
        x->directions[i].type = i;
        x->directions[i].received = x->in_place ? n + i : i;
        memcpy(x->directions[i].offset, to->offset, sizeof to->offset);
    }
    if (x->o->nfrom > 0 && x->o->nfrom != n)
        return pw_command_error("plan", "%d --to and %d --from: each message is sent and received once", n,
                                x->o->nfrom);
    return measure_types(input, chosen, x->in_place ? 2 * n : n, x) && have_equal_bytes(input, x);
}

/* ---- the exchange ------------------------------------------------------------------------------------------------ */

/* Returns the input in the datatype language; IR text as the layouts that it describes. malloc'ed. NULL: memory is
 * short. */
static char *text_of(const pw_input *input)
{
    char *text = NULL;
    size_t size;
    FILE *out;

    if (pw_input_get(input, 0).text)
        return strdup(pw_input_text(input));
    out = open_memstream(&text, &size);
    for (int64_t i = 0; out && i < pw_input_count(input); i++) {
        pw_arena *arena = pw_arena_create();
        pw_type type;
        char *layout = NULL;

        if (arena && pw_input_build(input, i, arena, &type) == PW_OK)
            layout = pw_ddt_print(&type);
        fprintf(out, "%s\n", layout ? layout : "");
        free(layout);
        pw_arena_destroy(arena);
    }
    if (out && fclose(out)) {
        free(text);
        text = NULL;
    }
    return text;
}

static bool take_types(const pw_input *input, pw_plan_exchange *x)
{
    int64_t chosen[PW_PLAN_DIRECTIONS];
    int n = 0;

    if (x->o->nto)
        return direct_by_name(input, x);
    for (int64_t i = 0; i < pw_input_count(input); i++) {
        if (is_never_sent(input, i))
            continue;
        if (n == PW_PLAN_DIRECTIONS)
            return pw_command_error("plan", "%s has more than %d types: --to says which are sent", pw_input_name(input),
                                    n);
        chosen[n++] = i;
    }
    if (n == 0)
        return pw_command_error("plan", "%s has no type that was sent or packed%s", pw_input_name(input),
                                x->o->pattern == PW_PLAN_HALO ? "; --to=OFFSET=TYPE takes any" : "");
    if (x->o->pattern == PW_PLAN_TRANSPOSE && n > 2)
        return pw_command_error("plan", "%s has %d types; a transpose takes one, or one to send and one to receive",
                                pw_input_name(input), n);
    if (!measure_types(input, chosen, n, x))
        return false;
    if (x->o->pattern == PW_PLAN_HALO)
        return direct_by_order(input, x);
    if (x->types[n - 1].bytes != x->types[0].bytes)
        return pw_command_error("plan", "%s: the type to send has %lld bytes, that to receive %lld",
                                pw_input_name(input), (long long)x->types[0].bytes, (long long)x->types[n - 1].bytes);
    return true;
}

bool pw_plan_exchange_make(const pw_plan_options *o, pw_plan_exchange *out)
{
    pw_input *input;
    bool ok;

    *out = (pw_plan_exchange){.o = o};
    if (pw_input_load(o->input, NULL, &input) != PW_OK)
        return false;
    ok = ((out->text = text_of(input)) || pw_command_error("plan", "out of memory")) && take_types(input, out);
    pw_input_free(input);
    if (ok && o->ranks > PW_PLAN_MESSAGES / pw_plan_messages(out))
        ok = pw_command_error("plan", "%lld ranks with %d messages each are more than %d messages", (long long)o->ranks,
                              pw_plan_messages(out), PW_PLAN_MESSAGES);
    if (!ok)
        pw_plan_exchange_free(out);
    return ok;
}

void pw_plan_exchange_free(pw_plan_exchange *x)
{
    free(x->types);
    free(x->text);
    x->types = NULL;
    x->text = NULL;
}

int pw_plan_messages(const pw_plan_exchange *x)
{
    return x->o->pattern == PW_PLAN_TRANSPOSE ? (int)x->o->grid[0] : x->ndirections;
}

/* Returns the rank at an offset from another one, around the ends of the grid. The last axis is the fastest. */
static int64_t neighbour(const pw_plan_options *o, int64_t rank, const int offset[PW_PLAN_AXES])
{
    int64_t to = 0, stride = 1;

    for (int a = o->axes - 1; a >= 0; a--) {
        int64_t at = (rank / stride % o->grid[a] + offset[a]) % o->grid[a];

        to += (at < 0 ? at + o->grid[a] : at) * stride;
        stride *= o->grid[a];
    }
    return to;
}

int64_t pw_plan_route(const pw_plan_exchange *x, int64_t rank, int k)
{
    const int along[PW_PLAN_AXES] = {k};

    return neighbour(x->o, rank, x->ndirections ? x->directions[k].offset : along);
}
