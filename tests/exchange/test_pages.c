/* Pages of a mapped file that are entered before they are read. */
#include "runtime/exchange/pages.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGES = 2048, WRITTEN = 1500, GAP = 100 }; /* more pages than are looked at together */

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

typedef struct scene {
    int fd;
    size_t page;
    const char *memory; /* the file, mapped by one who has read nothing of it */
} scene;

static char *map(const scene *s, int access)
{
    char *memory = mmap(NULL, PAGES * s->page, access, MAP_SHARED, s->fd, 0);

    assert_true(memory != MAP_FAILED);
    return memory;
}

/* Writes pages [0, WRITTEN), but for one gap. */
static void write_pages(const scene *s)
{
    char *memory = map(s, PROT_READ | PROT_WRITE);

    memset(memory, 1, GAP * s->page);
    memset(memory + 2 * GAP * s->page, 1, (WRITTEN - 2 * GAP) * s->page);
    munmap(memory, PAGES * s->page);
}

static scene make(void)
{
    scene s = {.fd = memfd_create("pages", MFD_CLOEXEC), .page = (size_t)sysconf(_SC_PAGESIZE)};

    assert_true(s.fd >= 0);
    assert_int_equal(ftruncate(s.fd, (off_t)(PAGES * s.page)), 0);
    write_pages(&s);
    s.memory = map(&s, PROT_READ);
    if (madvise((char *)s.memory, s.page, MADV_POPULATE_READ) != 0 && errno == EINVAL)
        skip(); /* Linux before 5.14 */
    return s;
}

static void end(const scene *s)
{
    munmap((char *)s->memory, PAGES * s->page);
    close(s->fd);
}

static long faults(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* ThreadSanitizer notes each access in pages of its own, which fault. */
#ifdef __SANITIZE_THREAD__
enum { FAULTS_TELL = 0 };
#else
enum { FAULTS_TELL = 1 };
#endif

static void touch(const scene *s, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++)
        (void)*(const volatile char *)(s->memory + i * s->page);
}

static blkcnt_t blocks(const scene *s)
{
    struct stat file;

    assert_int_equal(fstat(s->fd, &file), 0);
    return file.st_blocks;
}

static void reads_of_entered_pages_do_not_fault(void **state)
{
    scene s = make();
    long before;

    (void)state;
    touch(&s, 0, 1);
    assert_int_equal(pw_pages_enter(s.memory, PAGES * s.page, SIZE_MAX), (WRITTEN - GAP) * s.page);
    before = faults();
    touch(&s, 0, GAP);
    touch(&s, 2 * GAP, WRITTEN);
    if (FAULTS_TELL)
        assert_int_equal(faults(), before);
    end(&s);
}

static void unwritten_pages_are_not_made(void **state)
{
    scene s = make();
    blkcnt_t before = blocks(&s);

    (void)state;
    pw_pages_enter(s.memory, PAGES * s.page, SIZE_MAX);
    assert_int_equal(blocks(&s), before);
    end(&s);
}

static void no_more_are_entered_than_asked_for(void **state)
{
    scene s = make();

    (void)state;
    assert_int_equal(pw_pages_enter(s.memory, PAGES * s.page, 10 * s.page), 10 * s.page);
    assert_int_equal(pw_pages_enter(s.memory, PAGES * s.page, 0), 0);
    assert_int_equal(pw_pages_enter(s.memory, GAP * s.page, SIZE_MAX), GAP * s.page);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_of_entered_pages_do_not_fault),
                                       cmocka_unit_test(unwritten_pages_are_not_made),
                                       cmocka_unit_test(no_more_are_entered_than_asked_for)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
