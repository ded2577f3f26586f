/* Writes the text of generated kernels. */
#include "codegen/nvrtc/source.h"

#include "codegen/nvrtc/fused.h"
#include "codegen/nvrtc/launch.h"
#include "codegen/nvrtc/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The state of writing one job. */
typedef struct writer {
    FILE *f;
    int job;
    const pw_gpu_plan *plan;
} writer;

/* ---- numbers --------------------------------------------------------------------------------------------- */

static void put_literal(FILE *f, int64_t v)
{
    if (v < 0)
        fprintf(f, "(0 - %" PRIu64 "ull)", 0 - (uint64_t)v);
    else
        fprintf(f, "%" PRId64 "ull", v);
}

static int dim_word(int dim, int word)
{
    return PW_REC_DIMS + PW_DIM_WORDS * dim + word;
}

/* Writes a baked number, or the record's word. */
static void put_num(FILE *f, pw_num n, int word)
{
    if (n.slot < 0)
        put_literal(f, n.value);
    else
        fprintf(f, "p.w[o + %d]", word);
}

static bool is_zero(pw_num n)
{
    return n.slot < 0 && n.value == 0;
}

static int64_t baked_count(const pw_gpu_dim *d)
{
    return (d->count.value + d->per - 1) / d->per;
}

/* ---- coordinates ------------------------------------------------------------------------------------------- */

/* Writes how u is taken apart, loop `inner` first: i<k> is the iteration of loop k. */
static void put_loop_indices(const writer *w, const pw_gpu_region *g, int inner)
{
    FILE *f = w->f;
    for (int k = inner; k > 0; k--) {
        const pw_gpu_dim *d = &g->dims[k];
        if (!pw_gpu_dim_is_counted(d) && baked_count(d) == 1) {
            fprintf(f, "        const I i%d = 0;\n", k);
            continue;
        }
        if (pw_gpu_dim_is_counted(d))
            fprintf(f, "        const I q%d = pw_quot(u, p.w + (o + %d)), i%d = u - q%d * (I)p.w[o + %d];\n", k,
                    dim_word(k, 0), k, k, dim_word(k, PW_DIM_COUNT));
        else
            fprintf(f, "        const I q%d = u / %" PRId64 "u, i%d = u - q%d * %" PRId64 "u;\n", k, baked_count(d), k,
                    k, baked_count(d));
        fprintf(f, "        u = q%d;\n", k);
    }
    if (inner >= 0)
        fprintf(f, "        const I i0 = u;\n");
}

/* Writes what iteration k's entry of a table adds on one side. The record has the table and its scale at two words. */
static void put_table(FILE *f, const char *side, const pw_shape_table *t, int k, int at, int scale)
{
    fprintf(f, "        %ss.%s += ", t->width ? "" : "if (p.w[o + PW_SPARE])\n            ", side);
    put_num(f, t->scale, scale);
    if (t->width)
        fprintf(f, " * pw_entry<%d>(", t->width);
    else
        fprintf(f, " * pw_entry_of(p.w[o + PW_SPARE] & 255, ");
    fprintf(f, "p.w[o + %d], i%d);\n", at, k);
}

static const pw_num in_record = {.slot = 0};

/* Writes " + i * stride" for each loop. */
static void put_sum(const writer *w, const pw_gpu_region *g, bool packed)
{
    FILE *f = w->f;
    for (int k = 0; k < g->ndims; k++) {
        const pw_gpu_dim *d = &g->dims[k];
        pw_num stride = packed ? d->packed : d->mem;
        bool plain = d->plain && d->role != PW_GPU_WORD;
        if (!packed && g->offs && k == g->ndims - 1)
            continue;
        if (plain ? pw_gpu_table_is_there(packed ? &d->packed_table : &d->table)
                  : is_zero(stride) || (!pw_gpu_dim_is_counted(d) && baked_count(d) == 1))
            continue;
        fprintf(f, " + (pw_u64)i%d * ", k);
        if (pw_gpu_dim_is_tile(d))
            fprintf(f, "%d * ", g->side);
        put_num(f, plain ? in_record : stride, dim_word(k, packed ? PW_DIM_PACKED : PW_DIM_MEM));
    }
}

/* ---- leaves of several pieces --------------------------------------------------------------------------------- */

typedef struct piece_choice {
    int inner;          /* the loop over the leaf's words */
    int64_t first[17];  /* word of the leaf at which a piece begins */
    int64_t add[2][16]; /* what is to be added to word * i, in memory and in packed order */
} piece_choice;

static void find_choice(const pw_gpu_region *g, piece_choice *c)
{
    int64_t at = 0;
    c->inner = g->ndims - 1;
    for (int i = 0; i < g->shape->npieces; i++) {
        const pw_shape_piece *p = &g->shape->pieces[i];
        c->first[i] = at / g->word;
        c->add[0][i] = p->mem_off.value - at;
        c->add[1][i] = p->packed_off.value - at;
        at += p->bytes.value;
    }
}

static void put_choice(FILE *f, const piece_choice *c, const int64_t *add, int lo, int hi)
{
    int middle = (lo + hi) / 2;
    if (hi - lo == 1) {
        put_literal(f, add[lo]);
        return;
    }
    fprintf(f, "(i%d < %" PRId64 "u ? ", c->inner, c->first[middle]);
    put_choice(f, c, add, lo, middle);
    fprintf(f, " : ");
    put_choice(f, c, add, middle, hi);
    fprintf(f, ")");
}

static void put_choices(const writer *w, const pw_gpu_region *g)
{
    static const char *const side[] = {"mem", "packed"};
    int n = g->shape->npieces;
    piece_choice c;
    if (n < 2)
        return;
    find_choice(g, &c);
    if (g->offs)
        fprintf(w->f, "        s.mem += s.offs[i%d];\n", c.inner);
    for (int s = g->offs ? 1 : 0; s < 2; s++) {
        if (s == 1 && pw_gpu_pieces_are_dense(g->shape) && c.add[1][0] == 0)
            continue;
        fprintf(w->f, "        s.%s += ", side[s]);
        put_choice(w->f, &c, c.add[s], 0, n);
        fprintf(w->f, ";\n");
    }
}

/* ---- regions ------------------------------------------------------------------------------------------------- */

static void put_mem(const writer *w, const pw_gpu_region *g)
{
    fprintf(w->f, "        s.mem = p.w[o + PW_MEM]");
    put_sum(w, g, false);
    fprintf(w->f, ";\n");
    for (int k = 0; k < g->ndims; k++)
        if (pw_gpu_table_is_there(&g->dims[k].table))
            put_table(w->f, "mem", &g->dims[k].table, k, dim_word(k, PW_DIM_TABLE), dim_word(k, PW_DIM_SCALE));
}

static void put_packed(const writer *w, const pw_gpu_region *g)
{
    fprintf(w->f, "        s.packed = p.w[o + PW_PACKED]");
    if (g->kind == PW_GPU_WORDS && !g->joined) {
        fprintf(w->f, " + (DENSE ? (pw_u64)unit * %d : 0ull", g->word);
        put_sum(w, g, true);
        fprintf(w->f, ")");
    } else {
        put_sum(w, g, true);
    }
    fprintf(w->f, ";\n");
    for (int k = 0; k < g->ndims; k++)
        if (pw_gpu_table_is_there(&g->dims[k].packed_table))
            put_table(w->f, "packed", &g->dims[k].packed_table, k, g->dims[k].packed_word, g->dims[k].packed_word + 1);
}

/* Writes which piece of the leaf part number i belongs to: by comparisons with baked numbers, or with the record's. */
static void put_piece(const writer *w, const pw_gpu_region *g)
{
    FILE *f = w->f;
    int last = g->ndims - 1;
    int64_t first = 0;
    if (!pw_gpu_pieces_are_baked(g->shape)) {
        fprintf(f, "        pw_choose_piece<pw_k%d_r%d>(p, o, i%d, s);\n", w->job, g->code, last);
        return;
    }
    fprintf(f, "        pw_u64 mem, packed;\n        pw_u32 first;\n");
    for (int i = 0; i < g->shape->npieces; i++) {
        const pw_shape_piece *piece = &g->shape->pieces[i];
        fprintf(f, "        %s", i ? "if " : "");
        if (i)
            fprintf(f, "(i%d >= %" PRId64 ")", last, first);
        fprintf(f, "%smem = ", i ? " {\n            " : "");
        put_literal(f, piece->mem_off.value);
        fprintf(f, ", packed = ");
        put_literal(f, piece->packed_off.value);
        fprintf(f, ", s.n = %" PRId64 ", first = %" PRId64 ";\n%s", piece->bytes.value, first, i ? "        }\n" : "");
        first += pw_gpu_parts(piece->bytes.value);
    }
    fprintf(f, "        s.mem += mem;\n        s.packed += packed;\n        s.a = i%d - first;\n", last);
}

/* Writes whether word i of the leaf is the first or the last one of its piece. */
static void put_ends(const writer *w, const pw_gpu_region *g)
{
    FILE *f = w->f;
    int last = g->ndims - 1;
    piece_choice c;
    if (g->shape->npieces == 1) {
        fprintf(f, "        s.a = i%d == 0;\n        s.b = i%d + 1 == ", last, last);
        if (pw_gpu_dim_is_counted(&g->dims[last]))
            fprintf(f, "(I)p.w[o + %d];\n", dim_word(last, PW_DIM_COUNT));
        else
            fprintf(f, "%" PRId64 "u;\n", baked_count(&g->dims[last]));
        return;
    }
    find_choice(g, &c);
    c.first[g->shape->npieces] =
        c.first[g->shape->npieces - 1] + g->shape->pieces[g->shape->npieces - 1].bytes.value / g->word;
    for (int end = 0; end < 2; end++) {
        fprintf(f, "        s.%s = ", end ? "b" : "a");
        for (int i = 0; i < g->shape->npieces; i++)
            fprintf(f, "%si%d == %" PRId64 "u", i ? " || " : "", last, c.first[i + end] - end);
        fprintf(f, ";\n");
    }
}

/* Writes what else a kind needs to know of a place. */
static void put_rest(const writer *w, const pw_gpu_region *g)
{
    int last = g->ndims - 1;
    FILE *f = w->f;
    if (g->kind == PW_GPU_WORDS) {
        put_choices(w, g);
        if (!g->offs)
            put_ends(w, g);
    } else if (g->kind == PW_GPU_TILE) {
        fprintf(f, "        s.a = i%d;\n        s.b = i%d;\n", last, last - 1);
    } else if (g->kind == PW_GPU_LIST) {
        fprintf(f, "        s.a = i%d;\n", last);
    } else {
        put_piece(w, g);
    }
}

static void put_member(FILE *f, const char *name, pw_num n, int word)
{
    fprintf(f, "    template <class P> PW_FN pw_u64 %s(const P &p, pw_u32 o) { return ", name);
    put_num(f, n, word);
    fprintf(f, "; }\n");
}

static void put_tile_members(FILE *f, const pw_gpu_region *g)
{
    int a = g->ndims - 1, b = g->ndims - 2;
    put_member(f, "mem_a", g->dims[a].mem, dim_word(a, PW_DIM_MEM));
    put_member(f, "mem_b", g->dims[b].mem, dim_word(b, PW_DIM_MEM));
    put_member(f, "packed_a", g->dims[a].packed, dim_word(a, PW_DIM_PACKED));
    put_member(f, "packed_b", g->dims[b].packed, dim_word(b, PW_DIM_PACKED));
    put_member(f, "count_a", in_record, g->tail + PW_TAIL_COUNT_A);
    put_member(f, "count_b", in_record, g->tail + PW_TAIL_COUNT_B);
}

static void put_entry_member(FILE *f, const char *name, int width, int shift)
{
    fprintf(f, "    template <class P> PW_FN pw_u64 %s(const P &p, pw_u32 o, pw_u64 table, pw_u64 i)\n    {\n", name);
    if (width)
        fprintf(f, "        return pw_entry<%d>(table, i);\n    }\n", width);
    else
        fprintf(f, "        return pw_entry_of(p.w[o + PW_SPARE] >> %d & 255, table, i);\n    }\n", shift);
}

/* Writes where word i of the leaf is in memory. */
static void put_offset_member(FILE *f, const pw_gpu_region *g)
{
    piece_choice c;
    find_choice(g, &c);
    fprintf(f, "    PW_FN pw_u32 off(pw_u32 i%d) { return (pw_u32)(i%d * %du + ", c.inner, c.inner, g->word);
    put_choice(f, &c, c.add[0], 0, g->shape->npieces);
    fprintf(f, "); }\n");
}

/* Returns whether blocks of the region may end within sectors, so that PW_FLAG_FILLED may pay (region_call.c), as far
 * as that is baked. Either side of a joined region may be written, so it always may. */
static bool may_fill(const pw_gpu_region *g)
{
    const pw_shape_region *r = g->shape;
    int64_t bytes = 0;
    bool parts = false, table = false;
    if (g->offs || g->joined)
        return g->joined;
    for (int i = 0; i < r->npieces; i++) {
        if (r->pieces[i].bytes.slot >= 0 || r->pieces[i].mem_off.slot >= 0)
            return true;
        parts |= ((r->pieces[i].bytes.value | r->pieces[i].mem_off.value) & (PW_GPU_SECTOR - 1)) != 0;
        bytes += r->pieces[i].bytes.value;
    }
    for (int i = 0; i < g->ndims; i++) {
        const pw_gpu_dim *d = &g->dims[i];
        table |= pw_gpu_table_is_there(&d->table);
        if (d->role != PW_GPU_WORD && !pw_gpu_table_is_there(&d->table))
            parts |= d->mem.slot >= 0 || (d->mem.value & (PW_GPU_SECTOR - 1)) != 0;
    }
    return parts && !(table && bytes < PW_GPU_FILLED_BYTES * r->npieces);
}

static void put_region(const writer *w, const pw_gpu_region *g)
{
    static const char *const kinds[] = {"a thread per word", "tiles", "parts of pieces", "a list of blocks"};
    FILE *f = w->f;
    fprintf(f,
            "/* %s of %d */\nstruct pw_k%d_r%d {\n    enum { TAIL = %d, PIECES = %d, BATCH = %d, SIDE = %d, FILLS = "
            "%d, JOINED = %d, LEAF = %d, WINDOW = %d };\n",
            kinds[g->kind], g->word, w->job, g->code, g->tail, g->shape->npieces, g->batch, g->side, may_fill(g),
            g->joined, g->offs, pw_gpu_region_is_odd(g) ? PW_LIST_WINDOW : PW_ASKEW_WINDOW);
    fprintf(
        f, "    template <bool DENSE, class I, class P> PW_FN void at(const P &p, pw_u32 o, I u, pw_spot &s)\n    {\n");
    fprintf(f, "        const I unit = u;\n");
    put_loop_indices(w, g, g->ndims - 1);
    put_mem(w, g);
    put_packed(w, g);
    put_rest(w, g);
    fprintf(f, "        (void)unit;\n    }\n");
    if (g->offs)
        put_offset_member(f, g);
    if (g->kind == PW_GPU_TILE)
        put_tile_members(f, g);
    if (g->kind == PW_GPU_LIST) {
        put_entry_member(f, "off", g->shape->block_offs.width, 0);
        put_entry_member(f, "start", g->shape->block_starts.width, 8);
        if (g->joined)
            put_entry_member(f, "packed_off", g->shape->block_packed.width, 0);
    }
    fprintf(f, "};\n\n");
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

static const char *name_of(bool b)
{
    return b ? "true" : "false";
}

/* Returns the last argument of loops over words. */
static const char *offs_of(const pw_gpu_region *g)
{
    return g->offs ? ", offs" : ", 0";
}

static void put_call(const writer *w, const pw_gpu_region *g, bool unpack, bool big, bool fast, bool dense)
{
    static const char *const loops[] = {"pw_words", "pw_tile", "pw_pieces", "pw_list"};
    bool words = g->kind != PW_GPU_PIECES, shared = g->kind == PW_GPU_LIST || g->kind == PW_GPU_TILE;
    FILE *f = w->f;
    fprintf(f, "%s<pw_k%d_r%d, ", loops[g->kind], w->job, g->code);
    if (words)
        fprintf(f, "%d, ", g->kind == PW_GPU_LIST && !fast ? 1 : g->word);
    fprintf(f, "%s, %s", name_of(unpack), big ? "pw_u64" : "pw_u32");
    if (g->kind == PW_GPU_WORDS || g->kind == PW_GPU_TILE)
        fprintf(f, ", %s", name_of(fast));
    if (g->kind == PW_GPU_WORDS)
        fprintf(f, ", %s", name_of(dense));
    fprintf(f, ">(p, o, block%s);\n", shared ? ", shared" : g->kind == PW_GPU_WORDS ? offs_of(g) : "");
}

/* "if (all of these flags) call; else" */
static void put_case(const writer *w, const pw_gpu_region *g, bool unpack, bool big, const char *flags, bool dense)
{
    fprintf(w->f, "        if ((p.w[o + PW_FLAGS] & (%s)) == (%s))\n            ", flags, flags);
    put_call(w, g, unpack, big, true, dense);
    fprintf(w->f, "        else\n");
}

static void put_narrow(const writer *w, const pw_gpu_region *g, bool unpack)
{
    fprintf(w->f, "        if (p.w[o + PW_FLAGS] & PW_NARROW)\n");
    fprintf(w->f, "            pw_words_narrow<pw_k%d_r%d, %d, %s, pw_u32>(p, o, block%s);\n        else\n", w->job,
            g->code, g->word, name_of(unpack), offs_of(g));
}

/* Lists by lanes; else, where the launch says so, by spans. Joined lists of odd words have no other way. */
static void put_lanes(const writer *w, const pw_gpu_region *g, bool unpack, bool big)
{
    bool always = g->joined && pw_gpu_region_is_odd(g);
    if (!always)
        fprintf(w->f, "        if (!(p.w[o + PW_FLAGS] & PW_CHUNKED))\n    ");
    fprintf(w->f, "        pw_list_lanes<pw_k%d_r%d, %s, %s>(p, o, block);\n%s", w->job, g->code, name_of(unpack),
            big ? "pw_u64" : "pw_u32", always ? "" : "        else\n");
}

static void put_joined_list(const writer *w, const pw_gpu_region *g, bool unpack, bool big)
{
    put_lanes(w, g, unpack, big);
    if (pw_gpu_region_is_odd(g))
        return;
    fprintf(w->f, "            ");
    put_call(w, g, unpack, big, true, false);
}

/*
 * With 32-bit indices, words are moved whole where the launch says that addresses allow; tiles of bytes always are.
 * Words of one and two bytes that are neither dense nor aligned are rare: they take the path for any address.
 */
static void put_region_call(const writer *w, const pw_gpu_region *g, bool unpack, bool big)
{
    bool words = g->kind == PW_GPU_WORDS, narrow = g->word < PW_NARROW_BYTES;
    bool dense = words && !big && !g->joined && pw_gpu_pieces_are_dense(g->shape);
    if (g->kind == PW_GPU_LIST && g->joined) {
        put_joined_list(w, g, unpack, big);
        return;
    }
    if (g->offs)
        fprintf(w->f, "        {\n        const pw_u32 *const offs = pw_offsets<pw_k%d_r%d>(shared, block);\n", w->job,
                g->code);
    if (g->kind == PW_GPU_LIST)
        put_lanes(w, g, unpack, big);
    if (dense && narrow && !(g->offs && unpack))
        put_narrow(w, g, unpack);
    else if (dense)
        put_case(w, g, unpack, big, "PW_ALIGNED | PW_DENSE", true);
    if (g->kind == PW_GPU_LIST
            ? !narrow
            : !big && (words ? !narrow || g->joined || (g->offs && unpack) : g->kind == PW_GPU_TILE && g->word > 1))
        put_case(w, g, unpack, big, "PW_ALIGNED", false);
    fprintf(w->f, "        ");
    put_call(w, g, unpack, big, g->kind == PW_GPU_TILE && g->word == 1, false);
    if (g->offs)
        fprintf(w->f, "        }\n");
}

/* Returns the first region of code number `code`. NULL: there are fewer. */
static const pw_gpu_region *region_of_code(const pw_gpu_plan *plan, int code)
{
    for (int i = 0; i < plan->nregions; i++)
        if (plan->regions[i].code == code)
            return &plan->regions[i];
    return NULL;
}

static void put_dispatch(const writer *w, bool unpack, bool big)
{
    FILE *f = w->f;
    const pw_gpu_region *g = region_of_code(w->plan, 1);
    if (w->plan->nregions == 1) {
        fprintf(f, "    const pw_u32 o = %d, block = PW_BLOCK;\n    {\n", w->plan->regions[0].record);
    } else {
        fprintf(f, "    const pw_u64 where = p.w[2 * pw_region_of<%d>(p, PW_BLOCK) + 1];\n", w->plan->nregions);
        fprintf(f, "    const pw_u32 o = (pw_u32)where, block = PW_BLOCK - (pw_u32)p.w[o + PW_FIRST];\n");
        fputs(g ? "    switch (where >> 32) {\n    case 0:\n" : "    {\n", f);
    }
    put_region_call(w, region_of_code(w->plan, 0), unpack, big);
    for (int code = 1; (g = region_of_code(w->plan, code)); code++) {
        fprintf(f, "        break;\n    case %d:\n", code);
        put_region_call(w, g, unpack, big);
    }
    fprintf(f, "    }\n");
}

static void put_kernel(const writer *w, const char *name, bool unpack, bool big)
{
    FILE *f = w->f;
    const char *suffix = big ? PW_GPU_BIG_SUFFIX : "";
    fprintf(f, "PW_KERNEL(%s%s, pw_params<%d>, %d)\n{\n", name, suffix, w->plan->words > 0 ? w->plan->words : 1,
            w->plan->resident[unpack]);
    if (w->plan->shared_bytes[unpack])
        fprintf(f, "    PW_SHARED char shared[%d];\n", w->plan->shared_bytes[unpack]);
    if (w->plan->nregions > 0)
        put_dispatch(w, unpack, big);
    fprintf(f, "    pw_finish(p, PW_BLOCK, PW_GRID);\n");
    fprintf(f, "}\n\n");
}

static void put_job(const writer *w, const pw_compile_job *job)
{
    const pw_gpu_region *g;
    char *text = pw_shape_print(job->shape);
    fprintf(w->f, "/*\n%s*/\n\n", text ? text : "");
    free(text);
    for (int code = 0; (g = region_of_code(w->plan, code)); code++)
        put_region(w, g);
    for (int big = 0; big < 2; big++) {
        put_kernel(w, job->pack_name, false, big);
        put_kernel(w, job->unpack_name, true, big);
    }
}

static pw_status put_jobs(FILE *f, const pw_compile_job *jobs, pw_diag *diag)
{
    writer w = {.f = f};
    fprintf(f, "#define PW_THREADS %d\n%s", PW_GPU_THREADS, pw_gpu_prelude());
    for (const pw_compile_job *job = jobs; job; job = job->next, w.job++) {
        pw_gpu_plan *plan;
        if (pw_gpu_is_fused(job->shape)) {
            pw_gpu_fused_put(f, job);
            continue;
        }
        pw_status status = pw_gpu_plan_create(job->shape, &plan, diag);
        if (status != PW_OK)
            return status;
        w.plan = plan;
        put_job(&w, job);
        pw_gpu_plan_destroy(plan);
    }
    return PW_OK;
}

pw_status pw_gpu_source(const pw_compile_job *jobs, pw_blob *out, pw_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    pw_status status = put_jobs(f, jobs, diag);
    bool failed = ferror(f) != 0;
    failed |= fclose(f) != 0;
    if (status == PW_OK && failed)
        status = pw_diag_status(diag, PW_ERR_NOMEM);
    if (status != PW_OK) {
        free(text);
        return status;
    }
    *out = (pw_blob){.data = text, .size = size};
    return PW_OK;
}
