/* The table, the summary and the CSV. */
#ifndef PW_BENCH_MESSAGES_REPORT_H
#define PW_BENCH_MESSAGES_REPORT_H

#include "bench/messages/measure.h"
#include "bench/messages/options.h"

typedef struct msg_result {
    const char *name;
    char params[BENCH_PARAMS_TEXT];
    msg_mode mode;
    int64_t bytes;
    double block;
    msg_times times;
} msg_result;

typedef struct msg_results {
    msg_result *all;
    int n;
    int64_t room;
} msg_results;

void msg_results_add(msg_results *results, const msg_result *r);

void msg_report_header(int argc, char **argv, int ranks);
void msg_report_row(const msg_result *r);
void msg_report_summary(const msg_results *results, int worst);
/* False, with a message: it could not be written. */
bool msg_report_csv(const msg_results *results, int ranks, const char *path);

#endif
