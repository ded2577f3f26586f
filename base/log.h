/*
 * The one way to write to the user: lines on stderr, "packwright: <level>: text", nothing from a healthy
 * run at the default level (PACKWRIGHT_LOG=warn). Thread safe; one write(2) a line, so lines of several
 * ranks do not interleave.
 */
#ifndef PW_BASE_LOG_H
#define PW_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>

typedef enum pw_log_level { PW_LOG_ERROR, PW_LOG_WARN, PW_LOG_INFO, PW_LOG_DEBUG } pw_log_level;

bool pw_log_enabled(pw_log_level level);
void pw_log(pw_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A warning that every process of a node has the same reason for: its first one gives it, others only as PW_LOG_INFO.
 */
void pw_log_for_node(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* While it is silent, nothing is written whatever PACKWRIGHT_LOG says: for a library whose program wants that. */
void pw_log_silence(bool silent);

/* Names the MPI rank in later lines ("packwright[3]: …"); -1 removes it. */
void pw_log_set_rank(int rank);

/* Warns the first time this place is reached in the process, and is silent afterwards. */
#define pw_warn_once(...)                                 \
    do {                                                  \
        static atomic_flag pw_warned_ = ATOMIC_FLAG_INIT; \
        if (!atomic_flag_test_and_set(&pw_warned_))       \
            pw_log(PW_LOG_WARN, __VA_ARGS__);             \
    } while (0)

#endif
