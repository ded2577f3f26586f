/* packwright inspect --why: the reasons for what became of a type. */
#include "tools/inspect/inspect.h"

#include <inttypes.h>
#include <stdio.h>

static double per(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* ---- the layout --------------------------------------------------------------------------------- */

static void why_layout(FILE *out, const pw_subject *s)
{
    const pw_node *root = s->canonical.root;

    if (root->size == 0) {
        fprintf(out, "An object has no data; its extent is %" PRId64 " bytes.\n", s->canonical.extent);
        return;
    }
    fprintf(out, "An object has %" PRId64 " bytes of data in %" PRId64 " block%s", root->size, root->blocks,
            root->blocks == 1 ? "" : "s");
    if (root->blocks > 1)
        fprintf(out, " of %.4g bytes on average", per((double)root->size, (double)root->blocks));
    fprintf(out,
            ", from byte %" PRId64 " up to byte %" PRId64 "; the next object begins %" PRId64
            " bytes further on (its extent)",
            root->lo, root->hi, s->canonical.extent);
    if (s->canonical.lb)
        fprintf(out, "; the lower bound is %" PRId64, s->canonical.lb);
    fputs(".\n", out);
}

static void why_contiguous(FILE *out, const pw_subject *s, const pw_facts *f)
{
    const pw_node *root = s->canonical.root;

    if (root->size == 0)
        return;
    if (f->contiguous)
        fputs("Any number of objects is contiguous: a call is one memcpy, and no kernel is needed.\n", out);
    else if (root->blocks == 1)
        fputs("One object is contiguous, but several are not: the extent is not the size, or the bytes do not start "
              "at 0.\n",
              out);
    else
        fputs("The data is not contiguous, so a kernel gathers it.\n", out);
}

static void why_passes(FILE *out, const pw_subject *s)
{
    int n, fired = 0;
    const pw_pass *table = pw_pass_table(&n);

    for (int i = 0; i < n; i++)
        if (s->run.fired[i] > 0)
            fprintf(out, "%s%s %" PRId64,
                    fired++
                        ? ", "
                        : "Passes of the compiler that changed it, and how often (--list-passes says what each does): ",
                    table[i].name, s->run.fired[i]);
    fputs(fired ? ".\n" : "No pass of the compiler found anything to change.\n", out);
}

/* ---- the kernel --------------------------------------------------------------------------------- */

typedef struct number_list {
    FILE *out;
    bool arguments; /* true: list the arguments; false: list the baked numbers */
    int64_t n;
} number_list;

enum { NUMBERS_SHOWN = 12 };

static void list_number(void *arg, const char *what, int64_t value, bool is_argument)
{
    number_list *list = arg;

    if (is_argument != list->arguments)
        return;
    if (list->n < NUMBERS_SHOWN)
        fprintf(list->out, "%s%s = %" PRId64, list->n ? ", " : "", what, value);
    list->n++;
}

static void why_numbers(FILE *out, const pw_subject *s, bool arguments, const char *heading)
{
    number_list list = {.out = out, .arguments = arguments};

    fputs(heading, out);
    pw_each_number(s->nest, s->shape, list_number, &list);
    if (list.n > NUMBERS_SHOWN)
        fprintf(out, " and %" PRId64 " more", list.n - NUMBERS_SHOWN);
    fputs(list.n ? ".\n" : "nothing.\n", out);
}

static void why_cached(FILE *out, const pw_facts *f)
{
    switch (f->cached) {
    case PW_CACHED_YES: fprintf(out, "The disk cache %s has the kernel.\n", f->cache_dir); break;
    case PW_CACHED_NO: fprintf(out, "The disk cache %s does not have the kernel yet.\n", f->cache_dir); break;
    case PW_CACHED_REFUSED:
        fprintf(out, "The disk cache %s has the kernel, but would refuse it: %s.\n", f->cache_dir, f->cache_note);
        break;
    case PW_CACHED_UNKNOWN: fprintf(out, "There is no disk cache: %s.\n", f->cache_note); break;
    }
}

static void why_kernel(FILE *out, const pw_subject *s, const pw_facts *f)
{
    char key[PW_HASH_TEXT];

    pw_hash_text(s->key, key);
    fprintf(out, "The kernel is %s for the CPU %s (%s), made by generator %s.\n", key, s->options->target.cpu,
            s->options->target.arch, pw_backend_version("llvm"));
    why_cached(out, f);
}

/* ---- cost --------------------------------------------------------------------------------------- */

static void why_touch(FILE *out, const pw_subject *s, const pw_facts *f)
{
    double size = (double)s->canonical.root->size;

    fprintf(out,
            "An object touches %s%.6g cache line%s of %d bytes, %.4g per byte of data; %.3g %% of what they hold is "
            "data.\n",
            f->touch.exact ? "" : "about ", f->touch.lines, f->touch.lines > 1 ? "s" : "", PW_LINE,
            per(f->touch.lines, size), 100 * per(size, PW_LINE * f->touch.lines));
}

static void why_cost(FILE *out, const pw_subject *s, const pw_facts *f)
{
    fprintf(out, "Expected cost with everything in the first-level cache: %.3g cycles a byte, %.6g cycles an object.\n",
            per(f->model_cycles, (double)s->nest->size), f->model_cycles);
}

void pw_why(FILE *out, const pw_subject *s, const pw_facts *f)
{
    why_layout(out, s);
    why_contiguous(out, s, f);
    why_passes(out, s);
    if (f->contiguous)
        return;
    for (int i = 0; i < s->nest->nregions; i++)
        pw_why_region(out, s, i);
    if (s->nest->object_outer)
        fputs("For each object, the regions run one after another.\n", out);
    why_touch(out, s, f);
    why_numbers(out, s, false, "Numbers fixed in the code: ");
    why_numbers(out, s, true, "Numbers passed to the code, which types with other values share: ");
    if (s->options->gpu_given) {
        pw_why_gpu(out, s);
        return;
    }
    why_kernel(out, s, f);
    why_cost(out, s, f);
}
