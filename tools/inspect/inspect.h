/*
 * `packwright inspect`, shared by its files:
 *
 *   inspect.c         the command: one type after another
 *   options.c         its command line
 *   stage.c           a type taken through the compiler, and the text of each stage
 *   facts.c           what can be said of the result: kernel key, cache, locality, cost
 *   cost.c            touched cache lines and the cost model
 *   numbers.c         what is baked into the code and what is an argument
 *   why.c, region.c   facts as sentences; why_gpu.c those about a GPU's kernel
 *   json.c            facts as JSON
 *   loops.c           the nest as C
 *   html.c            a page about a type; html_frame.c its style, html_code.c code linked by line, diff.c what a pass
 *                     changed
 */
#ifndef PW_TOOLS_INSPECT_H
#define PW_TOOLS_INSPECT_H

#include "base/json.h"
#include "codegen/backend.h"
#include "passes/passes.h"
#include "tools/input/input.h"

/* ---- command line ------------------------------------------------------------------------------- */

/* The stages in the order of compilation: first for CPUs, then for GPUs. */
typedef enum pw_stage {
    PW_STAGE_DDT,
    PW_STAGE_TREE,
    PW_STAGE_CANONICAL,
    PW_STAGE_NEST,
    PW_STAGE_SHAPE,
    PW_STAGE_LLVM,
    PW_STAGE_LLVM_OPT,
    PW_STAGE_ASM,
    PW_STAGE_CUDA,
    PW_STAGE_PTX,
    PW_STAGE_COUNT
} pw_stage;

const char *pw_stage_name(pw_stage stage);

typedef struct pw_inspect_options {
    const char *arg;
    pw_input_choice choice;
    unsigned stages;   /* 1 << stage for each stage that is printed */
    bool stages_given; /* the stages were given by --stage */
    const char *print_after, *triple, *cpu;
    bool list_passes, stats, why, json, hash, html;
    bool prelude;       /* print the CUDA stage as it is compiled, with what all kernels share */
    bool gpu_given;     /* --gpu was given: the page is about code for that GPU */
    const char *output; /* of the page; NULL: standard output */
    bool join;          /* every type but the first is the destination of a copy from the first */
    int64_t elide;      /* lists are shortened beyond so many entries; 0: they are not */
    bool elide_given;
    pw_target target, gpu;
} pw_inspect_options;

/* Returns PW_EXIT_OK, or an exit status after a message. */
int pw_inspect_parse(int argc, char **argv, pw_inspect_options *o);

/* ---- one type ----------------------------------------------------------------------------------- */

typedef struct pw_subject {
    const pw_inspect_options *options;
    const pw_input *input;
    int64_t item;
    const pw_backend *backend; /* NULL: no code is needed, or there is no backend */
    const pw_backend *gpu_backend;
    pw_arena *arena;
    pw_type raw, canonical;
    pw_type source; /* with --join: the canonical form of the first type */
    pw_nest *nest;
    pw_shape *shape;
    pw_hash key; /* of the kernel in the cache */
    pw_pass_options run;
    FILE *dump; /* where passes print what they changed, all of them; NULL: to stdout, as the options say */
} pw_subject;

/* Compiles the type as far as `last` needs (for llvm and later stages: up to the shape). Passes print their dumps as
 * they run. */
pw_status pw_subject_prepare(pw_subject *s, pw_stage last, pw_diag *diag);
void pw_subject_release(pw_subject *s);

/* Returns the text of a prepared stage, with a line end; malloc'ed. */
pw_status pw_subject_text(const pw_subject *s, pw_stage stage, char **out, pw_diag *diag);

/* Assembly with the lines of the stage llvm-opt; malloc'ed. */
pw_status pw_subject_lines(const pw_subject *s, char **out, pw_diag *diag);
/* The kernel for a GPU as CUDA, without what all kernels share: `skipped` lines before it; malloc'ed. PTX and machine
 * code have the numbers of lines that count these. */
pw_status pw_subject_cuda(const pw_subject *s, char **out, int64_t *skipped, pw_diag *diag);
pw_status pw_subject_ptx_lines(const pw_subject *s, char **out, pw_diag *diag);
pw_status pw_subject_cubin(const pw_subject *s, pw_blob *out, pw_diag *diag);

/* ---- facts -------------------------------------------------------------------------------------- */

typedef struct pw_touch {
    int64_t blocks; /* blocks that were looked at */
    double lines;   /* different cache lines that one object touches, if its first byte begins a line */
    bool exact;     /* all blocks were looked at; false: the numbers are extrapolated */
} pw_touch;

typedef enum pw_cached { PW_CACHED_NO, PW_CACHED_YES, PW_CACHED_REFUSED, PW_CACHED_UNKNOWN } pw_cached;

typedef struct pw_facts {
    bool contiguous;
    pw_touch touch;
    double model_cycles; /* of one object by the model of cost.c */
    pw_cached cached;
    char cache_dir[4096], cache_note[256];
} pw_facts;

/* Finds the facts of a subject, which must be prepared up to its shape. */
void pw_facts_find(const pw_subject *s, pw_facts *out);

enum { PW_LINE = 64 };
pw_touch pw_cost_touch(const pw_node *root);
/* Returns the cycles to move one object if everything is in the first-level cache. */
double pw_cost_model(const pw_nest *nest, const pw_target *target);

/* Called for every number of a nest: what it is ("count of loop 1.2": region and loop, from 1), and whether kernels
 * take it as an argument. */
typedef void pw_number_fn(void *arg, const char *what, int64_t value, bool is_argument);
void pw_each_number(const pw_nest *nest, const pw_shape *shape, pw_number_fn *fn, void *arg);

/* Prints why the loops, the leaf and the tile of a region are what they are, one sentence a line. */
void pw_why_region(FILE *out, const pw_subject *s, int region);

/* Prints how the kernel for the GPU of --gpu shares out the layout, and which kernel that is. */
void pw_why_gpu(FILE *out, const pw_subject *s);

/* Prints the facts as sentences, one a line; with --gpu about that GPU's kernel. */
void pw_why(FILE *out, const pw_subject *s, const pw_facts *f);
/* Prints one JSON object, which is complete even if the text of a stage could not be made. */
pw_status pw_inspect_json(pw_json *json, const pw_subject *s, const pw_facts *f, pw_diag *diag);

/* Prints what the pack kernel of a nest does on a CPU, as C. */
void pw_loops_print(FILE *out, const pw_nest *nest, const pw_target *target);

/* Prepares the subject and writes a page about it. */
pw_status pw_inspect_html(FILE *out, pw_subject *s, pw_diag *diag);

#endif
