/*
 * The process that the library lives in. Each scene is a process of its own, since options are set once.
 *
 * usage: test_library_process <scene> [argument]
 *     options      jit off, statistics, late and malformed options
 *     sync         kernels are there at the first move (argument: an empty directory for the cache, which gets them)
 *     signals      a compile leaves the program's signals alone
 *     limited      nor does one where files may not be longer than the argument
 *     quiet, loud  whether a compiler that is not there is spoken of
 *     fork         a child goes on, with types old and new, whatever other threads of its parent did
 *     ends         processes that end while a kernel is being compiled (`end` is one of them)
 *     threads      types are made, shared, moved and freed by several threads
 */
#include <packwright/packwright.h>

#include <assert.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what)                                                                                  \
    do {                                                                                             \
        if (!(what)) {                                                                               \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, packwright_last_error()); \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)
#define OK(call) CHECK((call) == PACKWRIGHT_OK)

/* Sanitizers' allocators do not survive a fork beside other threads, and count what those had as lost. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHURNING 0
#define ENDS 8
#define END_CHILD _exit
#else
#define CHURNING 2
#define ENDS 25
#define END_CHILD exit
#endif

enum { N = 64 };

/* Two of every `stride` doubles. */
static packwright_type *pairs(int64_t stride)
{
    packwright_type *cell, *t;

    OK(packwright_bytes(8, 8, &cell));
    OK(packwright_vector(N, 2, stride, cell, &t));
    packwright_type_free(cell);
    return t;
}

static bool packs_right(const packwright_type *t, int64_t stride)
{
    double *from = malloc((size_t)(N * stride) * sizeof *from), to[2 * N], *back;
    bool right = true;

    for (int64_t i = 0; i < N * stride; i++)
        from[i] = (double)i;
    OK(packwright_pack(t, from, 1, to));
    for (int64_t i = 0; i < 2 * N; i++)
        right = right && to[i] == (double)(i / 2 * stride + i % 2);
    back = calloc((size_t)(N * stride), sizeof *back);
    OK(packwright_unpack(t, back, 1, to));
    for (int64_t i = 0; i < N * stride; i++)
        right = right && back[i] == (i % stride < 2 ? from[i] : 0);
    free(from);
    free(back);
    return right;
}

static packwright_statistics statistics_of(const packwright_type *t)
{
    packwright_statistics s = {.size = sizeof s};

    OK(packwright_type_statistics(t, &s));
    CHECK(s.size == sizeof s);
    return s;
}

/* ---- options ------------------------------------------------------------------------------------------- */

static void options(void)
{
    struct {
        packwright_options known;
        int64_t unknown;
    } newer = {.known = {.size = sizeof newer, .jit = PACKWRIGHT_JIT_OFF, .statistics = true}, .unknown = 1};
    packwright_options o = {.size = sizeof o, .jit = (packwright_jit)7};
    packwright_type *t = pairs(5);

    CHECK(packwright_configure(NULL) == PACKWRIGHT_ERR_INVALID);
    CHECK(packwright_configure(&(packwright_options){.size = 0}) == PACKWRIGHT_ERR_INVALID);
    CHECK(packwright_configure(&o) == PACKWRIGHT_ERR_INVALID && strstr(packwright_last_error(), "options.jit is 7"));
    o = (packwright_options){.size = sizeof o, .hot_bytes = -1};
    CHECK(packwright_configure(&o) == PACKWRIGHT_ERR_INVALID && strstr(packwright_last_error(), "options.hot_bytes"));
    CHECK(packwright_configure(&newer.known) == PACKWRIGHT_ERR_UNSUPPORTED);
    newer.unknown = 0;
    OK(packwright_configure(&newer.known));
    CHECK(statistics_of(t).packs == 0);
    for (int i = 0; i < 10; i++)
        CHECK(packs_right(t, 5));
    CHECK(statistics_of(t).packs == 10 && statistics_of(t).unpacks == 10);
    CHECK(statistics_of(t).bytes == 20 * 16 * N && statistics_of(t).kernel_calls == 0);
    CHECK(packwright_configure(&newer.known) == PACKWRIGHT_ERR_INVALID &&
          strstr(packwright_last_error(), "has been moved"));
    packwright_type_free(t);
}

/* Kernels in the cache's directory, below which is one for each format. */
static int entries(const char *path)
{
    char formatted[4096];
    DIR *dir;
    int n = 0;

    snprintf(formatted, sizeof formatted, "%s/v1", path);
    dir = opendir(formatted);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        n += !strncmp(e->d_name + strlen(e->d_name) - (strlen(e->d_name) > 3 ? 3 : 0), ".so", 3);
    if (dir)
        closedir(dir);
    return n;
}

static void sync_jit(const char *dir)
{
    packwright_options o = {.size = sizeof o, .jit = PACKWRIGHT_JIT_SYNC, .cache_dir = dir, .statistics = true};
    packwright_type *t = pairs(6);

    OK(packwright_configure(&o));
    CHECK(packs_right(t, 6));
    CHECK(statistics_of(t).kernel_calls == 2);
    CHECK(!*dir || entries(dir) > 0);
    packwright_type_free(t);
}

/* How the process takes signals, and where this thread does. */
typedef struct signals {
    struct sigaction actions[32];
    sigset_t mask;
    stack_t stack;
} signals;

static void look_at_signals(signals *out)
{
    memset(out, 0, sizeof *out);
    for (int s = 1; s < 32; s++)
        sigaction(s, NULL, &out->actions[s]);
    pthread_sigmask(SIG_SETMASK, NULL, &out->mask);
    sigaltstack(NULL, &out->stack);
}

static void compile_beside_signals(void)
{
    packwright_options o = {.size = sizeof o, .jit = PACKWRIGHT_JIT_SYNC, .cache_dir = "", .statistics = true};
    packwright_type *t = pairs(6);
    signals before, after;

    OK(packwright_configure(&o));
    look_at_signals(&before);
    CHECK(packs_right(t, 6) && statistics_of(t).kernel_calls == 2);
    look_at_signals(&after);
    for (int s = 1; s < 32; s++) {
        CHECK(before.actions[s].sa_handler == after.actions[s].sa_handler);
        CHECK(sigismember(&before.mask, s) == sigismember(&after.mask, s));
    }
    CHECK(before.stack.ss_sp == after.stack.ss_sp);
    packwright_type_free(t);
}

static void compile_with_short_files(const char *bytes)
{
    packwright_options o = {.size = sizeof o, .jit = PACKWRIGHT_JIT_SYNC, .cache_dir = ""};
    packwright_type *t = pairs(6);
    struct rlimit limit;
    rlim_t before;

    OK(packwright_configure(&o));
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)atoi(bytes);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(packs_right(t, 6));
    limit.rlim_cur = before; /* what is printed may go to a file */
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    packwright_type_free(t);
}

static void speak(bool quiet)
{
    packwright_options o = {.size = sizeof o, .jit = PACKWRIGHT_JIT_SYNC, .cache_dir = "", .quiet = quiet};
    packwright_type *t = pairs(7);

    OK(packwright_configure(&o));
    CHECK(packs_right(t, 7));
    packwright_type_free(t);
}

/* ---- fork ---------------------------------------------------------------------------------------------- */

static atomic_bool done;

/* Types come and go, so that the library's tables are being changed when the process forks. */
static void *churn(void *arg)
{
    int64_t first = *(int64_t *)arg;

    for (int64_t i = 0; !atomic_load(&done); i++) {
        packwright_type *t = pairs(3 + (first + i) % 200);

        CHECK(packs_right(t, 3 + (first + i) % 200));
        packwright_type_free(t);
    }
    return NULL;
}

static void child(packwright_type *old, packwright_type *unmoved)
{
    packwright_type *fresh = pairs(500);

    alarm(60); /* a lock that nobody gives back ends the child, and so the test */
    CHECK(packs_right(old, 4) && packs_right(unmoved, 9) && packs_right(fresh, 500));
    packwright_type_free(fresh);
    packwright_type_free(unmoved);
    packwright_type_free(old);
    END_CHILD(0);
}

static void fork_and_go_on(void)
{
    enum { CHILDREN = 50 };
    packwright_type *old = pairs(4), *unmoved = pairs(9);
    pthread_t threads[2];
    int64_t firsts[2] = {0, 100};
    int status;

    CHECK(packs_right(old, 4));
    for (int i = 0; i < CHURNING; i++)
        pthread_create(&threads[i], NULL, churn, &firsts[i]);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();

        if (pid == 0)
            child(old, unmoved);
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    }
    atomic_store(&done, true);
    for (int i = 0; i < CHURNING; i++)
        pthread_join(threads[i], NULL);
    CHECK(packs_right(old, 4) && packs_right(unmoved, 9));
    packwright_type_free(old);
    packwright_type_free(unmoved);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

enum { THREADS = 8, SHARED = 40 };

static packwright_type *shared[SHARED];
static pthread_barrier_t barrier;

/* The first move of each shared type is a race; the last reference goes in any thread. */
static void *use_shared(void *arg)
{
    (void)arg;
    for (int i = 0; i < SHARED; i++) {
        uint64_t hash[2];
        packwright_type *twice, *same = packwright_dup(shared[i]);

        pthread_barrier_wait(&barrier);
        CHECK(packs_right(same, 3 + i));
        OK(packwright_hash(same, hash));
        OK(packwright_contiguous(2, same, &twice));
        packwright_type_free(same);
        CHECK(packwright_size(twice) == 2 * 16 * N);
        CHECK(packwright_pack(twice, NULL, -1, NULL) == PACKWRIGHT_ERR_INVALID && *packwright_last_error());
        packwright_type_free(twice);
        packwright_type_free(shared[i]);
    }
    return NULL;
}

static void share(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < SHARED; i++) {
        shared[i] = pairs(3 + i);
        for (int k = 1; k < THREADS; k++)
            packwright_dup(shared[i]);
    }
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use_shared, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(!*packwright_last_error());
}

/* ---- the end ------------------------------------------------------------------------------------------- */

static void *move_for_ever(void *arg)
{
    packwright_type *t = arg;

    for (;;)
        CHECK(packs_right(t, 8));
    return NULL;
}

/* The main thread makes no move, and ends the process at some moment of another thread's first compile. */
static void end_after(const char *microseconds)
{
    pthread_t thread;

    pthread_create(&thread, NULL, move_for_ever, pairs(8));
    usleep((useconds_t)atoi(microseconds));
    exit(0);
}

static void end_while_compiling(char *program)
{
    enum { STEP = 75000 / ENDS };
    char text[16];
    int status;

    for (int i = 0; i < ENDS; i++) {
        pid_t pid = fork();

        snprintf(text, sizeof text, "%d", i * STEP);
        if (pid == 0) {
            execv(program, (char *[]){program, "end", text, NULL});
            _exit(127);
        }
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
        if (status != 0) {
            fprintf(stderr, "ended after %s us: status %#x\n", text, (unsigned)status);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";

    if (!strcmp(scene, "options"))
        options();
    else if (!strcmp(scene, "sync"))
        sync_jit(argument);
    else if (!strcmp(scene, "signals"))
        compile_beside_signals();
    else if (!strcmp(scene, "limited"))
        compile_with_short_files(argument);
    else if (!strcmp(scene, "quiet") || !strcmp(scene, "loud"))
        speak(!strcmp(scene, "quiet"));
    else if (!strcmp(scene, "fork"))
        fork_and_go_on();
    else if (!strcmp(scene, "ends"))
        end_while_compiling(argv[0]);
    else if (!strcmp(scene, "end"))
        end_after(argument);
    else if (!strcmp(scene, "threads"))
        share();
    else
        return 2;
    printf("%s: right\n", scene);
    return 0;
}
