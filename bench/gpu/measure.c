#include "bench/gpu/measure.h"

#include "base/samples.h"
#include "bench/clock.h"

#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES = 512 << 20, MAPPED_BYTES = 64 << 20, CHECKED_BYTES = 1 << 20, SLOW_REPS = 5 };

/* ---- the machine ------------------------------------------------------------------------------------------------ */

static double time_copy(const gpu_bench *b, gpu_ptr to, gpu_ptr from, size_t bytes)
{
    enum { REPS = 9 };
    gpu_event start = gpu_event_make(), end = gpu_event_make();
    double us[REPS];

    for (int i = 0; i < REPS; i++) {
        gpu_event_record_on(start, b->stream);
        gpu_copy_on(b->stream, to, from, bytes);
        gpu_event_record_on(end, b->stream);
        us[i] = (double)gpu_event_microseconds(start, end);
    }
    return pw_samples_median(us, REPS);
}

void gpu_measure_machine(gpu_bench *b)
{
    size_t bytes = b->max_span / 2 < COPY_BYTES ? b->max_span / 2 : COPY_BYTES;

    b->device_bandwidth = 2 * (double)bytes / time_copy(b, b->memory, b->memory + bytes, bytes);
    b->mapped_bandwidth[0] = MAPPED_BYTES / time_copy(b, b->mapped, b->packed, MAPPED_BYTES);
    b->mapped_bandwidth[1] = MAPPED_BYTES / time_copy(b, b->packed, b->mapped, MAPPED_BYTES);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Microseconds that the bytes alone take; those of index tables are read, too. */
static double limit_of(const gpu_bench *b, const gpu_subject *s, bool unpack, gpu_where where)
{
    const gpu_touched *t = &s->touched;
    double memory = t->granules + (unpack ? t->filled : 0) + (double)s->kernel.table_bytes;

    if (where == WHERE_DEVICE)
        return (memory + t->size) / b->device_bandwidth;
    return larger(memory / b->device_bandwidth, t->size / b->mapped_bandwidth[unpack]);
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

static gpu_work work_of(const gpu_bench *b, const gpu_subject *s, bool unpack, gpu_ptr packed)
{
    return (gpu_work){
        .bench = b, .subject = s, .unpack = unpack, .packed = packed, .origin = b->memory - (gpu_ptr)s->type.root->lo};
}

static void require(bool ok, const gpu_subject *s, const char *what, const char *peer)
{
    if (!ok) {
        fprintf(stderr, "%s, %lld bytes: %s by %s is wrong\n", s->row->name, (long long)s->type.root->size, what, peer);
        exit(1);
    }
}

typedef struct check {
    const unsigned char *packed;
    int64_t lo;
    bool ok;
} check;

static bool check_block(void *arg, int64_t off, int64_t n)
{
    check *c = arg;

    for (int64_t i = 0; i < n; i++)
        c->ok &= *c->packed++ == gpu_random_byte((uint64_t)(off + i - c->lo), 1);
    return c->ok;
}

static void verify_by_walk(const gpu_bench *b, const gpu_subject *s)
{
    size_t size = (size_t)s->type.root->size;
    unsigned char *host = malloc(size);
    check c = {.packed = host, .lo = s->type.root->lo, .ok = host != NULL};

    if (c.ok) {
        gpu_download(host, b->packed, size);
        pw_walk(s->type.root, 0, check_block, &c);
    }
    require(c.ok, s, "pack", gpu_peers[PEER_SPECIALISED].name);
    free(host);
}

static void run(const gpu_work *w, gpu_peer_id id)
{
    gpu_peers[id].start(w);
    gpu_stream_wait(w->bench->stream);
}

void gpu_verify(const gpu_bench *b, const gpu_subject *s)
{
    static const gpu_peer_id others[] = {PEER_TIER0, PEER_GENERIC, PEER_COPY_2D};
    size_t size = (size_t)s->type.root->size, span = (size_t)(s->type.root->hi - s->type.root->lo);
    const gpu_work pack = work_of(b, s, false, b->packed), again = work_of(b, s, false, b->other);
    const gpu_work unpack = work_of(b, s, true, b->packed);

    gpu_fill_random(&b->generic, b->memory, span, 1);
    run(&pack, PEER_SPECIALISED);
    if (size <= CHECKED_BYTES)
        verify_by_walk(b, s);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (gpu_peers[others[i]].takes(&again)) {
            run(&again, others[i]);
            require(gpu_differences(&b->generic, b->packed, b->other, size) == 0, s, "pack", gpu_peers[others[i]].name);
        }
    gpu_fill_random(&b->generic, b->memory, span, 2);
    run(&unpack, PEER_SPECIALISED);
    run(&again, PEER_SPECIALISED);
    require(gpu_differences(&b->generic, b->packed, b->other, size) == 0, s, "unpack",
            gpu_peers[PEER_SPECIALISED].name);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static void scrub(const gpu_bench *b)
{
    gpu_copy_on(b->stream, b->scrub, b->scrub + b->scrub_bytes / 2, b->scrub_bytes / 2);
}

static bool is_cold(const gpu_work *w)
{
    return !w->bench->warm && w->subject->type.root->size >= SCRUB_FROM;
}

static double time_once(const gpu_work *w, gpu_peer_id id)
{
    const gpu_bench *b = w->bench;
    double start, us;

    if (is_cold(w)) {
        scrub(b);
        gpu_stream_wait(b->stream);
    }
    start = bench_now();
    gpu_peers[id].start(w);
    gpu_peers[id].wait(w);
    us = (bench_now() - start) / 1e3;
    gpu_stream_wait(b->stream);
    return us;
}

/* On the GPU's clock, between two events: the launch is over long before the copy in front of it. */
static double time_on_gpu(const gpu_work *w, gpu_peer_id id, gpu_event start, gpu_event end)
{
    scrub(w->bench);
    gpu_event_record_on(start, w->bench->stream);
    gpu_peers[id].start(w);
    gpu_event_record_on(end, w->bench->stream);
    return (double)gpu_event_microseconds(start, end);
}

static void measure_on_gpu(const gpu_work *w, int reps, gpu_result *r)
{
    static double ours[MAX_REPS], empty[MAX_REPS];
    gpu_event start = gpu_event_make(), end = gpu_event_make();

    for (int i = 0; i < reps; i++) {
        ours[i] = time_on_gpu(w, PEER_SPECIALISED, start, end);
        empty[i] = time_on_gpu(w, PEER_EMPTY, start, end);
    }
    r->kernel = pw_samples_median(ours, reps);
    r->kernel_floor = pw_samples_median(empty, reps);
    gpu_event_free(start);
    gpu_event_free(end);
}

gpu_result gpu_measure(const gpu_bench *b, const gpu_subject *s, bool unpack, gpu_where where, int reps)
{
    static double us[PEERS][MAX_REPS];
    const gpu_work w = work_of(b, s, unpack, where == WHERE_DEVICE ? b->packed : b->mapped);
    gpu_result r = {.payload = s->payload,
                    .size = s->type.root->size,
                    .blocks = s->blocks,
                    .unpack = unpack,
                    .where = where,
                    .limit = limit_of(b, s, unpack, where)};
    bool takes[PEERS];

    snprintf(r.name, sizeof r.name, "%s", s->row->name);
    for (int p = 0; p < PEERS; p++)
        takes[p] = gpu_peers[p].takes(&w);
    for (int i = -1; i < reps; i++)
        for (int p = 0; p < PEERS; p++)
            if (takes[p] && (p != PEER_BLOCKS || i < SLOW_REPS)) {
                double t = time_once(&w, (gpu_peer_id)p);

                us[p][i < 0 ? 0 : i] = t;
            }
    for (int p = 0; p < PEERS; p++)
        if (takes[p])
            r.us[p] = gpu_peer_scale((gpu_peer_id)p, s) *
                      pw_samples_median(us[p], p == PEER_BLOCKS && reps > SLOW_REPS ? SLOW_REPS : reps);
    r.floor = r.us[PEER_EMPTY];
    if (where == WHERE_DEVICE && is_cold(&w))
        measure_on_gpu(&w, reps, &r);
    return r;
}
