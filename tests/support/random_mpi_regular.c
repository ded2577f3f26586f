/* dup, contiguous, vector, hvector, resized. */
#include "tests/support/random_mpi_internal.h"

bool pw_make_dup(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    (void)m;
    pw_make_block(out, old, 0, 1);
    pw_make_check(MPI_Type_dup(old->type, &out->type), "dup");
    pw_make_text(&out->text, "dup[%s]", old->text);
    return true;
}

bool pw_make_contiguous(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    int64_t count = pw_make_count(m);
    if (!pw_make_fits(m, old, count))
        return false;
    pw_make_block(out, old, 0, count);
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(MPI_Type_contiguous_c(count, old->type, &out->type), "contiguous_c");
    else
#endif
        pw_make_check(MPI_Type_contiguous((int)count, old->type, &out->type), "contiguous");
    pw_make_text(&out->text, "ctg(%lld)[%s]", (long long)count, old->text);
    return true;
}

/* A distance between blocks of `blocklen`, in elements: touching, with gaps, backwards, or overlapping. */
static int64_t pick_stride(pw_rng *rng, int64_t blocklen)
{
    switch (pw_rng_range(rng, 0, 7)) {
    case 0: return blocklen;
    case 1: return pw_rng_range(rng, -2, blocklen);
    case 2: return -blocklen;
    case 3: return -blocklen - pw_rng_range(rng, 1, 6);
    case 4: return blocklen + pw_rng_range(rng, 8, 40);
    default: return blocklen + pw_rng_range(rng, 1, 6);
    }
}

bool pw_make_vector(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    int64_t count = pw_make_count(m), blocklen = pw_make_count(m), stride = pick_stride(m->rng, blocklen);
    if (!pw_make_fits(m, old, count * blocklen))
        return false;
    out->creeping = stride * old->extent == -1;
    for (int64_t i = 0; i < count; i++)
        pw_make_block(out, old, i * stride * old->extent, blocklen);
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(MPI_Type_vector_c(count, blocklen, stride, old->type, &out->type), "vector_c");
    else
#endif
        pw_make_check(MPI_Type_vector((int)count, (int)blocklen, (int)stride, old->type, &out->type), "vector");
    pw_make_text(&out->text, "vec(%lld,%lld,%lld)[%s]", (long long)count, (long long)blocklen, (long long)stride,
                 old->text);
    return true;
}

bool pw_make_hvector(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    int64_t count = pw_make_count(m), blocklen = pw_make_count(m);
    int64_t stride = pick_stride(m->rng, blocklen) * old->extent;
    if (pw_rng_one_in(m->rng, 3))
        stride += pw_rng_range(m->rng, -9, 9);
    if (!pw_make_fits(m, old, count * blocklen))
        return false;
    out->creeping = stride == -1;
    for (int64_t i = 0; i < count; i++)
        pw_make_block(out, old, i * stride, blocklen);
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(MPI_Type_create_hvector_c(count, blocklen, stride, old->type, &out->type), "hvector_c");
    else
#endif
        pw_make_check(MPI_Type_create_hvector((int)count, (int)blocklen, stride, old->type, &out->type), "hvector");
    pw_make_text(&out->text, "hvec(%lld,%lld,%lld)[%s]", (long long)count, (long long)blocklen, (long long)stride,
                 old->text);
    return true;
}

static int64_t pick_extent(pw_rng *rng, const pw_random_mpi *old)
{
    int64_t span = old->map.hi - old->map.lo;
    switch (pw_rng_range(rng, 0, 15)) {
    case 0: return 0;
    case 1: return -old->extent;
    case 2: return -pw_rng_range(rng, 1, 40);
    case 3: return pw_rng_range(rng, 0, span); /* objects overlap */
    case 4:
    case 5: return old->map.size;
    case 6:
    case 7: return 8;
    case 8:
    case 9: return span;
    case 10:
    case 11: return (span + 15) / 16 * 16;
    default: return span + pw_rng_range(rng, 0, 64);
    }
}

bool pw_make_resized(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    int64_t lb = pw_rng_one_in(m->rng, 2) ? 0 : pw_rng_range(m->rng, -32, 32);
    int64_t extent = pick_extent(m->rng, old);
    pw_make_block(out, old, 0, 1);
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(MPI_Type_create_resized_c(old->type, lb, extent, &out->type), "resized_c");
    else
#endif
        pw_make_check(MPI_Type_create_resized(old->type, lb, extent, &out->type), "resized");
    pw_make_text(&out->text, "resized(%lld,%lld)[%s]", (long long)lb, (long long)extent, old->text);
    return true;
}
