/* The table, the summaries and the CSV. */
#ifndef PW_BENCH_REPORT_H
#define PW_BENCH_REPORT_H

#include "bench/results.h"

/* Machine, compiler, MPI and command, and what the columns mean. */
void bench_report_header(int argc, char **argv);
/* One line, printed as soon as it is known. */
void bench_report_row(const bench_result *r);
/* Means by layout and over all, slowest rows, rows slower than the MPI below, commits. */
void bench_report_summary(const bench_results *results, const bench_options *options);
bool bench_report_csv(const bench_results *results, const char *path);

#endif
