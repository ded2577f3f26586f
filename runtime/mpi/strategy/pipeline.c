/*
 * Takes the place of ucp_dt_create_generic. MPICH's ch4:ucx calls it in MPI_Type_commit, Open MPI's pml/ucx at the
 * first use of a type, each with its own object for the type as the context of six callbacks. UCX copies the callbacks
 * and calls them for the pieces of each message (OpenUCX, "UCP API", ucp_generic_dt_ops).
 *
 * The MPI's object remains the context, and the MPI's callbacks begin and end each message, so what they do to keep the
 * type alive goes on. Between beginning and end, a wanted message is moved by the layout's kernel, every other one by
 * the MPI's callbacks. Matching, order, truncation and errors are the MPI's and UCX's either way.
 *
 * UCX begins a message in the MPI's call, on the caller's thread. A message is the wanted one if it has that buffer and
 * count, and if the handle of its type stands for the wanted entry. In Open MPI the context is the handle; in MPICH the
 * context is an object that begins with the handle, as all of its objects do. What has become of a type since, by
 * another thread or because the MPI did not ask UCX for the message, thus never leads to another type's layout.
 */
#include "runtime/mpi/strategy/conditions.h"

#include "base/linkage.h"
#include "base/lock.h"
#include "runtime/mpi/entry/locate.h"
#include "runtime/mpi/strategy/direct.h"
#include "runtime/mpi/types/registry.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- what of UCX is needed --------------------------------------------------------------------------------------- */

/* As ucp/api/ucp.h declares them, in all versions: ucp_generic_dt_ops_t, ucs_status_t and ucp_datatype_t. The header
 * itself is not needed to build this library. */
typedef struct generic_ops {
    void *(*start_pack)(void *context, const void *buffer, size_t count);
    void *(*start_unpack)(void *context, void *buffer, size_t count);
    size_t (*packed_size)(void *state);
    size_t (*pack)(void *state, size_t offset, void *dest, size_t max_length);
    int (*unpack)(void *state, size_t offset, const void *src, size_t length);
    void (*finish)(void *state);
} generic_ops;

typedef int create_fn(const generic_ops *ops, void *context, uint64_t *datatype);

enum { UCS_OK = 0, UCS_ERR_UNSUPPORTED = -22 };

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

typedef struct wanted {
    const pw_entry *entry; /* NULL: nothing; never followed, since its type may be gone */
    const void *buf;
    int64_t count;
} wanted;

static _Thread_local wanted wants[PW_DIRECTIONS];

/* The MPI's callbacks, set once. */
static struct {
    pthread_mutex_t lock;
    generic_ops ops;
    _Atomic bool known;
} mpi = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether the MPI has given types to UCX, so that kernels can move its messages. */
static bool is_there(void)
{
    return atomic_load_explicit(&mpi.known, memory_order_acquire);
}

/* Says that the entry's kernels are to move the message that this thread is about to give to the MPI; the next message
 * in the same direction replaces this one. If the MPI does not ask UCX for it, as for one to this process, nothing
 * happens. */
static void want(const pw_message *m)
{
    wants[m->role == PW_SEND ? PW_PACK : PW_UNPACK] = (wanted){m->entry, m->buffer.base, m->buffer.count};
}

/* A message of one piece is moved at once, with or without a pipeline. A message that is sent by `direct` gains only if
 * it is received as a packed one. Of several that MPI_Startall begins only the last one would be wanted, and MPIs may
 * give UCX no start of a request but the first. */
bool pw_pipeline_serves(const pw_message *m)
{
    enum { PIECE = 8 << 10 };

    return is_there() && !m->is_started && m->buffer.bytes > PIECE &&
           (m->role != PW_RECV || !pw_direct_is_meant() || pw_strategy_is_named(PW_STRATEGY_PIPELINE));
}

const pw_strategy pw_strategy_pipeline = {.leave = want, .is_there = is_there};

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* A message that kernels move. UCX gets its address plus one, and of other messages the MPI's own state, which is
 * memory that it has allocated and thus has an even address. */
typedef struct message {
    void *state; /* the MPI's */
    pw_layout *layout;
    char *mem;
    int64_t bytes;
} message;

static inline message *message_of(void *state)
{
    return (uintptr_t)state & 1 ? (message *)((uintptr_t)state - 1) : NULL; /* NOLINT: a tagged address */
}

/* Returns what UCX is to get as the state of a message that has begun. */
static void *begin(pw_direction direction, void *context, void *state, const void *buf, size_t count)
{
    wanted *w = &wants[direction];
    const pw_entry *entry = w->entry;
    message *m;

    if (!entry || w->buf != buf || w->count != (int64_t)count ||
        pw_registry_learned(pw_type_of_context(context)) != entry || !state || (uintptr_t)state & 1)
        return state;
    w->entry = NULL;
    m = malloc(sizeof *m);
    if (!m)
        return state;
    *m = (message){.state = state,
                   .layout = pw_layout_ref(entry->layout),
                   .mem = (char *)buf,
                   .bytes = (int64_t)count * entry->size};
    return (char *)m + 1;
}

/* Most messages are not wanted, and then MPI's own callback is all. */
static void *start_pack(void *context, const void *buffer, size_t count)
{
    if (!wants[PW_PACK].entry)
        return mpi.ops.start_pack(context, buffer, count);
    return begin(PW_PACK, context, mpi.ops.start_pack(context, buffer, count), buffer, count);
}

static void *start_unpack(void *context, void *buffer, size_t count)
{
    if (!wants[PW_UNPACK].entry)
        return mpi.ops.start_unpack(context, buffer, count);
    return begin(PW_UNPACK, context, mpi.ops.start_unpack(context, buffer, count), buffer, count);
}

static size_t packed_size(void *state)
{
    const message *m = message_of(state);

    return m ? (size_t)m->bytes : mpi.ops.packed_size(state);
}

static size_t pack(void *state, size_t offset, void *dest, size_t max_length)
{
    const message *m = message_of(state);
    size_t left, n;

    if (!m)
        return mpi.ops.pack(state, offset, dest, max_length);
    left = offset < (size_t)m->bytes ? (size_t)m->bytes - offset : 0;
    n = left < max_length ? left : max_length;
    pw_layout_pack_part(m->layout, m->mem, (int64_t)offset, (int64_t)(offset + n), dest);
    return n;
}

/* The MPI takes or refuses what goes beyond the message. */
static int unpack(void *state, size_t offset, const void *src, size_t length)
{
    const message *m = message_of(state);

    if (!m || offset > (size_t)m->bytes || length > (size_t)m->bytes - offset)
        return mpi.ops.unpack(m ? m->state : state, offset, src, length);
    pw_layout_unpack_part(m->layout, m->mem, (int64_t)offset, (int64_t)(offset + length), src);
    return UCS_OK;
}

static void finish(void *state)
{
    message *m = message_of(state);

    mpi.ops.finish(m ? m->state : state);
    if (m) {
        pw_layout_unref(m->layout);
        free(m);
    }
}

static const generic_ops ours = {start_pack, start_unpack, packed_size, pack, unpack, finish};

/* ---- the function ------------------------------------------------------------------------------------------------ */

/* The libraries in which MPIs call the function. */
static const char *const callers[] = {"libmpi", "libmpich", "libpmpi", "mca_pml_ucx", NULL};

static bool are_mpis(const generic_ops *ops)
{
    return !memcmp(&mpi.ops, ops, sizeof *ops);
}

/* Returns whether these are the callbacks by which the kernels' stand in. Every MPI has one set of them. */
static bool adopt(const generic_ops *ops)
{
    PW_HOLD(&mpi.lock);

    if (!is_there()) {
        mpi.ops = *ops;
        atomic_store_explicit(&mpi.known, true, memory_order_release);
    }
    return are_mpis(ops);
}

int ucp_dt_create_generic(const generic_ops *ops, void *context, uint64_t *datatype);

/* The place from which the MPI calls, and the function to which that leads. Looking them up is slower than the call. */
static _Atomic uintptr_t place;
static _Atomic(create_fn *) after;

/* Answers a call from another place than the last one of the MPI's. */
static __attribute__((noinline)) int create_from(void *caller, const generic_ops *ops, void *context,
                                                 uint64_t *datatype)
{
    create_fn *next;
    Dl_info info;

    if (!dladdr(caller, &info) || !info.dli_fname)
        return UCS_ERR_UNSUPPORTED;
    next = (create_fn *)(uintptr_t)pw_locate_behind(info.dli_fname, "ucp_dt_create_generic");
    if (!next || next == ucp_dt_create_generic)
        return UCS_ERR_UNSUPPORTED;
    if (!pw_linkage_is_named(info.dli_fname, callers) || !adopt(ops))
        return next(ops, context, datatype);
    atomic_store_explicit(&after, next, memory_order_relaxed);
    atomic_store_explicit(&place, (uintptr_t)caller, memory_order_release);
    return next(&ours, context, datatype);
}

/* Programs that make a type for each message call this each time. */
__attribute__((visibility("default"))) int ucp_dt_create_generic(const generic_ops *ops, void *context,
                                                                 uint64_t *datatype)
{
    void *caller = __builtin_return_address(0);

    if (atomic_load_explicit(&place, memory_order_acquire) == (uintptr_t)caller && are_mpis(ops))
        return atomic_load_explicit(&after, memory_order_relaxed)(&ours, context, datatype);
    return create_from(caller, ops, context, datatype);
}
