/* The header alone, as a program in C or C++ includes it: compiled with every warning an error, and linked. */
#include <packwright/packwright.h>

int main(void)
{
    const int64_t lengths[] = {1, 1}, displacements[] = {0, 16};
    double from[3] = {1, 2, 3}, to[2] = {0, 0};
    packwright_type *cell, *pair, *olds[2];
    packwright_status status = packwright_bytes((int64_t)sizeof(double), 8, &cell);

    olds[0] = olds[1] = cell;
    if (status == PACKWRIGHT_OK)
        status = packwright_struct(2, lengths, displacements, olds, &pair);
    if (status == PACKWRIGHT_OK)
        status = packwright_pack(pair, from, 1, to);
    packwright_type_free(pair);
    packwright_type_free(cell);
    return status != PACKWRIGHT_OK || to[0] < 1 || to[1] < 3;
}
