/*
 * Packs, unpacks and sends every type of Open MPI's corpus of datatypes (datatype_corpus.c), and compares with the
 * corpus' own loops. Its benchmark, to_self, checks no message and leaves the types of odd extents out. Two ranks; says
 * nothing when all is right.
 */
#include "datatype_corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USES = 40 /* enough for kernels and trials */, MOST_BYTES = 1 << 20 };

static int rank, wrong;

/* Memory of `count` objects, wherever the extent leads. */
typedef struct memory {
    char *all, *at; /* `at`: what displacement 0 stands for */
    size_t bytes;
} memory;

static memory allocate(MPI_Datatype type, int count)
{
    MPI_Aint lb, extent, true_lb, true_extent, far, low, high;
    memory m;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    far = (count - 1) * extent;
    low = true_lb + (far < 0 ? far : 0);
    high = true_lb + true_extent + (far > 0 ? far : 0);
    m.bytes = (size_t)(high - low);
    m.all = malloc(m.bytes + 1);
    m.at = m.all - low;
    return m;
}

static void compare(const char *what, const datatype_corpus_entry_t *e, int count, const void *found, const void *right,
                    size_t bytes)
{
    if (memcmp(found, right, bytes)) {
        wrong++;
        printf("wrong bytes: %s of %d %s\n", what, count, e->name);
    }
}

static void fill(char *p, size_t bytes, int seed)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (char)((i * 7 + (size_t)seed * 13) % 251);
}

static void try_type(const datatype_corpus_entry_t *e, int count)
{
    memory from = allocate(e->send_type, count), to = allocate(e->recv_type, count),
           right = allocate(e->recv_type, count);
    int size, bytes, peer = 1 - rank;
    char *packed, *stream;

    MPI_Type_size(e->send_type, &size);
    bytes = size * count;
    packed = malloc((size_t)bytes + 1);
    stream = malloc((size_t)bytes + 1);
    for (int use = 0; use < USES; use++) {
        int position = 0;

        fill(from.all, from.bytes, use + rank);
        MPI_Pack(from.at, count, e->send_type, packed, bytes, &position, MPI_COMM_WORLD);
        e->pack_byhand(stream, from.at, count);
        compare("MPI_Pack", e, count, packed, stream, (size_t)bytes);
        memset(to.all, 0x5a, to.bytes);
        memset(right.all, 0x5a, right.bytes);
        position = 0;
        MPI_Unpack(stream, bytes, &position, to.at, count, e->recv_type, MPI_COMM_WORLD);
        e->unpack_byhand(right.at, stream, count);
        compare("MPI_Unpack", e, count, to.all, right.all, to.bytes);
        memset(to.all, 0x5a, to.bytes);
        memset(right.all, 0x5a, right.bytes);
        MPI_Sendrecv(from.at, count, e->send_type, peer, 0, to.at, count, e->recv_type, peer, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        fill(from.all, from.bytes, use + peer);
        e->pack_byhand(stream, from.at, count);
        e->unpack_byhand(right.at, stream, count);
        compare("a message", e, count, to.all, right.all, to.bytes);
        if (wrong > 20)
            break;
    }
    free(packed);
    free(stream);
    free(from.all);
    free(to.all);
    free(right.all);
}

int main(int argc, char **argv)
{
    datatype_corpus_t *corpus;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    corpus = datatype_corpus_init();
    for (size_t i = 0; i < corpus->count; i++) {
        int size;

        MPI_Type_size(corpus->entries[i].send_type, &size);
        for (int count = 1; count <= 64 && count * size <= MOST_BYTES; count = 2 * count + (count > 2))
            try_type(&corpus->entries[i], count);
    }
    datatype_corpus_finalize(corpus);
    MPI_Finalize();
    return wrong != 0;
}
