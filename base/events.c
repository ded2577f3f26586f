#include "base/events.h"

#include "base/env.h"
#include "base/replace.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *pw_event_word(pw_event event)
{
    static const char *const words[] = {
#define X(symbol, word) word,
        PW_EVENTS(X)
#undef X
    };
    return words[event];
}

/* Finds the last part of this program's path. */
static const char *own_name(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    const char *slash;

    path[n > 0 ? n : 0] = '\0';
    slash = strrchr(path, '/');
    return slash ? slash + 1 : "a program";
}

void pw_event_leave(pw_event event)
{
    const char *file = pw_env_path(PW_ENV_RUN);
    int fd = *file ? open(file, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    char path[4096], line[PW_EVENT_LINE];
    int n;

    if (fd < 0)
        return;
    n = snprintf(line, sizeof line, "%s %.255s\n", pw_event_word(event), own_name(path, sizeof path));
    pw_write_all(fd, line, (size_t)n);
    close(fd);
}
