/* Threads of the library's own: which signals of the program reach them. */
#include "base/thread.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static volatile sig_atomic_t provided;
static char *memory;

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Provides the memory that is touched, as programs do that page their memory themselves. */
static void provide(int number)
{
    (void)number;
    provided++;
    mprotect(memory, page(), PROT_READ | PROT_WRITE);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    sigaction(number, &action, NULL);
}

static void *mask(void *set)
{
    pthread_sigmask(SIG_SETMASK, NULL, set);
    return NULL;
}

static void signals_to_the_process_are_blocked(void **state)
{
    const int of_the_program[] = {SIGALRM, SIGCHLD, SIGINT, SIGTERM, SIGUSR1, SIGPROF, SIGIO, SIGRTMAX};
    sigset_t blocked;
    pthread_t thread;

    (void)state;
    assert_int_equal(pw_thread_start(&thread, 0, mask, &blocked), 0);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < sizeof of_the_program / sizeof *of_the_program; i++)
        assert_true(sigismember(&blocked, of_the_program[i]));
}

static void *touch(void *at)
{
    return (void *)(intptr_t)(*(volatile char *)at + 1);
}

static void a_fault_reaches_the_programs_handler(void **state)
{
    pthread_t thread;
    void *result = NULL;

    (void)state;
    memory = mmap(NULL, page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    handle(SIGSEGV, provide);
    assert_int_equal(pw_thread_start(&thread, 0, touch, memory), 0);
    pthread_join(thread, &result);
    handle(SIGSEGV, SIG_DFL);
    munmap(memory, page());
    assert_int_equal((intptr_t)result, 1);
    assert_int_equal(provided, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_to_the_process_are_blocked),
        cmocka_unit_test(a_fault_reaches_the_programs_handler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
