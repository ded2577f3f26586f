#include "runtime/engine/node/system_read.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST = 1024 /* IOV_MAX of Linux */ };

typedef struct list {
    pid_t pid;
    uint64_t from;
    char *to;
    bool backwards;
    int n;
    ssize_t bytes;
    struct iovec remote[MOST], local[MOST];
} list;

static bool read_list(list *l)
{
    bool all = syscall(SYS_process_vm_readv, l->pid, l->local, (unsigned long)l->n, l->remote, (unsigned long)l->n,
                       0UL) == l->bytes;

    l->n = 0;
    l->bytes = 0;
    return all;
}

static bool add(void *arg, int64_t mem, int64_t packed, int64_t bytes)
{
    list *l = arg;
    int64_t from = l->backwards ? packed : mem, to = l->backwards ? mem : packed;

    l->remote[l->n] = (struct iovec){(void *)(uintptr_t)(l->from + (uint64_t)from), (size_t)bytes};
    l->local[l->n] = (struct iovec){(void *)((uintptr_t)l->to + (uintptr_t)to), (size_t)bytes};
    l->bytes += bytes;
    return ++l->n < MOST || read_list(l);
}

bool pw_system_read(pid_t pid, const pw_joined *joined, uint64_t from, void *to, int64_t bytes)
{
    const pw_nest *nest = joined->layout->nest;
    list l = {.pid = pid, .from = from, .to = to, .backwards = joined->backwards};

    return pw_nest_walk_joined(nest, bytes / nest->size, add, &l) && (l.n == 0 || read_list(&l));
}
