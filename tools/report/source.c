/*
 * Purpose: lines of source for places in programs, asked of addr2line. Data: the places of a report, sorted. Invariant:
 * the processes that are started end within a bounded time.
 */
#include "tools/report/source.h"

#include "base/clock.h"
#include "base/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 256 /* places of one process */, MOST_MS = 5000 /* for all processes together */, LINE = 1024 };

struct pw_place {
    const char *module, *offset; /* of the report's data */
    char *line;                  /* malloc'ed; NULL: not known */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- addr2line --------------------------------------------------------------------------------------------------- */

/* Starts a program with its output in a pipe. Returns false if it cannot be started. */
static bool start(char *const *argv, pid_t *pid, int *out)
{
    posix_spawn_file_actions_t actions;
    int ends[2], error;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = ends[0];
    if (error)
        close(ends[0]);
    return error == 0;
}

/* Reads all that arrives before `end`. malloc'ed; NULL: it took too long, or there is no memory. */
static char *read_all(int fd, int64_t end)
{
    size_t size = (size_t)MOST_AT_ONCE * LINE, n = 0;
    char *text = malloc(size + 1);

    while (text && n < size) {
        int64_t left = (end - pw_clock_ns()) / 1000000;
        struct pollfd at = {.fd = fd, .events = POLLIN};
        int ready = left > 0 ? poll(&at, 1, (int)left) : 0;
        ssize_t got = ready > 0 ? read(fd, text + n, size - n) : ready;

        if (got < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || got < 0) {
            free(text);
            return NULL;
        }
        if (got == 0)
            break;
        n += (size_t)got;
    }
    if (text)
        text[n] = '\0';
    return text;
}

/* Returns what addr2line says of these places, which are of one module: a line each. NULL: nothing. */
static char *ask(const pw_place *places, int n, int64_t end)
{
    char *argv[MOST_AT_ONCE + 4] = {(char[]){"addr2line"}, (char[]){"-e"}, (char *)places[0].module};
    char *text;
    pid_t pid;
    int fd;

    for (int i = 0; i < n; i++)
        argv[3 + i] = (char *)places[i].offset;
    if (!start(argv, &pid, &fd))
        return NULL;
    text = read_all(fd, end);
    close(fd);
    if (!text)
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return text;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Returns whether addr2line has named a line: it says "??:0" or "file.c:?" where it knows none. */
static bool is_line(const char *text, size_t n)
{
    return n > 0 && *text != '?' && text[n - 1] != '?';
}

/* Sets the line of a place to a text of n bytes without remarks: "/home/me/halo.c:57 (discriminator 2)". */
static void set_line(pw_place *p, const char *text, size_t n)
{
    const char *remark = n ? memchr(text, ' ', n) : NULL;

    n = remark ? (size_t)(remark - text) : n;
    if (is_line(text, n))
        p->line = strndup(text, n);
    else if (asprintf(&p->line, "%.80s+%.20s", base_name(p->module), p->offset) < 0)
        p->line = NULL;
}

/* Returns whether the file is still what the report of this time was about. */
static bool is_of_the_run(const char *module, time_t date)
{
    struct stat st;

    return *module == '/' && stat(module, &st) == 0 && st.st_mtime <= date;
}

/* Sets the lines of n places of one module. */
static void look_up(pw_place *places, int n, time_t date, int64_t end)
{
    char *text = is_of_the_run(places[0].module, date) ? ask(places, n, end) : NULL;
    const char *at = text ? text : "";

    for (int i = 0; i < n; i++) {
        size_t length = strcspn(at, "\n");

        set_line(&places[i], at, length);
        at += length + (at[length] != '\0');
    }
    free(text);
}

/* ---- the places of a report -------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const pw_place *x = a, *y = b;
    int order = strcmp(x->module, y->module);

    return order ? order : strcmp(x->offset, y->offset);
}

/* An offset is a word of addr2line's command line, so it must not be an option. */
static pw_place place_of(pw_data made)
{
    const char *offset = pw_data_text(made, "offset");

    return (pw_place){.module = pw_data_text(made, "module"), .offset = strncmp(offset, "0x", 2) ? "0x0" : offset};
}

/* Whether the library is an MPI's, as its Fortran bindings are. */
static bool is_of_mpi(const char *module)
{
    return !strncmp(base_name(module), "libmpi", 6);
}

static void collect(pw_data rows, pw_places *out, int64_t *room)
{
    for (pw_data row = rows; row; row = row->next)
        for (pw_data made = pw_data_first(row, "made_at"); made; made = made->next) {
            pw_place place = place_of(made), *grown;

            if (!*place.module || is_of_mpi(place.module) || !(grown = pw_grow(out->at, out->n, room, sizeof *grown)))
                continue;
            out->at = grown;
            out->at[out->n++] = place;
        }
}

static time_t date_of(pw_data report)
{
    struct tm utc = {0};

    return strptime(pw_data_text(report, "date"), "%Y-%m-%dT%H:%M:%SZ", &utc) ? timegm(&utc) : 0;
}

void pw_places_find(pw_data report, pw_places *out)
{
    int64_t end = pw_clock_ns() + (int64_t)MOST_MS * 1000000, room = 0, kept = 0;
    time_t date = date_of(report);

    *out = (pw_places){NULL, 0};
    collect(pw_data_first(report, "types"), out, &room);
    collect(pw_data_first(report, "not_freed"), out, &room);
    if (out->n)
        qsort(out->at, (size_t)out->n, sizeof *out->at, by_place);
    for (int64_t i = 0; i < out->n; i++)
        if (kept == 0 || by_place(&out->at[kept - 1], &out->at[i]))
            out->at[kept++] = out->at[i];
    out->n = kept;
    for (int64_t i = 0, n; i < kept; i += n) {
        for (n = 1; i + n < kept && n < MOST_AT_ONCE && !strcmp(out->at[i].module, out->at[i + n].module); n++)
            ;
        look_up(&out->at[i], (int)n, date, end);
    }
}

void pw_places_free(pw_places *places)
{
    for (int64_t i = 0; i < places->n; i++)
        free(places->at[i].line);
    free(places->at);
}

const char *pw_places_line(const pw_places *places, pw_data made)
{
    pw_place key = place_of(made), *found = NULL;

    if (places->n)
        found = bsearch(&key, places->at, (size_t)places->n, sizeof key, by_place);
    return found && found->line ? found->line : "";
}

const char *pw_places_first(const pw_places *places, pw_data type)
{
    for (pw_data made = pw_data_first(type, "made_at"); made; made = made->next)
        if (*pw_places_line(places, made))
            return base_name(pw_places_line(places, made));
    return "";
}
