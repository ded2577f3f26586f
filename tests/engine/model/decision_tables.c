/*
 * Whole decision tables, frozen: decision_tables MODEL.json [EXPECTED.txt]
 *
 * Prints which strategy is the cheapest for every size and block length, by the model of a file with mocked
 * measurements; with a second file, compares. On a change that is meant, run it with one argument and look at the
 * difference before the expectation is replaced.
 */
#include "base/strategy_table.h"
#include "runtime/engine/model/decide.h"
#include "runtime/engine/model/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20 };

typedef struct cell {
    const pw_model *model;
    pw_model_query query;
    bool aware; /* of GPUs: the MPI */
} cell;

static const char letters[PW_STRATEGY_COUNT] = {
    [PW_STRATEGY_NATIVE] = 'n',   [PW_STRATEGY_PACKED] = 'p',   [PW_STRATEGY_DEVICE] = 'd',
    [PW_STRATEGY_PIPELINE] = 'k', [PW_STRATEGY_ONE_SHOT] = 'o', [PW_STRATEGY_STAGED] = 's',
    [PW_STRATEGY_PIPELINED] = 'c'};

static pw_estimate estimate(void *arg, int strategy)
{
    const cell *c = arg;
    const pw_model_query *q = &c->query;
    bool device = q->memory == PW_MODEL_DEVICE;
    pw_estimate e = {.total = -1};

    switch (strategy) {
    case PW_STRATEGY_NATIVE: e.total = device && !c->aware ? 1e18 : pw_model_cost_native(c->model, q); break;
    case PW_STRATEGY_PACKED: e.total = device ? -1 : pw_model_cost(c->model, PW_MODEL_HOST, q); break;
    case PW_STRATEGY_PIPELINE:
        e.total = device || q->kind > PW_CALL_NONBLOCKING ? -1 : pw_model_cost_pipeline(c->model, q);
        break;
    case PW_STRATEGY_DEVICE:
        e.total = device && c->aware && !q->contiguous ? pw_model_cost(c->model, PW_MODEL_DEVICE, q) : -1;
        break;
    case PW_STRATEGY_ONE_SHOT:
        e.total = device && !q->contiguous ? pw_model_cost(c->model, PW_MODEL_MAPPED, q) : -1;
        break;
    case PW_STRATEGY_STAGED: e.total = device ? pw_model_cost(c->model, PW_MODEL_STAGED, q) : -1; break;
    case PW_STRATEGY_PIPELINED:
        e.total = device && !q->contiguous ? pw_model_cost(c->model, PW_MODEL_PIPELINED, q) : -1;
        break;
    }
    return e;
}

static char decide(cell *c, int64_t bytes, int64_t block, int spread)
{
    pw_decision_key key = {.layout = {(uint64_t)block, c->query.contiguous ? 0 : (uint64_t)spread},
                           .size = pw_decision_size(bytes),
                           .kind = (uint8_t)c->query.kind,
                           .memory = (uint8_t)c->query.memory,
                           .device = c->aware};

    const pw_question question = {.strategies = PW_STRATEGY_COUNT, .forced = -1, .fn = estimate, .arg = c};

    c->query.shape = (pw_model_shape){bytes, block, spread};
    return letters[pw_decide(&key, &question, NULL)];
}

static char decide_contiguous(cell *c, int64_t bytes)
{
    char letter;

    c->query.contiguous = true;
    letter = decide(c, bytes, bytes, PW_MODEL_NEAR);
    c->query.contiguous = false;
    return letter;
}

static void print_row(FILE *out, cell *c, int64_t bytes)
{
    fprintf(out, "%10lld ", (long long)bytes);
    for (int64_t block = 4; block <= 1 << 20; block *= 4)
        fprintf(out, "   %c%c", block > bytes ? '.' : decide(c, bytes, block, PW_MODEL_NEAR),
                block > bytes ? '.' : decide(c, bytes, block, PW_MODEL_FAR));
    if (c->query.memory == PW_MODEL_DEVICE)
        fprintf(out, "    %c", decide_contiguous(c, bytes));
    fputc('\n', out);
}

static void print_table(FILE *out, const pw_model *m, pw_call_kind kind, pw_model_memory memory, bool aware)
{
    static const char *const kinds[] = {"blocking", "nonblocking", "collective", "neighbourhood", "one-sided", "I/O"};
    cell c = {.model = m, .query = {.kind = kind, .memory = memory, .chunk = CHUNK}, .aware = aware};

    fprintf(out, "%s, %s\n     bytes ", kinds[kind],
            memory == PW_MODEL_HOST ? "host"
            : aware                 ? "GPU, MPI aware of it"
                                    : "GPU, MPI not aware of it");
    for (int64_t block = 4; block <= 1 << 20; block *= 4)
        fprintf(out,
                block < 1024      ? "%5lld"
                : block < 1 << 20 ? "%4lldK"
                                  : "%4lldM",
                (long long)(block < 1024      ? block
                            : block < 1 << 20 ? block >> 10
                                              : block >> 20));
    fputs(memory == PW_MODEL_DEVICE ? "  all\n" : "\n", out);
    for (int64_t bytes = 64; bytes <= 64 << 20; bytes *= 4)
        print_row(out, &c, bytes);
    fputc('\n', out);
}

static void print_all(FILE *out, const pw_model *m)
{
    fputs("Strategy by message size and block length, blocks near and far:\n"
          "n native, p packed, k kernels in the pipeline, d device, o one-shot, s staged, c pipelined in chunks\n\n",
          out);
    for (unsigned kind = 0; kind < PW_MODEL_KINDS; kind++)
        if (pw_model_has(m, PW_TABLE_NATIVE_HOST + kind))
            print_table(out, m, (pw_call_kind)kind, PW_MODEL_HOST, false);
    for (int aware = 0; aware < 2; aware++)
        for (unsigned kind = 0; kind < PW_MODEL_KINDS; kind++)
            if (kind == PW_CALL_BLOCKING || pw_model_has(m, PW_TABLE_SEND_DEVICE + kind))
                print_table(out, m, (pw_call_kind)kind, PW_MODEL_DEVICE, aware);
}

static char *load(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 16);
    size_t n = f && text ? fread(text, 1, (1 << 16) - 1, f) : 0;

    if (f)
        fclose(f);
    return n > 0 ? text : (free(text), NULL);
}

/* The first lines that differ. */
static int compare(const char *got, const char *wanted)
{
    int line = 1;

    while (*got && *wanted) {
        size_t n = strcspn(got, "\n"), k = strcspn(wanted, "\n");

        if (n != k || memcmp(got, wanted, n)) {
            printf("line %d:\n  expected %.*s\n  got      %.*s\n", line, (int)k, wanted, (int)n, got);
            return 1;
        }
        got += n + (got[n] == '\n');
        wanted += k + (wanted[k] == '\n');
        line++;
    }
    if (*got || *wanted)
        printf("line %d: one ends\n", line);
    return *got || *wanted;
}

int main(int argc, char **argv)
{
    pw_model *m = NULL;
    pw_diag diag = {0};
    char *got = NULL, *wanted;
    size_t size;
    FILE *out;
    int wrong;

    if (argc < 2 || argc > 3)
        return fputs("usage: decision_tables MODEL.json [EXPECTED.txt]\n", stderr), 2;
    if (pw_model_read(argv[1], &m, &diag) != PW_OK)
        return fprintf(stderr, "%s: %s\n", argv[1], diag.text), 1;
    out = argc == 3 ? open_memstream(&got, &size) : stdout;
    print_all(out, m);
    pw_model_destroy(m);
    if (argc == 2)
        return 0;
    fclose(out);
    wanted = load(argv[2]);
    wrong = wanted ? compare(got, wanted) : (printf("cannot read %s\n", argv[2]), 1);
    free(got);
    free(wanted);
    return wrong;
}
