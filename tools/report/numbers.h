/* Numbers as reports for people print them. */
#ifndef PW_TOOLS_REPORT_NUMBERS_H
#define PW_TOOLS_REPORT_NUMBERS_H

#include <stdint.h>
#include <stdio.h>

/* Prints a number of bytes in the largest unit that it fills: "80 B", "32 KiB", "1.25 GiB". */
void pw_put_bytes(FILE *out, int64_t bytes);
/* Prints a time with three digits: "364 ns", "15.4 us", "-1.2 ms", "71.2 s". */
void pw_put_time(FILE *out, double ns);

#endif
