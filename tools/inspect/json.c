/* packwright inspect --json. */
#include "tools/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

static void put_item(pw_json *json, const pw_subject *s)
{
    pw_input_item item = pw_input_get(s->input, s->item);

    if (*item.name)
        pw_json_string(json, "name", item.name);
    else
        pw_json_null(json, "name");
    pw_json_int(json, "line", item.line);
    pw_json_int(json, "variant", item.variant);
    pw_json_int(json, "variants", item.variants);
}

static void put_layout(pw_json *json, const pw_subject *s, const pw_facts *f)
{
    const pw_node *root = s->canonical.root;

    pw_json_int(json, "size", root->size);
    pw_json_int(json, "lb", s->canonical.lb);
    pw_json_int(json, "extent", s->canonical.extent);
    pw_json_int(json, "true_lb", root->lo);
    pw_json_int(json, "true_ub", root->hi);
    pw_json_int(json, "blocks", root->blocks);
    pw_json_double(json, "average_block", root->blocks ? (double)root->size / (double)root->blocks : 0);
    pw_json_bool(json, "contiguous", f->contiguous);
    pw_json_hash(json, "type_hash", pw_type_hash(&s->canonical));
    pw_json_open(json, "cache_lines", '{');
    pw_json_double(json, "touched", f->touch.lines);
    pw_json_bool(json, "exact", f->touch.exact);
    pw_json_double(json, "per_byte", root->size ? f->touch.lines / (double)root->size : 0);
    pw_json_close(json, '}');
}

static void put_passes(pw_json *json, const pw_subject *s)
{
    int n;
    const pw_pass *table = pw_pass_table(&n);

    pw_json_open(json, "fired", '{');
    for (int i = 0; i < n; i++)
        if (s->run.fired[i] > 0)
            pw_json_int(json, table[i].name, s->run.fired[i]);
    pw_json_close(json, '}');
}

/* ---- the nest ----------------------------------------------------------------------------------- */

static void put_table(pw_json *json, const char *name, const pw_table *t)
{
    pw_json_open(json, name, '{');
    pw_json_int(json, "entries", t->n);
    pw_json_int(json, "bits", 8 * t->width);
    pw_json_int(json, "base", t->base);
    pw_json_int(json, "scale", t->scale);
    pw_json_close(json, '}');
}

static void put_loops(pw_json *json, const pw_region *r)
{
    pw_json_open(json, "loops", '[');
    for (int i = 0; i < r->ndims; i++) {
        const pw_dim *d = &r->dims[i];

        pw_json_open(json, NULL, '{');
        pw_json_bool(json, "objects", d->is_object);
        if (!d->is_object)
            pw_json_int(json, "count", d->count);
        if (d->table)
            put_table(json, "table", d->table);
        else
            pw_json_int(json, "mem_stride", d->mem_stride);
        pw_json_int(json, "packed_stride", d->packed_stride);
        pw_json_close(json, '}');
    }
    pw_json_close(json, ']');
}

static void put_leaf(pw_json *json, const pw_region *r)
{
    if (r->blocks) {
        pw_json_open(json, "block_list", '{');
        pw_json_int(json, "blocks", r->blocks->n);
        put_table(json, "offsets", &r->blocks->offs);
        put_table(json, "starts", &r->blocks->starts);
        pw_json_close(json, '}');
        return;
    }
    pw_json_open(json, "pieces", '[');
    for (int i = 0; i < r->npieces; i++) {
        pw_json_open(json, NULL, '{');
        pw_json_int(json, "mem", r->pieces[i].mem_off);
        pw_json_int(json, "packed", r->pieces[i].packed_off);
        pw_json_int(json, "bytes", r->pieces[i].bytes);
        pw_json_close(json, '}');
    }
    pw_json_close(json, ']');
}

static void put_region(pw_json *json, const pw_region *r)
{
    pw_json_open(json, NULL, '{');
    pw_json_int(json, "mem", r->mem_off);
    pw_json_int(json, "packed", r->packed_off);
    put_loops(json, r);
    put_leaf(json, r);
    pw_json_int(json, "leaf", r->leaf_size);
    pw_json_int(json, "word", r->word);
    pw_json_int(json, "align", r->align);
    pw_json_int(json, "packed_align", r->packed_align);
    if (r->tile_outer) {
        pw_json_open(json, "tile", '[');
        pw_json_int(json, NULL, r->tile_outer);
        pw_json_int(json, NULL, r->tile_inner);
        pw_json_close(json, ']');
    }
    pw_json_close(json, '}');
}

/* ---- the kernel --------------------------------------------------------------------------------- */

typedef struct number_list {
    pw_json *json;
    bool arguments;
} number_list;

static void put_number(void *arg, const char *what, int64_t value, bool is_argument)
{
    number_list *list = arg;

    if (is_argument == list->arguments)
        pw_json_int(list->json, what, value);
}

static void put_shape(pw_json *json, const pw_subject *s)
{
    number_list baked = {json, false}, arguments = {json, true};

    pw_json_open(json, "shape", '{');
    pw_json_hash(json, "hash", s->shape->hash);
    pw_json_open(json, "baked", '{');
    pw_each_number(s->nest, s->shape, put_number, &baked);
    pw_json_close(json, '}');
    pw_json_open(json, "arguments", '{');
    pw_each_number(s->nest, s->shape, put_number, &arguments);
    pw_json_close(json, '}');
    pw_json_close(json, '}');
}

static void put_kernel(pw_json *json, const pw_subject *s, const pw_facts *f)
{
    static const char *const cached[] = {"no", "yes", "refused", "unknown"};

    pw_json_open(json, "kernel", '{');
    pw_json_hash(json, "key", s->key);
    pw_json_string(json, "arch", s->options->target.arch);
    pw_json_string(json, "cpu", s->options->target.cpu);
    pw_json_string(json, "generator", pw_backend_version("llvm"));
    pw_json_string(json, "cached", cached[f->cached]);
    pw_json_string(json, "cache_directory", f->cache_dir);
    pw_json_close(json, '}');
}

static void put_cost(pw_json *json, const pw_subject *s, const pw_facts *f)
{
    double size = (double)s->nest->size;

    pw_json_open(json, "cycles_per_byte", '{');
    pw_json_double(json, "model", size > 0 ? f->model_cycles / size : 0);
    pw_json_close(json, '}');
}

/* ---- texts -------------------------------------------------------------------------------------- */

static pw_status put_stages(pw_json *json, const pw_subject *s, pw_diag *diag)
{
    pw_status status = PW_OK;

    pw_json_open(json, "stages", '{');
    for (int i = 0; i < PW_STAGE_COUNT; i++) {
        char *text = NULL;

        if (!(s->options->stages & 1u << i))
            continue;
        if (status == PW_OK)
            status = pw_subject_text(s, (pw_stage)i, &text, diag);
        if (status == PW_OK)
            pw_json_string(json, pw_stage_name((pw_stage)i), text);
        else
            pw_json_null(json, pw_stage_name((pw_stage)i));
        free(text);
    }
    pw_json_close(json, '}');
    return status;
}

pw_status pw_inspect_json(pw_json *json, const pw_subject *s, const pw_facts *f, pw_diag *diag)
{
    pw_status status = PW_OK;

    pw_json_open(json, NULL, '{');
    put_item(json, s);
    put_layout(json, s, f);
    put_passes(json, s);
    pw_json_bool(json, "object_outer", s->nest->object_outer);
    pw_json_open(json, "regions", '[');
    for (int i = 0; i < s->nest->nregions; i++)
        put_region(json, &s->nest->regions[i]);
    pw_json_close(json, ']');
    put_shape(json, s);
    put_kernel(json, s, f);
    put_cost(json, s, f);
    if (s->options->stages)
        status = put_stages(json, s, diag);
    pw_json_close(json, '}');
    return status;
}
