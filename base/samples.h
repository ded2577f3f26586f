/* What is measured several times. */
#ifndef PW_BASE_SAMPLES_H
#define PW_BASE_SAMPLES_H

#include <stdlib.h>

static inline int pw_samples_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline void pw_samples_sort(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, pw_samples_compare);
}

/* Sorts the values; n > 0. */
static inline double pw_samples_median(double *values, int n)
{
    pw_samples_sort(values, n);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

#endif
