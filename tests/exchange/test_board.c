/* Layouts that another process shows: the same layouts come out, and nothing of what is broken. */
#include "runtime/exchange/board.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"
#include "tests/cache/layout_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const texts[] = {
    "type(lb 0, extent 64) { stream 3 stride 16 { bytes 8 align 8 } }",
    "type(lb 0, extent 4096) { stream 16 stride 256 { bytes 24 align 8 } }",
    "type(lb 0, extent 200) { blocks [0:8, 16:4, 100:40] }",
    "type(lb 0, extent 100000) { index [0, 24, 4096, 72] { stream 3 stride 8 { bytes 4 align 4 } } }",
};

enum { TEXTS = sizeof texts / sizeof *texts, CUT = TEXTS, ELSEWHERE, FALSE_HASH, EMPTY, LONG, SHOWN };

/* Stands in for the system call by which blocks of the segment get their pages. */
static bool is_full;

int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    if (is_full) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

typedef struct scenery {
    void *files; /* scene */
    pw_layout_engine *engine;
    pid_t pid;
    pw_segment_text shown[SHOWN];
} scenery;

/* A text that is like another one but for what is wrong with it. */
static pw_segment_text broken(pw_segment_text t, int what)
{
    t.hash.lo += what == FALSE_HASH;
    t.address += what == ELSEWHERE ? (uint64_t)1 << 40 : 0;
    t.bytes -= what == CUT ? 3 : 0;
    if (what == EMPTY || what == LONG)
        t.bytes = what == EMPTY ? 0 : UINT64_MAX;
    return t;
}

static void be_another(pw_layout_engine *engine, int tell)
{
    pw_segment_text shown[SHOWN], again;
    bool good = true;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pw_segment_open();
    for (int i = 0; i < TEXTS; i++)
        good &= pw_board_put(layout_of(engine, texts[i]), &shown[i]);
    for (int i = 0; i < TEXTS; i++)
        good &= pw_board_put(layout_of(engine, texts[i]), &again) && again.address == shown[i].address;
    /* A text that can be read is known by its own hash from then on. */
    for (int i = TEXTS; i < SHOWN; i++)
        shown[i] = broken(shown[i == FALSE_HASH], i);
    if (good && write(tell, shown, sizeof shown) == (ssize_t)sizeof shown)
        pause();
    _exit(1);
}

static int set_up(void **state)
{
    scenery *s = calloc(1, sizeof *s);
    int pipes[2];

    scene_setup(&s->files);
    s->engine = layout_engine(s->files, PW_JIT_OFF, 0, false);
    assert_int_equal(pipe(pipes), 0);
    s->pid = fork();
    if (s->pid == 0)
        be_another(s->engine, pipes[1]);
    close(pipes[1]);
    assert_int_equal(read(pipes[0], s->shown, sizeof s->shown), sizeof s->shown);
    close(pipes[0]);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    scenery *s = *state;

    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    pw_layout_engine_destroy(s->engine);
    scene_teardown(&s->files);
    free(s);
    return 0;
}

/* Equal types have one layout, so the layout read is the one that the text has here. */
static void layouts_come_out_as_they_were(void **state)
{
    scenery *s = *state;

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < TEXTS; i++) {
            pw_layout *there = pw_board_get(s->pid, &s->shown[i], s->engine), *here = layout_of(s->engine, texts[i]);

            assert_non_null(there);
            assert_ptr_equal(there, here);
            pw_layout_unref(there);
            pw_layout_unref(here);
        }
}

static void what_is_broken_is_no_layout(void **state)
{
    scenery *s = *state;

    for (int i = TEXTS; i < SHOWN; i++)
        assert_null(pw_board_get(s->pid, &s->shown[i], s->engine));
    assert_null(pw_board_get(getppid(), &s->shown[0], s->engine)); /* has no segment */
}

/* Puts a layout while the segment has no room, and when it has some again. */
static bool finds_room_later(pw_layout_engine *engine)
{
    pw_layout *layout = layout_of(engine, texts[0]);
    pw_segment_text shown;
    bool too_early;

    pw_segment_open();
    is_full = true;
    too_early = pw_board_put(layout, &shown) || pw_board_put(layout, &shown);
    is_full = false;
    return !too_early && pw_board_put(layout, &shown) && shown.address;
}

/* In a process of its own, which opens a segment. */
static void a_full_segment_is_tried_again(void **state)
{
    scenery *s = *state;
    pid_t child = fork();
    int status = -1;

    if (child == 0)
        _exit(finds_room_later(s->engine) ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Without a segment there is no board, and a full one takes nothing more. */
static void the_board_has_an_end(void **state)
{
    scenery *s = *state;
    pw_layout *known = layout_of(s->engine, texts[0]);
    pw_segment_text shown;

    assert_false(pw_board_put(known, &shown));
    pw_segment_open();
    assert_true(pw_board_put(known, &shown));
    for (int i = 1; i <= PW_BOARD_TEXTS; i++) {
        char text[128];
        pw_layout *layout;

        snprintf(text, sizeof text, "type(lb 0, extent %d) { bytes 8 align 8 }", 16 * i);
        layout = layout_of(s->engine, text);
        assert_int_equal(pw_board_put(layout, &shown), i < PW_BOARD_TEXTS);
        pw_layout_unref(layout);
    }
    assert_true(pw_board_put(known, &shown));
    pw_layout_unref(known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(layouts_come_out_as_they_were, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_broken_is_no_layout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_segment_is_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_board_has_an_end, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
