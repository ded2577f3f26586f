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
    _Atomic unsigned messages, streamed_from, trial_after, warm_until;
    _Atomic int probes; /* up to SETTLED */
    _Atomic float mean_ns;
    _Atomic bool streams;
} stores = {.warm_until = FIRST_WARM};

static bool is_settled(void)
{
    return atomic_load_explicit(&stores.probes, memory_order_relaxed) >= SETTLED;
}

static void begin_trial(unsigned message)
{
    atomic_store_explicit(&stores.warm_until, message + TRIAL_WARM, memory_order_relaxed);
    atomic_store_explicit(&stores.probes, 0, memory_order_relaxed);
    atomic_store_explicit(&stores.streams, false, memory_order_relaxed);
}

static pw_outbound_path way_by_rule(void)
{
    unsigned message = atomic_fetch_add_explicit(&stores.messages, 1, memory_order_relaxed);

    if (pw_outbound_streams()) {
        if (message - atomic_load_explicit(&stores.streamed_from, memory_order_relaxed) <
            atomic_load_explicit(&stores.trial_after, memory_order_relaxed))
            return PW_OUTBOUND_STREAMED;
        begin_trial(message);
    }
    if ((int)(atomic_load_explicit(&stores.warm_until, memory_order_relaxed) - message) > 0)
        return PW_OUTBOUND_DIRECT;
    return message % EVERY == 0 || !is_settled() ? PW_OUTBOUND_PROBED : PW_OUTBOUND_DIRECT;
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

static void begin_streaming(double line_ns)
{
    unsigned after = atomic_load_explicit(&stores.trial_after, memory_order_relaxed) * 2;

    if (after == 0)
        pw_log(PW_LOG_INFO,
               "stores to lines that other cores have read take %.0f ns: messages are streamed past the caches",
               line_ns);
    after = after < TRIAL_FIRST ? TRIAL_FIRST : after > TRIAL_LAST ? TRIAL_LAST : after;
    atomic_store_explicit(&stores.trial_after, after, memory_order_relaxed);
    atomic_store_explicit(&stores.streamed_from, atomic_load_explicit(&stores.messages, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&stores.streams, true, memory_order_relaxed);
}

static void end_streaming(void)
{
    atomic_store_explicit(&stores.trial_after, 0, memory_order_relaxed);
    atomic_store_explicit(&stores.streams, false, memory_order_relaxed);
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
    if (mean <= PW_OUTBOUND_DEAR_NS)
        end_streaming();
    else if (!pw_outbound_streams())
        begin_streaming(mean);
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
