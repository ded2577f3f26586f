#include "buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t page_size(void)
{
    return sysconf(_SC_PAGESIZE);
}

void pw_watched_create(pw_watched *w, int64_t most)
{
    int64_t page = page_size();
    int64_t usable = (most + 2 * PW_WATCHED_MARGIN + 64 + page - 1) / page * page;
    unsigned char *map = mmap(NULL, (size_t)(usable + 2 * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *saved = malloc((size_t)usable);
    if (map == MAP_FAILED || !saved || mprotect(map + page, (size_t)usable, PROT_READ | PROT_WRITE) != 0) {
        perror("no memory for test buffers");
        exit(2);
    }
    *w = (pw_watched){.map = map + page, .usable = usable, .saved = saved};
}

void pw_watched_destroy(pw_watched *w)
{
    int64_t page = page_size();
    munmap(w->map - page, (size_t)(w->usable + 2 * page));
    free(w->saved);
}

unsigned char *pw_watched_place(pw_watched *w, pw_rng *rng, int64_t bytes)
{
    w->bytes = bytes;
    w->before = w->after = PW_WATCHED_MARGIN;
    switch (pw_rng_range(rng, 0, 2)) {
    case 0:
        w->at = w->map + w->usable - bytes;
        w->after = 0;
        break;
    case 1:
        w->at = w->map;
        w->before = 0;
        break;
    default: w->at = w->map + PW_WATCHED_MARGIN + pw_rng_range(rng, 0, 63); break;
    }
    pw_rng_fill(rng, w->at - w->before, (size_t)(w->before + bytes + w->after));
    pw_watched_save(w);
    return w->at;
}

void pw_watched_save(pw_watched *w)
{
    memcpy(w->saved, w->at - w->before, (size_t)(w->before + w->bytes + w->after));
}

unsigned char *pw_watched_saved(pw_watched *w)
{
    return w->saved + w->before;
}

bool pw_watched_differs(const pw_watched *w, const unsigned char *mask, int64_t *where)
{
    const unsigned char *now = w->at - w->before;
    int64_t all = w->before + w->bytes + w->after;
    if (memcmp(now, w->saved, (size_t)all) == 0)
        return false;
    for (int64_t i = 0; i < all; i++) {
        int64_t at = i - w->before;
        bool allowed = mask && at >= 0 && at < w->bytes && mask[at] != 0;
        if (now[i] != w->saved[i] && !allowed) {
            *where = at;
            return true;
        }
    }
    return false;
}
