/* Contexts, streams, events and modules of the stand-in. */
#define _GNU_SOURCE
#include "tests/mpi/gpu/fake.h"

#include "runtime/engine/gpu/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    DEVICES = 2,
    STREAMS = 256,
    NAMES = 80,
    DEPTH = 16,
    GATE_SECONDS = 2,
    DELAY_NS = 3000,
    WORD_NS = 1000000, /* between two looks at a word in memory */
    DEFAULT_DELAY_NS = 20000000
};

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    struct {
        char name[48];
        long calls;
        int after, result;
    } names[NAMES];
    int n;
    long launches[3]; /* launches of tier 0, of fused moves, and of others */
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int name_of(const char *call)
{
    int i = 0;

    while (i < calls.n && strcmp(calls.names[i].name, call) != 0)
        i++;
    if (i == calls.n && calls.n < NAMES)
        strncpy(calls.names[calls.n++].name, call, sizeof calls.names[0].name - 1);
    return i;
}

bool fake_enter(const char *call, int *result)
{
    int i;

    pthread_mutex_lock(&calls.lock);
    i = name_of(call);
    calls.names[i].calls++;
    *result = FAKE_OK;
    if (calls.names[i].result != 0 && calls.names[i].after-- <= 0)
        *result = calls.names[i].result;
    pthread_mutex_unlock(&calls.lock);
    return *result == FAKE_OK;
}

void fake_fail(const char *call, int after, int result)
{
    pthread_mutex_lock(&calls.lock);
    int i = name_of(call);
    calls.names[i].after = after;
    calls.names[i].result = result;
    pthread_mutex_unlock(&calls.lock);
}

long fake_calls(const char *call)
{
    pthread_mutex_lock(&calls.lock);
    long n = calls.names[name_of(call)].calls;
    pthread_mutex_unlock(&calls.lock);
    return n;
}

static int kind_of(const char *name)
{
    return !strncmp(name, "pw_t0_", 6) ? 0 : !strncmp(name, "pw_fused_", 9) ? 1 : 2;
}

long fake_launches(const char *prefix)
{
    pthread_mutex_lock(&calls.lock);
    long n = calls.launches[kind_of(prefix)];
    pthread_mutex_unlock(&calls.lock);
    return n;
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static fake_context_t primary[DEVICES] = {{.device = 0, .id = 1}, {.device = 1, .id = 2}};
static _Thread_local fake_context_t *stack[DEPTH];
static _Thread_local int depth;
static _Atomic bool initialised;

fake_context_t *fake_current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    (void)flags;
    initialised = true;
    return FAKE_OK;
}

int cuDeviceGetCount(int *n);
int cuDeviceGetCount(int *n)
{
    *n = DEVICES;
    return FAKE_OK;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    static unsigned long long next = 10;
    fake_context_t *c = calloc(1, sizeof *c);

    (void)flags;
    *c = (fake_context_t){.device = device, .id = next++};
    stack[depth++] = c;
    *context = c;
    return FAKE_OK;
}

int cuCtxSetCurrent(void *context);
int cuCtxSetCurrent(void *context)
{
    depth = depth > 0 ? depth : 1;
    stack[depth - 1] = context;
    return FAKE_OK;
}

int cuCtxPushCurrent_v2(void *context);
int cuCtxPushCurrent_v2(void *context)
{
    FAKE_ENTER();
    if (depth == DEPTH)
        abort();
    stack[depth++] = context;
    return FAKE_OK;
}

int cuCtxPopCurrent_v2(void **context);
int cuCtxPopCurrent_v2(void **context)
{
    FAKE_ENTER();
    if (depth == 0)
        return FAKE_NO_CONTEXT;
    *context = stack[--depth];
    return FAKE_OK;
}

int cuCtxGetCurrent(void **context);
int cuCtxGetCurrent(void **context)
{
    *context = fake_current();
    return initialised ? FAKE_OK : FAKE_NOT_INITIALIZED;
}

int cuCtxGetDevice(int *device);
int cuCtxGetDevice(int *device)
{
    if (!fake_current())
        return FAKE_NO_CONTEXT;
    *device = fake_current()->device;
    return FAKE_OK;
}

int cuCtxGetId(void *context, unsigned long long *id);
int cuCtxGetId(void *context, unsigned long long *id)
{
    *id = ((fake_context_t *)context)->id;
    return FAKE_OK;
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
    FAKE_ENTER();
    *device = ordinal;
    return ordinal >= 0 && ordinal < DEVICES ? FAKE_OK : FAKE_INVALID;
}

int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    const char *major = getenv("FAKE_MAJOR"); /* of the compute capability */

    *value = attribute == 16 ? 4 : attribute == 39 ? 2048 : attribute == 75 ? (major ? atoi(major) : 9) : 0;
    return FAKE_OK;
}

int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    FAKE_ENTER();
    *context = &primary[device];
    return FAKE_OK;
}

int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return FAKE_OK;
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

typedef struct event {
    long recorded, done; /* how often it was recorded, and done */
} event;

typedef enum what { COPY, ROWS, FILL, LAUNCH, RECORD, WAIT, WAIT_VALUE } what;

typedef struct op {
    what what;
    uint64_t to, from;
    size_t bytes;
    int value;
    pw_cu_copy_2d rows;
    const fake_function *function;
    uint64_t *params;
    event *event;
    const _Atomic uint32_t *word; /* which is to reach `value` */
    long number;
    long after; /* works of the default stream that must be done before */
    struct op *next;
} op;

typedef struct stream {
    fake_context_t *context;
    op *first, *last;
    bool busy, used;
    bool is_default;  /* the context's default stream */
    bool is_beside;   /* not ordered with that one */
    long given, done; /* works of a default stream */
} stream;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started;
    stream list[STREAMS];
    uint64_t random;
    struct {
        int wanted, come, times, missed;
        bool open;
    } gate;
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .random = 12345};

static stream *default_of(const fake_context_t *context)
{
    for (int i = 0; i < STREAMS; i++)
        if (streams.list[i].is_default && streams.list[i].context == context)
            return &streams.list[i];
    return NULL;
}

static stream *make_default(fake_context_t *context)
{
    int i = 0;

    while (streams.list[i].used)
        i++;
    streams.list[i] = (stream){.context = context, .used = true, .is_default = true};
    return &streams.list[i];
}

static bool is_ready(const stream *s)
{
    return s->used && s->first && !s->busy &&
           (s->first->after == 0 || s->first->after <= default_of(s->context)->done) &&
           (s->first->what != WAIT || s->first->event->done >= s->first->number) &&
           (s->first->what != WAIT_VALUE || atomic_load(s->first->word) >= (uint32_t)s->first->value);
}

/* Waits until something changes. Nobody says when a word in memory does. */
static void wait_for_change(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (until.tv_nsec += WORD_NS) / 1000000000;
    until.tv_nsec %= 1000000000;
    for (int i = 0; i < STREAMS; i++)
        if (streams.list[i].first && streams.list[i].first->what == WAIT_VALUE) {
            pthread_cond_timedwait(&streams.changed, &streams.lock, &until);
            return;
        }
    pthread_cond_wait(&streams.changed, &streams.lock);
}

/* While launches are being gathered, waits until they have come, or until they are overdue. */
static void wait_for_gate(void)
{
    struct timespec until;

    if (streams.gate.wanted == 0 || streams.gate.open)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += GATE_SECONDS;
    while (streams.gate.wanted > 0 && streams.gate.come < streams.gate.wanted)
        if (pthread_cond_timedwait(&streams.changed, &streams.lock, &until) != 0) {
            streams.gate.missed++;
            streams.gate.wanted = 0;
        }
    streams.gate.times += streams.gate.wanted > 0;
    streams.gate.open = true;
    streams.gate.come = 0;
}

void fake_gather(int launches)
{
    pthread_mutex_lock(&streams.lock);
    streams.gate.wanted = launches;
    if (launches > 0)
        streams.gate.come = streams.gate.times = streams.gate.missed = 0;
    streams.gate.open = false;
    pthread_cond_broadcast(&streams.changed);
    pthread_mutex_unlock(&streams.lock);
}

int fake_gathered(int *missed)
{
    pthread_mutex_lock(&streams.lock);
    *missed = streams.gate.missed;
    int times = streams.gate.times;
    pthread_mutex_unlock(&streams.lock);
    return times;
}

static stream *pick(void)
{
    streams.random = streams.random * 6364136223846793005u + 1442695040888963407u;
    for (int i = 0; i < STREAMS; i++) {
        stream *s = &streams.list[((streams.random >> 33) + (uint64_t)i) % STREAMS];

        if (is_ready(s))
            return s;
    }
    return NULL;
}

static int copy_bytes(uint64_t to, uint64_t from, size_t bytes)
{
    void *t = fake_reach(NULL, to, bytes, true), *f = fake_reach(NULL, from, bytes, true);

    if (!t || !f)
        return FAKE_FAULT;
    memcpy(t, f, bytes);
    return FAKE_OK;
}

static int copy_rows(const pw_cu_copy_2d *c)
{
    uint64_t from = c->src_type == PW_CU_MEMORY_HOST ? (uint64_t)(uintptr_t)c->src_host : c->src_device;
    uint64_t to = c->dst_type == PW_CU_MEMORY_HOST ? (uint64_t)(uintptr_t)c->dst_host : c->dst_device;
    int result = FAKE_OK;

    for (size_t y = 0; y < c->height && result == FAKE_OK; y++)
        result = copy_bytes(to + y * c->dst_pitch, from + y * c->src_pitch, c->width);
    return result;
}

static int carry_out(const stream *s, op *o)
{
    switch (o->what) {
    case COPY: return copy_bytes(o->to, o->from, o->bytes);
    case ROWS: return copy_rows(&o->rows);
    case FILL: memset(fake_reach(NULL, o->to, o->bytes, true), o->value, o->bytes); return FAKE_OK;
    case LAUNCH: return fake_run(s->context, o->function, o->params);
    case RECORD:
    case WAIT:
    case WAIT_VALUE: break;
    }
    return FAKE_OK;
}

static void *work(void *arg)
{
    pthread_mutex_lock(&streams.lock);
    for (;;) {
        stream *s = pick();
        op *o;
        int result = FAKE_OK;

        if (!s) {
            streams.gate.open = false;
            wait_for_change();
            continue;
        }
        wait_for_gate();
        o = s->first;
        s->busy = true;
        pthread_mutex_unlock(&streams.lock);
        nanosleep(&(struct timespec){.tv_nsec = s->is_default ? DEFAULT_DELAY_NS : DELAY_NS}, NULL);
        if (!s->context->error)
            result = carry_out(s, o);
        pthread_mutex_lock(&streams.lock);
        if (result != FAKE_OK)
            s->context->error = result;
        if (o->what == RECORD)
            o->event->done = o->number;
        s->done++;
        s->first = o->next;
        if (!s->first)
            s->last = NULL;
        s->busy = false;
        free(o->params);
        free(o);
        pthread_cond_broadcast(&streams.changed);
    }
    return arg;
}

/* Adds an operation to a stream. The stream's context must be current, and must have seen no fault. */
static int put(void *handle, const op *o)
{
    stream *s = handle, *first;
    op *copy = malloc(sizeof *copy);
    int error;

    *copy = *o;
    copy->next = NULL;
    pthread_mutex_lock(&streams.lock);
    first = default_of(fake_current());
    if (!s)
        s = first = first ? first : make_default(fake_current());
    copy->after = first && first != s && !s->is_beside ? first->given : 0;
    s->given++;
    error = s->context->error ? s->context->error : s->context != fake_current() ? FAKE_BAD_HANDLE : FAKE_OK;
    if (error == FAKE_OK) {
        *(s->last ? &s->last->next : &s->first) = copy;
        s->last = copy;
        if (!streams.started)
            pthread_create(&streams.thread, NULL, work, NULL);
        streams.started = true;
        streams.gate.come += o->what == LAUNCH;
        if (o->what == RECORD)
            copy->number = ++o->event->recorded;
        if (o->what == WAIT)
            copy->number = o->event->recorded;
        pthread_cond_broadcast(&streams.changed);
    } else {
        free(copy);
    }
    pthread_mutex_unlock(&streams.lock);
    return error;
}

int cuStreamCreate(void **out, unsigned flags);
int cuStreamCreate(void **out, unsigned flags)
{
    int i = 0;

    FAKE_ENTER();
    if (!fake_current())
        return FAKE_NO_CONTEXT;
    pthread_mutex_lock(&streams.lock);
    while (i < STREAMS && streams.list[i].used)
        i++;
    if (i < STREAMS)
        streams.list[i] =
            (stream){.context = fake_current(), .used = true, .is_beside = flags == PW_CU_STREAM_NON_BLOCKING};
    pthread_mutex_unlock(&streams.lock);
    *out = &streams.list[i];
    return i < STREAMS ? FAKE_OK : FAKE_NO_MEMORY;
}

/* Whether the default stream is in order with work that is not done. */
static bool is_before_default(const stream *s, const fake_context_t *context)
{
    return s->context == context && s->first && !s->is_beside;
}

static int query_context(const fake_context_t *context)
{
    bool is_done = true;

    if (!context)
        return FAKE_NO_CONTEXT;
    pthread_mutex_lock(&streams.lock);
    for (int i = 0; i < STREAMS; i++)
        is_done = is_done && !is_before_default(&streams.list[i], context);
    pthread_mutex_unlock(&streams.lock);
    return context->error ? context->error : is_done ? FAKE_OK : FAKE_NOT_READY;
}

/* The default stream's work is in order with that of the streams of its context. */
static int wait_for_context(const fake_context_t *context)
{
    if (!context)
        return FAKE_NO_CONTEXT;
    pthread_mutex_lock(&streams.lock);
    for (int i = 0; i < STREAMS; i++)
        while (is_before_default(&streams.list[i], context))
            pthread_cond_wait(&streams.changed, &streams.lock);
    pthread_mutex_unlock(&streams.lock);
    return context->error;
}

/* NULL, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD, which CuPy's arrays name. */
static bool is_default_stream(const void *handle)
{
    return (uintptr_t)handle <= 2;
}

static bool has_work(const stream *s, bool events_too)
{
    for (const op *o = s->first; o; o = o->next)
        if (events_too || o->what != RECORD)
            return true;
    return false;
}

/* Waits until a stream has done its work, with the lock held. Returns the error of its context. */
static int wait_for_stream(const stream *s, bool events_too)
{
    while (has_work(s, events_too))
        pthread_cond_wait(&streams.changed, &streams.lock);
    return s->context->error;
}

/* As the driver does (580, an H200), this overlooks events that wait for nothing but the default stream. */
int cuStreamSynchronize(void *handle);
int cuStreamSynchronize(void *handle)
{
    int error;

    FAKE_ENTER();
    if (is_default_stream(handle))
        return wait_for_context(fake_current());
    pthread_mutex_lock(&streams.lock);
    error = wait_for_stream(handle, false);
    pthread_mutex_unlock(&streams.lock);
    return error;
}

int cuStreamDestroy_v2(void *handle);
int cuStreamDestroy_v2(void *handle)
{
    stream *s = handle;
    int error;

    pthread_mutex_lock(&streams.lock);
    error = wait_for_stream(s, true);
    s->used = false;
    pthread_mutex_unlock(&streams.lock);
    return error;
}

int cuStreamQuery(void *handle);
int cuStreamQuery(void *handle)
{
    stream *s = handle;
    int result;

    FAKE_ENTER();
    if (!s)
        return query_context(fake_current());
    pthread_mutex_lock(&streams.lock);
    result = s->context->error ? s->context->error : s->first ? FAKE_NOT_READY : FAKE_OK;
    pthread_mutex_unlock(&streams.lock);
    return result;
}

int cuEventCreate(void **out, unsigned flags);
int cuEventCreate(void **out, unsigned flags)
{
    (void)flags;
    FAKE_ENTER();
    *out = calloc(1, sizeof(event));
    return FAKE_OK;
}

int cuEventDestroy_v2(void *e);
int cuEventDestroy_v2(void *e)
{
    free(e);
    return FAKE_OK;
}

int cuEventSynchronize(void *e);
int cuEventSynchronize(void *e)
{
    const event *awaited = e;

    FAKE_ENTER();
    pthread_mutex_lock(&streams.lock);
    while (awaited->done < awaited->recorded)
        pthread_cond_wait(&streams.changed, &streams.lock);
    pthread_mutex_unlock(&streams.lock);
    return fake_current() ? fake_current()->error : FAKE_NO_CONTEXT;
}

int cuEventRecord(void *e, void *s);
int cuEventRecord(void *e, void *s)
{
    FAKE_ENTER();
    return put(s, &(op){.what = RECORD, .event = e});
}

int cuStreamWaitEvent(void *s, void *e, unsigned flags);
int cuStreamWaitEvent(void *s, void *e, unsigned flags)
{
    (void)flags;
    FAKE_ENTER();
    return put(s, &(op){.what = WAIT, .event = e});
}

int cuStreamWaitValue32_v2(void *s, uint64_t address, uint32_t value, unsigned flags);
int cuStreamWaitValue32_v2(void *s, uint64_t address, uint32_t value, unsigned flags)
{
    void *word = fake_reach(NULL, address, sizeof value, true);

    FAKE_ENTER();
    return word && flags == 0 ? put(s, &(op){.what = WAIT_VALUE, .word = word, .value = (int)value}) : FAKE_INVALID;
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *s);
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *s)
{
    FAKE_ENTER();
    return put(s, &(op){.what = COPY, .to = to, .from = from, .bytes = bytes});
}

int cuMemcpy2DAsync_v2(const pw_cu_copy_2d *rows, void *s);
int cuMemcpy2DAsync_v2(const pw_cu_copy_2d *rows, void *s)
{
    FAKE_ENTER();
    if (rows->width > rows->src_pitch || rows->width > rows->dst_pitch)
        return FAKE_INVALID;
    return put(s, &(op){.what = ROWS, .rows = *rows});
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *s);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *s)
{
    FAKE_ENTER();
    return put(s, &(op){.what = FILL, .to = to, .value = value, .bytes = bytes});
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

int cuModuleLoadData(void **module, const void *image);
int cuModuleLoadData(void **module, const void *image)
{
    FAKE_ENTER();
    return fake_current() ? fake_module_load(module, image) : FAKE_NO_CONTEXT;
}

int cuModuleUnload(void *module);
int cuModuleUnload(void *module)
{
    FAKE_ENTER();
    fake_module_unload(module);
    return FAKE_OK;
}

int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    FAKE_ENTER();
    *function = (void *)(uintptr_t)fake_module_find(module, name);
    return *function ? FAKE_OK : FAKE_NOT_FOUND;
}

int fake_launch(const fake_launch_t *l, const void *params, size_t bytes, void *s)
{
    uint64_t *copy;

    if (l->grid[0] == 0 || l->grid[1] != 1 || l->grid[2] != 1 || l->block[0] != 256 || l->block[1] != 1 ||
        l->block[2] != 1 || l->shared != 0 || bytes > FAKE_PARAM_BYTES)
        return FAKE_INVALID;
    copy = malloc(bytes);
    memcpy(copy, params, bytes);
    pthread_mutex_lock(&calls.lock);
    calls.launches[kind_of((const char *)l->function)]++;
    pthread_mutex_unlock(&calls.lock);
    return put(s, &(op){.what = LAUNCH, .function = l->function, .params = copy});
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *s, void **params, void **extra);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *s, void **params, void **extra)
{
    const fake_launch_t l = {.function = function, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};

    FAKE_ENTER();
    if (params || extra[0] != (void *)1 || extra[2] != (void *)2)
        return FAKE_INVALID;
    return fake_launch(&l, extra[1], *(size_t *)extra[3], s);
}

/* NVRTC 13.0 asks a driver in the process for tables of its own, and crashes if there is no such function. */
int cuGetExportTable(const void **table, const void *id);
int cuGetExportTable(const void **table, const void *id)
{
    (void)table, (void)id;
    return FAKE_NOT_FOUND;
}

int cuGetErrorName(int error, const char **name);
int cuGetErrorName(int error, const char **name)
{
    *name = error == FAKE_NO_MEMORY ? "FAKE_NO_MEMORY" : "FAKE_ERROR";
    return FAKE_OK;
}
