/*
 * Learns types, one at a time: reads how a type was made, compiles its layout, and ties the type to the layout's
 * entry by an attribute. Locks are taken in the order: learning, MPI's, the entries', the engine's; a type that
 * cannot be learned is left to MPI for good.
 */
#include "runtime/mpi/types/internal.h"

#include "base/lock.h"
#include "base/log.h"
#include "frontend/mpi/decode.h"
#include "jit-cache/common.h"
#include "runtime/exchange/commons.h"
#include "runtime/mpi/entry/fortran.h"
#include "runtime/mpi/entry/locate.h"
#include "runtime/mpi/types/origin.h"

/* The singleton. Order of locks: `lock`, then those of MPI, then that of the entries; `engine_lock` comes last. */
static struct {
    pthread_mutex_t lock;        /* held while a type is learned; guards `keyval` and `broken` */
    pthread_mutex_t engine_lock; /* guards `engine` and `remembers` until they are set; no MPI is called in it */
    pw_layout_engine *engine;
    bool remembers; /* entries are remembered for later types; false when statistics report entries */
    int keyval;
    bool broken; /* opening has failed; no type is learned any more */
} learning = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .engine_lock = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID};

/* ---- the attribute, whose value is the entry --------------------------------------------------------------------- */

/* MPI calls this for the new type of MPI_Type_dup. */
static int copy_attribute(MPI_Datatype type, int keyval, void *extra, void *value, void *copy, int *flag)
{
    (void)type, (void)keyval, (void)extra;
    pw_entries_ref(value);
    *(void **)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
}

/* MPI calls this when the type dies. MPI may then give its handle to another type. */
static int delete_attribute(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    pw_epoch_end();
    pw_handle_table_remove(&pw_registry_types, pw_type_key(type));
    pw_entries_unref(value);
    return MPI_SUCCESS;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

_Static_assert((int)PW_COMMON_BYTES <= (int)PW_COMMONS_PART_BYTES, "kernels have room in the memory in common");

static void *kernels_in_common(void)
{
    return pw_commons_part_of(PW_COMMONS_KERNELS);
}

static pw_status open_engine(void)
{
    PW_HOLD(&learning.engine_lock);
    pw_layout_config config;

    if (learning.engine)
        return PW_OK;
    pw_layout_config_from_env(&config);
    config.cache.common = kernels_in_common;
    learning.remembers = !config.counted;
    return pw_layout_engine_create(&config, &learning.engine);
}

pw_layout_engine *pw_registry_engine(void)
{
    return pw_registry_is_started() && open_engine() == PW_OK ? learning.engine : NULL;
}

/*
 * Returns whether this library would see the end of MPI if it came now. It would not where it was built for an MPI
 * without sessions, the MPI of the process has them, and MPI_COMM_WORLD is not initialised. Then no object of MPI's may
 * be kept, since MPI may delete it unnoticed.
 */
static bool is_end_seen(void)
{
    return PW_MPI_HAS(4, 0) || !pw_locate_next("MPI_Session_finalize") || pw_mpi_has_world();
}

static bool open_learning(void)
{
    if (learning.broken || (learning.keyval == MPI_KEYVAL_INVALID && !is_end_seen()))
        return false;
    if (open_engine() != PW_OK) {
        pw_log(PW_LOG_WARN, "cannot start the datatype compiler: datatypes are left to MPI");
        learning.broken = true;
    } else if (learning.keyval == MPI_KEYVAL_INVALID &&
               PMPI_Type_create_keyval(copy_attribute, delete_attribute, &learning.keyval, NULL) != MPI_SUCCESS) {
        learning.keyval = MPI_KEYVAL_INVALID;
        learning.broken = true;
    }
    return !learning.broken;
}

/* ---- one type ---------------------------------------------------------------------------------------------------- */

static void log_unhandled(const pw_diag *diag)
{
    pw_log(PW_LOG_DEBUG, "a datatype is left to MPI: %s", diag->text[0] ? diag->text : pw_status_text(diag->status));
}

/* Returns the layout of a type, with a reference; NULL if the type is left to MPI or moves no bytes. `contents`: those
 * of a derived type, which has been committed; NULL for a predefined type. */
static pw_layout *compile(MPI_Datatype type, pw_contents *contents, unsigned *sizes)
{
    pw_arena *arena = pw_arena_create();
    pw_layout *layout = NULL;
    pw_diag diag = {.status = PW_OK};
    pw_type raw;

    if (!arena)
        return NULL;
    pw_fortran_redirect(); /* a Fortran binding may have been loaded since the start */
    diag.status = pw_mpi_decode_elements(type, contents, arena, &raw, sizes, &diag);
    if (diag.status == PW_OK)
        diag.status = pw_layout_get(learning.engine, &raw, &layout, &diag);
    pw_arena_destroy(arena);
    if (diag.status != PW_OK) {
        log_unhandled(&diag);
        return NULL;
    }
    if (layout->size > 0)
        return layout;
    pw_layout_unref(layout);
    return NULL;
}

/* Keeps `entry` alive for types that look like this one. */
static void remember_look(pw_glance *g, pw_entry *entry)
{
    pw_hash look;

    if (learning.remembers && entry->layout && pw_look_read(g, entry->size, &look))
        pw_entries_remember(PW_RECENT_LOOK, look, entry);
}

/* Registers a predefined type. Pairs with a hole matter for buffers in GPU memory only. */
static void register_predefined(MPI_Datatype type, uint64_t key)
{
    unsigned sizes = 0;
    pw_layout *layout = compile(type, NULL, &sizes);
    pw_entry *entry = layout ? pw_entries_of(layout, true, sizes) : NULL;

    pw_handle_table_insert(&pw_registry_types, key, entry ? entry : &pw_entry_left_to_mpi);
}

static bool is_basic(MPI_Datatype type)
{
    pw_envelope envelope;

    return pw_envelope_read(type, &envelope, NULL) == PW_OK && pw_envelope_is_basic(&envelope);
}

/* Returns the entry of a derived type, with a reference. NULL: out of memory. */
static pw_entry *find_or_compile(pw_glance *g)
{
    pw_contents *contents = pw_glance_contents(g);
    unsigned sizes = 0;
    pw_entry *entry = NULL;
    pw_layout *layout;
    pw_hash how;
    bool said;

    if (!contents) {
        log_unhandled(&g->diag);
        return pw_entries_of(NULL, false, 0);
    }
    said = learning.remembers && pw_constructed_read(contents, &how);
    if (said)
        entry = pw_entries_constructed(how);
    if (!entry) {
        layout = compile(g->type, contents, &sizes);
        entry = pw_entries_of(layout, false, sizes);
        if (entry && said && entry != &pw_entry_left_to_mpi && is_basic(contents->types[0]))
            pw_entries_remember(PW_RECENT_CONSTRUCTED, how, entry);
    }
    if (entry)
        remember_look(g, entry);
    return entry;
}

/* Registers a committed or predefined type. Predefined types live for ever and get no attribute; f90 types
 * belong to MPI and get none either. */
static void register_type(pw_glance *g)
{
    MPI_Datatype type = g->type;
    uint64_t key = pw_type_key(type);
    const pw_envelope *envelope = pw_glance_envelope(g);
    pw_entry *entry = NULL;
    int found = 0;

    if (!envelope || pw_envelope_is_basic(envelope)) {
        register_predefined(type, key);
        return;
    }
    if (PMPI_Type_get_attr(type, learning.keyval, &entry, &found) != MPI_SUCCESS)
        return;
    if (!found) {
        entry = find_or_compile(g);
        if (entry && PMPI_Type_set_attr(type, learning.keyval, entry) != MPI_SUCCESS) {
            pw_entries_unref(entry);
            entry = NULL;
        }
    }
    if (entry) {
        if (pw_note_is_reported && entry->layout)
            pw_built_note(entry, type);
        pw_handle_table_insert(&pw_registry_types, key, entry);
    }
}

void pw_learning_learn(MPI_Datatype type, pw_role role)
{
    pw_glance g;

    if (pw_registry_learned(type))
        return;
    pw_glance_begin(&g, type, role);
    pthread_mutex_lock(&learning.lock);
    if (!pw_registry_learned(type) && open_learning())
        register_type(&g);
    pthread_mutex_unlock(&learning.lock);
    pw_glance_end(&g);
}

/* ---- types together ---------------------------------------------------------------------------------------------- */

void pw_registry_let_go(MPI_Datatype type)
{
    void *b;
    int found = 0;

    if (!pw_registry_learned(type))
        return;
    PW_HOLD(&learning.lock);
    if (learning.keyval != MPI_KEYVAL_INVALID && PMPI_Type_get_attr(type, learning.keyval, &b, &found) == MPI_SUCCESS &&
        found)
        PMPI_Type_delete_attr(type, learning.keyval);
}

void pw_registry_leave(void)
{
    pthread_mutex_lock(&learning.lock);
    /* Types that carry the attribute keep the keyval alive until they die. */
    if (learning.keyval != MPI_KEYVAL_INVALID)
        PMPI_Type_free_keyval(&learning.keyval);
    learning.keyval = MPI_KEYVAL_INVALID;
    pw_layout_engine_stop(learning.engine);
    pthread_mutex_unlock(&learning.lock);
}

void pw_registry_close(void)
{
    if (!pw_registry_is_started())
        return;
    PW_HOLD(&learning.lock);
    pw_epoch_end();
    pw_handle_table_clear(&pw_registry_types);
    pw_entries_clear();
    learning.keyval = MPI_KEYVAL_INVALID; /* the keyval belonged to one life of MPI only */
    pw_layout_engine_destroy(learning.engine);
    learning.engine = NULL;
}
