#include "base/log.h"

#include "base/env.h"
#include "base/launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic int log_rank = -1;
static _Atomic bool log_silent;

void pw_log_silence(bool silent)
{
    atomic_store_explicit(&log_silent, silent, memory_order_relaxed);
}

void pw_log_set_rank(int rank)
{
    atomic_store_explicit(&log_rank, rank, memory_order_relaxed);
}

bool pw_log_enabled(pw_log_level level)
{
    return !atomic_load_explicit(&log_silent, memory_order_relaxed) && (int)level <= pw_env_choice(PW_ENV_LOG);
}

static void log_list(pw_log_level level, const char *fmt, va_list ap)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    char line[1024];
    int rank = atomic_load_explicit(&log_rank, memory_order_relaxed);
    int len;

    if (!pw_log_enabled(level))
        return;
    if (rank >= 0)
        len = snprintf(line, sizeof line, "packwright[%d]: %s: ", rank, names[level]);
    else
        len = snprintf(line, sizeof line, "packwright: %s: ", names[level]);
    len += vsnprintf(line + len, sizeof line - (size_t)len - 1, fmt, ap);
    if (len > (int)sizeof line - 2)
        len = (int)sizeof line - 2;
    line[len++] = '\n';
    /* Nothing useful can be done when stderr itself is gone. */
    if (write(STDERR_FILENO, line, (size_t)len) < 0)
        return;
}

void pw_log(pw_log_level level, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_list(level, fmt, ap);
    va_end(ap);
}

void pw_log_for_node(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_list(pw_launch_local_rank() > 0 ? PW_LOG_INFO : PW_LOG_WARN, fmt, ap);
    va_end(ap);
}
