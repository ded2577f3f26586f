/* From the times of pairs of runs to a verdict with its spread. */
#include "tools/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Student's t: 97.5 % of the distribution lie below it. From 30 degrees of freedom on, that of 30. */
static double student(int degrees)
{
    static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                               2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                               2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    int most = sizeof t / sizeof *t;

    return t[(degrees < most ? degrees : most) - 1];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static pw_compare_times times_of(const double *seconds, int n)
{
    double *sorted = malloc((size_t)n * sizeof *sorted);
    pw_compare_times times = {0};

    if (!sorted)
        return times;
    memcpy(sorted, seconds, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    times = (pw_compare_times){(sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[0], sorted[n - 1]};
    free(sorted);
    return times;
}

pw_compare_verdict pw_compare_judge(const double *native, const double *packwright, int pairs)
{
    pw_compare_verdict verdict = {.native = times_of(native, pairs), .packwright = times_of(packwright, pairs)};
    double mean = 0, squares = 0, half;

    for (int i = 0; i < pairs; i++)
        mean += log(native[i] / packwright[i]) / pairs;
    for (int i = 0; i < pairs; i++) {
        double off = log(native[i] / packwright[i]) - mean;

        squares += off * off;
    }
    half = student(pairs - 1) * sqrt(squares / (pairs - 1) / pairs);
    verdict.ratio = exp(mean);
    verdict.low = exp(mean - half);
    verdict.high = exp(mean + half);
    verdict.outcome = verdict.low > 1 ? PW_COMPARE_FASTER : verdict.high < 1 ? PW_COMPARE_SLOWER : PW_COMPARE_UNCLEAR;
    return verdict;
}

pw_compare_rest pw_compare_rest_of(const pw_compare_verdict *v, double saved)
{
    double least = v->native.median * (1 - 1 / v->low), most = v->native.median * (1 - 1 / v->high);

    return saved > most ? PW_COMPARE_REST_LOST : saved < least ? PW_COMPARE_REST_SAVED : PW_COMPARE_AGREES;
}
