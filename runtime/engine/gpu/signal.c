/*
 * Which words of the shared source are taken as signals. One context registers their pages with the driver, so that its
 * kernels write them; it has them until it is closed.
 */
#include "runtime/engine/gpu/pool.h"

#include "base/lock.h"
#include "runtime/engine/memory/source.h"

/* The singleton, guarded by the lock. */
static struct {
    pthread_mutex_t lock;
    const pw_gpu *owner; /* the context in which the words are registered; NULL: in none */
    pw_source_words words;
    pw_cu_ptr device; /* the address of their pages for the GPU */
    uint64_t taken;   /* a bit for each signal */
    bool refused;
} signals = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool find_words(pw_source_words *words)
{
    const pw_source *s = pw_source_shared();

    return s && s->words(words);
}

/* Lanes are gone when this is called, or will never be used again. */
static void close_signals(const pw_gpu *gpu, bool driver)
{
    pthread_mutex_lock(&signals.lock);
    if (signals.owner == gpu) {
        if (driver)
            pw_gpu_unregister(signals.words.pages);
        signals.owner = NULL;
    }
    pthread_mutex_unlock(&signals.lock);
}

static pw_gpu_dependent dependent = {.close = close_signals};

static bool register_words(const pw_gpu *gpu)
{
    pw_source_words words;

    if (!find_words(&words) || pw_gpu_register(words.pages, words.bytes, false, &signals.device) != PW_OK)
        return false;
    signals.words = words;
    pw_gpu_depend(&dependent);
    signals.owner = gpu;
    return true;
}

static bool has_signals(const pw_gpu *gpu)
{
    pw_source_words words;

    if (!signals.owner && !signals.refused)
        signals.refused = !register_words(gpu);
    return signals.owner == gpu && find_words(&words) && words.pages == signals.words.pages;
}

int pw_gpu_signal_take(const pw_gpu *gpu, _Atomic uint64_t **word, pw_cu_ptr *device)
{
    PW_HOLD(&signals.lock);
    int number = -1;

    if (has_signals(gpu))
        number = __builtin_ffsll((long long)~signals.taken) - 1;
    if (number >= signals.words.count)
        number = -1;
    if (number >= 0) {
        signals.taken |= (uint64_t)1 << number;
        *word = (_Atomic uint64_t *)((char *)signals.words.first + (size_t)number * signals.words.stride);
        *device = signals.device + (pw_cu_ptr)((char *)*word - (char *)signals.words.pages);
    }
    return number;
}

void pw_gpu_signal_give(int number)
{
    pthread_mutex_lock(&signals.lock);
    signals.taken &= ~((uint64_t)1 << number);
    pthread_mutex_unlock(&signals.lock);
}
