/*
 * A model: the facts from which costs of messages are guessed (runtime/choice/way.h), by default or as `packwright
 * measure` has found them on this machine.
 *
 * All times are nanoseconds, all sizes bytes. Knows nothing of MPI and of CUDA. A model is constant once made, and may
 * be asked by any number of threads; asking has no side effects.
 */
#ifndef PW_RUNTIME_MODEL_H
#define PW_RUNTIME_MODEL_H

#include "runtime/choice/facts.h"

#include <stdbool.h>
#include <stdint.h>

/* Where the facts of a model come from. */
typedef struct pw_model_origin {
    char mpi[32];          /* "mpich", "openmpi"; "": any */
    char mpi_version[96];  /* as the MPI reports it */
    char network[64];      /* the transports that the facts about reading are of; "": these were not measured */
    char cpu[48], gpu[96]; /* such as "znver4" and "NVIDIA H100 80GB HBM3"; gpu is "" if there is none */
    char date[32];         /* the day of the last measurement, ISO 8601 */
} pw_model_origin;

/* Plain data. */
typedef struct pw_model {
    pw_facts facts;
    uint32_t measured; /* bit 1 << pw_fact: this fact was measured */
    pw_model_origin origin;
} pw_model;

static inline bool pw_model_has(const pw_model *m, pw_fact fact)
{
    return m->measured >> fact & 1;
}

/* Returns the model of this process: that of the file which pw_model_start has found, else the defaults. Never NULL;
 * constant after start. */
const pw_model *pw_model_now(void);

/* Reads PACKWRIGHT_MODEL, and the file for this MPI ("mpich", "openmpi"). A file that cannot be used leads to one
 * warning and the defaults. A missing file leads to a warning only if PACKWRIGHT_MODEL names it. Called once, before
 * threads ask. */
void pw_model_start(const char *mpi);

/* The part of the MPI's time that reading a block over a network takes, in pieces of `block` bytes; INFINITY: it is not
 * to be read. Transports over which it was not measured have defaults. */
double pw_model_remote_part(const pw_model *m, const char *transports, int64_t bytes, int64_t block);
/* The least bytes of a block that may gain by being read. INT64_MAX: none gains. */
int64_t pw_model_remote_least(const pw_model *m, const char *transports);

#endif
