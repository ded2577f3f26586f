/*
 * What the C samples share: words of the command line, timing, checksums and the report.
 *
 * Every sample prints lines that start with its name. Times are "key value" pairs in microseconds, so that scripts
 * find them: "halo3d: pack_us 812.4 transfer_us 490.2 unpack_us 799.0 exchange_us 2105.7".
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <mpi.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- command line ----------------------------------------------------------------------------------------- */

/* The value of "--name=value", or NULL when `arg` is another option. */
static inline const char *option_value(const char *arg, const char *name)
{
    size_t n = strlen(name);

    return !strncmp(arg, name, n) && arg[n] == '=' ? arg + n + 1 : NULL;
}

static inline bool option_int(const char *arg, const char *name, int least, int most, int *out)
{
    const char *text = option_value(arg, name);
    char *end;
    long v;

    if (!text)
        return false;
    v = strtol(text, &end, 10);
    if (end == text || *end || v < least || v > most)
        return false;
    *out = (int)v;
    return true;
}

/* "--name=word" with one of the words of a NULL-terminated list; *out is the word's place in it. */
static inline bool option_word(const char *arg, const char *name, const char *const *words, int *out)
{
    const char *text = option_value(arg, name);

    for (int i = 0; text && words[i]; i++)
        if (!strcmp(text, words[i]))
            return *out = i, true;
    return false;
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static inline void *allocate(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    if (!p) {
        fprintf(stderr, "out of memory: %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return p;
}

/* ---- timing ----------------------------------------------------------------------------------------------- */

/* One number for each iteration of one phase, in seconds. */
typedef struct phase {
    double *seconds;
    int n;
} phase;

static inline phase phase_create(int iterations)
{
    return (phase){allocate(sizeof(double) * (size_t)iterations), 0};
}

static inline void phase_add(phase *p, double seconds)
{
    p->seconds[p->n++] = seconds;
}

static inline int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median over iterations, then the largest of all ranks, in microseconds. Collective; frees the phase. */
static inline double phase_us(phase *p, MPI_Comm comm)
{
    double mine = 0, most;

    if (p->n) {
        qsort(p->seconds, (size_t)p->n, sizeof *p->seconds, compare_doubles);
        mine = p->seconds[p->n / 2];
    }
    free(p->seconds);
    p->seconds = NULL;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
    return most * 1e6;
}

/* The phases that the samples tell apart; the exchange is all of them. The others stay empty where MPI packs inside a
 * transfer. */
typedef struct timing {
    phase pack, transfer, unpack, exchange;
} timing;

static inline timing timing_create(int iterations)
{
    return (timing){phase_create(iterations), phase_create(iterations), phase_create(iterations),
                    phase_create(iterations)};
}

/* Adds the phases of an exchange of packed bytes, by the times at which each began and the last ended. */
static inline void timing_add_packed(timing *t, double begin, double packed, double arrived, double done)
{
    phase_add(&t->pack, packed - begin);
    phase_add(&t->transfer, arrived - packed);
    phase_add(&t->unpack, done - arrived);
}

/* Collective; rank 0 prints. Frees the phases. */
static inline void timing_print(timing *t, const char *name, MPI_Comm comm)
{
    bool packs = t->pack.n > 0;
    double pack = phase_us(&t->pack, comm);
    double transfer = phase_us(&t->transfer, comm);
    double unpack = phase_us(&t->unpack, comm);
    double exchange = phase_us(&t->exchange, comm);
    int rank;

    MPI_Comm_rank(comm, &rank);
    if (rank)
        return;
    printf("%s:", name);
    if (packs)
        printf(" pack_us %.1f transfer_us %.1f unpack_us %.1f", pack, transfer, unpack);
    printf(" exchange_us %.1f\n", exchange);
}

/* ---- results ---------------------------------------------------------------------------------------------- */

/* FNV-1a over 64-bit words and the remaining bytes. */
static inline uint64_t checksum_add(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t word;

    for (; bytes >= sizeof word; p += sizeof word, bytes -= sizeof word) {
        memcpy(&word, p, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x100000001b3);
    }
    for (; bytes; p++, bytes--)
        sum = (sum ^ *p) * UINT64_C(0x100000001b3);
    return sum;
}

/* Starts with the rank, so that data on the wrong rank changes the sum of all ranks. */
static inline uint64_t checksum_start(MPI_Comm comm)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    return UINT64_C(0xcbf29ce484222325) + (uint64_t)rank;
}

/* Collective; rank 0 prints the sum over the ranks. */
static inline void checksum_print(uint64_t mine, const char *name, MPI_Comm comm)
{
    uint64_t sum = 0;
    int rank;

    MPI_Comm_rank(comm, &rank);
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, comm);
    if (!rank)
        printf("%s: checksum %016llx\n", name, (unsigned long long)sum);
}

/* Where a value differs from the known one. The first difference is described where it is found. */
typedef struct verdict {
    long long wrong;
    char first[160];
} verdict;

static inline void __attribute__((format(printf, 2, 3))) verdict_add(verdict *v, const char *fmt, ...)
{
    va_list ap;

    if (v->wrong++)
        return;
    va_start(ap, fmt);
    vsnprintf(v->first, sizeof v->first, fmt, ap);
    va_end(ap);
}

/* Collective. True when no rank found a difference; else every rank that did says where. */
static inline bool verdict_agree(const verdict *v, const char *name, MPI_Comm comm)
{
    long long all;
    int rank;

    MPI_Comm_rank(comm, &rank);
    if (v->wrong)
        fprintf(stderr, "%s: WRONG on rank %d: %lld values differ, first %s\n", name, rank, v->wrong, v->first);
    MPI_Allreduce(&v->wrong, &all, 1, MPI_LONG_LONG, MPI_SUM, comm);
    return all == 0;
}

#endif
