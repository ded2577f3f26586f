#include "tests/mpi/gpu/subject.h"

static bool is_usable(const subject *s)
{
    const pw_random_mpi *t = &s->random;
    bool pair = t->used & 1U << PW_RANDOM_PAIR && !t->derived;

    return !pair && s->size > 0 && s->size <= SUBJECT_PACKED - 2 * SUBJECT_GUARD &&
           s->span <= SUBJECT_SPAN - 2 * SUBJECT_GUARD && !pw_naive_overlaps(&t->map, t->extent, s->count);
}

/* MPICH 4.0 receives what comes in several pieces from contiguous memory wrongly into types whose elements differ in
 * size. */
enum { ONE_PIECE = 8000 };

static bool is_plain(const pw_random_mpi *t)
{
    for (int64_t i = 0; i < t->map.n; i++)
        if (t->map.entries[i].padding)
            return false;
    return !t->hollow && !t->backwards && !t->creeping && !(t->used >> PW_RANDOM_PAIR & 1) &&
           3 * t->map.size < ONE_PIECE;
}

void subject_make(subject *s, uint64_t seed, bool plain)
{
    static const pw_random_mpi_limits limits = {.depth = 4, .max_entries = 1500, .max_span = 60000};
    pw_rng rng = {.state = seed};
    int64_t hi;

    for (;;) {
        s->seed = seed;
        pw_random_mpi_create(&rng, &limits, &s->random);
        s->count = (int)pw_rng_range(&rng, 1, 3);
        pw_naive_span(&s->random.map, s->random.extent, s->count, &s->lo, &hi);
        s->span = hi - s->lo;
        s->size = s->random.map.size * s->count;
        if (is_usable(s) && (!plain || is_plain(&s->random)))
            return;
        subject_free(s);
    }
}

void subject_free(subject *s)
{
    pw_random_mpi_free(&s->random);
}

gpu_memory subject_memory(gpu_kind kind)
{
    return gpu_memory_make(kind, SUBJECT_SPAN);
}

gpu_memory subject_packed_memory(gpu_kind kind)
{
    return gpu_memory_make(kind, SUBJECT_PACKED);
}

void *subject_buffer(const subject *s, const gpu_memory *m)
{
    return m->at + SUBJECT_GUARD - s->lo;
}

void subject_fill(const gpu_memory *m, unsigned char *image, int64_t bytes, uint64_t seed)
{
    pw_rng rng = {.state = seed};

    pw_rng_fill(&rng, image, (size_t)bytes + 2 * SUBJECT_GUARD);
    gpu_write(m, 0, image, (size_t)bytes + 2 * SUBJECT_GUARD);
}

bool subject_same(const subject *s, const char *what, const gpu_memory *m, const unsigned char *image, int64_t bytes)
{
    static unsigned char got[SUBJECT_SPAN];
    int64_t i = 0, n = bytes + 2 * SUBJECT_GUARD;

    gpu_read(m, 0, got, (size_t)n);
    while (i < n && got[i] == image[i])
        i++;
    CHECK(i == n, "%s: seed %llu, %d objects, %s memory: byte %lld of %lld is %02x instead of %02x: %.300s", what,
          (unsigned long long)s->seed, s->count, gpu_kind_name(m->kind), (long long)(i - SUBJECT_GUARD),
          (long long)bytes, got[i < n ? i : 0], image[i < n ? i : 0], s->random.text);
    return i == n;
}

void subject_pack(const subject *s, const unsigned char *image, unsigned char *packed)
{
    pw_naive_pack(&s->random.map, s->random.extent, s->count, image + SUBJECT_GUARD - s->lo, packed);
}

void subject_unpack(const subject *s, unsigned char *image, const unsigned char *packed, int64_t bytes)
{
    pw_naive_unpack_range(&s->random.map, s->random.extent, s->count, 0, bytes, image + SUBJECT_GUARD - s->lo, packed);
}
