/*
 * Purpose: finds the receive that MPI matches a message to oneself with. Data: channels, and the communicators that are
 * lost. Invariant: the open receives of a channel are in the order of MPI.
 */
#include "runtime/mpi/requests/loopback.h"

#include "base/lock.h"
#include "runtime/engine/memory/pool.h"

enum { CHANNELS = 512, PROBES = 8, LOST = 64 };

typedef struct pw_loopback_channel {
    bool used;
    MPI_Comm comm;
    int tag;
    pw_loopback_receive *first, *last; /* those that are open */
    int64_t waiting;                   /* sends without a receive; 0 if any receive is open */
    bool proven;
    pw_loopback_receive *evidence; /* the receive that the last message should complete; NULL: none */
} channel;

/* The singleton, guarded by the lock. A channel lies in one of PROBES places, from that of its hash on. */
static struct {
    pthread_mutex_t lock;
    channel channels[CHANNELS];
    MPI_Comm lost[LOST];
    int nlost;
    bool asked, off; /* off: all communicators are lost */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Atomic bool pw_loopback_known;

/* ---- lost communicators ------------------------------------------------------------------------------------------ */

/* The lock must be held. */
static bool is_lost(MPI_Comm comm)
{
    if (!table.asked) {
        table.asked = true;
        table.off = pw_mpi_has_threads() || pw_joining_is_barred();
    }
    for (int i = 0; i < table.nlost && !table.off; i++)
        if (table.lost[i] == comm)
            return true;
    return table.off;
}

/* The communicator that this thread has asked about last, and its rank there; -1: no peer is this process, or the
 * communicator is lost. */
static _Atomic unsigned generation = 1; /* of the answers: communicators that are freed or lost end it */
static _Thread_local struct {
    MPI_Comm comm;
    int rank;
    unsigned generation;
} last;

/* MPI reports the error if the communicator is none. */
static int rank_in(MPI_Comm comm)
{
    int between = 0, rank = -1;

    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between ||
        PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS)
        return -1;
    PW_HOLD(&table.lock);
    return is_lost(comm) ? -1 : rank;
}

bool pw_loopback_is_self(MPI_Comm comm, int peer)
{
    unsigned now = atomic_load_explicit(&generation, memory_order_acquire);

    if (last.generation != now || last.comm != comm) {
        atomic_store_explicit(&pw_loopback_known, true, memory_order_relaxed);
        last.rank = rank_in(comm);
        last.comm = comm;
        last.generation = now;
    }
    return last.rank == peer;
}

/* The lock must be held here and below. */
static void drop_evidence(channel *c)
{
    if (c->evidence)
        c->evidence->channel = NULL;
    c->evidence = NULL;
}

static void clear(channel *c)
{
    drop_evidence(c);
    for (pw_loopback_receive *r = c->first; r; r = r->next)
        r->channel = NULL;
    *c = (channel){.used = false};
}

static void clear_all_of(MPI_Comm comm)
{
    for (int i = 0; i < CHANNELS; i++)
        if (table.channels[i].used && table.channels[i].comm == comm)
            clear(&table.channels[i]);
}

static void lose(MPI_Comm comm)
{
    if (is_lost(comm))
        return;
    atomic_store_explicit(&pw_loopback_known, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel);
    clear_all_of(comm);
    if (table.nlost < LOST)
        table.lost[table.nlost++] = comm;
    else
        table.off = true;
}

void pw_loopback_miss(MPI_Comm comm, int peer)
{
    if (atomic_load_explicit(&pw_memory_now, memory_order_relaxed) == PW_MEMORY_ASK_CUDA)
        pw_loopback_miss_starts(comm, peer);
}

void pw_loopback_miss_starts(MPI_Comm comm, int peer)
{
    if (peer == MPI_ANY_SOURCE || (peer >= 0 && pw_loopback_is_self(comm, peer)))
        pw_loopback_lose(comm);
}

void pw_loopback_lose(MPI_Comm comm)
{
    PW_HOLD(&table.lock);
    lose(comm);
}

void pw_loopback_forget(MPI_Comm comm)
{
    PW_HOLD(&table.lock);
    int kept = 0;

    atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel);
    clear_all_of(comm);
    for (int i = 0; i < table.nlost; i++)
        if (table.lost[i] != comm)
            table.lost[kept++] = table.lost[i];
    table.nlost = kept;
}

/* ---- channels ---------------------------------------------------------------------------------------------------- */

static bool is_idle(const channel *c)
{
    return !c->first && c->waiting == 0 && !c->evidence;
}

/* Returns the largest tag of a communicator; -1: not known. Open MPI tells it for MPI_COMM_WORLD and its duplicates
 * alone. */
static int largest_tag(MPI_Comm comm)
{
    int found = 0, *most;

    if ((PMPI_Comm_get_attr(comm, MPI_TAG_UB, &most, &found) != MPI_SUCCESS || !found) && pw_mpi_has_world())
        PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    return found ? *most : -1;
}

/* Returns whether a message to oneself waits for its receive: it was sent before calls were followed. The lock is let
 * go meanwhile, since MPI may call an error handler. A tag that is none is left to MPI, which reports it once. */
static bool has_waiting(MPI_Comm comm, int tag)
{
    int rank = 0, waits = 1;

    pthread_mutex_unlock(&table.lock);
    if (tag >= 0 && tag <= largest_tag(comm) && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS)
        PMPI_Iprobe(rank, tag, comm, &waits, MPI_STATUS_IGNORE);
    pthread_mutex_lock(&table.lock);
    return waits;
}

/* NULL: the communicator is lost, as it is where no place of the channel is free or idle, or a message waits there. */
static channel *channel_of(MPI_Comm comm, int tag)
{
    uint64_t key = ((uint64_t)(uintptr_t)comm * 0x9e3779b97f4a7c15u) ^ ((uint64_t)(unsigned)tag * 0xbf58476d1ce4e5b9u);
    channel *place = NULL;

    if (tag >= 0 && !is_lost(comm))
        for (unsigned i = 0; i < PROBES; i++) {
            channel *c = &table.channels[((key ^ key >> 32) + i) % CHANNELS];

            if (c->used && c->comm == comm && c->tag == tag)
                return c;
            if (!c->used || (!place && is_idle(c)))
                place = c;
        }
    place = place && !has_waiting(comm, tag) ? place : NULL;
    if (place)
        *place = (channel){.used = true, .comm = comm, .tag = tag};
    else
        lose(comm);
    return place;
}

void pw_loopback_post(pw_loopback_receive *r, MPI_Comm comm, int tag)
{
    PW_HOLD(&table.lock);
    channel *c = channel_of(comm, tag);

    if (!c)
        return;
    if (c->waiting > 0) {
        c->waiting--;
        return;
    }
    r->channel = c;
    r->next = NULL;
    if (c->first)
        c->last->next = r;
    else
        c->first = r;
    c->last = r;
}

void pw_loopback_end(pw_loopback_receive *r, bool well)
{
    channel *c;

    pthread_mutex_lock(&table.lock);
    c = r->channel;
    r->channel = NULL;
    if (c && c->evidence == r && well) {
        c->evidence = NULL;
        c->proven = true;
    } else if (c) {
        lose(c->comm);
        clear(c); /* which lose does unless the communicator is lost already; the receive must not stay there */
    }
    pthread_mutex_unlock(&table.lock);
    if (well && r->move && !r->move->withdrawn)
        pw_message_count_moved(&(pw_message){.entry = r->move->from, .buffer = r->move->move.from}, r->entry,
                               r->in->strategy);
    pw_loopback_give(r->move, true);
    r->move = NULL;
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

/* Makes a view of the first from->bytes bytes of `to`. False: no object ends there, or a move cannot be made so. */
static bool fits(const pw_buffer *from, const pw_buffer *to, pw_buffer *out)
{
    int64_t each = to->layout ? to->layout->size : 1;

    if (from->bytes > to->bytes || from->bytes % each != 0)
        return false;
    *out = *to;
    out->bytes = from->bytes;
    out->count = from->bytes == to->bytes ? to->count : from->bytes / each;
    return pw_move_is_possible(from, out);
}

static pw_loopback_move *begin(MPI_Comm comm, const pw_message *out, const pw_buffer *to)
{
    pw_loopback_move *m;
    pw_buffer view;

    if (!fits(&out->buffer, to, &view))
        return NULL;
    m = pw_pool_take(sizeof *m);
    if (m && pw_move_open(&m->move, &out->buffer, &view)) {
        m->comm = comm;
        m->from = out->entry;
        m->status = PW_OK;
        m->shares = 2;
        m->over = m->withdrawn = false;
        pw_move_begin(&m->move);
        return m;
    }
    pw_pool_give(m, sizeof *m);
    return NULL;
}

pw_loopback_move *pw_loopback_send(MPI_Comm comm, int tag, const pw_message *out)
{
    PW_HOLD(&table.lock);
    channel *c = channel_of(comm, tag);
    pw_loopback_receive *r;

    if (!c)
        return NULL;
    drop_evidence(c);
    if (!c->first) {
        c->waiting++;
        return NULL;
    }
    r = c->first;
    c->first = r->next;
    r->channel = c->proven ? NULL : c;
    if (!c->proven)
        c->evidence = r;
    else if (out)
        r->move = begin(comm, out, &r->in->buffer);
    return r->move;
}

pw_status pw_loopback_finish(pw_loopback_move *m)
{
    if (!m->over)
        m->status = pw_move_finish(&m->move);
    m->over = true;
    return m->status;
}

pw_status pw_loopback_give(pw_loopback_move *m, bool sent)
{
    pw_status status = m ? pw_loopback_finish(m) : PW_OK;

    if (m && !sent) {
        m->withdrawn = true;
        pw_loopback_lose(m->comm);
    }
    if (m && --m->shares == 0) {
        pw_move_close(&m->move);
        pw_pool_give(m, sizeof *m);
    }
    return status;
}
