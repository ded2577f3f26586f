#include "tools/run/child.h"

#include "base/log.h"
#include "tools/run/words.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int taken[] = {SIGINT, SIGTERM, SIGHUP};

/* The singleton that the signal handler knows. */
static struct {
    volatile sig_atomic_t caught;
    volatile pid_t child; /* 0: none runs */
    volatile unsigned patience;
} at_work;

/* A terminal sends its signals to the command, too (SI_KERNEL). */
static void hand_on(int signal, siginfo_t *info, void *context)
{
    (void)context;
    at_work.caught = signal;
    if (at_work.child > 0 && info->si_code != SI_KERNEL)
        kill(at_work.child, signal);
    alarm(at_work.patience);
}

static void lose_patience(int signal)
{
    (void)signal;
    if (at_work.child > 0)
        kill(at_work.child, SIGKILL);
}

void pw_child_take_signals(unsigned patience)
{
    struct sigaction old, now = {.sa_sigaction = hand_on, .sa_flags = SA_SIGINFO};

    at_work.patience = patience;
    if (patience)
        signal(SIGALRM, lose_patience);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (sigaction(taken[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(taken[i], &now, NULL);
}

int pw_child_signal(void)
{
    return at_work.caught;
}

void pw_child_end_by(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

/* In the child: the command takes its place. */
static void become(const char *const *command, FILE *output)
{
    struct sigaction old;

    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (sigaction(taken[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            signal(taken[i], SIG_DFL);
    if (output) {
        dup2(fileno(output), STDOUT_FILENO);
        dup2(fileno(output), STDERR_FILENO);
    }
    execvp(command[0], (char *const *)command);
    pw_log(PW_LOG_ERROR, "%s: %s", command[0], strerror(errno));
    _exit(errno == ENOENT ? PW_RUN_NOT_FOUND : PW_RUN_CANNOT);
}

int pw_child_run(const char *const *command, FILE *output, int *state)
{
    pid_t child, ended;

    fflush(stdout);
    child = fork();
    if (child == 0)
        become(command, output);
    if (child < 0)
        return errno;
    at_work.child = child;
    if (at_work.caught)
        kill(child, at_work.caught);
    do
        ended = waitpid(child, state, 0);
    while (ended < 0 && errno == EINTR);
    at_work.child = 0;
    return ended < 0 ? errno : 0;
}
