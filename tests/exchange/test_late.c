/* Late reads between a sender, which is this process, and a reader, its child, which does what it is told. */
#include "runtime/exchange/late.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIGNAL = 3, SECONDS = 30 };

typedef enum command { MAY, TELL, TELL_AND_READ, END } command;

typedef struct order {
    command command;
    uint64_t value;
    const void *message;
} order;

typedef struct reader {
    pid_t pid;
    int orders, answers;
} reader;

/* ---- the reader -------------------------------------------------------------------------------------------------- */

static bool obey(order o, pid_t sender)
{
    pw_segment_header *h = pw_peer_header(sender);
    pw_peer_block block;
    pw_segment_late *late = pw_peer_memory(sender, o.message, 1, &block) ? block.late : NULL;

    switch (o.command) {
    case MAY: return late && pw_late_may(h, late);
    case TELL:
    case TELL_AND_READ: pw_late_tell(late, SIGNAL, o.value); return true;
    case END: pw_segment_end(); return true;
    }
    return false;
}

/* A read that takes a while. */
static void read_for_a_while(uint64_t value)
{
    nanosleep(&(struct timespec){.tv_nsec = 100 * 1000000L}, NULL);
    atomic_store(&pw_segment_own_header()->signals[SIGNAL].value, value);
}

static void be_reader(int orders, int answers, pid_t sender)
{
    order o;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pw_segment_open();
    while (read(orders, &o, sizeof o) == (ssize_t)sizeof o) {
        bool answer = obey(o, sender);

        if (write(answers, &answer, sizeof answer) != (ssize_t)sizeof answer || o.command == END)
            break;
        if (o.command == TELL_AND_READ)
            read_for_a_while(o.value);
    }
    _exit(0);
}

static const void *message; /* in a block of the sender */

static bool tell(const reader *r, command what, uint64_t value)
{
    order o = {.command = what, .value = value, .message = message};
    bool answer = false;

    assert_int_equal(write(r->orders, &o, sizeof o), sizeof o);
    assert_int_equal(read(r->answers, &answer, sizeof answer), sizeof answer);
    return answer;
}

/* ---- the sender -------------------------------------------------------------------------------------------------- */

/* Started before this process has a segment, which its children would not have. */
static reader readers[3];

static void start(reader *r)
{
    pid_t sender = getpid();
    int orders[2], answers[2];

    assert_int_equal(pipe(orders) + pipe(answers), 0);
    r->pid = fork();
    if (r->pid == 0)
        be_reader(orders[0], answers[1], sender);
    r->orders = orders[1];
    r->answers = answers[0];
}

static int start_all(void **state)
{
    (void)state;
    alarm(SECONDS); /* a sender that waits for ever */
    for (int i = 0; i < 3; i++)
        start(&readers[i]);
    pw_segment_open();
    message = pw_segment_take(8192);
    return message ? 0 : -1;
}

static int end_all(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        kill(readers[i].pid, SIGKILL);
        waitpid(readers[i].pid, NULL, 0);
    }
    return 0;
}

static pw_segment_late *record(void)
{
    return &pw_segment_offer_at(message)->late;
}

/* Ends the first message to a reader, after which it is watched. */
static void introduce(const reader *r)
{
    pw_late_begin(record(), true);
    assert_false(tell(r, MAY, 0));
    pw_late_await(record());
}

static void a_reader_is_watched_from_its_second_message_on(void **state)
{
    (void)state;
    introduce(&readers[0]);
    assert_false(tell(&readers[0], MAY, 0)); /* the sender does not wait */
    pw_late_begin(record(), true);
    assert_true(tell(&readers[0], MAY, 0));
    pw_late_await(record()); /* it has not read late */
}

static void a_process_that_is_another_one_is_not_watched(void **state)
{
    (void)state;
    pw_late_begin(record(), true);
    assert_false(tell(&readers[1], MAY, 0));
    atomic_fetch_add(&record()->value, 1);
    pw_late_await(record());
    pw_late_begin(record(), true);
    assert_false(tell(&readers[1], MAY, 0));
}

static void a_sender_waits_for_the_end_of_the_read(void **state)
{
    const pw_segment_header *h = pw_peer_header(readers[0].pid);

    (void)state;
    for (uint64_t value = 1; value < 4; value++) {
        pw_late_begin(record(), true);
        assert_true(tell(&readers[0], TELL_AND_READ, value));
        pw_late_await(record());
        assert_int_equal(atomic_load(&h->signals[SIGNAL].value), value);
    }
    pw_late_begin(record(), true);
    assert_true(tell(&readers[0], TELL, 2)); /* is over already */
    pw_late_await(record());
}

static void a_reader_that_is_killed_reads_nothing(void **state)
{
    const pw_segment_header *h = pw_peer_header(readers[0].pid);

    (void)state;
    pw_late_begin(record(), true);
    assert_true(tell(&readers[0], TELL, 99));
    kill(readers[0].pid, SIGKILL);
    pw_late_await(record());
    assert_false(pw_segment_owner_has_waited(h));
}

static void who_ends_in_order_has_waited(void **state)
{
    const pw_segment_header *h = pw_peer_header(readers[2].pid);

    (void)state;
    assert_true(pw_segment_owner_has_waited(h));
    assert_true(tell(&readers[2], END, 0));
    waitpid(readers[2].pid, NULL, 0);
    assert_false(pw_segment_owner_lives(h));
    assert_true(pw_segment_owner_has_waited(h));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_is_watched_from_its_second_message_on),
        cmocka_unit_test(a_process_that_is_another_one_is_not_watched),
        cmocka_unit_test(a_sender_waits_for_the_end_of_the_read),
        cmocka_unit_test(a_reader_that_is_killed_reads_nothing),
        cmocka_unit_test(who_ends_in_order_has_waited),
    };

    return cmocka_run_group_tests(tests, start_all, end_all);
}
