/*
 * The signals in the header of this process's segment, which one context registers with the driver so that its kernels
 * write them. Other processes watch their values (late.h).
 */
#include "runtime/engine/gpu/signal.h"

#include "runtime/engine/node/segment.h"

#include <unistd.h>

/* The singleton, guarded by the lock. */
static struct {
    pthread_mutex_t lock;
    const pw_gpu *owner; /* the context in which the header is registered; NULL: in none */
    pw_segment_header *header;
    pw_cu_ptr device; /* its address for the GPU */
    uint64_t taken;   /* a bit for each signal */
    bool refused;
} signals = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Static_assert(PW_SEGMENT_SIGNALS <= 64, "a bit for each signal");

static void unregister(void)
{
    pw_cu_check(pw_cu.host_unregister(signals.header), "cuMemHostUnregister");
}

/* Lanes are gone when this is called, or will never be used again. */
static void close_signals(const pw_gpu *gpu, bool driver)
{
    pthread_mutex_lock(&signals.lock);
    if (signals.owner == gpu) {
        if (driver)
            unregister();
        signals.owner = NULL;
    }
    pthread_mutex_unlock(&signals.lock);
}

static pw_gpu_dependent dependent = {.close = close_signals};

/* The header's mapping has whole pages. */
static size_t mapped_bytes(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (sizeof *signals.header + page - 1) / page * page;
}

static bool register_header(const pw_gpu *gpu)
{
    pw_segment_header *h = pw_cu.host_register && pw_cu.host_unregister ? pw_segment_own_header() : NULL;

    if (!h || pw_cu_check(pw_cu.host_register(h, mapped_bytes(), PW_CU_REGISTER_PORTABLE | PW_CU_REGISTER_MAPPED),
                          "cuMemHostRegister") != PW_OK)
        return false;
    signals.header = h;
    if (pw_cu_check(pw_cu.host_device_pointer(&signals.device, h, 0), "cuMemHostGetDevicePointer") != PW_OK) {
        unregister();
        return false;
    }
    pw_gpu_depend(&dependent);
    signals.owner = gpu;
    return true;
}

static bool has_signals(const pw_gpu *gpu)
{
    if (!signals.owner && !signals.refused)
        signals.refused = !register_header(gpu);
    return signals.owner == gpu && signals.header == pw_segment_own_header();
}

int pw_gpu_signal_take(const pw_gpu *gpu, _Atomic uint64_t **word, pw_cu_ptr *device)
{
    int number = -1;

    pthread_mutex_lock(&signals.lock);
    if (has_signals(gpu))
        number = __builtin_ffsll((long long)~signals.taken) - 1;
    if (number >= PW_SEGMENT_SIGNALS)
        number = -1;
    if (number >= 0) {
        signals.taken |= (uint64_t)1 << number;
        *word = &signals.header->signals[number].value;
        *device = signals.device + (pw_cu_ptr)((char *)*word - (char *)signals.header);
    }
    pthread_mutex_unlock(&signals.lock);
    return number;
}

void pw_gpu_signal_give(int number)
{
    pthread_mutex_lock(&signals.lock);
    signals.taken &= ~((uint64_t)1 << number);
    pthread_mutex_unlock(&signals.lock);
}
