/*
 * Open MPI's corpus of datatypes (contrib/datatype), as its own benchmark to_self uses it: one, two, four… objects of
 * each type, up to 1 MiB. One rank packs and unpacks them; of more, the first sends them to the second.
 */
#include "rows.h"

#include "datatype_corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 };

typedef struct objects {
    const rows *all;
    const datatype_corpus_entry_t *e;
    int count, capacity; /* how many, and what all of them may take packed */
    size_t bytes;        /* of each buffer */
    char *from, *packed, *to;
} objects;

static void prepare(void *data)
{
    objects *o = data;

    for (size_t i = 0; i < o->bytes; i++) {
        o->from[i] = (char)(i * 7 % 251);
        o->packed[i] = (char)(i * 13 % 251);
        o->to[i] = 0;
    }
}

static uint64_t digest(void *data)
{
    objects *o = data;

    return rows_digest(rows_digest(0, o->packed, o->bytes), o->to, o->bytes);
}

static void pack(void *data)
{
    objects *o = data;
    int position = 0;

    MPI_Pack(o->from, o->count, o->e->send_type, o->packed, o->capacity, &position, MPI_COMM_WORLD);
}

static void unpack(void *data)
{
    objects *o = data;
    int position = 0;

    MPI_Unpack(o->packed, o->capacity, &position, o->to, o->count, o->e->recv_type, MPI_COMM_WORLD);
}

static void message(void *data)
{
    objects *o = data;
    MPI_Request request;

    if (o->all->rank == 0) {
        MPI_Isend(o->from, o->count, o->e->send_type, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (o->all->rank == 1) {
        MPI_Recv(o->to, o->count, o->e->recv_type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void do_operation(objects *o, const char *what, void (*exchange)(void *data))
{
    char name[160];
    int size;

    MPI_Type_size(o->e->send_type, &size);
    snprintf(name, sizeof name, "%s, %d bytes, %s", o->e->name, o->count * size, what);
    rows_do(o->all, name, &(row){o, prepare, exchange, digest});
}

/* Returns how far so many objects reach; no type that to_self uses begins before its address. */
static size_t reach(MPI_Datatype type, int count)
{
    MPI_Aint lb, extent, true_lb, true_extent;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    return (size_t)(true_lb + true_extent + (count - 1) * extent);
}

static void do_type(const rows *all, const datatype_corpus_entry_t *e)
{
    objects o = {.all = all, .e = e};
    int size, most;
    size_t each[3];

    MPI_Type_size(e->send_type, &size);
    most = size < MOST_BYTES ? MOST_BYTES / size : 1;
    MPI_Pack_size(most, e->send_type, MPI_COMM_WORLD, &o.capacity);
    each[0] = reach(e->send_type, most), each[1] = reach(e->recv_type, most), each[2] = (size_t)o.capacity;
    for (int i = 0; i < 3; i++)
        o.bytes = o.bytes > each[i] ? o.bytes : each[i];
    o.from = rows_allocate(o.bytes);
    o.packed = rows_allocate(o.bytes);
    o.to = rows_allocate(o.bytes);
    for (o.count = 1; o.count <= most; o.count *= 2) {
        if (all->ranks > 1) {
            do_operation(&o, "message", message);
        } else {
            do_operation(&o, "pack", pack);
            do_operation(&o, "unpack", unpack);
        }
    }
    free(o.from);
    free(o.packed);
    free(o.to);
}

int main(int argc, char **argv)
{
    rows all = rows_begin(argc, argv, "");
    datatype_corpus_t *corpus = datatype_corpus_init();

    for (size_t i = 0; i < corpus->count; i++)
        if (strncmp(corpus->entries[i].name, "adv_", 4)) /* of odd extents, which to_self leaves out */
            do_type(&all, &corpus->entries[i]);
    datatype_corpus_finalize(corpus);
    rows_end();
    return 0;
}
