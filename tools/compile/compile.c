/* packwright compile: kernels ahead of time, as plain C functions or as cache entries. */
#include "tools/compile/compile.h"

#include "base/replace.h"
#include "tools/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct compile_options {
    const char *input;
    const char *output, *header, *cache; /* NULL when not given */
    const char *triple;
    const char *cpus[PW_AOT_CPUS];
    pw_target gpus[PW_AOT_GPUS];
    int ncpus, ngpus;
    pw_aot_names names;
} compile_options;

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* "--name=VALUE" or "--name VALUE" (also "-o VALUE"): takes the value. False when argv[*i] is another option. */
static bool take_value(const char *name, int argc, char **argv, int *i, const char **out)
{
    size_t n = strlen(name);

    if (strncmp(argv[*i], name, n) != 0)
        return false;
    if (argv[*i][n] == '=' && name[1] == '-') {
        *out = argv[*i] + n + 1;
        return true;
    }
    if (argv[*i][n] != '\0')
        return false;
    *out = *i + 1 < argc ? argv[++*i] : "";
    return true;
}

static int take_cpu(compile_options *o, const char *cpu)
{
    if (o->ncpus == PW_AOT_CPUS)
        return pw_usage_error(&pw_command_compile, "more than %d times --target-cpu", PW_AOT_CPUS);
    o->cpus[o->ncpus++] = cpu;
    return PW_EXIT_OK;
}

/* Parses a list such as "sm_80,sm_90"; an architecture that is named twice is taken once. */
static int take_gpus(compile_options *o, const char *list)
{
    for (const char *word = list; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        char name[16];
        pw_target gpu;
        int known = 0;

        snprintf(name, sizeof name, "%.*s", (int)strcspn(word, ","), word);
        if (strcspn(word, ",") >= sizeof name || !pw_target_parse_gpu(name, &gpu))
            return pw_usage_error(&pw_command_compile,
                                  "--gpu takes architectures such as sm_90, or sm_80,sm_90, got '%s'", list);
        while (known < o->ngpus && strcmp(o->gpus[known].cpu, gpu.cpu) != 0)
            known++;
        if (known == PW_AOT_GPUS)
            return pw_usage_error(&pw_command_compile, "more than %d GPUs", PW_AOT_GPUS);
        o->gpus[known] = gpu;
        o->ngpus += known == o->ngpus;
    }
    return PW_EXIT_OK;
}

/* Returns PW_EXIT_OK, or the status to exit with. */
static int take_option(compile_options *o, int argc, char **argv, int *i)
{
    const char *cpu = NULL, *gpus = NULL;
    struct {
        const char *name, **value;
    } valued[] = {{"-o", &o->output},         {"--output", &o->output}, {"--header", &o->header},
                  {"--cache", &o->cache},     {"--target", &o->triple}, {"--prefix", &o->names.prefix},
                  {"--name", &o->names.only}, {"--target-cpu", &cpu},   {"--gpu", &gpus}};
    const char *option = argv[*i];

    for (size_t k = 0; k < sizeof valued / sizeof *valued; k++) {
        if (!take_value(valued[k].name, argc, argv, i, valued[k].value))
            continue;
        if (!**valued[k].value)
            return pw_usage_error(&pw_command_compile, "%s needs a value", valued[k].name);
        return cpu ? take_cpu(o, cpu) : gpus ? take_gpus(o, gpus) : PW_EXIT_OK;
    }
    return pw_wrong_argument(&pw_command_compile, option);
}

static bool is_identifier(const char *s)
{
    static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

    return *s && strchr(letters, *s) &&
           s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")] == '\0';
}

/* Refuses options that do not go together. */
static int check_options(const compile_options *o)
{
    const pw_command *self = &pw_command_compile;

    if (!o->input)
        return pw_usage_error(self, "what is to be compiled? Give a file or a type");
    if (o->ngpus > 0 && !o->cache)
        return pw_usage_error(self, "--gpu goes with --cache DIR: kernels for GPUs are cache entries");
    if (!o->output && !o->cache)
        return pw_usage_error(self, "where to? Say -o FILE or --cache DIR");
    if (o->output && o->cache)
        return pw_usage_error(self, "either -o or --cache");
    if (o->cache && (o->header || *o->names.prefix || o->names.only))
        return pw_usage_error(self, "cache entries have no header and no names of their own");
    if (o->output && o->ncpus > 1)
        return pw_usage_error(self, "one --target-cpu for one output; --cache takes several");
    if (o->output && o->header && !strcmp(o->output, o->header))
        return pw_usage_error(self, "-o and --header are the same file");
    if (*o->names.prefix && !is_identifier(o->names.prefix))
        return pw_usage_error(self, "--prefix=%s: no identifier of C", o->names.prefix);
    if (o->names.only && !is_identifier(o->names.only))
        return pw_usage_error(self, "--name=%s: no identifier of C", o->names.only);
    return PW_EXIT_OK;
}

static int parse_options(compile_options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bool is_option = argv[i][0] == '-' && argv[i][1] != '\0';
        int status = PW_EXIT_OK;

        if (is_option)
            status = take_option(o, argc, argv, &i);
        else if (o->input)
            status = pw_usage_error(&pw_command_compile, "one input at a time: '%s' is one too many", argv[i]);
        else
            o->input = argv[i];
        if (status != PW_EXIT_OK)
            return status;
    }
    return check_options(o);
}

/* Finds the kind of output by the end of the file's name. */
static bool emit_of(const char *path, pw_emit *out)
{
    static const struct {
        const char *end;
        pw_emit emit;
    } kinds[] = {{".o", PW_EMIT_OBJECT}, {".so", PW_EMIT_SHARED}, {".s", PW_EMIT_ASM}, {".ll", PW_EMIT_IR}};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(dot, kinds[i].end)) {
            *out = kinds[i].emit;
            return true;
        }
    return false;
}

/*
 * An object is for machines that are not known, so without --target-cpu it is compiled for the least CPU of its
 * architecture; cache entries are for this machine. "native" is refused for another architecture, since it would
 * quietly mean another CPU.
 */
static int find_target(const compile_options *o, const char *cpu, pw_target *out)
{
    pw_diag diag = {0};
    pw_status status = pw_target_parse(o->triple, cpu ? cpu : "native", out, &diag);

    if (status == PW_OK && !cpu && !o->cache)
        status = pw_target_parse(o->triple, strcmp(out->arch, "x86_64") ? "generic" : "x86-64", out, &diag);
    if (status == PW_OK && cpu && !strcmp(cpu, "native") && strcmp(out->arch, pw_target_host()->arch) != 0)
        status = pw_diag_set(&diag, PW_ERR_INVALID, "--target-cpu=native is this machine's %s, not %s",
                             pw_target_host()->arch, out->arch);
    return status == PW_OK ? PW_EXIT_OK : pw_usage_error(&pw_command_compile, "%s", diag.text);
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

static pw_status report(const pw_diag *diag)
{
    pw_command_error("compile", "%s", diag->text);
    return diag->status;
}

/* Compiles all types into one output. */
static pw_status compile_types(const pw_aot_types *types, const pw_target *target, pw_emit emit, const char *soname,
                               pw_blob *out)
{
    pw_diag diag = {.status = PW_ERR_NOMEM, .text = "out of memory"};
    const pw_backend *backend = pw_backend_load("llvm", &diag);
    pw_compile_job *jobs = calloc((size_t)types->n, sizeof *jobs);
    pw_status status = PW_ERR_NOMEM;

    for (int64_t i = 0; jobs && i < types->n; i++) {
        const pw_aot_type *t = &types->at[i];

        jobs[i] = (pw_compile_job){.shape = t->shape,
                                   .target = target,
                                   .emit = emit,
                                   .pack_name = t->pack,
                                   .unpack_name = t->unpack,
                                   .embed = &t->args,
                                   .nest = t->nest,
                                   .soname = soname,
                                   .next = i + 1 < types->n ? &jobs[i + 1] : NULL};
    }
    if (backend && jobs)
        status = backend->compile(jobs, out, &diag);
    free(jobs);
    return status == PW_OK ? PW_OK : report(&diag);
}

/* Writes the object and its header: both or neither. */
static pw_status write_both(const compile_options *o, const pw_blob *object, const char *header)
{
    pw_replacement main_file, header_file = {0};
    pw_diag diag = {0};
    pw_status status = pw_replace_prepare(&main_file, o->output, object->data, object->size, &diag);

    if (status == PW_OK && header)
        status = pw_replace_prepare(&header_file, o->header, header, strlen(header), &diag);
    if (status == PW_OK && header)
        status = pw_replace_commit(&header_file, &diag);
    if (status == PW_OK)
        status = pw_replace_commit(&main_file, &diag);
    pw_replace_discard(&header_file);
    pw_replace_discard(&main_file);
    return status == PW_OK ? PW_OK : report(&diag);
}

static pw_status compile_objects(const compile_options *o, const pw_input *input, const pw_target *target, pw_emit emit)
{
    const char *slash = strrchr(o->output, '/');
    pw_aot_types types;
    pw_blob object = {0};
    char *header = NULL;
    pw_status status = pw_aot_types_load(input, &o->names, &types);

    if (status == PW_OK)
        status = compile_types(&types, target, emit, slash ? slash + 1 : o->output, &object);
    if (status == PW_OK && o->header) {
        header = pw_aot_header(input, &types, &o->names, target, o->header);
        if (!header)
            status = report(&(pw_diag){.status = PW_ERR_NOMEM, .text = "out of memory"});
    }
    if (status == PW_OK)
        status = write_both(o, &object, header);
    free(header);
    pw_blob_free(&object);
    pw_aot_types_free(&types);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static pw_status compile_entries(const compile_options *o, const pw_input *input, const pw_target *targets, int n)
{
    pw_aot_types types;
    pw_status status = pw_aot_types_load(input, NULL, &types);

    if (status == PW_OK)
        status = pw_aot_fill_cache(input, &types, targets, n, o->cache);
    pw_aot_types_free(&types);
    return status;
}

/* Finds the processors to compile for: those that are named. With --gpu alone there is no CPU. */
static int find_targets(const compile_options *o, pw_target *out, int *n)
{
    int ncpus = o->ncpus > 0 ? o->ncpus : o->triple || o->ngpus == 0, status = PW_EXIT_OK;

    for (int i = 0; i < ncpus && status == PW_EXIT_OK; i++)
        status = find_target(o, o->cpus[i], &out[i]);
    memcpy(out + ncpus, o->gpus, (size_t)o->ngpus * sizeof *out);
    *n = ncpus + o->ngpus;
    return status;
}

static int run(int argc, char **argv)
{
    compile_options o = {.names.prefix = ""};
    int status = parse_options(&o, argc, argv), ntargets = 0;
    pw_target targets[PW_AOT_CPUS + PW_AOT_GPUS];
    pw_input *input = NULL;
    pw_emit emit = PW_EMIT_OBJECT;

    if (status == PW_EXIT_OK && o.output && !emit_of(o.output, &emit))
        status = pw_usage_error(&pw_command_compile, "-o %s: the name must end in .o, .so, .s or .ll", o.output);
    if (status == PW_EXIT_OK)
        status = find_targets(&o, targets, &ntargets);
    if (status != PW_EXIT_OK)
        return status;
    if (pw_input_load(o.input, NULL, &input) != PW_OK)
        return PW_EXIT_FAILURE;
    if (o.names.only && pw_input_count(input) > 1)
        status = pw_usage_error(&pw_command_compile, "--name=%s: the input has more than one type", o.names.only);
    else if ((o.cache ? compile_entries(&o, input, targets, ntargets)
                      : compile_objects(&o, input, &targets[0], emit)) != PW_OK)
        status = PW_EXIT_FAILURE;
    pw_input_free(input);
    return status;
}

const pw_command pw_command_compile = {
    "compile", "make kernels ahead of time: C functions, or cache entries",
    "usage: packwright compile [OPTIONS] FILE|TYPE -o OUTPUT\n"
    "       packwright compile [OPTIONS] FILE|TYPE --cache=DIR\n\n"
    "The first form writes, for every type NAME of a file in the datatype language ('-' is standard\n"
    "input), two C functions:\n\n"
    "  void pack_NAME(void *packed, const void *mem, int64_t count);\n"
    "  void unpack_NAME(void *mem, const void *packed, int64_t count);\n\n"
    "They need no MPI and no Packwright. The end of OUTPUT's name says what it is: an object (.o), a\n"
    "shared object (.so), assembly (.s) or LLVM IR (.ll). After any error nothing is written.\n\n"
    "The second form writes the kernels that a run would compile for these types into a cache\n"
    "directory: a run with PACKWRIGHT_CACHE_DIR=DIR then compiles none of them. They are for the CPUs\n"
    "and GPUs that are named, or else for this machine's CPU. For each GPU there are also the kernels\n"
    "that runs ask for whatever types they have. They serve all GPUs of the architecture, with CUDA\n"
    "drivers of this NVRTC's major release or a later one.\n\n"
    "  -o, --output=FILE     where the functions go\n"
    "  --header=FILE         a C and C++ header: the functions, and NAME_SIZE, NAME_EXTENT, NAME_LO, NAME_HI\n"
    "  --prefix=P            put P before every identifier\n"
    "  --name=NAME           the name of the only type of the input\n"
    "  --cache=DIR           write cache entries\n"
    "  --target=TRIPLE       x86_64-linux-gnu or aarch64-linux-gnu (default: this machine's)\n"
    "  --target-cpu=CPU      native, x86-64-v3, znver4, neoverse-n1, ... With -o the default is the least\n"
    "                        CPU of the architecture, with --cache it is native; --cache takes several\n"
    "  --gpu=ARCH,...        with --cache: the architectures of GPUs, by compute capability (sm_90 is 9.0);\n"
    "                        takes an NVRTC that knows them, but no GPU\n",
    run};
