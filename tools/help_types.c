/* packwright help types: the datatype language on one screen. */
#include "tools/command.h"

#include <stdio.h>

/* Every line that begins with four blanks and a letter holds an example that parses; the tests try them all. */
static const char text[] =
    "A type is written as in C, with arrays in braces, or shorter. Both of these are MPI_Type_vector:\n"
    "\n"
    "    MPI_Type_vector(32, 2, 8, MPI_DOUBLE)\n"
    "    vec(32 2 8)[double]\n"
    "\n"
    "The calls, with MPI's names and MPI's order of arguments; \"MPI_Type_\" and \"MPI_Type_create_\" may be left "
    "out:\n"
    "\n"
    "    contiguous(3, double)\n"
    "    vector(32, 2, 8, double)                                count, block length, stride\n"
    "    hvector(32, 2, 64, double)                              the stride in bytes\n"
    "    indexed(2, {1, 3}, {0, 8}, int)                         count, block lengths, displacements\n"
    "    hindexed(2, {1, 3}, {0, 32}, int)                       displacements in bytes\n"
    "    indexed_block(3, 2, {0, 4, 9}, int)                     count, block length, displacements\n"
    "    hindexed_block(3, 2, {0, 16, 36}, int)\n"
    "    struct(2, {3, 1}, {0, 24}, {double, int})               count, block lengths, bytes, types\n"
    "    subarray(2, {8, 8}, {8, 2}, {0, 6}, C, double)          sizes, subsizes, starts; C or fortran\n"
    "    darray(4, 1, 2, {8, 8}, {block, cyclic}, {*, *}, {2, 2}, C, int)\n"
    "    resized(double, 0, 64)                                  lower bound, extent\n"
    "    dup(double)\n"
    "\n"
    "The short forms of the same types; commas may be left out, and the old type stands in brackets:\n"
    "\n"
    "    ctg(3)[double]\n"
    "    vec(32 2 8)[double]\n"
    "    hvec(32 2 64)[double]\n"
    "    idx(0,1 8,3)[int]                                       displacement,length of each block\n"
    "    hidx(0,1 32,3)[int]\n"
    "    idxb(2: 0 4 9)[int]                                     length: displacements\n"
    "    hidxb(2: 0 16 36)[int]\n"
    "    struct(0: 3*double, 24: int)                            byte: [count*]type\n"
    "    sub(8 8 | 8 2 | 0 6)[double]                            sizes | subsizes | starts\n"
    "    darray(4 1 | 8 8 | block cyclic | * * | 2 2)[int]\n"
    "    resized(0 64)[double]\n"
    "    dup[double]\n"
    "\n"
    "Basic types are MPI's (MPI_DOUBLE, MPI_SHORT_INT), those of C (int, unsigned long, long double, double complex,\n"
    "int8_t to uint64_t, size_t), byte and bool. Types nest, and get names:\n"
    "\n"
    "    cell = struct(2, {3, 1}, {0, 24}, {double, int})  vector(4, 1, 8, cell)\n"
    "    N = 256  R = 3  face = sub(N N N | N R N | 0 N-R 0)[double]\n"
    "    MPI_Type_contiguous(3, MPI_INT, &triple); MPI_Type_vector(4, 1, 2, triple, &row);\n"
    "\n"
    "Numbers may be ranges, for several types at once, and lists may be generated:\n"
    "\n"
    "    vec(1:1:4 2 8)[double]                                  counts 1, 2, 3 and 4\n"
    "    idxb(1: range(0, 4, 1000))[double]                      0, 4, 8, ...: 1000 numbers\n"
    "    idxb(1: sample(1000, 65536, 42))[double]                1000 different numbers below 65536, seed 42\n"
    "\n"
    "Packwright prints types in the short form with byte displacements. docs/ddt.md has the grammar and the limits.\n";

void pw_help_types(void)
{
    fputs(text, stdout);
}
