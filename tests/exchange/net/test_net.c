/* Two processes that read each other's memory over the network that PACKWRIGHT_NET names. */
#include "tests/exchange/net/processes.h"

#include <setjmp.h>
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

enum { BYTES = 1 << 20, PIECE = 5000, TAG = 7, PATIENCE = 60 /* s */ };

/* One of the two, with a socket to the other one. */
typedef struct side {
    int socket;
    pw_net_peer *other;
} side;

static void wait_for(pw_net_op *op)
{
    finish(op);
    REQUIRE(!op->failed);
}

/* Whether there are names, in ascending order and with one comma between them. */
static bool are_sorted(const char *names)
{
    char before[PW_NET_TRANSPORTS_BYTES] = "", name[PW_NET_TRANSPORTS_BYTES];
    bool sorted = true;

    for (const char *at = names; sorted && at; at = strchr(at, ',')) {
        at += *at == ',';
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        sorted = strcmp(before, name) < 0;
        strcpy(before, name);
    }
    return sorted;
}

/* Begins the network in this process, and finds the other one. The module was built with this test, so it starts. */
static side begin(int socket)
{
    side s;

    alarm(PATIENCE); /* the other one may have failed */
    REQUIRE(pw_net_start());
    s = (side){.socket = socket, .other = meet(socket)};
    REQUIRE(are_sorted(pw_net->transports(s.other)));
    return s;
}

static unsigned char *new_memory(void)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(memory != MAP_FAILED);
    return memory;
}

typedef struct offered {
    pw_net_key key;
    uint64_t address;
} offered;

/* Offers memory, serves until the other one has read, and returns the key's number. */
static uint64_t offer(side s, unsigned char *memory)
{
    offered o = {.address = (uintptr_t)memory};
    pw_net_op sent = {0}, done = {0};
    void *held = pw_net->offer(memory, BYTES, &o.key);
    char word;

    REQUIRE(held);
    pw_net->receive(TAG, &word, 1, &done);
    pw_net->send(s.other, TAG, &o, sizeof o, &sent);
    wait_for(&sent);
    wait_for(&done);
    pw_net->withdraw(held);
    return o.key.number;
}

/* Reads all in pieces, back to front, and checks it. */
static void read_all(side s, int value)
{
    unsigned char *memory = new_memory();
    pw_net_op got = {0}, reads = {0}, sent = {0};
    pw_net_source *source;
    offered o;

    pw_net->receive(TAG, &o, sizeof o, &got);
    wait_for(&got);
    REQUIRE(got.received == sizeof o);
    source = pw_net->source_open(s.other, o.key.data, o.key.bytes);
    REQUIRE(source);
    for (int64_t at = (BYTES - 1) / PIECE * PIECE; at >= 0; at -= PIECE) {
        const pw_net_piece piece = {o.address + (uint64_t)at, (char *)memory + at,
                                    BYTES - at < PIECE ? BYTES - at : PIECE};

        pw_net->read(source, &piece, 1, &reads);
    }
    wait_for(&reads);
    for (int64_t i = 0; i < BYTES; i++)
        REQUIRE(memory[i] == (unsigned char)(i * 7 + value));
    pw_net->send(s.other, TAG, "", 1, &sent);
    wait_for(&sent);
    pw_net->source_close(source);
    munmap(memory, BYTES);
}

static void fill(unsigned char *memory, int value)
{
    for (int64_t i = 0; i < BYTES; i++)
        memory[i] = (unsigned char)(i * 7 + value);
}

/* The same memory has the same key. What is mapped anew in its place is read, too. */
static void own(side s)
{
    unsigned char *memory = new_memory(), *again;
    uint64_t key;

    fill(memory, 1);
    key = offer(s, memory);
    fill(memory, 2);
    REQUIRE(offer(s, memory) == key);
    REQUIRE(munmap(memory, BYTES) == 0);
    again = mmap(memory, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    REQUIRE(again == memory);
    fill(again, 3);
    offer(s, again);
}

static void test_reads(void **state)
{
    int sockets[2], status;
    pid_t child;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    child = fork();
    if (child == 0) {
        own(begin(sockets[1]));
        give(sockets[1], "", 1);
        _exit(0);
    }
    if (fork() == 0) {
        side s = begin(sockets[0]);
        char end;

        for (int value = 1; value <= 3; value++)
            read_all(s, value);
        take(sockets[0], &end, 1);
        pw_net_stop();
        _exit(0);
    }
    for (int i = 0; i < 2; i++) {
        wait(&status);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
