/*
 * What PACKWRIGHT_NET=verbs does with a network card's limits and failures, between two processes over the stand-in
 * (verbs_stand_in/). Each test has a process that owns memory, and one that reads it.
 */
#include "tests/engine/net/processes.h"
#include "tests/engine/net/verbs_stand_in/card.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 1 << 20, TAG = 7, PATIENCE = 60 /* s */ };

/* One of the two processes. Both begin with the same memory, at the same address. */
typedef struct side {
    int socket;
    pw_net_peer *other;
    char *memory;
    pw_net_key key; /* of the owner's memory, which the reader is given */
} side;

/* Lets the card work until the other process, which has no need of this one, says a word over the socket. */
static void serve(side *s)
{
    char word;

    while (recv(s->socket, &word, 1, MSG_DONTWAIT) != 1)
        pw_net_progress();
}

static stand_in_counts *counts(void)
{
    stand_in_counts *c = dlsym(dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD), "verbs_stand_in_counts");

    REQUIRE(c);
    return c;
}

static char byte_of(int64_t i)
{
    return (char)(i * 7 + i / 251);
}

static void own_memory(side *s)
{
    for (int64_t i = 0; i < BYTES; i++)
        s->memory[i] = byte_of(i);
    REQUIRE(pw_net_offer(s->memory, BYTES, &s->key));
    give(s->socket, &s->key, sizeof s->key);
}

static void get_key(side *s)
{
    take(s->socket, &s->key, sizeof s->key);
}

typedef void side_fn(side *);

static _Noreturn void run_side(side_fn *fn, int socket, char *memory)
{
    side s = {.socket = socket, .memory = memory};

    alarm(PATIENCE); /* the other one may have failed */
    REQUIRE(pw_net_start());
    s.other = meet(socket);
    fn(&s);
    REQUIRE(counts()->not_ready == 0 && counts()->fork_inits == 1);
    pw_net_stop(); /* the stand-in ends the process if objects are left */
    _exit(0);
}

static void run_both(side_fn *owner, side_fn *reader)
{
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sockets[2], status;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    if (fork() == 0) {
        close(sockets[1]);
        run_side(owner, sockets[0], memory);
    }
    close(sockets[0]); /* so that the reader sees the owner's end */
    if (fork() == 0)
        run_side(reader, sockets[1], memory);
    close(sockets[1]);
    for (int i = 0; i < 2; i++) {
        wait(&status);
        assert_int_equal(status, 0);
    }
    munmap(memory, BYTES);
}

/* ---- reads ------------------------------------------------------------------------------------------------------- */

static void owns(side *s)
{
    own_memory(s);
    serve(s);
    pw_net_withdraw(s->key.number);
}

/* Reads pieces, whose places here are filled with what else cannot be there. Returns whether it worked. */
static bool read_pieces(side *s, const pw_net_piece *pieces, int64_t n)
{
    pw_net_source *source = pw_net_source_open(s->other, s->key.data, s->key.bytes);
    pw_net_op op = {0};
    uint64_t prepared;

    REQUIRE(source && pw_net_prepare(s->memory, BYTES, &prepared));
    pw_net_read(source, pieces, n, &op);
    finish(&op);
    pw_net_withdraw(prepared);
    pw_net_source_close(source);
    return !op.failed;
}

/* Pieces that lie together at the owner, and far from each other here. */
static void scatters(side *s)
{
    enum { PIECES_READ = 100, LENGTH = 1000, STEP = 5000 };
    pw_net_piece pieces[PIECES_READ];

    get_key(s);
    for (int i = 0; i < PIECES_READ; i++)
        pieces[i] =
            (pw_net_piece){(uintptr_t)s->memory + (uint64_t)i * LENGTH, s->memory + (ptrdiff_t)i * STEP, LENGTH};
    REQUIRE(read_pieces(s, pieces, PIECES_READ));
    for (int i = 0; i < PIECES_READ; i++)
        for (int j = 0; j < STEP; j++)
            REQUIRE(s->memory[i * STEP + j] == (j < LENGTH ? byte_of(i * LENGTH + j) : 0));
    REQUIRE(counts()->reads == (PIECES_READ + READ_PIECES - 1) / READ_PIECES && counts()->pieces == PIECES_READ);
    give(s->socket, "", 1);
}

/* One piece that is longer than a read may be, and more pieces apart than a queue takes. */
static void splits(side *s)
{
    enum { LONG = 5 * MESSAGE / 2, APART = 300, STEP = 2000 };
    pw_net_piece pieces[1 + APART] = {{(uintptr_t)s->memory, s->memory, LONG}};

    get_key(s);
    for (int i = 0; i < APART; i++) {
        ptrdiff_t at = LONG + (ptrdiff_t)i * STEP;

        pieces[1 + i] = (pw_net_piece){(uintptr_t)s->memory + (uint64_t)at + 1, s->memory + at + 1, 1};
    }
    REQUIRE(read_pieces(s, pieces, 1 + APART));
    for (int64_t i = 0; i < LONG; i++)
        REQUIRE(s->memory[i] == byte_of(i));
    for (int i = 0; i < APART; i++)
        REQUIRE(s->memory[LONG + i * STEP + 1] == byte_of(LONG + i * STEP + 1) && s->memory[LONG + i * STEP + 2] == 0);
    REQUIRE(counts()->reads == 3 + APART);
    give(s->socket, "", 1);
}

/* A part of the memory was prepared before, and is registered on its own. */
static void reads_over_a_part(side *s)
{
    pw_net_piece piece = {(uintptr_t)s->memory, s->memory, PW_NET_MESSAGE_BYTES};
    uint64_t part;

    get_key(s);
    REQUIRE(pw_net_prepare(s->memory, PW_NET_MESSAGE_BYTES, &part));
    pw_net_withdraw(part);
    REQUIRE(read_pieces(s, &piece, 1));
    REQUIRE(s->memory[PW_NET_MESSAGE_BYTES - 1] == byte_of(PW_NET_MESSAGE_BYTES - 1));
    give(s->socket, "", 1);
}

/* Half of the memory is unmapped while the other half is offered. Further registrations do not end the offer. */
static void owns_half(side *s)
{
    char *more = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pw_net_key key;

    for (int64_t i = 0; i < BYTES; i++)
        s->memory[i] = byte_of(i);
    REQUIRE(pw_net_offer(s->memory, BYTES, &s->key));
    REQUIRE(munmap(s->memory + BYTES / 2, BYTES / 2) == 0);
    REQUIRE(pw_net_offer(more, BYTES, &key));
    pw_net_withdraw(key.number);
    give(s->socket, &s->key, sizeof s->key);
    serve(s);
    pw_net_withdraw(s->key.number);
}

static void reads_half(side *s)
{
    pw_net_piece piece = {(uintptr_t)s->memory, s->memory, BYTES / 2};

    get_key(s);
    REQUIRE(read_pieces(s, &piece, 1));
    REQUIRE(s->memory[BYTES / 2 - 1] == byte_of(BYTES / 2 - 1));
    give(s->socket, "", 1);
}

/* While a read is under way, a registration that nobody uses goes, which has the same memory. */
static void reads_while_another_goes(side *s)
{
    enum { PAGE = 4096 };
    char *more = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pw_net_piece piece = {(uintptr_t)s->memory, s->memory, PAGE};
    pw_net_source *source;
    pw_net_op op = {0};
    uint64_t part, whole, other;

    get_key(s);
    REQUIRE(pw_net_prepare(s->memory, (int64_t)2 * PAGE, &part));
    pw_net_withdraw(part);
    REQUIRE(pw_net_prepare(s->memory, BYTES, &whole));
    source = pw_net_source_open(s->other, s->key.data, s->key.bytes);
    pw_net_read(source, &piece, 1, &op);
    REQUIRE(munmap(s->memory + PAGE, PAGE) == 0);
    REQUIRE(pw_net_prepare(more, BYTES, &other));
    finish(&op);
    REQUIRE(!op.failed && s->memory[PAGE - 1] == byte_of(PAGE - 1));
    pw_net_source_close(source);
    give(s->socket, "", 1);
}

static void test_unmapped_in_part(void **state)
{
    (void)state;
    run_both(owns_half, reads_half);
    run_both(owns, reads_while_another_goes);
}

static void test_scatters(void **state)
{
    (void)state;
    run_both(owns, scatters);
}

static void test_splits(void **state)
{
    (void)state;
    run_both(owns, splits);
}

static void test_registered_in_part(void **state)
{
    (void)state;
    run_both(owns, reads_over_a_part);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

enum { MESSAGES_SENT = 200 };

/* Both send many more messages than may be under way, before either receives one, and receive them by other tags'
 * order. */
static void talks(side *s)
{
    static char out[MESSAGES_SENT][PW_NET_MESSAGE_BYTES], in[PW_NET_MESSAGE_BYTES];
    pw_net_op sent = {0};

    for (int i = 0; i < MESSAGES_SENT; i++) {
        memset(out[i], i, sizeof out[i]);
        pw_net_send(s->other, TAG + (uint64_t)(i % 2), out[i], 1 + i * 37 % PW_NET_MESSAGE_BYTES, &sent);
    }
    for (int tag = 1; tag >= 0; tag--)
        for (int i = tag; i < MESSAGES_SENT; i += 2) {
            pw_net_op got = {0};

            pw_net_receive(s->other, TAG + (uint64_t)tag, in, sizeof in, &got);
            finish(&got);
            REQUIRE(!got.failed && got.received == 1 + i * 37 % PW_NET_MESSAGE_BYTES && in[0] == (char)i &&
                    in[got.received - 1] == (char)i);
        }
    finish(&sent);
    REQUIRE(!sent.failed);
    give(s->socket, "", 1);
    serve(s);
}

/* Only one of the two has something to say: the other one returns credits by themselves. */
static void says(side *s)
{
    pw_net_op sent = {0}, heard = {0};
    char word;

    for (int i = 0; i < MESSAGES_SENT; i++)
        pw_net_send(s->other, TAG, "word", 4, &sent);
    finish(&sent);
    pw_net_receive(s->other, TAG, &word, 1, &heard);
    finish(&heard);
    REQUIRE(!sent.failed && !heard.failed);
}

static void listens(side *s)
{
    pw_net_op sent = {0};
    char word[4];

    for (int i = 0; i < MESSAGES_SENT; i++) {
        pw_net_op heard = {0};

        pw_net_receive(s->other, TAG, word, sizeof word, &heard);
        finish(&heard);
        REQUIRE(!heard.failed && heard.received == 4);
    }
    pw_net_send(s->other, TAG, "!", 1, &sent);
    finish(&sent);
}

/* A message that is longer than its receive fails there, and the next one comes. */
static void says_too_much(side *s)
{
    pw_net_op sent = {0};

    pw_net_send(s->other, TAG, "too long", 8, &sent);
    pw_net_send(s->other, TAG, "ok", 2, &sent);
    finish(&sent);
    REQUIRE(!sent.failed);
    serve(s);
}

static void listens_to_less(side *s)
{
    pw_net_op first = {0}, second = {0};
    char word[4];

    pw_net_receive(s->other, TAG, word, sizeof word, &first);
    pw_net_receive(s->other, TAG, word, sizeof word, &second);
    finish(&first);
    finish(&second);
    REQUIRE(first.failed && !second.failed && second.received == 2);
    give(s->socket, "", 1);
}

static void test_messages(void **state)
{
    (void)state;
    run_both(talks, talks);
    run_both(says, listens);
    run_both(says_too_much, listens_to_less);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* The owner waits for a message from a reader whose read breaks the connection. */
static void is_read_wrongly(side *s)
{
    pw_net_op op = {0};
    char word;

    own_memory(s);
    pw_net_receive(s->other, TAG, &word, 1, &op);
    finish(&op);
    REQUIRE(op.failed);
    give(s->socket, "", 1);
    serve(s);
}

static void expect_broken(side *s)
{
    pw_net_op op = {0};
    char word;

    pw_net_send(s->other, TAG, "", 1, &op);
    finish(&op);
    REQUIRE(op.failed);
    op = (pw_net_op){0};
    pw_net_receive(s->other, TAG, &word, 1, &op);
    finish(&op);
    REQUIRE(op.failed);
    give(s->socket, "", 1);
    serve(s);
}

static void reads_by_a_wrong_key(side *s)
{
    const pw_net_piece piece = {(uintptr_t)s->memory, s->memory, 100};

    get_key(s);
    s->key.data[2] ^= 1;
    REQUIRE(!read_pieces(s, &piece, 1));
    expect_broken(s);
}

static void reads_beyond_the_end(side *s)
{
    const pw_net_piece piece = {(uintptr_t)s->memory + BYTES - 50, s->memory, 100};

    get_key(s);
    REQUIRE(!read_pieces(s, &piece, 1));
    expect_broken(s);
}

/* What is not prepared is not read to, and nothing breaks. */
static void reads_to_unprepared(side *s)
{
    const pw_net_piece good = {(uintptr_t)s->memory, s->memory, 100}, bad = {(uintptr_t)s->memory, (char *)s, 100};

    get_key(s);
    REQUIRE(!read_pieces(s, &bad, 1));
    REQUIRE(read_pieces(s, &good, 1));
    give(s->socket, "", 1);
}

static void test_wrong_reads(void **state)
{
    (void)state;
    run_both(is_read_wrongly, reads_by_a_wrong_key);
    run_both(is_read_wrongly, reads_beyond_the_end);
    run_both(owns, reads_to_unprepared);
}

static void dies(side *s)
{
    char word;

    own_memory(s);
    serve(s);
    take(s->socket, &word, 1);
    _exit(0);
}

/* The other process ends after the two have talked. */
static void outlives(side *s)
{
    const pw_net_piece piece = {(uintptr_t)s->memory, s->memory, 100};
    char end;

    get_key(s);
    REQUIRE(read_pieces(s, &piece, 1));
    give(s->socket, "..", 2);
    REQUIRE(recv(s->socket, &end, 1, 0) == 0);
    REQUIRE(!read_pieces(s, &piece, 1));
    REQUIRE(!read_pieces(s, &piece, 1));
}

static void test_a_process_dies(void **state)
{
    (void)state;
    run_both(dies, outlives);
}

/* The system allows room for two buffers beside those of messages. One that is not in use makes room for another one.
 */
static void registers_much(side *s)
{
    enum { ROOM = 3 * BYTES / 8 };
    char *first = s->memory, *second = first + BYTES / 2;
    pw_net_key a, b;

    REQUIRE(pw_net_offer(first, ROOM, &a));
    REQUIRE(!pw_net_offer(second, ROOM, &b));
    pw_net_withdraw(a.number);
    REQUIRE(pw_net_offer(second, ROOM, &b));
    pw_net_withdraw(b.number);
    munmap(s->memory, BYTES);
    REQUIRE(!pw_net_offer(first, ROOM, &a)); /* there is no memory */
    give(s->socket, "", 1);
    serve(s);
}

static void test_registering_fails(void **state)
{
    (void)state;
    setenv("PW_STAND_IN_MEMORY", "800000", 1);
    run_both(registers_much, registers_much);
    unsetenv("PW_STAND_IN_MEMORY");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scatters),           cmocka_unit_test(test_splits),
        cmocka_unit_test(test_registered_in_part), cmocka_unit_test(test_unmapped_in_part),
        cmocka_unit_test(test_messages),           cmocka_unit_test(test_wrong_reads),
        cmocka_unit_test(test_a_process_dies),     cmocka_unit_test(test_registering_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
