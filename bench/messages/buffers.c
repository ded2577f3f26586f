#include "bench/messages/buffers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

int msg_sent(msg_mode mode, const msg_world *w)
{
    return mode == MSG_ALLTOALL ? w->ranks : 1;
}

int msg_received(msg_mode mode, const msg_world *w)
{
    switch (mode) {
    case MSG_PING_PONG:
    case MSG_FRESH:
    case MSG_STREAM:
    case MSG_OVERLAP: return 1;
    case MSG_IN_FLIGHT_8: return MSG_IN_FLIGHT;
    case MSG_ALLTOALL: return w->ranks;
    default: return 2;
    }
}

static int64_t typed_bytes(const msg_parcel *p, msg_mode mode, int messages)
{
    return (messages - 1) * (mode == MSG_ALLTOALL ? p->step : p->apart) + p->span;
}

int64_t msg_memory_of(const msg_parcel *p, msg_mode mode, const msg_world *w)
{
    int sent = msg_sent(mode, w), received = msg_received(mode, w);

    return typed_bytes(p, mode, sent) + typed_bytes(p, mode, received) + (sent + received) * p->bytes;
}

/* ---- typed buffers ----------------------------------------------------------------------------------------------- */

/* XPMEM's stand-in (tests/exchange/xpmem.c) reaches files that are open. */
static char *map_file(size_t bytes, int *fd)
{
    char *memory;

    *fd = memfd_create("messages", MFD_CLOEXEC);
    if (*fd < 0 || ftruncate(*fd, (off_t)bytes) != 0)
        return NULL;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Collective for windows, which are those of MPI and not Packwright's. */
static bool typed_take(msg_typed *t, msg_memory kind, size_t bytes, MPI_Comm comm)
{
    *t = (msg_typed){.bytes = (bytes + PAGE - 1) / PAGE * PAGE, .window = MPI_WIN_NULL, .fd = -1};
    switch (kind) {
    case MSG_ALLOC_MEM: return MPI_Alloc_mem((MPI_Aint)t->bytes, MPI_INFO_NULL, &t->memory) == MPI_SUCCESS;
    case MSG_WINDOW:
        return MPI_Win_allocate((MPI_Aint)t->bytes, 1, MPI_INFO_NULL, comm, &t->memory, &t->window) == MPI_SUCCESS;
    case MSG_FILE: t->memory = map_file(t->bytes, &t->fd); break;
    default: t->memory = aligned_alloc(PAGE, t->bytes); break;
    }
    return t->memory;
}

static void typed_give(msg_typed *t, msg_memory kind)
{
    if (kind == MSG_WINDOW && t->window != MPI_WIN_NULL)
        MPI_Win_free(&t->window);
    else if (kind == MSG_ALLOC_MEM && t->memory)
        MPI_Free_mem(t->memory);
    else if (kind == MSG_FILE && t->memory)
        munmap(t->memory, t->bytes);
    else if (kind == MSG_MALLOC)
        free(t->memory);
    if (t->fd >= 0)
        close(t->fd);
}

/* ---- all buffers ------------------------------------------------------------------------------------------------- */

static char *take_plain(int64_t bytes)
{
    return aligned_alloc(PAGE, (size_t)(bytes + PAGE - 1) / PAGE * PAGE);
}

/* Writes to memory, so that it has pages. */
static void touch(char *memory, int fill, int64_t bytes)
{
    if (memory)
        memset(memory, fill, (size_t)bytes);
}

bool msg_buffers_take(msg_buffers *b, const msg_parcel *p, msg_mode mode, const msg_world *w)
{
    int sent = msg_sent(mode, w), received = msg_received(mode, w);
    bool good;

    *b = (msg_buffers){.parcel = p,
                       .memory = w->memory,
                       .send_bytes = typed_bytes(p, mode, sent),
                       .recv_bytes = typed_bytes(p, mode, received),
                       .plain_bytes = (sent > received ? sent : received) * p->bytes};
    good = typed_take(&b->typed[0], b->memory, (size_t)b->send_bytes, w->all);
    good = typed_take(&b->typed[1], b->memory, (size_t)b->recv_bytes, w->all) && good;
    b->send = b->typed[0].memory;
    b->recv = b->typed[1].memory;
    b->plain_send = take_plain(b->plain_bytes);
    b->plain_recv = take_plain(b->plain_bytes);
    touch(b->send, 1, b->send_bytes);
    touch(b->recv, 2, b->recv_bytes);
    touch(b->plain_send, 3, b->plain_bytes);
    touch(b->plain_recv, 4, b->plain_bytes);
    return good && b->plain_send && b->plain_recv;
}

void msg_buffers_give(msg_buffers *b)
{
    typed_give(&b->typed[0], b->memory);
    typed_give(&b->typed[1], b->memory);
    free(b->plain_send);
    free(b->plain_recv);
}
