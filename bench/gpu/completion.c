#include "bench/gpu/completion.h"

#include "base/samples.h"
#include "bench/clock.h"
#include "codegen/nvrtc/record.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 4096, MAX_REPS = 2001 };

/* One launch, made once; `place` is a flag in mapped memory that the host sees at `seen`. */
typedef struct attempt {
    const gpu_bench *bench;
    gpu_function function;
    pw_gpu_launch launch;
    uint64_t params[MAX_WORDS];
    volatile uint64_t *seen;
    gpu_ptr place, ends;
    uint64_t next;
    gpu_graph graph;
    gpu_event event;
} attempt;

static void set_flag(attempt *a, bool flag)
{
    a->params[PW_HEAD_FLAG] = flag ? a->place : 0;
    a->params[PW_HEAD_ENDS] = a->ends;
    a->next += flag;
}

static void launch(attempt *a)
{
    gpu_launch_on(a->bench->stream, a->function, a->launch.grid, a->launch.block, a->params, a->launch.param_bytes);
}

static void launch_graph(attempt *a)
{
    gpu_graph_set(a->graph, a->function, a->launch.grid, a->launch.block, a->params);
    gpu_graph_launch(a->graph, a->bench->stream);
}

static void poll(attempt *a)
{
    while (*a->seen != a->next)
        ;
}

/* ---- the ways ---------------------------------------------------------------------------------------------------- */

static void plain_start(attempt *a)
{
    set_flag(a, false);
    launch(a);
}

static void plain_end(attempt *a)
{
    gpu_stream_wait(a->bench->stream);
}

static void params_start(attempt *a)
{
    set_flag(a, false);
    gpu_launch_params(a->bench->stream, a->function, a->launch.grid, a->launch.block, a->params);
}

static void query_end(attempt *a)
{
    while (!gpu_stream_is_done(a->bench->stream))
        ;
}

static void event_start(attempt *a)
{
    plain_start(a);
    gpu_event_record_on(a->event, a->bench->stream);
}

static void event_end(attempt *a)
{
    while (!gpu_event_is_done(a->event))
        ;
}

static void write_start(attempt *a)
{
    plain_start(a);
    gpu_write_on(a->bench->stream, a->place, (uint32_t)a->next);
}

static void flag_start(attempt *a)
{
    set_flag(a, true);
    launch(a);
}

static void graph_start(attempt *a)
{
    set_flag(a, false);
    launch_graph(a);
}

static void same_graph_start(attempt *a)
{
    gpu_graph_launch(a->graph, a->bench->stream);
}

static void graph_flag_start(attempt *a)
{
    set_flag(a, true);
    launch_graph(a);
}

typedef struct way {
    const char *name;
    void (*start)(attempt *a);
    void (*end)(attempt *a);
} way;

static const way ways[] = {
    {"launch, cuStreamSynchronize", plain_start, plain_end},
    {"launch by kernelParams, synchronize", params_start, plain_end},
    {"launch, poll cuStreamQuery", plain_start, query_end},
    {"launch, record, poll cuEventQuery", event_start, event_end},
    {"launch, cuStreamWriteValue, poll", write_start, poll},
    {"launch with flag, poll", flag_start, poll},
    {"same graph, cuStreamSynchronize", same_graph_start, plain_end},
    {"graph set, cuStreamSynchronize", graph_start, plain_end},
    {"graph set, poll cuStreamQuery", graph_start, query_end},
    {"graph set with flag, poll", graph_flag_start, poll},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void time_ways(attempt *a, int reps, const char *label)
{
    static double start[WAYS][MAX_REPS], whole[WAYS][MAX_REPS];

    for (int i = -10; i < reps; i++)
        for (int k = 0; k < WAYS; k++) {
            double t0 = bench_now(), t1, t2;
            int at = i < 0 ? 0 : i;

            ways[k].start(a);
            t1 = bench_now();
            ways[k].end(a);
            t2 = bench_now();
            start[k][at] = (t1 - t0) / 1e3;
            whole[k][at] = (t2 - t0) / 1e3;
            gpu_stream_wait(a->bench->stream);
        }
    for (int k = 0; k < WAYS; k++) {
        pw_samples_sort(start[k], reps);
        pw_samples_sort(whole[k], reps);
        printf("%-36s %-5s start %6.2f, whole %6.2f us (a tenth are below %.2f, above %.2f)\n", ways[k].name, label,
               start[k][reps / 2], whole[k][reps / 2], whole[k][reps / 10], whole[k][reps * 9 / 10]);
    }
}

void gpu_bench_completion(const gpu_bench *b, const gpu_subject *s, int reps)
{
    static attempt a;
    const pw_gpu_device device = {.multiprocessors = b->gpu.multiprocessors, .threads = b->gpu.threads};
    void *host = gpu_alloc_mapped(64, &a.place);
    gpu_ptr origin = b->memory - (gpu_ptr)s->type.root->lo;
    pw_gpu_call call = {.args = &s->kernel.args, .count = 1, .src = (const void *)(uintptr_t)origin};
    static const char *const labels[] = {"dev", "map"};

    a.bench = b;
    a.seen = host;
    memset(host, 0, 64);
    a.ends = gpu_alloc(64);
    gpu_fill(a.ends, 0, 64);
    a.event = gpu_event_make();
    a.function = s->kernel.function[0][0];
    reps = reps < MAX_REPS ? reps : MAX_REPS - 1;
    for (int mapped = 0; mapped < 2; mapped++) {
        call.dst = (void *)(uintptr_t)(mapped ? b->mapped : b->packed);
        if (pw_gpu_plan_param_bytes(s->kernel.plan) > sizeof a.params ||
            pw_gpu_launch_make(s->kernel.plan, &call, &device, a.params, &a.launch) != PW_OK || a.launch.big)
            return;
        a.graph = gpu_graph_make(a.function, a.launch.grid, a.launch.block, a.params);
        printf("%s, %lld bytes, grid %u:\n", s->row->name, (long long)s->type.root->size, a.launch.grid);
        time_ways(&a, reps, labels[mapped]);
    }
    gpu_spin(true);
    printf("with CU_CTX_SCHED_SPIN:\n");
    time_ways(&a, reps, "spin");
    gpu_spin(false);
}
