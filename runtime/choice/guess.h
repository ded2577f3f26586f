/*
 * First guesses for messages in host memory: nanoseconds from the sender's buffer to the receiver's, both ends doing
 * the same. Pure functions of facts, bytes and contiguous blocks, all positive.
 */
#ifndef PW_RUNTIME_CHOICE_GUESS_H
#define PW_RUNTIME_CHOICE_GUESS_H

#include "runtime/choice/facts.h"

#include <stdbool.h>
#include <stdint.h>

/* A message of one block, which the MPI copies twice. */
double pw_guess_contiguous(const pw_facts *f, int64_t bytes);
/* One kernel, which packs, unpacks or copies. */
double pw_guess_move(const pw_facts *f, int64_t bytes, int64_t blocks);
/* A message that is left to the MPI, which walks over its blocks at both ends. */
double pw_guess_native(const pw_facts *f, int64_t bytes, int64_t blocks);
/* A message that kernels pack and unpack. `shared`: the receiver unpacks from the sender's packed copy; otherwise the
 * MPI copies that to the receiver. */
double pw_guess_packed(const pw_facts *f, int64_t bytes, int64_t blocks, bool shared);
/* A message that one kernel of the receiver copies from the sender's own memory. */
double pw_guess_direct(const pw_facts *f, int64_t bytes, int64_t blocks);

/* Memory that an MPI writes to a file or moves to a window by itself, and after packing. */
double pw_guess_passed(const pw_facts *f, int64_t bytes, int64_t blocks);
double pw_guess_passed_packed(const pw_facts *f, int64_t bytes, int64_t blocks);

#endif
