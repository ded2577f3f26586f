#include "subjects.h"

static bool always(const pw_subject_type *t)
{
    (void)t;
    return true;
}

/*
 * Types that this MPI packs in the order of their typemap; where it does not, the typemap alone is the judge.
 *
 * Parts without bytes: MPICH 4.0 divides by zero in MPI_Pack and MPI_Unpack of some types that have one, such as
 * struct(0,1 8,1)[hvec(1,0,0)[CHAR] INT]; Open MPI 4.1 takes some, such as struct(-2,1 14,1)[WCHAR ctg(0)[2INTEGER]],
 * for contiguous. A stride of -1 byte stands for "none given" inside Open MPI 4.1, which then takes the extent.
 */
static bool is_solid(const pw_subject_type *t)
{
#ifdef OPEN_MPI
    return !t->random->hollow && !t->random->creeping;
#else
    return !t->random->hollow && !t->random->backwards;
#endif
}

static bool is_compiled(const pw_subject_type *t)
{
    return t->compiled != NULL;
}

static void mpi_pack(const pw_subject_type *t, const void *mem, int64_t count, void *packed)
{
    int position = 0;
    MPI_Pack(mem, (int)count, t->random->type, packed, (int)(count * t->random->map.size), &position, MPI_COMM_SELF);
}

static void mpi_unpack(const pw_subject_type *t, void *mem, int64_t count, const void *packed)
{
    int position = 0;
    MPI_Unpack(packed, (int)(count * t->random->map.size), &position, mem, (int)count, t->random->type, MPI_COMM_SELF);
}

static void interp_pack(const pw_subject_type *t, const void *mem, int64_t count, void *packed)
{
    pw_interp_pack(t->nest, mem, count, packed);
}

static void interp_unpack(const pw_subject_type *t, void *mem, int64_t count, const void *packed)
{
    pw_interp_unpack(t->nest, mem, count, packed);
}

static void interp_pack_range(const pw_subject_type *t, const void *mem, int64_t count, int64_t first, int64_t last,
                              void *packed)
{
    pw_interp_pack_range(t->nest, mem, count, first, last, packed);
}

static void interp_unpack_range(const pw_subject_type *t, void *mem, int64_t count, int64_t first, int64_t last,
                                const void *packed)
{
    pw_interp_unpack_range(t->nest, mem, count, first, last, packed);
}

static void plain_pack(const pw_subject_type *t, const void *mem, int64_t count, void *packed)
{
    pw_layout_pack(t->plain, mem, count, packed);
}

static void plain_unpack(const pw_subject_type *t, void *mem, int64_t count, const void *packed)
{
    pw_layout_unpack(t->plain, mem, count, packed);
}

static void plain_pack_part(const pw_subject_type *t, const void *mem, int64_t count, int64_t first, int64_t last,
                            void *packed)
{
    (void)count;
    pw_layout_pack_part(t->plain, mem, first, last, packed);
}

static void plain_unpack_part(const pw_subject_type *t, void *mem, int64_t count, int64_t first, int64_t last,
                              const void *packed)
{
    (void)count;
    pw_layout_unpack_part(t->plain, mem, first, last, packed);
}

static void compiled_pack(const pw_subject_type *t, const void *mem, int64_t count, void *packed)
{
    pw_layout_pack(t->compiled, mem, count, packed);
}

static void compiled_unpack(const pw_subject_type *t, void *mem, int64_t count, const void *packed)
{
    pw_layout_unpack(t->compiled, mem, count, packed);
}

static void compiled_pack_part(const pw_subject_type *t, const void *mem, int64_t count, int64_t first, int64_t last,
                               void *packed)
{
    (void)count;
    pw_layout_pack_part(t->compiled, mem, first, last, packed);
}

static void compiled_unpack_part(const pw_subject_type *t, void *mem, int64_t count, int64_t first, int64_t last,
                                 const void *packed)
{
    (void)count;
    pw_layout_unpack_part(t->compiled, mem, first, last, packed);
}

const pw_subject *pw_subjects(int *n)
{
    static const pw_subject subjects[] = {
        {.name = "MPI", .lazy_padding = true, .applies = is_solid, .pack = mpi_pack, .unpack = mpi_unpack},
        {.name = "tier 0",
         .applies = always,
         .pack = interp_pack,
         .unpack = interp_unpack,
         .pack_range = interp_pack_range,
         .unpack_range = interp_unpack_range},
        {.name = "layout, never compiled",
         .applies = always,
         .pack = plain_pack,
         .unpack = plain_unpack,
         .pack_range = plain_pack_part,
         .unpack_range = plain_unpack_part},
        {.name = "layout, compiled",
         .applies = is_compiled,
         .pack = compiled_pack,
         .unpack = compiled_unpack,
         .pack_range = compiled_pack_part,
         .unpack_range = compiled_unpack_part},
    };
    *n = sizeof subjects / sizeof subjects[0];
    return subjects;
}
