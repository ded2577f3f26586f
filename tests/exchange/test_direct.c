/* Messages that are taken from the sender's own memory: what arrives, who may touch a stand-in, and what ends it. */
#include "runtime/exchange/direct.h"
#include "runtime/exchange/heap.h"
#include "runtime/exchange/inbound.h"
#include "runtime/exchange/segment.h"
#include "runtime/exchange/xpmem.h"
#include "tests/cache/layout_scene.h"
#include "tests/exchange/reader.h"
#include "tests/support/system_reads.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { OBJECTS = 3000, SIZE = 24, EXTENT = 64, MESSAGE = OBJECTS * SIZE, CHANNEL = 77, PAGE = 4096 };

static const char *const sent = "type(lb 0, extent 64) { stream 3 stride 16 { bytes 8 align 8 } }";
/* `alike` has the size of `sent`; the size of `unlike` does not divide the message's. */
static const char *const alike = "type(lb 0, extent 48) { stream 3 stride 16 { bytes 8 align 8 } }";
static const char *const unlike = "type(lb 0, extent 40) { stream 5 stride 8 { bytes 7 align 1 } }";

/* ---- the sender -------------------------------------------------------------------------------------------------- */

/* What the sender is told to do, and what it says. */
typedef enum order {
    BEGIN,       /* a message from the heap */
    BEGIN_XPMEM, /* from memory of a file of its own */
    END,
    TOUCH,
    TAKES,
    CLOSE_FILES,
    SPOIL_COUNT,
    SPOIL_MEMORY,
    SPOIL_TEXT,
    SPOIL_BYTES
} order;

typedef struct answer {
    const char *data;
    bool has_pages, good;
} answer;

typedef struct sender {
    pw_layout *layout;
    char *memory;
    unsigned char packed[MESSAGE];
    int number;
} sender;

static bool has_pages(const void *data)
{
    unsigned char there[MESSAGE / PAGE + 1], any = 0;

    mincore((void *)data, MESSAGE, there);
    for (size_t i = 0; i < sizeof there; i++)
        any |= there[i] & 1;
    return any;
}

static void spoil(int number, order what)
{
    pw_segment_offer *r = pw_segment_offer_at(pw_direct_data(number));

    if (what == SPOIL_COUNT)
        atomic_store(&r->count, (uint64_t)1 << 62);
    else if (what == SPOIL_MEMORY)
        atomic_store(&r->memory, 16 * PAGE);
    else if (what == SPOIL_TEXT)
        r->text.address = 16 * PAGE, r->text.hash.lo++;
    else
        atomic_store(&r->bytes, UINT64_MAX);
}

static pw_buffer objects_at(pw_layout *layout, const void *memory, int64_t count)
{
    return (pw_buffer){.layout = layout, .base = (void *)memory, .count = count, .bytes = count * layout->size};
}

static bool is_mapped(const sender *s, const void *memory, int64_t count)
{
    const pw_buffer objects = objects_at(s->layout, memory, count);

    return pw_direct_is_mapped(&objects);
}

static void let_stand(int number, pw_layout *layout, const void *memory, int64_t count)
{
    pw_direct_begin(number, &(pw_direct_message){.objects = objects_at(layout, memory, count)});
}

/* Does what programs do that close all files that they do not know. */
static void close_segment(void)
{
    for (int fd = 3; fd < 64; fd++) {
        char path[32], link[64] = "";

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, link, sizeof link - 1) > 0 && strstr(link, PW_SEGMENT_NAME))
            close(fd);
    }
}

static void fill(char *memory, int bytes)
{
    for (int i = 0; i < bytes; i++)
        memory[i] = (char)(i * 31 + i / 251);
}

static char *map_file(int fd)
{
    char *memory = mmap(NULL, OBJECTS * EXTENT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    fill(memory, OBJECTS * EXTENT);
    return memory;
}

static int make_file(void)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    return fd >= 0 && ftruncate(fd, OBJECTS * EXTENT) == 0 ? fd : -1;
}

static void begin_message(sender *s, order what, answer *a)
{
    char *memory = what == BEGIN_XPMEM ? map_file(make_file()) : s->memory;

    if (what == BEGIN_XPMEM)
        pw_xpmem_show();
    s->number = pw_direct_take(CHANNEL, s->layout, MESSAGE);
    a->good = s->number >= 0;
    if (!a->good)
        return;
    let_stand(s->number, s->layout, memory, OBJECTS);
    a->data = pw_direct_data(s->number);
    a->has_pages = has_pages(a->data);
    if (what == BEGIN_XPMEM)
        a->good = is_mapped(s, memory, OBJECTS);
}

static answer obey(sender *s, order what)
{
    answer a = {.good = true};

    switch (what) {
    case BEGIN:
    case BEGIN_XPMEM: begin_message(s, what, &a); break;
    case END: pw_direct_give(s->number); break;
    case TOUCH: a.good = memcmp(pw_direct_data(s->number), s->packed, MESSAGE) == 0; break;
    case TAKES:
        s->number = pw_direct_take(CHANNEL, s->layout, MESSAGE);
        a.good = s->number >= 0;
        if (a.good)
            pw_direct_give(s->number);
        break;
    case CLOSE_FILES: close_segment(); break;
    default: spoil(s->number, what);
    }
    return a;
}

/* Only user code's accesses are answered for then. */
static void drop_rights(void)
{
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        _exit(1);
    prctl(PR_SET_DUMPABLE, 1);
}

static void prepare(sender *s, pw_layout_engine *engine)
{
    pw_segment_open();
    s->layout = layout_of(engine, sent);
    s->memory = pw_heap_take(OBJECTS * EXTENT);
    fill(s->memory, OBJECTS * EXTENT);
    pw_layout_pack(s->layout, s->memory, OBJECTS, s->packed);
    if (!is_mapped(s, s->memory, OBJECTS) || is_mapped(s, s->memory, OBJECTS + PAGE / EXTENT) ||
        is_mapped(s, s->packed, 1))
        _exit(1);
}

static void be_sender(pw_layout_engine *engine, int socket, bool poor)
{
    sender *s = calloc(1, sizeof *s);
    order what;

    signal(SIGSEGV, SIG_DFL); /* cmocka's handler would go on with the next test */
    if (poor)
        drop_rights();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(socket, &what, sizeof what) == (ssize_t)sizeof what) {
        answer a;

        if (!s->layout)
            prepare(s, engine);
        a = obey(s, what);
        if (write(socket, &a, sizeof a) != (ssize_t)sizeof a)
            break;
    }
    _exit(0);
}

/* ---- the receiver ------------------------------------------------------------------------------------------------ */

typedef struct scenery {
    void *files; /* scene */
    pw_layout_engine *engine;
    pid_t pid;
    int socket;
    pw_layout *layout;
    _Alignas(64) unsigned char staging[MESSAGE + 64];
    unsigned char packed[MESSAGE], user[2 * OBJECTS * EXTENT], wanted[2 * OBJECTS * EXTENT];
} scenery;

/* Senders are started before this process has a segment, since a child of its owner cannot have one. */
enum { SENDERS = 20 };

static struct {
    pid_t pid;
    int socket;
    bool poor, used;
} senders[SENDERS];

static void *senders_files;
static pw_layout_engine *the_engine;

static pw_layout_engine *give_engine(void)
{
    return the_engine;
}

static int start_senders(void **state)
{
    pw_layout_engine *engine;

    (void)state;
    if (!dlopen(PW_TEST_XPMEM, RTLD_NOW))
        return -1;
    scene_setup(&senders_files);
    engine = layout_engine(senders_files, PW_JIT_OFF, 0, false);
    fflush(NULL);
    for (int i = 0; i < SENDERS; i++) {
        int sockets[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
        senders[i].socket = sockets[0];
        senders[i].poor = i % 4 == 0;
        senders[i].pid = fork();
        if (senders[i].pid == 0) {
            for (int k = 0; k <= i; k++)
                close(senders[k].socket);
            be_sender(engine, sockets[1], senders[i].poor);
        }
        close(sockets[1]);
    }
    pw_layout_engine_destroy(engine);
    return 0;
}

static int end_senders(void **state)
{
    (void)state;
    for (int i = 0; i < SENDERS; i++) {
        kill(senders[i].pid, SIGKILL);
        waitpid(senders[i].pid, NULL, 0);
    }
    scene_teardown(&senders_files);
    return 0;
}

static void take_sender(scenery *s, bool poor)
{
    int i = 0;

    while (i < SENDERS && (senders[i].used || senders[i].poor != poor))
        i++;
    assert_true(i < SENDERS);
    senders[i].used = true;
    s->pid = senders[i].pid;
    s->socket = senders[i].socket;
}

static int start(void **state, bool poor, pw_jit_mode jit)
{
    scenery *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
    char *memory = malloc(OBJECTS * EXTENT);

    memset(s, 0, sizeof *s);
    scene_setup(&s->files);
    s->engine = the_engine = layout_engine(s->files, jit, 0, jit != PW_JIT_OFF);
    pw_stand_in_start(give_engine);
    take_sender(s, poor);
    pw_segment_open();
    s->layout = layout_of(s->engine, sent);
    fill(memory, OBJECTS * EXTENT);
    pw_layout_pack(s->layout, memory, OBJECTS, s->packed);
    free(memory);
    *state = s;
    return 0;
}

static int set_up(void **state)
{
    return start(state, false, PW_JIT_OFF);
}

static int set_up_compiled(void **state)
{
    return start(state, false, PW_JIT_SYNC);
}

static int set_up_poor(void **state)
{
    return start(state, true, PW_JIT_OFF);
}

static int tear_down(void **state)
{
    scenery *s = *state;

    close(s->socket);
    pw_layout_unref(s->layout);
    pw_layout_engine_destroy(s->engine);
    scene_teardown(&s->files);
    free(s);
    return 0;
}

static answer tell(scenery *s, order what)
{
    answer a = {0};

    assert_int_equal(write(s->socket, &what, sizeof what), sizeof what);
    assert_int_equal(read(s->socket, &a, sizeof a), sizeof a);
    return a;
}

static answer begin_by(scenery *s, order what)
{
    answer a = tell(s, what);

    if (!a.good)
        skip(); /* the system has no userfaultfd */
    return a;
}

static answer begin(scenery *s)
{
    return begin_by(s, BEGIN);
}

static void read_all(scenery *s, const char *data)
{
    memset(s->staging, 0, MESSAGE);
    assert_int_equal(read_as_mpi(s->pid, s->staging, data, MESSAGE), MESSAGE);
    assert_memory_equal(s->staging, s->packed, MESSAGE);
}

/* Two messages that are read whole. */
static void prove(scenery *s)
{
    for (int i = 0; i < 2; i++) {
        answer a = begin(s);

        assert_true(a.has_pages);
        read_all(s, a.data);
        tell(s, END);
    }
}

static answer begin_proven(scenery *s)
{
    answer a;

    prove(s);
    a = begin(s);
    assert_false(a.has_pages);
    return a;
}

/* Receives into objects of a layout, in pieces of this length. */
static void receive(scenery *s, const char *data, const char *text, int piece)
{
    pw_layout *to = layout_of(s->engine, text);
    pw_inbound *in = pw_inbound_expect(s->staging, MESSAGE, to, s->user);
    int64_t first;

    memset(s->user, 9, sizeof s->user);
    memset(s->wanted, 9, sizeof s->wanted);
    pw_layout_unpack_part(to, s->wanted, 0, MESSAGE, s->packed);
    memset(s->staging, 0xee, sizeof s->staging);
    for (int at = 0; at < MESSAGE; at += piece) {
        int n = piece < MESSAGE - at ? piece : MESSAGE - at;

        assert_int_equal(read_as_mpi(s->pid, s->staging + at, data + at, (size_t)n), n);
    }
    first = pw_inbound_in_place(in);
    assert_int_equal(first, MESSAGE);
    assert_int_equal(s->staging[0], 0xee); /* nothing came there */
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
    pw_inbound_forget(in);
    pw_layout_unref(to);
}

/* ---- what arrives ------------------------------------------------------------------------------------------------ */

static void messages_go_from_memory_to_memory(void **state)
{
    scenery *s = *state;
    answer a = begin_proven(s);

    for (int i = 0; i < 3; i++) {
        receive(s, a.data, sent, MESSAGE);
        tell(s, END);
        a = begin(s);
        assert_false(a.has_pages);
        receive(s, a.data, alike, 40000);
        tell(s, END);
        a = begin(s);
        assert_false(a.has_pages);
        receive(s, a.data, unlike, 1000);
        tell(s, END);
        a = begin(s);
        assert_false(a.has_pages);
    }
}

static void any_part_is_packed(void **state)
{
    scenery *s = *state;
    answer a = begin_proven(s);
    static const int parts[][2] = {{0, 1}, {1, 23}, {5000, 40001}, {MESSAGE - 1, 1}, {MESSAGE - 10001, 10001}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memset(s->staging, 0, MESSAGE);
        assert_int_equal(read_as_mpi(s->pid, s->staging, a.data + parts[i][0], (size_t)parts[i][1]), parts[i][1]);
        assert_memory_equal(s->staging, s->packed + parts[i][0], (size_t)parts[i][1]);
        assert_int_equal(s->staging[parts[i][1]], 0);
    }
}

/* A piece of the middle comes first, so that the message cannot be moved whole. */
static void pieces_out_of_order_arrive(void **state)
{
    scenery *s = *state;
    answer a = begin_proven(s);
    pw_inbound *in = pw_inbound_expect(s->staging, MESSAGE, s->layout, s->user);
    int64_t first;

    memset(s->user, 9, sizeof s->user);
    memset(s->wanted, 9, sizeof s->wanted);
    pw_layout_unpack(s->layout, s->wanted, OBJECTS, s->packed);
    assert_int_equal(read_as_mpi(s->pid, s->staging + 7000, a.data + 7000, MESSAGE - 7000), MESSAGE - 7000);
    assert_int_equal(read_as_mpi(s->pid, s->staging, a.data, 7000), 7000);
    first = pw_inbound_in_place(in);
    pw_layout_unpack_part(s->layout, s->user, first, MESSAGE, s->staging + first);
    assert_memory_equal(s->user, s->wanted, OBJECTS * EXTENT);
    pw_inbound_forget(in);
}

/* The receive is shorter than the message. */
static void a_longer_message_does_not_overflow(void **state)
{
    scenery *s = *state;
    answer a = begin_proven(s);
    pw_inbound *in = pw_inbound_expect(s->staging, MESSAGE / 2, s->layout, s->user);

    memset(s->user, 9, sizeof s->user);
    assert_int_equal(read_as_mpi(s->pid, s->staging, a.data, MESSAGE), MESSAGE);
    assert_int_equal(s->staging[MESSAGE / 2], 0x0 + s->packed[MESSAGE / 2]); /* of the message before */
    for (int i = 0; i < OBJECTS * EXTENT; i++)
        assert_int_equal(s->user[i], 9);
    assert_memory_equal(s->staging, s->packed, MESSAGE / 2);
    pw_inbound_forget(in);
}

/* ---- whose memory is not of the heap ---------------------------------------------------------------------------- */

static void other_memory_is_attached(void **state)
{
    scenery *s = *state;
    answer a = begin_by(s, BEGIN_XPMEM);
    int before = system_reads;

    receive(s, a.data, alike, 30000);
    assert_int_equal(system_reads, before);
    tell(s, END);
}

/* ---- others who touch a stand-in --------------------------------------------------------------------------------- */

static void the_sender_itself_finds_the_message(void **state)
{
    scenery *s = *state;
    answer a = begin_proven(s);

    assert_true(tell(s, TOUCH).good);
    read_all(s, a.data);
    tell(s, END);
}

/* After a touch so many messages go other ways, and the next ones are packed again. */
static void a_touched_channel_rests(void **state)
{
    scenery *s = *state;

    begin_proven(s);
    assert_true(tell(s, TOUCH).good);
    tell(s, END);
    for (int i = 0; i < 16; i++)
        assert_false(tell(s, TAKES).good);
    assert_true(begin(s).has_pages);
    tell(s, END); /* nobody has read it */
    for (int i = 0; i < 32; i++)
        assert_false(tell(s, TAKES).good);
    begin_proven(s);
}

/* A process without Packwright reads: all of the message, or nothing. */
static void the_system_reads_the_message_or_fails(void **state)
{
    scenery *s = *state;
    answer a = begin_proven(s);
    struct iovec to = {s->staging, MESSAGE}, of = {(void *)a.data, MESSAGE};
    ssize_t n;

    memset(s->staging, 0, MESSAGE);
    n = syscall(SYS_process_vm_readv, s->pid, &to, 1, &of, 1, 0);
    if (n == MESSAGE)
        assert_memory_equal(s->staging, s->packed, MESSAGE);
    else
        assert_true(n < 0 && errno == EFAULT);
    assert_true(tell(s, TOUCH).good);
}

/* As MPICH 5 reads into blocks of the program's own. Here the two halves lie the other way round. */
static void lists_are_read(void **state)
{
    enum { HALF = MESSAGE / 2 };
    scenery *s = *state;
    answer a = begin_proven(s);
    struct iovec to[] = {{(void *)16, HALF}, {s->staging, HALF}};

    memset(s->staging, 0, MESSAGE);
    assert_int_equal(read_list_as_mpi(s->pid, to, 2, a.data, MESSAGE), -1);
    assert_int_equal(errno, EFAULT);
    to[0].iov_base = s->staging + HALF;
    assert_int_equal(read_list_as_mpi(s->pid, to, 2, a.data, MESSAGE), MESSAGE);
    assert_memory_equal(s->staging + HALF, s->packed, HALF);
    assert_memory_equal(s->staging, s->packed + HALF, HALF);
    tell(s, END);
}

/* ---- what is broken ---------------------------------------------------------------------------------------------- */

/* The first message is broken, so that only its layout is mapped when the sender closes its files. */
static void memory_that_cannot_be_mapped_is_read(void **state)
{
    scenery *s = *state;
    answer a = begin(s);

    tell(s, SPOIL_MEMORY);
    read_all(s, a.data);
    tell(s, END);
    tell(s, CLOSE_FILES);
    for (int i = 0; i < 16; i++)
        tell(s, TAKES);
    a = begin(s);
    receive(s, a.data, sent, MESSAGE);
}

static void broken_records_are_not_followed(void **state)
{
    static const order ways[] = {SPOIL_COUNT, SPOIL_MEMORY, SPOIL_TEXT, SPOIL_BYTES};
    scenery *s = *state;

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        answer a = begin(s);
        ssize_t n;

        tell(s, ways[i]);
        memset(s->staging, 0, MESSAGE);
        n = read_as_mpi(s->pid, s->staging, a.data, MESSAGE); /* its pages are there, so the system reads them */
        assert_int_equal(n, MESSAGE);
        assert_memory_equal(s->staging, s->packed, MESSAGE);
        tell(s, END);
        for (int k = 0; k < 16 << i; k++)
            tell(s, TAKES);
    }
}

/* Others read the layout as a text, which must not be too long. */
static void a_layout_without_a_text_has_no_stand_in(void **state)
{
    enum { BLOCKS = 150000, OFFSET_BYTES = 12 };
    scenery *s = *state;
    char *text = malloc(BLOCKS * OFFSET_BYTES + 100), *at = text;
    pw_layout *known = layout_of(s->engine, sent), *longer;
    int number = pw_direct_take(CHANNEL, known, MESSAGE);

    at += sprintf(at, "type(lb 0, extent %d) { index [0", BLOCKS * 64);
    for (uint32_t i = 1; i < BLOCKS; i++)
        at += sprintf(at, ", %u", i * 64 + (i * 2654435761U >> 28) * 2);
    sprintf(at, "] { bytes 8 align 2 } }");
    longer = layout_of(s->engine, text);
    free(text);
    assert_int_equal(pw_direct_take(CHANNEL, longer, MESSAGE), -1);
    if (number >= 0) /* there is userfaultfd */
        pw_direct_give(number);
    pw_layout_unref(known);
    pw_layout_unref(longer);
}

static void a_killed_sender_is_an_error(void **state)
{
    scenery *s = *state;
    answer a = begin_proven(s);

    kill(s->pid, SIGKILL);
    while (kill(s->pid, 0) == 0 && waitpid(s->pid, NULL, WNOHANG) == 0)
        usleep(1000);
    assert_true(read_as_mpi(s->pid, s->staging, a.data, MESSAGE) < 0);
}

/* ---- without userfaultfd; fork ----------------------------------------------------------------------------------- */

static int in_child(bool (*fn)(void))
{
    pid_t pid;
    int status;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        _exit(fn() ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool is_refused(void)
{
    struct sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, refuse};

    drop_rights();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return true;
    pw_segment_open();
    return pw_direct_take(CHANNEL, NULL, MESSAGE) == -1;
}

static void without_userfaultfd_nothing_is_taken(void **state)
{
    (void)state;
    assert_int_equal(in_child(is_refused), 0);
}

/* All messages of a window have stand-ins, in few pieces. */
static bool many_stand_for_messages(void)
{
    enum { WINDOW = 64, PIECES = 8 };
    int numbers[WINDOW], n = 0;

    pw_segment_open();
    while (n < WINDOW && (numbers[n] = pw_direct_take(CHANNEL, NULL, MESSAGE)) >= 0)
        n++;
    for (int i = 0; i < n; i++)
        pw_direct_give(numbers[i]);
    return n == WINDOW && atomic_load(&pw_segment_own_header()->npieces) <= PIECES;
}

static void windows_have_stand_ins(void **state)
{
    (void)state;
    assert_int_equal(in_child(many_stand_for_messages), 0);
}

/* Both processes write; neither sees what the other has written since the fork. */
static bool forks_have_copies(void)
{
    enum { BYTES = 100000 };
    char *memory;
    int status;
    pid_t pid;

    pw_segment_open();
    memory = pw_heap_take(BYTES);
    memset(memory, 1, BYTES);
    pid = fork();
    memory[0]++;
    memory[BYTES - 1] += pid == 0 ? 5 : 7;
    if (pid == 0)
        _exit(memory[0] != 2 || memory[500] != 1 || memory[BYTES - 1] != 6);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && memory[0] == 2 && memory[BYTES - 1] == 8 &&
           pw_heap_holds(memory, BYTES) && !pw_heap_holds(memory + 1, 4096 * 25) && pw_heap_give(memory) &&
           !pw_heap_give(memory);
}

static void a_child_of_fork_has_a_copy(void **state)
{
    (void)state;
    assert_int_equal(in_child(forks_have_copies), 0);
}

static void proof_outlasts_other_messages_of_the_channel(void **state)
{
    (void)state;
    for (uint64_t channel = 3; channel < UINT64_MAX / 5 * 4; channel = (channel * 5 + 4) | 3) {
        pw_channel_note(channel, MESSAGE, true);
        assert_true(pw_channel_note(channel, MESSAGE, true));
        assert_true(pw_channel_may(pw_channel_apart(channel), MESSAGE));
        assert_true(pw_channel_note(channel, MESSAGE, true));
    }
}

/* An MPI copies short messages itself, so they are not taken, whatever becomes of longer ones to the same rank. */
static void short_messages_say_nothing_of_longer_ones(void **state)
{
    enum { SHORT = MESSAGE / 4 };
    const uint64_t channel = 4711;

    (void)state;
    pw_channel_note(channel, SHORT, false);
    assert_false(pw_channel_may(channel, SHORT));
    assert_true(pw_channel_may(channel, MESSAGE));
    pw_channel_note(channel, MESSAGE, true);
    assert_true(pw_channel_note(channel, MESSAGE, true));
    pw_channel_note(channel, SHORT, false);
    assert_true(pw_channel_may(channel, MESSAGE));
    assert_true(pw_channel_note(channel, MESSAGE, true));
    pw_channel_note(channel, MESSAGE, false);
    assert_false(pw_channel_may(channel, MESSAGE));
    assert_false(pw_channel_may(channel, SHORT));
}

/* After a rest a short one may be the next attempt: one that fails anew hinders no longer one, and one that is taken
 * shows that those of its length are. */
static void the_shortest_failure_bounds_the_rest(void **state)
{
    enum { SHORT = MESSAGE / 4 };
    const uint64_t channel = 4712;

    (void)state;
    pw_channel_note(channel, MESSAGE, false);
    assert_false(pw_channel_may(channel, SHORT));
    pw_channel_note(channel, SHORT, false);
    assert_true(pw_channel_may(channel, MESSAGE));
    pw_channel_note(channel, SHORT, true);
    assert_true(pw_channel_may(channel, SHORT));
    assert_false(pw_channel_may(channel, SHORT - 1));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
#define COMPILED(fn) cmocka_unit_test_setup_teardown(fn, set_up_compiled, tear_down)
#define POOR(fn) cmocka_unit_test_setup_teardown(fn, set_up_poor, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_userfaultfd_nothing_is_taken),
        cmocka_unit_test(a_child_of_fork_has_a_copy),
        cmocka_unit_test(windows_have_stand_ins),
        cmocka_unit_test(proof_outlasts_other_messages_of_the_channel),
        cmocka_unit_test(short_messages_say_nothing_of_longer_ones),
        cmocka_unit_test(the_shortest_failure_bounds_the_rest),
        CASE(messages_go_from_memory_to_memory),
        COMPILED(messages_go_from_memory_to_memory),
        POOR(messages_go_from_memory_to_memory),
        CASE(other_memory_is_attached),
        CASE(any_part_is_packed),
        CASE(pieces_out_of_order_arrive),
        CASE(a_longer_message_does_not_overflow),
        CASE(the_sender_itself_finds_the_message),
        POOR(the_sender_itself_finds_the_message),
        CASE(a_touched_channel_rests),
        CASE(the_system_reads_the_message_or_fails),
        POOR(the_system_reads_the_message_or_fails),
        CASE(lists_are_read),
        POOR(lists_are_read),
        CASE(memory_that_cannot_be_mapped_is_read),
        CASE(broken_records_are_not_followed),
        CASE(a_layout_without_a_text_has_no_stand_in),
        CASE(a_killed_sender_is_an_error),
    };

    return cmocka_run_group_tests(tests, start_senders, end_senders);
}
