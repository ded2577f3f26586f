/* `packwright inspect`: prints types at every stage of the compiler, and facts about the result. */
#include "tools/inspect/inspect.h"

#include "base/json.h"
#include "base/replace.h"
#include "tools/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: packwright inspect [OPTIONS] TYPE|FILE\n"
    "\n"
    "Prints datatypes at the stages of the compiler. FILE ('-': standard input) holds types in the datatype\n"
    "language ('packwright help types') or as IR text (docs/ir.md); TYPE is such a text itself:\n"
    "\n"
    "  packwright inspect --why 'vec(1000 1 8)[double]'\n"
    "\n"
    "  --stage=STAGE       ddt (the type in the datatype language), tree (as written), canonical (after the tree\n"
    "                      passes), nest (what kernels are made from), shape (what is baked into the code and what\n"
    "                      is an argument), llvm (generated code), llvm-opt (after LLVM's passes), asm, or all of\n"
    "                      these (default: tree, canonical and nest); cuda or ptx: the kernel of a GPU\n"
    "  --why               explain in sentences: what fired, the order of loops, leaves, tables and tiles and the\n"
    "                      reasons for them, the kernel's key and whether it is cached, the expected cost\n"
    "  --json              the same facts as one JSON document; with --stage the texts, too\n"
    "  --hash              one line a type: hashes of the canonical type and the shape, the kernel's key, the name\n"
    "  --join              from the second type on: the nest and what follows of a copy from the first type to this "
    "one\n"
    "  --html              one page about a type: picture, reasons, tree, passes as differences, loops as C, code\n"
    "                      linked by line; with --gpu CUDA, PTX and SASS\n"
    "  -o, --output=FILE   where the page goes (default: standard output)\n"
    "  --name=NAME         only the type of this name\n"
    "  --variant=K         only the K-th of the types that an entry with ranges stands for, from 0\n"
    "  --target-cpu=CPU    compile for this CPU: native, x86-64-v3, znver4, neoverse-n1, ...\n"
    "                      (default: $PACKWRIGHT_TARGET_CPU, else native)\n"
    "  --target=TRIPLE     compile for this machine: x86_64-linux-gnu or aarch64-linux-gnu\n"
    "  --gpu=ARCH          the GPU of the stages cuda and ptx (default: sm_90); with --why and --html, explain and "
    "show\n"
    "                      its kernel instead of the CPU's\n"
    "  --prelude           --stage=cuda with what all kernels share in front, as it is compiled\n"
    "  --print-after=PASS  also print the layout after each run of PASS that changed it\n"
    "  --print-after-all   ... after every pass that changed it\n"
    "  --list-passes       print the passes in order, each with its contract, and exit\n"
    "  --stats             also print how often each pass rewrote something\n"
    "  --elide=N           shorten lists beyond N entries; the output does not parse back then (default: 16 on a\n"
    "                      terminal, else 0, which shortens none)\n"
    "\n"
    "Exit status: 0; 1 when the input cannot be read, parsed or compiled; 2 for a wrong command line.\n";

/* ---- passes ------------------------------------------------------------------------------------- */

/* Prints text whose continuation lines start at `column`. */
static void print_wrapped(const char *text, int column)
{
    enum { WIDTH = 100 };
    int at = column;

    while (*text) {
        int n = (int)strcspn(text, " ");

        if (at > column && at + 1 + n > WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        }
        at += printf("%s%.*s", at > column ? " " : "", n, text);
        text += n;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void list_passes(void)
{
    int n;
    const pw_pass *table = pw_pass_table(&n);

    for (int i = 0; i < n; i++)
        print_wrapped(table[i].contract, printf("%-16s %-5s ", table[i].name, table[i].on_tree ? "tree" : "nest"));
}

static void print_stats(const pw_pass_options *run)
{
    int n;
    const pw_pass *table = pw_pass_table(&n);

    puts("# rewrites");
    for (int i = 0; i < n; i++)
        if (run->fired[i] > 0)
            printf("#   %-16s %" PRId64 "\n", table[i].name, run->fired[i]);
}

/* ---- one type ----------------------------------------------------------------------------------- */

static pw_stage last_stage(const pw_inspect_options *o)
{
    pw_stage last = o->why || o->json || o->hash ? PW_STAGE_SHAPE : PW_STAGE_DDT;

    for (int i = 0; i < PW_STAGE_COUNT; i++)
        if ((o->stages & 1u << i) && (pw_stage)i > last)
            last = (pw_stage)i;
    return last;
}

static void print_hashes(const pw_subject *s)
{
    char type[PW_HASH_TEXT], shape[PW_HASH_TEXT], key[PW_HASH_TEXT], label[PW_INPUT_LABEL];

    pw_hash_text(pw_type_hash(&s->canonical), type);
    pw_hash_text(s->shape->hash, shape);
    pw_hash_text(s->key, key);
    pw_input_label(s->input, s->item, label);
    printf("%s %s %s %s\n", type, shape, key, label);
}

/* Prints a stage whose lists may be long straight to the output. False: the stage is another one. */
static bool print_list_stage(const pw_subject *s, pw_stage stage)
{
    int64_t elide = s->options->elide;

    if (stage != PW_STAGE_TREE && stage != PW_STAGE_CANONICAL && stage != PW_STAGE_NEST)
        return false;
    printf("# %s\n", pw_stage_name(stage));
    if (stage == PW_STAGE_NEST)
        pw_nest_print_to(stdout, s->nest, elide);
    else
        pw_print_to(stdout, stage == PW_STAGE_TREE ? &s->raw : &s->canonical, elide);
    return true;
}

static pw_status print_stages(const pw_subject *s, pw_diag *diag)
{
    pw_status status = PW_OK;

    for (int i = 0; i < PW_STAGE_COUNT && status == PW_OK; i++) {
        char *text = NULL;

        if (!(s->options->stages & 1u << i) || print_list_stage(s, (pw_stage)i))
            continue;
        status = pw_subject_text(s, (pw_stage)i, &text, diag);
        if (status == PW_OK)
            printf("# %s\n%s", pw_stage_name((pw_stage)i), text);
        free(text);
    }
    return status;
}

static pw_status explain(const pw_subject *s, pw_json *json, pw_diag *diag)
{
    pw_facts *facts = calloc(1, sizeof *facts);
    pw_status status = PW_OK;

    if (!facts)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    pw_facts_find(s, facts);
    if (json)
        status = pw_inspect_json(json, s, facts, diag);
    else
        pw_why(stdout, s, facts);
    free(facts);
    return status;
}

/* Prints the heading as a comment, so that the output can be parsed again, with the same result. */
static void print_heading(const pw_subject *s)
{
    pw_input_item item = pw_input_get(s->input, s->item);
    char label[PW_INPUT_LABEL];

    if (s->options->hash)
        return;
    if (s->item > 0)
        putchar('\n');
    if (!*item.name && item.variants == 1 && (!s->options->why || pw_input_count(s->input) == 1))
        return;
    pw_input_label(s->input, s->item, label);
    printf("# %s\n", label);
}

static pw_status print_subject(pw_subject *s, pw_json *json, pw_diag *diag)
{
    pw_status status = PW_OK;

    if (s->options->hash)
        print_hashes(s);
    if (!json)
        status = print_stages(s, diag);
    if (status == PW_OK && s->options->stats)
        print_stats(&s->run);
    if (status == PW_OK && (s->options->why || json))
        status = explain(s, json, diag);
    return status;
}

static bool inspect_item(pw_subject s, int64_t i, pw_json *json)
{
    pw_diag diag = {0};
    pw_status status;

    s.item = i;
    if (!json)
        print_heading(&s);
    status = pw_subject_prepare(&s, last_stage(s.options), &diag);
    if (status == PW_OK)
        status = print_subject(&s, json, &diag);
    if (status != PW_OK && *diag.text) {
        fflush(stdout);
        pw_input_error(s.input, i, &diag);
    }
    pw_subject_release(&s);
    return status == PW_OK;
}

/* ---- all of them -------------------------------------------------------------------------------- */

/* Finds a backend. False: there is none, which is reported. */
static bool find_backend(const char *name, const char *stages, const pw_backend **out)
{
    pw_diag diag = {0};

    *out = pw_backend_load(name, &diag);
    if (!*out)
        pw_command_error("inspect", "there is no code generator for the stages %s: %s", stages, diag.text);
    return *out != NULL;
}

/* Finds the backends that the stages need. */
static bool find_backends(pw_subject *s)
{
    static const unsigned cpu = 1u << PW_STAGE_LLVM | 1u << PW_STAGE_LLVM_OPT | 1u << PW_STAGE_ASM;
    static const unsigned gpu = 1u << PW_STAGE_CUDA | 1u << PW_STAGE_PTX;
    const pw_inspect_options *o = s->options;

    if ((o->stages & gpu) && !find_backend("nvrtc", "cuda and ptx", &s->gpu_backend))
        return false;
    if (o->stages & cpu)
        return find_backend("llvm", "llvm, llvm-opt and asm", &s->backend);
    return true;
}

/* Writes the page of the one type of the input. */
static bool write_page(const pw_inspect_options *o, const pw_input *input)
{
    pw_subject s = {.options = o, .input = input};
    char *data = NULL;
    size_t size;
    FILE *out = open_memstream(&data, &size);
    pw_diag diag = {.status = PW_ERR_NOMEM, .text = "out of memory"};
    pw_status status = out ? pw_inspect_html(out, &s, &diag) : PW_ERR_NOMEM;

    if (out && fclose(out))
        status = PW_ERR_NOMEM;
    pw_subject_release(&s);
    if (status != PW_OK) {
        pw_input_error(input, 0, &diag);
    } else if (!o->output) {
        fwrite(data, 1, size, stdout);
    } else {
        status = pw_replace_file(o->output, data, size, &diag);
        if (status != PW_OK)
            pw_command_error("inspect", "%s", diag.text);
    }
    free(data);
    return status == PW_OK;
}

static bool inspect_all(const pw_inspect_options *o, const pw_input *input)
{
    pw_subject subject = {.options = o, .input = input};
    pw_json writer, *json = o->json ? &writer : NULL;
    bool good = true;

    if (!find_backends(&subject))
        return false;
    if (json) {
        pw_json_begin(json, stdout);
        pw_json_open(json, NULL, '{');
        pw_json_string(json, "input", pw_input_name(input));
        pw_json_open(json, "types", '[');
    }
    for (int64_t i = 0; i < pw_input_count(input); i++)
        good &= inspect_item(subject, i, json);
    if (json) {
        pw_json_close(json, ']');
        pw_json_close(json, '}');
    }
    return good;
}

static int run_inspect(int argc, char **argv)
{
    pw_inspect_options o = {0};
    int status = pw_inspect_parse(argc, argv, &o);
    pw_input *input;
    bool good;

    if (status != PW_EXIT_OK)
        return status;
    if (o.list_passes) {
        list_passes();
        return PW_EXIT_OK;
    }
    if (pw_input_load(o.arg, &o.choice, &input) != PW_OK)
        return PW_EXIT_FAILURE;
    if (o.html && pw_input_count(input) > 1) {
        status = pw_usage_error(&pw_command_inspect,
                                "a page is about one type, and the input has %" PRId64
                                ": choose one with --name or --variant",
                                pw_input_count(input));
        pw_input_free(input);
        return status;
    }
    good = o.html ? write_page(&o, input) : inspect_all(&o, input);
    pw_input_free(input);
    return good ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

const pw_command pw_command_inspect = {"inspect", "print a layout at every stage of the compiler", help, run_inspect};
