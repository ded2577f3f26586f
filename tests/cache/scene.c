#include "tests/cache/scene.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static void init_shapes(scene *s)
{
    for (int i = 0; i < SCENE_SHAPES; i++) {
        s->shapes[i].hash = pw_hash_bytes(&i, sizeof i);
        s->shapes[i].refs = 1; /* the test's own reference, so the cache never frees it */
    }
}

int scene_setup(void **state)
{
    scene *s = calloc(1, sizeof *s);

    if (!s)
        return -1;
    strcpy(s->base, "/tmp/pw-cache-test-XXXXXX");
    if (!mkdtemp(s->base))
        return -1;
    chmod(s->base, 0711); /* other users must be able to reach their folders below */
    snprintf(s->dir, sizeof s->dir, "%s/cache", s->base);
    init_shapes(s);
    memset(fake(), 0, sizeof *fake());
    *state = s;
    return 0;
}

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);

    for (struct dirent *e; dir && (e = readdir(dir));) {
        char below[4096];
        struct stat st;

        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (!lstat(below, &st) && S_ISDIR(st.st_mode))
            remove_tree(below);
        else
            unlink(below);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

int scene_teardown(void **state)
{
    scene *s = *state;

    remove_tree(s->base);
    free(s);
    return 0;
}

pw_cache *scene_cache_at(const char *dir, int64_t max_bytes)
{
    pw_cache_config config = {.dir = dir,
                              .max_bytes = max_bytes,
                              .backend = "fake",
                              .target = pw_target_host(),
                              .load_backend = fake_load_backend};
    pw_cache *cache = NULL;

    return pw_cache_create(&config, &cache) ? NULL : cache;
}

pw_cache *scene_cache(scene *s, int64_t max_bytes)
{
    return scene_cache_at(s->dir, max_bytes);
}

pw_hash scene_key(scene *s, int shape)
{
    return pw_cache_key(&s->shapes[shape], pw_target_host(), "fake");
}

pw_kernel *scene_kernel(scene *s, pw_cache *cache, int shape)
{
    return pw_cache_kernel(cache, &s->shapes[shape]);
}

pw_kernel *scene_get(scene *s, pw_cache *cache, int shape)
{
    pw_kernel *kernel = scene_kernel(s, cache, shape);

    if (kernel)
        pw_cache_get(cache, kernel, PW_WANT_COMPILE);
    return kernel;
}

void scene_path(scene *s, int shape, const char *suffix, char out[256])
{
    char hex[PW_HASH_TEXT];

    pw_hash_text(scene_key(s, shape), hex);
    snprintf(out, 256, "%s/v1/%s%s", s->dir, hex, suffix);
}

void scene_store(scene *s, int shape, bool poison)
{
    pw_blob object = fake_object(scene_key(s, shape), poison);
    pw_diag diag;

    if (pw_cache_store(s->dir, scene_key(s, shape), &object, &diag)) {
        fprintf(stderr, "cannot store: %s\n", diag.text);
        exit(99);
    }
    pw_blob_free(&object);
}

void scene_write(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        perror(path);
        exit(99);
    }
    close(fd);
}

void *scene_read(const char *path, size_t *size)
{
    void *data = malloc(1 << 20);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 || !data ? -1 : read(fd, data, 1 << 20);

    if (n < 0) {
        perror(path);
        exit(99);
    }
    close(fd);
    *size = (size_t)n;
    return data;
}

bool scene_exists(const char *path)
{
    struct stat st;

    return !lstat(path, &st);
}

int scene_count(scene *s, const char *part)
{
    char path[256];
    DIR *dir;
    int n = 0;

    snprintf(path, sizeof path, "%s/v1", s->dir);
    dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += strstr(e->d_name, part) != NULL;
    if (dir)
        closedir(dir);
    return n;
}

void scene_age(const char *path, int64_t seconds)
{
    struct timespec t[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};

    if (utimensat(AT_FDCWD, path, t, AT_SYMLINK_NOFOLLOW)) {
        perror(path);
        exit(99);
    }
}

bool scene_works(pw_kernel *kernel)
{
    unsigned char in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, packed[8] = {0}, out[8] = {0};
    pw_kernel_fn *pack = atomic_load_explicit(&kernel->pack, memory_order_acquire);
    pw_kernel_fn *unpack = atomic_load_explicit(&kernel->unpack, memory_order_acquire);

    if (kernel->state != PW_KERNEL_READY || !pack || !unpack)
        return false;
    pack(packed, in, 8, NULL);
    unpack(out, packed, 8, NULL);
    return packed[0] == (1 ^ 0x5a) && !memcmp(in, out, sizeof in);
}

static int saved_stderr = -1;

void scene_listen(void)
{
    int fd = memfd_create("heard", MFD_CLOEXEC);

    saved_stderr = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
}

const char *scene_heard(void)
{
    static char text[1 << 16];
    ssize_t n = pread(STDERR_FILENO, text, sizeof text - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    return text;
}

int scene_times(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

bool scene_child(bool (*fn)(void *arg), void *arg)
{
    int status = -1;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(fn(arg) ? 0 : 1);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return false;
    if (WIFSIGNALED(status))
        fprintf(stderr, "child ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
