/* Memory of another process that is attached by XPMEM, with a library that stands in for XPMEM's: what is found, how
 * much is kept, and what is let go. */
#include "runtime/exchange/xpmem.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 65536 /* the largest of Linux */, PAGES = 300, KEPT = 256 };

static char *memory; /* at the same address in the owner: PAGES pages of a file, each filled with its number */
static int (*attached)(void);
static pw_segment_header header;
static pid_t owner;

static int set_up(void **state)
{
    void *library = dlopen(PW_TEST_XPMEM, RTLD_NOW);
    int fd = memfd_create("test", MFD_CLOEXEC);

    (void)state;
    assert_non_null(library);
    *(void **)&attached = dlsym(library, "xpmem_stand_in_attached");
    assert_int_equal(ftruncate(fd, (off_t)PAGES * PAGE), 0);
    memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int i = 0; i < PAGES; i++)
        memset(memory + (size_t)i * PAGE, i, PAGE);
    owner = fork();
    if (owner == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    atomic_store(&header.xpmem, (uint64_t)owner);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pw_xpmem_end();
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    return 0;
}

static pw_reached *attach(int page, int pages)
{
    pw_reached *use;
    const char *at =
        pw_xpmem_attach(&header, (uintptr_t)memory + (uint64_t)page * PAGE + 5, (size_t)pages * PAGE - 10, &use);

    assert_non_null(at);
    assert_ptr_not_equal(at, memory + (size_t)page * PAGE + 5);
    assert_int_equal(at[0], (char)page);
    assert_int_equal(at[(size_t)pages * PAGE - 11], (char)(page + pages - 1));
    return use;
}

/* The parts of a range are found in it. */
static void a_range_is_attached_once(void **state)
{
    pw_reached *all = attach(0, 4), *part = attach(2, 1), *again = attach(0, 4);

    (void)state;
    assert_int_equal(attached(), 1);
    pw_reach_give(all);
    pw_reach_give(part);
    pw_reach_give(again);
    assert_int_equal(attached(), 1);
}

static void the_oldest_goes_unless_it_is_in_use(void **state)
{
    pw_reached *held = attach(0, 4), *others[KEPT], *none;

    (void)state;
    for (int i = 4; i < PAGES; i++) {
        pw_reached *use = attach(i, 1);

        pw_reach_give(use);
        assert_true(attached() <= KEPT);
    }
    for (int i = 1; i < KEPT; i++)
        others[i] = attach(i + 4, 1);
    assert_int_equal(attached(), KEPT);
    assert_null(pw_xpmem_attach(&header, (uintptr_t)memory + (uint64_t)(PAGES - 1) * PAGE, 8, &none));
    for (int i = 1; i < KEPT; i++)
        pw_reach_give(others[i]);
    attach(0, 4);
    pw_reach_give(held);
    pw_reach_give(held);
}

static void what_the_owner_gives_back_is_let_go(void **state)
{
    pw_reached *held = attach(0, 4), *use;

    (void)state;
    use = attach(10, 1);
    pw_reach_give(use);
    atomic_fetch_add(&header.removed, 1);
    use = attach(12, 1);
    pw_reach_give(use);
    assert_int_equal(attached(), 2); /* the one in use, and the new one */
    pw_reach_give(held);
    atomic_fetch_add(&header.removed, 1);
    use = attach(12, 1);
    pw_reach_give(use);
    assert_int_equal(attached(), 1);
}

static void other_memory_is_refused(void **state)
{
    char *alone = malloc(PAGE); /* not of a file */
    pw_reached *use;

    (void)state;
    assert_null(pw_xpmem_attach(&header, (uintptr_t)alone, 8, &use));
    assert_null(pw_xpmem_attach(&header, (uintptr_t)memory + ((uint64_t)PAGES - 1) * PAGE, 2 * PAGE, &use));
    atomic_store(&header.xpmem, 0);
    assert_null(pw_xpmem_attach(&header, (uintptr_t)memory, 8, &use));
    atomic_store(&header.xpmem, (uint64_t)owner);
    free(alone);
}

static void all_is_let_go_at_the_end(void **state)
{
    pw_reached *use = attach(0, 1);

    (void)state;
    pw_reach_give(use);
    pw_xpmem_end();
    assert_int_equal(attached(), 0);
    use = attach(0, 1);
    pw_reach_give(use);
}

static void a_process_that_has_ended_is_refused(void **state)
{
    pw_reached *use;

    (void)state;
    pw_xpmem_end();
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    assert_null(pw_xpmem_attach(&header, (uintptr_t)memory, 8, &use));
}

/* Another library of that name comes first in a child. */
static int look_in_child(void)
{
    pid_t pid = fork();
    pw_reached *use;
    int status;

    if (pid == 0) {
        header.xpmem = 1;
        _exit(dlopen(PW_TEST_EMPTY_XPMEM, RTLD_NOW) && !pw_xpmem_attach(&header, 4096, 8, &use) ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_is_attached_once),
        cmocka_unit_test(the_oldest_goes_unless_it_is_in_use),
        cmocka_unit_test(what_the_owner_gives_back_is_let_go),
        cmocka_unit_test(other_memory_is_refused),
        cmocka_unit_test(all_is_let_go_at_the_end),
        cmocka_unit_test(a_process_that_has_ended_is_refused),
    };

    if (look_in_child() != 0) {
        print_error("a library without XPMEM's functions is used\n");
        return 1;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
