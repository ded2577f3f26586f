/*
 * One copy where the sender's memory cannot be mapped: process_vm_readv reads its blocks straight into the blocks of
 * this process, up to 1024 by a call.
 */
#ifndef PW_RUNTIME_SYSTEM_READ_H
#define PW_RUNTIME_SYSTEM_READ_H

#include "runtime/engine/layout/layout.h"

#include <sys/types.h>

/* Reads `bytes` bytes from objects at address `from` of process `pid` to objects at `to`. False: the system refuses, or
 * the process has ended, and some bytes may be there. */
bool pw_system_read(pid_t pid, const pw_joined *joined, uint64_t from, void *to, int64_t bytes);

#endif
