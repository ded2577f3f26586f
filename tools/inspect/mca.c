/* llvm-mca (of LLVM's tools) about the innermost loop of the pack kernel: cycles of an iteration when all loads hit. */
#define _GNU_SOURCE /* memfd_create */
#include "tools/inspect/inspect.h"
#include "tools/inspect/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* An anonymous file with the loop, at its start; -1 on failure. */
static int loop_file(const pw_loop *loop)
{
    int fd = memfd_create("loop", MFD_CLOEXEC);

    if (fd < 0)
        return -1;
    if (write_all(fd, loop->begin, (size_t)(loop->end - loop->begin)) && write_all(fd, "\n", 1) &&
        lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Starts the first of the programs that is found, reading `in` and writing `out`. 0, or an errno. */
static int start(char *const *args, int in, int out, pid_t *pid)
{
    static const char *const programs[] = {"llvm-mca-19", "llvm-mca", NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    for (int i = 0; !error && programs[i]; i++) {
        int failed = posix_spawnp(pid, programs[i], &actions, NULL, args, environ);

        if (!failed || !programs[i + 1]) {
            error = failed;
            break;
        }
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* The head of what it prints; the rest is read and dropped, or the program would not end. */
static void read_head(int fd, char *text, size_t size)
{
    char rest[4096];
    size_t used = 0;
    ssize_t n;

    while ((n = read(fd, used < size - 1 ? text + used : rest, used < size - 1 ? size - 1 - used : sizeof rest)) > 0)
        if (used < size - 1)
            used += (size_t)n;
    text[used] = '\0';
}

static bool number_behind(const char *text, const char *name, double *out)
{
    const char *at = strstr(text, name);

    if (!at)
        return false;
    *out = strtod(at + strlen(name), NULL);
    return *out > 0;
}

static const char *run(const pw_target *target, int in, double *cycles)
{
    char march[32], mcpu[64], text[8192];
    char *args[] = {"llvm-mca", march, mcpu, NULL};
    double total, iterations;
    int ends[2], status, error;
    pid_t pid;

    snprintf(march, sizeof march, "-march=%s", strcmp(target->arch, "x86_64") ? target->arch : "x86-64");
    snprintf(mcpu, sizeof mcpu, "-mcpu=%s", target->cpu);
    if (pipe2(ends, O_CLOEXEC))
        return "no pipe to it";
    error = start(args, in, ends[1], &pid);
    close(ends[1]);
    if (!error) {
        read_head(ends[0], text, sizeof text);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    close(ends[0]);
    if (error)
        return "llvm-mca is not on the PATH";
    if (status != 0 || !number_behind(text, "Total Cycles:", &total) ||
        !number_behind(text, "Iterations:", &iterations))
        return "llvm-mca does not take this loop or CPU";
    *cycles = total / iterations;
    return NULL;
}

static const char *ask(const pw_subject *s, const char *assembly, pw_mca *out)
{
    char pack[PW_SYMBOL_TEXT], unpack[PW_SYMBOL_TEXT];
    bool is_x86 = !strcmp(s->options->target.arch, "x86_64");
    const char *problem;
    pw_loop loop;
    int in;

    pw_kernel_symbols(s->key, pack, unpack);
    if (!pw_loop_find(assembly, pack, is_x86 ? PW_LOOP_X86 : PW_LOOP_AARCH64, &loop))
        return "the kernel has no innermost loop without calls";
    in = loop_file(&loop);
    if (in < 0)
        return "no memory for the loop";
    problem = run(&s->options->target, in, &out->cycles);
    close(in);
    if (problem)
        return problem;
    out->bytes = loop.stores;
    memcpy(out->label, loop.label, sizeof out->label);
    return NULL;
}

void pw_mca_ask(const pw_subject *s, pw_mca *out)
{
    pw_diag diag = {0};
    const char *problem;
    char *assembly;

    *out = (pw_mca){0};
    if (!s->backend) {
        snprintf(out->note, sizeof out->note, "there is no code generator");
        return;
    }
    if (pw_subject_text(s, PW_STAGE_ASM, &assembly, &diag) != PW_OK) {
        snprintf(out->note, sizeof out->note, "no kernel: %.140s", diag.text);
        return;
    }
    problem = ask(s, assembly, out);
    if (problem)
        snprintf(out->note, sizeof out->note, "%s", problem);
    free(assembly);
}
