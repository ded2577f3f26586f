/* The command line of packwright inspect. */
#include "base/env.h"
#include "tools/command.h"
#include "tools/inspect/inspect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of pw_stage; behind them the words for several stages. */
static const char *const stages[] = {"ddt",      "tree", "canonical", "nest", "shape", "llvm",
                                     "llvm-opt", "asm",  "cuda",      "ptx",  "all",   NULL};

/* The stages of a kernel for CPUs. */
static const unsigned all_stages = (1u << PW_STAGE_CUDA) - 1;
static const unsigned default_stages = 1u << PW_STAGE_TREE | 1u << PW_STAGE_CANONICAL | 1u << PW_STAGE_NEST;

/* The first dump of a lowered type, or of two joined ones. Neither is a pass, but --print-after takes their names. */
static const char lowering[] = "lower", joining[] = "join";

const char *pw_stage_name(pw_stage stage)
{
    return stages[stage];
}

#define usage(...) pw_usage_error(&pw_command_inspect, __VA_ARGS__)

static int parse_stage(const char *word, pw_inspect_options *o)
{
    for (int i = 0; stages[i]; i++) {
        if (!strcmp(word, stages[i])) {
            o->stages = i == PW_STAGE_COUNT ? all_stages : 1u << i;
            o->stages_given = true;
            return PW_EXIT_OK;
        }
    }
    return pw_unknown_word(&pw_command_inspect, "stage", word, stages);
}

static int parse_print_after(const char *word, pw_inspect_options *o)
{
    const char *names[PW_MAX_PASSES + 3] = {lowering, joining};
    int n;
    const pw_pass *table = pw_pass_table(&n);

    o->print_after = word;
    if (pw_pass_find(word) || !strcmp(word, lowering) || !strcmp(word, joining) || !strcmp(word, "all"))
        return PW_EXIT_OK;
    for (int i = 0; i < n; i++)
        names[i + 2] = table[i].name;
    return pw_unknown_word(&pw_command_inspect, "pass", word, names);
}

static int parse_elide(const char *word, pw_inspect_options *o)
{
    o->elide_given = true;
    return pw_take_number(&pw_command_inspect, "elide", word, 0, INT64_MAX, &o->elide);
}

static int parse_variant(const char *word, pw_inspect_options *o)
{
    o->choice.only_variant = true;
    return pw_take_number(&pw_command_inspect, "variant", word, 0, INT64_MAX, &o->choice.variant);
}

static int parse_name(const char *word, pw_inspect_options *o)
{
    o->choice.name = word;
    return PW_EXIT_OK;
}

static int parse_target(const char *word, pw_inspect_options *o)
{
    o->triple = word;
    return PW_EXIT_OK;
}

static int parse_cpu(const char *word, pw_inspect_options *o)
{
    o->cpu = word;
    return PW_EXIT_OK;
}

static int parse_output(const char *word, pw_inspect_options *o)
{
    o->output = word;
    return *word ? PW_EXIT_OK : usage("--output needs a value");
}

static int parse_gpu(const char *word, pw_inspect_options *o)
{
    o->gpu_given = true;
    if (!pw_target_parse_gpu(word, &o->gpu))
        return usage("--gpu takes an architecture such as sm_90, got '%s'", word);
    return PW_EXIT_OK;
}

/* ---- the table of options ---------------------------------------------------------------------------------------- */

typedef int value_fn(const char *value, pw_inspect_options *o);

static const struct {
    const char *name;
    value_fn *parse; /* the option takes a value */
    size_t flag;     /* without `parse`: the offset of the bool that the option sets */
} table[] = {
    {"--stage", parse_stage, 0},
    {"--print-after", parse_print_after, 0},
    {"--elide", parse_elide, 0},
    {"--name", parse_name, 0},
    {"--variant", parse_variant, 0},
    {"--target", parse_target, 0},
    {"--target-cpu", parse_cpu, 0},
    {"--gpu", parse_gpu, 0},
    {"--output", parse_output, 0},
    {"--html", NULL, offsetof(pw_inspect_options, html)},
    {"--prelude", NULL, offsetof(pw_inspect_options, prelude)},
    {"--list-passes", NULL, offsetof(pw_inspect_options, list_passes)},
    {"--stats", NULL, offsetof(pw_inspect_options, stats)},
    {"--why", NULL, offsetof(pw_inspect_options, why)},
    {"--json", NULL, offsetof(pw_inspect_options, json)},
    {"--hash", NULL, offsetof(pw_inspect_options, hash)},
    {"--join", NULL, offsetof(pw_inspect_options, join)},
};

enum { OPTIONS = sizeof table / sizeof *table };

static int parse_option(const char *arg, pw_inspect_options *o)
{
    size_t n = strcspn(arg, "=");
    bool has_value = arg[n] == '=';

    if (!strcmp(arg, "--print-after-all")) {
        o->print_after = "all";
        return PW_EXIT_OK;
    }
    for (int i = 0; i < OPTIONS; i++) {
        if (strlen(table[i].name) != n || strncmp(arg, table[i].name, n) != 0)
            continue;
        if ((table[i].parse != NULL) != has_value)
            break;
        if (table[i].parse)
            return table[i].parse(arg + n + 1, o);
        *(bool *)((char *)o + table[i].flag) = true;
        return PW_EXIT_OK;
    }
    return pw_wrong_argument(&pw_command_inspect, arg);
}

/* ---- the command line as a whole --------------------------------------------------------------------------------- */

/* Refuses a pass that runs after the last stage asked for, since it would print nothing. */
static int check_print_after(const pw_inspect_options *o)
{
    const pw_pass *pass = o->print_after ? pw_pass_find(o->print_after) : NULL;
    pw_stage needed = pass && pass->on_tree ? PW_STAGE_CANONICAL : PW_STAGE_NEST, last = PW_STAGE_DDT;

    if (!o->print_after || !strcmp(o->print_after, "all"))
        return PW_EXIT_OK;
    for (int i = 0; i < PW_STAGE_COUNT; i++)
        if (o->stages & 1u << i)
            last = (pw_stage)i;
    if (last >= needed)
        return PW_EXIT_OK;
    return usage("'%s' does not run up to the stage '%s'; use --stage=%s", o->print_after, stages[last],
                 stages[needed]);
}

static int check_combinations(const pw_inspect_options *o)
{
    if (o->html && (o->json || o->why || o->hash || o->join || o->stats || o->print_after || o->stages_given))
        return usage("--html shows every stage and stands alone");
    if (o->output && !o->html)
        return usage("--output goes with --html");
    if (o->prelude && !(o->stages & 1u << PW_STAGE_CUDA) && !o->html)
        return usage("--prelude goes with --stage=cuda");
    if (o->hash && (o->json || o->why || o->stages_given))
        return usage("--hash stands alone: --json has the hashes, too");
    if (o->json && (o->print_after || o->stats || o->why))
        return usage("--json says what --why, --stats do, and has no place for --print-after");
    if (o->join && (o->json || o->why || o->hash))
        return usage("--join goes with the stages only");
    return check_print_after(o);
}

static int find_target(pw_inspect_options *o)
{
    const char *cpu = o->cpu ? o->cpu : o->triple ? "native" : pw_env_string(PW_ENV_TARGET_CPU);
    pw_diag diag;

    if (pw_target_parse(o->triple, cpu, &o->target, &diag) != PW_OK)
        return usage("%s", diag.text);
    return PW_EXIT_OK;
}

/* How many entries of a list are shown to people; programs get them all. */
enum { LIST_SHOWN = 16 };

int pw_inspect_parse(int argc, char **argv, pw_inspect_options *o)
{
    bool only_operands = false;
    int status = PW_EXIT_OK;

    o->gpu = pw_target_gpu(9, 0);
    for (int i = 1; i < argc && status == PW_EXIT_OK; i++) {
        if (!only_operands && !strcmp(argv[i], "-o")) {
            status = i + 1 < argc ? parse_output(argv[++i], o) : usage("-o needs a value");
            continue;
        }
        if (!only_operands && !strcmp(argv[i], "--"))
            only_operands = true;
        else if (!only_operands && argv[i][0] == '-' && argv[i][1])
            status = parse_option(argv[i], o);
        else if (o->arg)
            status = usage("one TYPE or FILE at a time: '%s' is one too many", argv[i]);
        else
            o->arg = argv[i];
    }
    if (status == PW_EXIT_OK && !o->arg && !o->list_passes)
        status = usage("which TYPE or FILE? ('-' is standard input)");
    if (status == PW_EXIT_OK)
        status = find_target(o);
    if (!o->elide_given && (o->html || (isatty(STDOUT_FILENO) && !o->json)))
        o->elide = LIST_SHOWN;
    /* Options that print facts replace the stages, unless --stage asks for some. */
    if (!o->stages_given)
        o->stages = o->hash || ((o->why || o->json) && !o->print_after) ? 0 : default_stages;
    return status == PW_EXIT_OK ? check_combinations(o) : status;
}
