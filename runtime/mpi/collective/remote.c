#include "runtime/mpi/collective/remote.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/engine/layout/layout.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/engine/net/net.h"
#include "runtime/mpi/collective/block.h"
#include "runtime/mpi/types/registry.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 65536, TEXT_BYTES = 1024 };

bool pw_remote_on;

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Ranks of one job have one representation. The key and the text follow the offer unless they are those of before. */
typedef struct offer {
    int64_t bytes; /* 0: the sender is not ready */
    uint64_t address;
    uint32_t key_bytes, text_bytes;
    bool again;
    char more[PW_NET_KEY_BYTES + TEXT_BYTES];
} offer;

static size_t offer_bytes(const offer *o)
{
    return offsetof(offer, more) + (o->again ? 0 : o->key_bytes + o->text_bytes);
}

typedef enum message_kind { OFFER, ANSWER, DONE } message_kind;

/* What a rank of a communicator is known by to another one. */
static uint64_t tag_of(uint32_t id, message_kind kind, int rank)
{
    return (uint64_t)id << 32 | (uint64_t)kind << 30 | (uint64_t)rank;
}

/* ---- what is kept ------------------------------------------------------------------------------------------------ */

/* What a rank's block looks like: objects of a layout, or one object of contiguous bytes. */
typedef struct shape {
    pw_hash hash; /* of the layout; of contiguous bytes: their number */
    int64_t count;
} shape;

/* A block between this rank and another one. */
typedef struct slot {
    int block, rank; /* of the communicator */
    pw_net_peer *peer;
    uint32_t id; /* what the other rank calls the communicator */
    offer offer; /* the latest, sent or received */
    shape own;
    char *text;          /* of the shape of the sender; NULL: none was sent, or received, in full */
    uint64_t key;        /* a sender's: the number of the key that was sent with it */
    uint64_t registered; /* the number of the registration of this call, which is offered or prepared; 0: none */
    pw_joined joined;    /* a receiver's: to its own shape; layout NULL: not known yet */
    pw_net_source *source;
    /* The call at hand. */
    bool active, ready, agreed;
    pw_message m;
    int64_t bytes;     /* that this rank expects */
    bool answer, done; /* whether the receiver reads the block, and whether it has read it */
    pw_net_op op;
} slot;

/* One family of calls on a communicator. */
typedef struct group {
    bool agreed;   /* whether the ranks have agreed, on yes or no */
    int nout, nin; /* 0 where they have agreed on no */
    slot *out, *in;
} group;

struct pw_remote {
    struct pw_remote *next, **link; /* of the list of all */
    uint32_t id;
    int rank;
    group of[2]; /* by whether the call is one of neighbours */
};

/* The singleton. MPI calls of one communicator come one after the other, so the lock is for the list and the keyval
 * only. */
static struct {
    pthread_mutex_t lock;
    int keyval;
    uint32_t ids;
    pw_remote *all;
} remotes = {.lock = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID};

static void close_slots(slot *slots, int n)
{
    for (int i = 0; i < n; i++) {
        free(slots[i].text);
        pw_layout_unref(slots[i].joined.layout);
        pw_net_source_close(slots[i].source);
    }
    free(slots);
}

static void close_groups(pw_remote *r)
{
    for (int i = 0; i < 2; i++) {
        close_slots(r->of[i].out, r->of[i].nout);
        close_slots(r->of[i].in, r->of[i].nin);
        r->of[i] = (group){.agreed = false};
    }
}

/* The delete callback: MPI drops the communicator. */
static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    pw_remote *r = value;

    (void)comm, (void)keyval, (void)extra;
    pthread_mutex_lock(&remotes.lock);
    *r->link = r->next;
    if (r->next)
        r->next->link = r->link;
    pthread_mutex_unlock(&remotes.lock);
    close_groups(r);
    free(r);
    return MPI_SUCCESS;
}

static int keyval(void)
{
    pthread_mutex_lock(&remotes.lock);
    if (remotes.keyval == MPI_KEYVAL_INVALID &&
        PMPI_Comm_create_keyval(pw_mpi_copy_nothing, forget, &remotes.keyval, NULL) != MPI_SUCCESS)
        remotes.keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&remotes.lock);
    return remotes.keyval;
}

static void enlist(pw_remote *r)
{
    pthread_mutex_lock(&remotes.lock);
    r->id = ++remotes.ids;
    r->next = remotes.all;
    r->link = &remotes.all;
    if (r->next)
        r->next->link = &r->next;
    remotes.all = r;
    pthread_mutex_unlock(&remotes.lock);
}

/* Returns what is kept of a communicator, which is made at the first look. NULL: it cannot be kept. */
static pw_remote *remote_of(MPI_Comm comm, int rank)
{
    int key = keyval(), found = 0;
    pw_remote *r = NULL;

    if (key == MPI_KEYVAL_INVALID)
        return NULL;
    PMPI_Comm_get_attr(comm, key, &r, &found);
    if (found)
        return r;
    r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->rank = rank;
    enlist(r);
    if (PMPI_Comm_set_attr(comm, key, r) == MPI_SUCCESS)
        return r;
    forget(comm, key, r, NULL);
    return NULL;
}

void pw_remote_start(void)
{
    bool is_named = pw_env_choice(PW_ENV_NET) != 0; /* "off" */

    pw_remote_on = is_named && pw_env_bool(PW_ENV_ALL_RANKS);
    if (is_named && !pw_remote_on)
        pw_log(PW_LOG_WARN, "PACKWRIGHT_NET does nothing without PACKWRIGHT_ALL_RANKS=1");
}

/* MPI may still call the delete callback, which frees the rest. */
void pw_remote_leave(void)
{
    pthread_mutex_lock(&remotes.lock);
    for (pw_remote *r = remotes.all; r; r = r->next)
        close_groups(r);
    if (remotes.keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&remotes.keyval);
    remotes.keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&remotes.lock);
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

/* What a rank tells all others. */
typedef struct card {
    uint32_t id, bytes;
    unsigned char address[PW_NET_ADDRESS_BYTES];
} card;

static int times(const int *ranks, int n, int rank)
{
    int found = 0;

    for (int i = 0; i < n; i++)
        found += ranks[i] == rank;
    return found;
}

/* Returns the slots for blocks that go to or come from these ranks. Several blocks between two processes stay with MPI,
 * since MPIs differ in how they match them. NULL: out of memory. */
static slot *slots_of(const int *ranks, int n, int self, int *used)
{
    slot *slots = calloc((size_t)n + 1, sizeof *slots);

    *used = 0;
    for (int i = 0; slots && i < n; i++)
        if (ranks[i] >= 0 && ranks[i] != self && times(ranks, n, ranks[i]) == 1)
            slots[(*used)++] = (slot){.block = i, .rank = ranks[i]};
    return slots;
}

/* Makes the slots of a family of calls. */
static bool make_slots(pw_remote *r, group *g, const pw_collective *c, int *in, int *out)
{
    int nin = c->recv.blocks, nout = c->send.blocks;

    if (c->family == PW_NEIGHBOUR_ALLTOALL && !pw_neighbour_ranks(c->way.comm, &c->group->neighbours, in, out))
        return false;
    for (int i = 0; c->family == PW_ALLTOALL && i < c->group->size; i++)
        in[i] = out[i] = i;
    g->in = slots_of(in, nin, r->rank, &g->nin);
    g->out = slots_of(out, nout, r->rank, &g->nout);
    return g->in && g->out;
}

static bool connect(slot *slots, int n, const card *cards)
{
    for (int i = 0; i < n; i++) {
        const card *other = &cards[slots[i].rank];

        slots[i].id = other->id;
        slots[i].peer = pw_net_connect(other->address, other->bytes);
        if (!slots[i].peer)
            return false;
    }
    return true;
}

/* Returns whether all ranks say yes. */
static bool all_say(MPI_Comm comm, bool yes)
{
    int mine = yes, all = 0;

    return PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all;
}

/* All ranks call this for the same call, and leave it with the same answer. */
static void agree(pw_remote *r, group *g, const pw_collective *c)
{
    int size = c->group->size, blocks = c->recv.blocks + c->send.blocks;
    card *cards = malloc((size_t)size * sizeof *cards), own = {.id = r->id};
    int *ranks = malloc(((size_t)blocks + 1) * sizeof *ranks);
    bool mine = cards && ranks && pw_net_start() && make_slots(r, g, c, ranks, ranks + c->recv.blocks);

    own.bytes = mine ? (uint32_t)pw_net_address(own.address, sizeof own.address) : 0;
    g->agreed = true;
    if (!all_say(c->way.comm, own.bytes > 0) ||
        !all_say(c->way.comm, PMPI_Allgather(&own, (int)sizeof own, MPI_BYTE, cards, (int)sizeof own, MPI_BYTE,
                                             c->way.comm) == MPI_SUCCESS &&
                                  connect(g->out, g->nout, cards) && connect(g->in, g->nin, cards))) {
        close_slots(g->out, g->nout);
        close_slots(g->in, g->nin);
        *g = (group){.agreed = true};
    }
    free(ranks);
    free(cards);
}

/* ---- one side's view of a block ---------------------------------------------------------------------------------- */

static int64_t block_bytes(const pw_side *side, int i)
{
    MPI_Count count = pw_side_use(side, i) ? pw_side_count(side, i) : 0, size = 0;
    int64_t bytes;

    if (count <= 0 || PMPI_Type_size_x(pw_side_type(side, i), &size) != MPI_SUCCESS || size < 0 ||
        __builtin_mul_overflow((int64_t)count, (int64_t)size, &bytes))
        return 0;
    return bytes;
}

/* The text of a contiguous block, as one object. */
static char *text_of_bytes(int64_t bytes)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    char *text = NULL;
    pw_type type;

    if (!arena)
        return NULL;
    type = (pw_type){.root = pw_build_bytes(&b, bytes, 1), .extent = bytes};
    if (type.root)
        text = pw_print(&type, 0);
    pw_arena_destroy(arena);
    return text;
}

/* Whether the block may be moved by pieces on this side. *changed is whether its shape is another one than before. */
static bool is_ready(slot *s, const pw_side *side, bool *changed)
{
    const pw_buffer *b = &s->m.buffer;
    int64_t blocks;
    shape now;

    if (!pw_block_describe(side, s->block, &s->m) || b->place.kind != PW_PLACE_HOST)
        return false;
    blocks = b->layout ? b->layout->blocks : 1;
    now = b->layout ? (shape){b->layout->hash, b->count} : (shape){{(uint64_t)b->bytes, 0}, 1};
    if (blocks > MOST_BLOCKS / now.count ||
        (b->bytes / (blocks * now.count) < PW_REMOTE_PIECE && !pw_strategy_is_named(PW_STRATEGY_REMOTE)))
        return false;
    *changed = s->own.count != now.count || !pw_hash_equal(s->own.hash, now.hash);
    s->own = now;
    return true;
}

static char *text_of(const pw_buffer *b)
{
    return b->layout ? pw_layout_text(b->layout) : text_of_bytes(b->bytes);
}

/* Finds the memory that the block touches. */
static bool bounds_of(const pw_buffer *b, const char **first, int64_t *bytes)
{
    int64_t lo = b->offset;

    *bytes = b->bytes;
    if (b->layout && !pw_layout_bounds(b->layout, b->count, &lo, bytes))
        return false;
    *first = (const char *)b->base + lo;
    return true;
}

/* Begins a slot's part in a call. Returns whether the block is one of which the two ranks talk. */
static bool begin(slot *s, const pw_side *side)
{
    s->bytes = block_bytes(side, s->block);
    s->active = s->bytes >= (pw_strategy_is_named(PW_STRATEGY_REMOTE) ? 1 : PW_REMOTE_LEAST);
    s->ready = s->agreed = s->answer = s->done = false;
    s->op = (pw_net_op){0};
    return s->active;
}

/* ---- the sender -------------------------------------------------------------------------------------------------- */

static void forget_text(slot *s)
{
    free(s->text);
    s->text = NULL;
}

/* Writes key and text behind the offer, unless the receiver has them. */
static bool add_details(slot *s, const pw_net_key *key)
{
    offer *o = &s->offer;
    size_t length;

    o->again = s->text && s->key == key->number;
    if (o->again)
        return true;
    forget_text(s);
    s->text = text_of(&s->m.buffer);
    length = s->text ? strlen(s->text) + 1 : 0;
    if (length == 0 || length > TEXT_BYTES) {
        forget_text(s);
        return false;
    }
    s->key = key->number;
    o->key_bytes = key->bytes;
    o->text_bytes = (uint32_t)length;
    memcpy(o->more, key->data, key->bytes);
    memcpy(o->more + key->bytes, s->text, length);
    return true;
}

static void make_offer(slot *s, const pw_side *side)
{
    const char *first;
    pw_net_key key;
    bool changed;
    int64_t span;

    if (!is_ready(s, side, &changed))
        return;
    if (changed)
        forget_text(s);
    if (!bounds_of(&s->m.buffer, &first, &span) || !pw_net_offer(first, span, &key))
        return;
    s->registered = key.number;
    if (!add_details(s, &key))
        return;
    s->offer.address = (uintptr_t)pw_block_memory(&s->m);
    s->offer.bytes = s->bytes;
}

static void begin_out(const pw_remote_call *r, slot *s)
{
    if (!begin(s, &r->call->send))
        return;
    s->offer.bytes = 0;
    s->offer.again = true;
    if (r->ready)
        make_offer(s, &r->call->send);
    pw_net_receive(s->peer, tag_of(r->remote->id, ANSWER, s->rank), &s->answer, sizeof s->answer, &s->op);
    pw_net_send(s->peer, tag_of(s->id, OFFER, r->remote->rank), &s->offer, (int64_t)offer_bytes(&s->offer), &s->op);
}

/* ---- the receiver ------------------------------------------------------------------------------------------------ */

static void forget_joined(slot *s)
{
    pw_layout_unref(s->joined.layout);
    s->joined.layout = NULL;
}

static void begin_in(const pw_remote_call *r, slot *s)
{
    bool changed = false;

    if (!begin(s, &r->call->recv))
        return;
    s->ready = r->ready && is_ready(s, &r->call->recv, &changed);
    if (changed)
        forget_joined(s);
    pw_net_receive(s->peer, tag_of(r->remote->id, OFFER, s->rank), &s->offer, sizeof s->offer, &s->op);
}

/* Keeps the key and the text of an offer. */
static void keep_details(slot *s)
{
    const offer *o = &s->offer;
    bool is_whole = o->key_bytes <= PW_NET_KEY_BYTES && o->text_bytes <= TEXT_BYTES;

    forget_joined(s);
    pw_net_source_close(s->source);
    free(s->text);
    s->source = is_whole ? pw_net_source_open(s->peer, o->more, o->key_bytes) : NULL;
    s->text = is_whole ? strndup(o->more + o->key_bytes, o->text_bytes) : NULL;
}

static pw_layout *layout_of(const char *text)
{
    pw_arena *arena = pw_arena_create();
    pw_layout *layout = NULL;
    pw_diag diag;
    pw_type type;

    if (arena && text && pw_parse(text, arena, &type, NULL, &diag) == PW_OK)
        pw_layout_get(pw_registry_engine(), &type, &layout, &diag);
    pw_arena_destroy(arena);
    return layout;
}

/* Joins the offered layout to that of this rank, of which the walk over blocks is wanted, and no kernel. */
static bool join(slot *s)
{
    char *text = text_of(&s->m.buffer);
    pw_layout *from = layout_of(s->text), *to = layout_of(text);
    pw_diag diag;
    bool joined = from && to && pw_layout_join(from, to, &s->joined, &diag) == PW_OK;

    free(text);
    pw_layout_unref(from);
    pw_layout_unref(to);
    return joined;
}

/* Registers the memory to which the block is read. */
static bool prepare(slot *s)
{
    const char *first;
    int64_t span;

    return bounds_of(&s->m.buffer, &first, &span) && pw_net_prepare((char *)first, span, &s->registered);
}

/* Looks at the offer, and tells the sender whether this rank reads the block. */
static void answer(const pw_remote_call *r, slot *s)
{
    if (s->offer.bytes > 0 && !s->offer.again && !s->op.failed)
        keep_details(s);
    s->agreed = s->answer = s->ready && s->offer.bytes == s->bytes && !s->op.failed && s->source &&
                            (s->joined.layout || join(s)) && prepare(s);
    pw_net_send(s->peer, tag_of(s->id, ANSWER, r->remote->rank), &s->answer, sizeof s->answer, &s->op);
}

/* Pieces on their way to the network. */
typedef struct batch {
    slot *slot;
    int64_t n;
    pw_net_piece pieces[64];
} batch;

static void flush(batch *b)
{
    if (b->n > 0)
        pw_net_read(b->slot->source, b->pieces, b->n, &b->slot->op);
    b->n = 0;
}

/* A pw_joined_block_fn. */
static bool read_piece(void *arg, int64_t mem, int64_t packed, int64_t bytes)
{
    batch *b = arg;
    slot *s = b->slot;
    int64_t from = s->joined.backwards ? packed : mem, to = s->joined.backwards ? mem : packed;

    b->pieces[b->n++] = (pw_net_piece){s->offer.address + (uint64_t)from, pw_block_memory(&s->m) + to, bytes};
    if (b->n == sizeof b->pieces / sizeof *b->pieces)
        flush(b);
    return !s->op.failed;
}

static void read_block(slot *s)
{
    const pw_nest *nest = s->joined.layout->nest;
    batch b = {.slot = s};

    pw_nest_walk_joined(nest, s->bytes / nest->size, read_piece, &b);
    flush(&b);
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

static group *group_of(const pw_remote_call *r)
{
    return &r->remote->of[r->call->family == PW_NEIGHBOUR_ALLTOALL];
}

/* Waits for what the slots have begun. Other ranks may be in a call of MPI that waits for this one, so MPI goes on,
 * too. */
static void wait_for(slot *slots, int n)
{
    enum { PATIENCE = 64 };

    for (int i = 0, tries = 0; i < n; tries++) {
        int flag;

        if (!slots[i].active || pw_net_is_over(&slots[i].op)) {
            i++;
            continue;
        }
        pw_net_progress();
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        if (tries % PATIENCE == PATIENCE - 1)
            sched_yield();
    }
}

static void count(const slot *s, pw_role role)
{
    pw_message m = s->m;

    m.role = role;
    pw_message_count(&m, PW_STRATEGY_REMOTE);
}

void pw_remote_agree(pw_remote_call *r, pw_collective *c)
{
    bool is_possible = !c->group->between_groups && c->send.buf != MPI_IN_PLACE &&
                       (c->family != PW_NEIGHBOUR_ALLTOALL || c->group->has_neighbours);

    *r = (pw_remote_call){.call = c, .remote = is_possible ? remote_of(c->way.comm, c->group->rank) : NULL};
    if (r->remote && !group_of(r)->agreed)
        agree(r->remote, group_of(r), c);
    if (r->remote && group_of(r)->nout + group_of(r)->nin == 0)
        r->remote = NULL;
}

/* Takes the agreed blocks of one side out of the call. */
static void take_out(slot *slots, int n, pw_side *side, MPI_Count *counts, pw_role role)
{
    for (int i = 0; i < n; i++) {
        if (!slots[i].agreed)
            continue;
        pw_block_take_out(side, counts, slots[i].block);
        count(&slots[i], role);
    }
}

void pw_remote_open(pw_remote_call *r, bool sound)
{
    pw_collective *c = r->call;
    group *g;

    if (!r->remote)
        return;
    g = group_of(r);
    r->bytes = (int64_t)sizeof(MPI_Count) * (c->send.blocks + c->recv.blocks);
    r->counts = pw_pool_take(r->bytes);
    r->ready = sound && r->counts;
    for (int i = 0; i < g->nin; i++)
        begin_in(r, &g->in[i]);
    for (int i = 0; i < g->nout; i++)
        begin_out(r, &g->out[i]);
    wait_for(g->in, g->nin);
    for (int i = 0; i < g->nin; i++)
        if (g->in[i].active)
            answer(r, &g->in[i]);
    wait_for(g->out, g->nout);
    wait_for(g->in, g->nin);
    for (int i = 0; i < g->nout; i++)
        g->out[i].agreed = g->out[i].active && g->out[i].answer;
    take_out(g->out, g->nout, &c->send, r->counts, PW_SEND);
    take_out(g->in, g->nin, &c->recv, (MPI_Count *)r->counts + c->send.blocks, PW_RECV);
    for (int i = 0; i < g->nin; i++)
        if (g->in[i].agreed)
            read_block(&g->in[i]);
}

/* Tells the sender that its memory is read. */
static void report(const pw_remote_call *r, slot *s)
{
    s->done = !s->op.failed;
    s->op = (pw_net_op){0};
    pw_net_send(s->peer, tag_of(s->id, DONE, r->remote->rank), &s->done, sizeof s->done, &s->op);
}

static void withdraw(slot *s)
{
    if (s->registered)
        pw_net_withdraw(s->registered);
    s->registered = 0;
}

static bool all_done(const slot *slots, int n)
{
    for (int i = 0; i < n; i++)
        if (slots[i].agreed && !slots[i].done)
            return false;
    return true;
}

pw_status pw_remote_close(pw_remote_call *r)
{
    group *g;

    if (!r->remote)
        return PW_OK;
    g = group_of(r);
    for (int i = 0; i < g->nout; i++)
        if (g->out[i].agreed)
            pw_net_receive(g->out[i].peer, tag_of(r->remote->id, DONE, g->out[i].rank), &g->out[i].done,
                           sizeof g->out[i].done, &g->out[i].op);
    wait_for(g->in, g->nin);
    for (int i = 0; i < g->nin; i++)
        if (g->in[i].agreed)
            report(r, &g->in[i]);
    wait_for(g->out, g->nout);
    wait_for(g->in, g->nin);
    for (int i = 0; i < g->nout; i++)
        withdraw(&g->out[i]);
    for (int i = 0; i < g->nin; i++)
        withdraw(&g->in[i]);
    pw_pool_give(r->counts, r->bytes);
    if (all_done(g->in, g->nin) && all_done(g->out, g->nout))
        return PW_OK;
    pw_log(PW_LOG_ERROR, "a block of a collective could not be read over the network");
    return PW_ERR_IO;
}
