/*
 * Signals: words that other processes watch (runtime/engine/memory/source.h), which kernels write when they are done.
 * One context at a time has them, the first one that asks for one.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_GPU_SIGNAL_H
#define PW_RUNTIME_GPU_SIGNAL_H

#include "runtime/engine/gpu/device.h"

/* Takes a signal, and returns its number. The context of `gpu` must be current. -1: all are taken, another context has
 * them, there are no such words, or the driver does not register them. */
int pw_gpu_signal_take(const pw_gpu *gpu, _Atomic uint64_t **word, pw_cu_ptr *device);
/* Gives it back. No launch may write it any longer. */
void pw_gpu_signal_give(int number);

#endif
