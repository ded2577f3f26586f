/*
 * Purpose: bytes and times with units, in three digits or so. Data: none.
 */
#include "tools/report/numbers.h"

void pw_put_bytes(FILE *out, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double v = (double)bytes;
    int unit = 0;

    for (; v >= 1024 && unit < 5; unit++)
        v /= 1024;
    fprintf(out, "%.4g %s", v, units[unit]);
}

void pw_put_time(FILE *out, double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double v = ns < 0 ? -ns : ns;
    int unit = 0;

    for (; v >= 999.5 && unit < 3; unit++)
        v *= 1e-3;
    fprintf(out, v >= 999.5 ? "%s%.0f %s" : "%s%.3g %s", ns < 0 ? "-" : "", v, units[unit]);
}
