/*
 * Times plain stores to staging buffers and decides whether to stream past the caches. The rule follows the mean of
 * eight probes; while messages are streamed nothing can be learned, so plain stores are tried again after ever longer
 * times.
 */
#include "runtime/engine/memory/outbound.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"

#include <stdatomic.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    LINE = 64,
    LEAST = 16 << 10, /* the sender's MPI copies shorter messages once more */
    MOST = 2 << 20,   /* longer messages gain nothing, as measured */
    EVERY = 16,
    SETTLED = 8, /* probes whose mean sets the rule, so that one interrupted probe does not */
    MOST_NS = 36,
    TRIAL_FIRST = 128, /* streamed messages until a trial, twice as many after each that confirms it, up to */
    TRIAL_LAST = 1024,
    TRIAL_WARM = 16, /* messages after which all buffers in flight have been written by plain stores and read */
    FIRST_WARM = 32  /* the same number for a process whose buffers are new */
};

enum { AUTO, OFF, ON }; /* the words of PACKWRIGHT_STREAMING */

/*
 * The singleton: the mean price of a plain store, of the last `probes`. Until there are enough of them, every message
 * is a probe. Lines that were streamed are dear to store to, wherever the reader is, so while messages are streamed
 * nothing can be learned: now and then they are not, for as long as it takes to know again.
 */
static struct {
    _Atomic unsigned messages, until; /* until that message there are no probes */
    _Atomic unsigned stint;           /* messages that are streamed until the next trial */
    _Atomic int probes;               /* up to SETTLED */
    _Atomic float mean_ns;
    _Atomic bool streams;
} stores = {.until = FIRST_WARM};

static void go_on(bool streams, unsigned messages)
{
    atomic_store_explicit(&stores.until, atomic_load_explicit(&stores.messages, memory_order_relaxed) + messages,
                          memory_order_relaxed);
    atomic_store_explicit(&stores.streams, streams, memory_order_relaxed);
}

static pw_outbound_path way_by_rule(void)
{
    unsigned message = atomic_fetch_add_explicit(&stores.messages, 1, memory_order_relaxed);
    bool streams = pw_outbound_streams();

    if ((int)(atomic_load_explicit(&stores.until, memory_order_relaxed) - message) > 0)
        return streams ? PW_OUTBOUND_STREAMED : PW_OUTBOUND_DIRECT;
    if (streams) { /* a trial begins */
        atomic_store_explicit(&stores.probes, 0, memory_order_relaxed);
        go_on(false, TRIAL_WARM);
        return PW_OUTBOUND_DIRECT;
    }
    return message % EVERY == 0 || atomic_load_explicit(&stores.probes, memory_order_relaxed) < SETTLED
               ? PW_OUTBOUND_PROBED
               : PW_OUTBOUND_DIRECT;
}

pw_outbound_path pw_outbound_path_of(int64_t bytes)
{
#if defined(__SSE2__)
    int word = pw_env_choice(PW_ENV_STREAMING);

    if (word == ON)
        return PW_OUTBOUND_STREAMED;
    return word == OFF || bytes < LEAST || bytes > MOST ? PW_OUTBOUND_DIRECT : way_by_rule();
#else
    (void)bytes;
    return PW_OUTBOUND_DIRECT;
#endif
}

/* Streams for twice as long as before the trial that confirms it. */
static void begin_streaming(double line_ns)
{
    unsigned stint = atomic_load_explicit(&stores.stint, memory_order_relaxed) * 2;

    if (stint == 0)
        pw_log(PW_LOG_INFO,
               "stores to lines that other cores have read take %.0f ns: messages are streamed past the caches",
               line_ns);
    stint = stint < TRIAL_FIRST ? TRIAL_FIRST : stint > TRIAL_LAST ? TRIAL_LAST : stint;
    atomic_store_explicit(&stores.stint, stint, memory_order_relaxed);
    go_on(true, stint);
}

/* When two threads record at once, the probe of one may be lost. */
void pw_outbound_learn(double line_ns)
{
    int probes = atomic_load_explicit(&stores.probes, memory_order_relaxed);
    float ns = (float)(line_ns < MOST_NS ? line_ns : MOST_NS);
    float mean = probes > 0 ? atomic_load_explicit(&stores.mean_ns, memory_order_relaxed) : 0;

    probes += probes < SETTLED;
    mean += (ns - mean) / (float)probes;
    atomic_store_explicit(&stores.mean_ns, mean, memory_order_relaxed);
    atomic_store_explicit(&stores.probes, probes, memory_order_relaxed);
    if (probes < SETTLED)
        return;
    if (mean > PW_OUTBOUND_DEAR_NS && !pw_outbound_streams())
        begin_streaming(mean);
    if (mean > PW_OUTBOUND_DEAR_NS)
        return;
    atomic_store_explicit(&stores.stint, 0, memory_order_relaxed);
    go_on(false, 0);
}

bool pw_outbound_streams(void)
{
    return atomic_load_explicit(&stores.streams, memory_order_relaxed);
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void write_plain(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

#if defined(__SSE2__)
/* A non-temporal store of part of a line, or beside a plain one, would cost what it is to save: the ends that share
 * their lines with others are plain. The fence orders the stores before whatever tells the reader of them. */
static void write_streamed(char *to, const char *from, size_t bytes)
{
    size_t head = (LINE - (uintptr_t)to % LINE) % LINE, at;

    head = head < bytes ? head : bytes;
    write_plain(to, from, head);
    for (at = head; at + LINE <= bytes; at += LINE) {
        const __m128i *line = (const __m128i *)(from + at);
        __m128i a = _mm_loadu_si128(line), b = _mm_loadu_si128(line + 1);
        __m128i c = _mm_loadu_si128(line + 2), d = _mm_loadu_si128(line + 3);

        _mm_stream_si128((__m128i *)(to + at), a);
        _mm_stream_si128((__m128i *)(to + at) + 1, b);
        _mm_stream_si128((__m128i *)(to + at) + 2, c);
        _mm_stream_si128((__m128i *)(to + at) + 3, d);
    }
    write_plain(to + at, from + at, bytes - at);
    _mm_sfence();
}
#else
static void write_streamed(char *to, const char *from, size_t bytes)
{
    write_plain(to, from, bytes);
}
#endif

/* Waits until all earlier stores are visible. */
static void drain(void)
{
#if defined(__SSE2__)
    _mm_mfence();
#endif
}

void pw_outbound_write(pw_outbound_path path, void *data, const void *from, int64_t bytes)
{
    int64_t begun;

    if (path == PW_OUTBOUND_STREAMED) {
        write_streamed(data, from, (size_t)bytes);
        return;
    }
    begun = path == PW_OUTBOUND_PROBED ? pw_clock_ns() : 0;
    write_plain(data, from, (size_t)bytes);
    if (path == PW_OUTBOUND_PROBED) {
        drain();
        pw_outbound_learn((double)(pw_clock_ns() - begun) * LINE / (double)bytes);
    }
}
