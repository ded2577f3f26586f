#include "rows.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exchanges: before the clock is read, to guess how many fit, at least and at most, and those whose result counts. */
enum { WARM = 5, GUESS = 3, LEAST = 3, MOST = 100000, DIGESTED = 3 };
/* Uses in which ways are tried, and turns through and past Packwright after them. */
enum { FIRST = 64, TURNS = 11, LONG = 20 /* times the seconds of a row: as long may first uses take */ };

/* ---- options ----------------------------------------------------------------------------------------------------- */

static const char *value_of(const char *word, const char *name)
{
    size_t n = strlen(name);

    return !strncmp(word, "--", 2) && !strncmp(word + 2, name, n) && word[2 + n] == '=' ? word + 3 + n : NULL;
}

const char *rows_option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i < argc; i++)
        if (value_of(argv[i], name))
            otherwise = value_of(argv[i], name);
    return otherwise;
}

/* Returns whether `words`, names with blanks between them, has the name of the option. */
static bool is_among(const char *option, const char *words)
{
    size_t n = strcspn(option + 2, "=");

    for (; *words; words += strcspn(words, " "), words += *words == ' ')
        if (strcspn(words, " ") == n && !strncmp(words, option + 2, n))
            return true;
    return false;
}

rows rows_begin(int argc, char **argv, const char *own_options)
{
    rows all = {.only = rows_option(argc, argv, "only", "*"),
                .seconds = atof(rows_option(argc, argv, "seconds", "0.2")),
                .uses = atoi(rows_option(argc, argv, "uses", "-1"))};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &all.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &all.ranks);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--hand")) {
            all.hand = true;
        } else if (!strcmp(argv[i], "--turns")) {
            all.turns = true;
        } else if (strncmp(argv[i], "--", 2) ||
                   !(is_among(argv[i], "only seconds uses") || is_among(argv[i], own_options))) {
            fprintf(stderr, "%s: unknown argument: %s\n", argv[0], argv[i]);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    return all;
}

void rows_end(void)
{
    MPI_Finalize();
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

uint64_t rows_digest(uint64_t before, const void *memory, size_t bytes)
{
    const unsigned char *at = memory;
    uint64_t hash = before ^ 0xcbf29ce484222325u, word;

    for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (; bytes; at++, bytes--)
        hash = (hash ^ *at) * 0x100000001b3u;
    return hash;
}

void *rows_allocate(size_t bytes)
{
    size_t pages = (bytes + 4095) / 4096 * 4096;
    void *memory = aligned_alloc(4096, pages ? pages : 4096);

    if (!memory) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return memset(memory, 0, pages ? pages : 4096);
}

/* ---- timing ------------------------------------------------------------------------------------------------------ */

/* Returns the seconds that the slowest rank needs for `times` exchanges. */
static double clocked(void (*exchange)(void *data), void *data, int times)
{
    double began, mine, longest;

    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    for (int i = 0; i < times; i++)
        exchange(data);
    mine = MPI_Wtime() - began;
    MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

static int times_within(double seconds, double each, int least)
{
    double times = each > 0 ? seconds / each : MOST;

    return times < least ? least : times > MOST ? MOST : (int)times;
}

/* Returns the digest of all ranks, on rank 0. */
static uint64_t digest_of_all(const rows *all, const row *r)
{
    uint64_t mine = r->digest(r->data), *each = rows_allocate((size_t)all->ranks * sizeof mine), hash;

    MPI_Gather(&mine, 1, MPI_UINT64_T, each, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    hash = rows_digest(0, each, (size_t)all->ranks * sizeof mine);
    free(each);
    return hash;
}

bool rows_wanted(const rows *all, const char *name)
{
    return !strcmp(all->only, name) || !fnmatch(all->only, name, FNM_EXTMATCH);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, TURNS, sizeof *values, by_value);
    return values[TURNS / 2];
}

static void turn(const row *r, bool natively)
{
    if (r->turned)
        r->turned(r->data, natively);
    rows_call_natively(natively);
}

/* Prints the seconds of an exchange after its first uses, by turns. The first one of a turn pays for what the other
 * side has left in the caches, and is not counted. */
static void time_turns(const rows *all, const row *r)
{
    double first = clocked(r->exchange, r->data, 1), ours[TURNS], native[TURNS];
    int times = times_within(LONG * all->seconds, first, LEAST);

    times = times < FIRST ? times : FIRST;
    first = (first + clocked(r->exchange, r->data, times - 1)) / times;
    turn(r, true);
    times = times_within(all->seconds / (2 * TURNS), clocked(r->exchange, r->data, GUESS) / GUESS, 1);
    for (int i = 0; i < TURNS; i++)
        for (int side = 0; side < 2; side++) {
            bool natively = (i + side) % 2;

            turn(r, natively);
            r->exchange(r->data);
            (natively ? native : ours)[i] = clocked(r->exchange, r->data, times) / times;
        }
    turn(r, false);
    if (!all->rank)
        printf("\"seconds\": %.9g, \"native\": %.9g, \"first\": %.9g", median(ours), median(native), first);
}

static void time_row(const rows *all, const row *r)
{
    double seconds;
    int times;

    clocked(r->exchange, r->data, WARM);
    times = times_within(all->seconds, clocked(r->exchange, r->data, GUESS) / GUESS, LEAST);
    seconds = clocked(r->exchange, r->data, times) / times;
    if (!all->rank)
        printf("\"seconds\": %.9g", seconds);
}

/* Makes as many exchanges as are asked for. */
static void use(const rows *all, const row *r)
{
    for (int i = 0; i < all->uses; i++)
        r->exchange(r->data);
    if (!all->rank)
        printf("\"seconds\": 0");
}

void rows_do(const rows *all, const char *name, const row *r)
{
    uint64_t digest;

    if (!rows_wanted(all, name))
        return;
    if (!all->rank)
        printf("{\"row\": \"%s\", ", name);
    r->prepare(r->data);
    if (all->uses >= 0)
        use(all, r);
    else if (all->turns)
        time_turns(all, r);
    else
        time_row(all, r);
    r->prepare(r->data);
    for (int i = 0; i < DIGESTED; i++)
        r->exchange(r->data);
    digest = digest_of_all(all, r);
    if (!all->rank)
        printf(", \"result\": \"%016llx\"}\n", (unsigned long long)digest);
    fflush(stdout);
}
