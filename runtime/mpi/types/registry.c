#include "runtime/mpi/types/registry.h"

#include "base/env.h"
#include "base/log.h"
#include "frontend/mpi/contents.h"
#include "frontend/mpi/decode.h"
#include "runtime/engine/gpu/memory.h"
#include "runtime/mpi/entry/ending.h"
#include "runtime/mpi/entry/fortran.h"
#include "runtime/mpi/types/alike.h"
#include "runtime/mpi/types/constructed.h"
#include "runtime/mpi/types/predefined.h"

#include <pthread.h>
#include <stdlib.h>

/* With statistics on, at most so many layouts are kept after their types have died. This bounds the memory of programs
 * that make ever new types. */
enum { KEPT_FOR_STATS = 4096 };

/* The value of the attribute of one type: a reference to an entry. Bindings are in a list, so that those of types which
 * are alive at the end, whose attributes MPI never deletes, can be released. */
typedef struct binding {
    pw_entry *entry;
    struct binding *prev, *next;
} binding;

/*
 * The singleton. Order of locks: `learning`, then those of MPI, then `lock`. Callbacks of MPI take `lock` only, and
 * under it nothing of MPI is called.
 */
static struct {
    const pw_registry_observer *observer; /* NULL: there is none; set once at start */
    pw_handle_table *layouts;             /* layout -> entry */
    pthread_mutex_t learning; /* held during a registration; also guards the fields from `engine` to `broken` */
    pw_layout_engine *engine;
    pw_constructed_table constructed; /* holds references to entries */
    bool remembers;                   /* entries are put into `constructed` and `alike`; false when statistics report
                                         entries */
    int keyval;
    _Atomic bool predefined; /* all predefined types have been learned */
    bool broken;             /* opening has failed; no type is learned any more */
    pthread_mutex_t lock;    /* guards the fields below */
    uintptr_t life; /* goes up when all bindings are freed, although MPI may still have attributes that point to one */
    int64_t kept;   /* entries that statistics keep alive */
    pw_alike_table alike; /* holds references to entries */
    binding bindings;     /* list heads */
    pw_entry entries;
} registry = {.learning = PTHREAD_MUTEX_INITIALIZER,
              .keyval = MPI_KEYVAL_INVALID,
              .lock = PTHREAD_MUTEX_INITIALIZER,
              .bindings = {.prev = &registry.bindings, .next = &registry.bindings},
              .entries = {.prev = &registry.entries, .next = &registry.entries}};

pw_handle_table pw_registry_types;
_Atomic unsigned pw_registry_commits;

/* The one entry of all types that are left to MPI. */
static pw_entry left_to_mpi;

static bool is_started(void)
{
    return atomic_load_explicit(&pw_registry_types.current, memory_order_acquire) != NULL;
}

static pw_entry *entry_alloc(void)
{
    pw_entry *entry = aligned_alloc(_Alignof(pw_entry), sizeof *entry);

    if (entry)
        memset(entry, 0, sizeof *entry);
    return entry;
}

/* ---- entries and bindings (under registry.lock) ------------------------------------------------------------ */

static void entry_unref(pw_entry *entry)
{
    if (entry == &left_to_mpi || --entry->refs > 0)
        return;
    if (!entry->layout || entry->gpu_only) {
        pw_layout_unref(entry->layout);
        free(entry);
        return;
    }
    if (registry.observer)
        registry.observer->dies(entry);
    pw_handle_table_remove(registry.layouts, (uint64_t)(uintptr_t)entry->layout);
    entry->prev->next = entry->next;
    entry->next->prev = entry->prev;
    pw_layout_unref(entry->layout);
    free(entry);
}

/* Makes an entry and takes over the reference to the layout. NULL: out of memory; the caller keeps the reference. */
static pw_entry *entry_with(pw_layout *layout)
{
    pw_entry *entry = entry_alloc();

    if (!entry)
        return NULL;
    entry->layout = layout;
    entry->size = layout->size;
    entry->blocks = layout->blocks;
    entry->lowest = layout->nest->lo;
    entry->touches_origin = layout->nest->lo <= 0 && layout->nest->hi > 0;
    return entry;
}

static pw_entry *entry_create(pw_layout *layout)
{
    pw_entry *entry = entry_with(layout);

    if (!entry || pw_handle_table_insert(registry.layouts, (uint64_t)(uintptr_t)layout, entry) != PW_OK) {
        free(entry);
        return NULL;
    }
    /* Statistics report entries after their types have died, so they hold one more reference until the end. */
    entry->refs = pw_layout_use_is_timed() && registry.kept < KEPT_FOR_STATS;
    registry.kept += entry->refs;
    entry->prev = registry.entries.prev;
    entry->next = &registry.entries;
    entry->prev->next = entry->next->prev = entry;
    return entry;
}

/* Makes the entry of a dense type. The entry is in no table and in no statistics, since it only says how many bytes a
 * buffer in GPU memory has. */
static pw_entry *entry_dense(const pw_layout *layout)
{
    pw_entry *entry = entry_alloc();

    if (!entry)
        return NULL;
    entry->size = layout->size;
    entry->blocks = 1;
    entry->dense = true;
    entry->offset = entry->lowest = layout->nest->lo;
    entry->touches_origin = layout->nest->lo <= 0 && layout->nest->hi > 0;
    entry->refs = 1;
    return entry;
}

/* Makes the entry of a predefined pair with a hole, which is for GPU memory. The entry is in no table, because types
 * derived from the pair may have the same layout and are packed in host memory, too. */
static pw_entry *entry_pair(pw_layout *layout)
{
    pw_entry *entry = entry_with(layout);

    if (!entry) {
        pw_layout_unref(layout);
        return NULL;
    }
    entry->gpu_only = true;
    entry->refs = 1;
    return entry;
}

/* Returns an entry with one reference for the caller, and takes over the reference to `layout`. NULL: out of memory. */
static pw_entry *entry_of(pw_layout *layout, bool predefined)
{
    pw_entry *entry = NULL;

    if (predefined && !layout->contiguous)
        return entry_pair(layout);
    if (layout->contiguous) {
        entry = entry_dense(layout);
        pw_layout_unref(layout);
        return entry;
    }
    entry = pw_handle_table_find(registry.layouts, (uint64_t)(uintptr_t)layout);
    if (entry) {
        pw_layout_unref(layout); /* the entry already holds a reference */
    } else if (!(entry = entry_create(layout))) {
        pw_layout_unref(layout);
        return NULL;
    }
    entry->refs++;
    return entry;
}

static binding *binding_create(pw_entry *entry)
{
    binding *b = malloc(sizeof *b);

    if (!b)
        return NULL;
    *b = (binding){.entry = entry, .prev = registry.bindings.prev, .next = &registry.bindings};
    b->prev->next = b->next->prev = b;
    return b;
}

static void binding_destroy(binding *b)
{
    b->prev->next = b->next;
    b->next->prev = b->prev;
    entry_unref(b->entry);
    free(b);
}

/* ---- the attribute, whose extra state is the registry's life ------------------------------------------------- */

/* MPI calls this for the new type of MPI_Type_dup. Without memory the duplicate is an ordinary unknown type. */
static int copy_attribute(MPI_Datatype type, int keyval, void *extra, void *value, void *copy, int *flag)
{
    binding *b;

    (void)type, (void)keyval;
    pthread_mutex_lock(&registry.lock);
    b = (uintptr_t)extra == registry.life ? binding_create(((binding *)value)->entry) : NULL;
    if (b && b->entry != &left_to_mpi)
        b->entry->refs++;
    pthread_mutex_unlock(&registry.lock);
    *(void **)copy = b;
    *flag = b != NULL;
    return MPI_SUCCESS;
}

/* MPI calls this when the type dies. MPI may then give its handle to another type. */
static int delete_attribute(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)keyval;
    pw_handle_table_remove(&pw_registry_types, pw_type_key(type));
    pthread_mutex_lock(&registry.lock);
    if ((uintptr_t)extra == registry.life)
        binding_destroy(value);
    pthread_mutex_unlock(&registry.lock);
    return MPI_SUCCESS;
}

/* ---- learning (under registry.learning) --------------------------------------------------------------------- */

static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;

/* Under a lock of its own, in which nothing of MPI is called. */
static pw_status open_engine(void)
{
    pw_status status = PW_OK;
    pw_layout_config config;

    pthread_mutex_lock(&engine_lock);
    if (!registry.engine) {
        pw_layout_config_from_env(&config);
        registry.remembers = !config.counted;
        status = pw_layout_engine_create(&config, &registry.engine);
    }
    pthread_mutex_unlock(&engine_lock);
    return status;
}

pw_layout_engine *pw_registry_engine(void)
{
    return is_started() && open_engine() == PW_OK ? registry.engine : NULL;
}

static bool open_registry(void)
{
    if (registry.broken || (registry.keyval == MPI_KEYVAL_INVALID && !pw_ending_is_seen()))
        return false;
    if (open_engine() != PW_OK) {
        pw_log(PW_LOG_WARN, "cannot start the datatype compiler: datatypes are left to MPI");
        registry.broken = true;
    } else if (registry.keyval == MPI_KEYVAL_INVALID &&
               PMPI_Type_create_keyval(copy_attribute, delete_attribute, &registry.keyval, (void *)registry.life) !=
                   MPI_SUCCESS) {
        registry.keyval = MPI_KEYVAL_INVALID;
        registry.broken = true;
    }
    if (!registry.broken)
        pw_ending_watch();
    return !registry.broken;
}

static void log_unhandled(const pw_diag *diag)
{
    pw_log(PW_LOG_DEBUG, "a datatype is left to MPI: %s", diag->text[0] ? diag->text : pw_status_text(diag->status));
}

static void report_learned(pw_layout *layout)
{
    if (registry.observer)
        registry.observer->learned(layout);
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
        diag.status = pw_layout_get(registry.engine, &raw, &layout, &diag);
    pw_arena_destroy(arena);
    if (diag.status != PW_OK) {
        log_unhandled(&diag);
        return NULL;
    }
    if (contents)
        report_learned(layout);
    if (layout->size > 0)
        return layout;
    pw_layout_unref(layout);
    return NULL;
}

/* Notes the sizes of the basic elements, as pw_mpi_decode_elements gives them. Types of different signatures share the
 * entry. */
static void note_elements(pw_entry *entry, unsigned sizes)
{
    int grain = (int)(sizes & -sizes), before = atomic_load_explicit(&entry->grain, memory_order_relaxed);

    if (!before || grain < before)
        atomic_store_explicit(&entry->grain, grain, memory_order_relaxed);
    if (sizes & (sizes - 1))
        atomic_store_explicit(&entry->mixed, true, memory_order_relaxed);
}

static binding *bind(pw_layout *layout, bool predefined, unsigned sizes)
{
    binding *b = NULL;
    pw_entry *entry;

    pthread_mutex_lock(&registry.lock);
    entry = layout ? entry_of(layout, predefined) : &left_to_mpi;
    if (entry) {
        note_elements(entry, sizes);
        b = binding_create(entry);
        if (!b)
            entry_unref(entry);
    }
    pthread_mutex_unlock(&registry.lock);
    return b;
}

/* Makes a binding to an existing entry. */
static binding *bind_known(pw_entry *entry)
{
    binding *b;

    pthread_mutex_lock(&registry.lock);
    b = binding_create(entry);
    if (b)
        entry->refs++;
    pthread_mutex_unlock(&registry.lock);
    return b;
}

/* Keeps `entry` alive for later types that are built by the same constructor call. */
static void remember(const pw_constructed *how, pw_entry *entry)
{
    pw_entry *before;

    pthread_mutex_lock(&registry.lock);
    entry->refs++;
    before = pw_constructed_put(&registry.constructed, how, entry);
    if (before)
        entry_unref(before);
    pthread_mutex_unlock(&registry.lock);
}

/* Keeps `entry` alive for types that look like this one. */
static void remember_look(MPI_Datatype type, pw_entry *entry)
{
    pw_entry *before;
    pw_look look;

    if (!registry.remembers || !entry->layout || !pw_look_read(type, &look))
        return;
    pthread_mutex_lock(&registry.lock);
    entry->refs++;
    before = pw_alike_put(&registry.alike, &look, entry);
    if (before)
        entry_unref(before);
    pthread_mutex_unlock(&registry.lock);
}

static void unbind(binding *b)
{
    pthread_mutex_lock(&registry.lock);
    binding_destroy(b);
    pthread_mutex_unlock(&registry.lock);
}

/* Registers a predefined type, which matters for buffers in GPU memory only. */
static void register_predefined(MPI_Datatype type, uint64_t key)
{
    unsigned sizes = 0;
    pw_layout *layout = compile(type, NULL, &sizes);
    binding *b = layout ? bind(layout, true, sizes) : NULL;

    pw_handle_table_insert(&pw_registry_types, key, b ? b->entry : &left_to_mpi);
}

static bool is_basic(MPI_Datatype type)
{
    pw_envelope envelope;

    return pw_envelope_read(type, &envelope, NULL) == PW_OK && pw_envelope_is_basic(&envelope);
}

/* Returns the binding of a derived type. NULL: out of memory. */
static binding *find_or_compile(MPI_Datatype type, const pw_envelope *envelope)
{
    pw_constructed how;
    pw_contents contents;
    pw_diag diag = {.status = PW_OK};
    pw_layout *layout;
    pw_entry *known;
    unsigned sizes = 0;
    bool said;
    binding *b;

    if (pw_contents_read(type, envelope, &contents, &diag) != PW_OK) {
        log_unhandled(&diag);
        return bind(NULL, false, 0);
    }
    said = registry.remembers && pw_constructed_read(&contents, &how);
    known = said ? pw_constructed_find(&registry.constructed, &how) : NULL;
    layout = known ? NULL : compile(type, &contents, &sizes);
    b = known ? bind_known(known) : bind(layout, false, sizes);
    if (!known && said && b && b->entry != &left_to_mpi && is_basic(contents.types[0]))
        remember(&how, b->entry);
    pw_contents_release(&contents);
    return b;
}

/* Registers a type that has just been accepted by MPI. Predefined types live for ever and get no attribute; f90 types
 * belong to MPI and get none either. */
static void register_type(MPI_Datatype type)
{
    uint64_t key = pw_type_key(type);
    pw_envelope envelope;
    binding *b = NULL;
    int found = 0;

    if (pw_envelope_read(type, &envelope, NULL) != PW_OK || pw_envelope_is_basic(&envelope)) {
        register_predefined(type, key);
        return;
    }
    if (PMPI_Type_get_attr(type, registry.keyval, &b, &found) != MPI_SUCCESS)
        return;
    if (!found) {
        b = find_or_compile(type, &envelope);
        if (b && PMPI_Type_set_attr(type, registry.keyval, b) != MPI_SUCCESS) {
            unbind(b);
            b = NULL;
        }
    } else if (b->entry->layout) {
        report_learned(b->entry->layout);
    }
    if (b) {
        remember_look(type, b->entry);
        pw_handle_table_insert(&pw_registry_types, key, b->entry);
    }
}

static void learn(MPI_Datatype type)
{
    if (pw_registry_learned(type))
        return;
    pthread_mutex_lock(&registry.learning);
    if (!pw_registry_learned(type) && open_registry())
        register_type(type);
    pthread_mutex_unlock(&registry.learning);
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

static bool is_known(MPI_Datatype type)
{
    return pw_handle_table_find(&pw_registry_types, pw_type_key(type)) != NULL;
}

static void take_note(MPI_Datatype type, void *note)
{
    uint64_t key = pw_type_key(type);

    if (pw_handle_table_add_front(&pw_registry_types, key, note) || pw_handle_table_add(&pw_registry_types, key, note))
        pw_note_count(1);
}

/* Looks for Fortran bindings that were loaded late. */
static void look_around(void)
{
    pw_fortran_redirect();
    pthread_mutex_lock(&registry.learning);
    pw_ending_watch();
    pthread_mutex_unlock(&registry.learning);
}

void pw_registry_committed_other(MPI_Datatype type, bool looks)
{
    if (!is_started())
        return;
    if (looks)
        look_around();
    if (pw_note_is_off)
        learn(type);
    else
        take_note(type, pw_note_make(0));
}

/* A call that succeeds has not always accepted its type: MPICH from 4.3 on returns MPI_SUCCESS for a null handle once a
 * user's handler has seen the error. Asking MPI about that handle would raise a second error. */
void pw_registry_accepted(MPI_Datatype type)
{
    if (type == MPI_DATATYPE_NULL || !is_started() || is_known(type))
        return;
    if (pw_note_is_off || is_basic(type))
        learn(type);
    else
        take_note(type, pw_note_make(0));
}

void pw_registry_duplicated(MPI_Datatype original, MPI_Datatype type)
{
    void *found = pw_handle_table_find(&pw_registry_types, pw_type_key(original));

    if (pw_note_is(found))
        take_note(type, found);
    else if (found)
        learn(type);
}

static pw_entry *learn_noted(MPI_Datatype type)
{
    uint64_t key = pw_type_key(type);
    void *found;

    learn(type);
    found = pw_handle_table_find(&pw_registry_types, key);
    if (found && !pw_note_is(found)) {
        pw_note_count(-1);
        return found;
    }
    /* Learning has failed, so the note begins again. */
    pw_handle_table_swap(&pw_registry_types, key, found, pw_note_make(0));
    return &left_to_mpi;
}

/* `found`: the note of the type, or NULL if the type is not known. */
pw_entry *pw_registry_use_other(MPI_Datatype type, const pw_note_use *use, void *found)
{
    if (!found)
        return pw_registry_find_other(type);
    if (pw_note_takes(type, use->buf, use->count, use->role, use->times, found))
        return &left_to_mpi;
    return learn_noted(type);
}

pw_entry *pw_registry_learn(MPI_Datatype type)
{
    void *found = pw_handle_table_find(&pw_registry_types, pw_type_key(type));

    return pw_note_is(found) ? learn_noted(type) : found;
}

bool pw_registry_alike(MPI_Datatype type, int times, void *note, pw_entry_asked *is_native, void *arg)
{
    pw_entry *entry;
    pw_look look;
    bool is;

    if (!pw_note_may_wait(note, times) || !pw_look_read(type, &look))
        return false;
    pthread_mutex_lock(&registry.lock);
    entry = pw_alike_find(&registry.alike, &look);
    is = entry && is_native(arg, entry);
    pthread_mutex_unlock(&registry.lock);
    if (is)
        pw_note_wait(type, note, times);
    return is;
}

void pw_registry_let_go(MPI_Datatype type)
{
    void *b;
    int found = 0;

    if (!pw_registry_learned(type))
        return;
    pthread_mutex_lock(&registry.learning);
    if (registry.keyval != MPI_KEYVAL_INVALID && PMPI_Type_get_attr(type, registry.keyval, &b, &found) == MPI_SUCCESS &&
        found)
        PMPI_Type_delete_attr(type, registry.keyval);
    pthread_mutex_unlock(&registry.learning);
}

bool pw_registry_end_note_other(MPI_Datatype type)
{
    uint64_t key = pw_type_key(type);
    bool noted = pw_note_is(pw_handle_table_find(&pw_registry_types, key));

    if (noted)
        pw_handle_table_remove(&pw_registry_types, key);
    return noted;
}

/* ---- the rest ------------------------------------------------------------------------------------------------- */

void pw_registry_observe(const pw_registry_observer *observer)
{
    registry.observer = observer;
}

pw_status pw_registry_start(void)
{
    pw_status status = pw_handle_table_create(&registry.layouts);

    return status == PW_OK ? pw_handle_table_open(&pw_registry_types) : status;
}

static void learn_predefined(MPI_Datatype type)
{
    if (!pw_handle_table_find(&pw_registry_types, pw_type_key(type)))
        register_predefined(type, pw_type_key(type));
}

/* Finds a predefined type. All of them are learned together, once GPU memory may come in. */
static pw_entry *find_predefined(MPI_Datatype type)
{
    int initialised = 0, finalised = 0;

    if (!pw_memory_has_cuda() || atomic_load(&registry.predefined))
        return NULL;
    PMPI_Initialized(&initialised);
    PMPI_Finalized(&finalised);
    if (!initialised || finalised)
        return NULL;
    pthread_mutex_lock(&registry.learning);
    if (!atomic_exchange(&registry.predefined, true) && open_registry())
        pw_predefined_each(learn_predefined);
    pthread_mutex_unlock(&registry.learning);
    return pw_handle_table_find(&pw_registry_types, pw_type_key(type));
}

pw_entry *pw_registry_find_other(MPI_Datatype type)
{
    bool noted = pw_note_is(pw_handle_table_find(&pw_registry_types, pw_type_key(type)));

    return noted || !is_started() ? &left_to_mpi : find_predefined(type);
}

void pw_registry_leave(void)
{
    pthread_mutex_lock(&registry.learning);
    /* Types that carry the attribute keep the keyval alive until they die. */
    if (registry.keyval != MPI_KEYVAL_INVALID)
        PMPI_Type_free_keyval(&registry.keyval);
    registry.keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&registry.learning);
}

static void forget_constructed(void)
{
    for (int i = 0; i < 1 << PW_CONSTRUCTED_BITS; i++)
        if (registry.constructed.places[i].entry)
            entry_unref(registry.constructed.places[i].entry);
    registry.constructed = (pw_constructed_table){0};
}

static void forget_alike(void)
{
    for (int i = 0; i < 1 << PW_ALIKE_BITS; i++)
        if (registry.alike.places[i].entry)
            entry_unref(registry.alike.places[i].entry);
    registry.alike = (pw_alike_table){0};
}

void pw_registry_close(void)
{
    if (!is_started())
        return;
    pthread_mutex_lock(&registry.learning);
    pw_handle_table_clear(&pw_registry_types);
    atomic_store(&registry.predefined, false);
    pthread_mutex_lock(&registry.lock);
    forget_constructed();
    forget_alike();
    while (registry.bindings.next != &registry.bindings)
        binding_destroy(registry.bindings.next);
    while (registry.entries.next != &registry.entries)
        entry_unref(registry.entries.next);
    registry.kept = 0;
    registry.life++;
    pthread_mutex_unlock(&registry.lock);
    registry.keyval = MPI_KEYVAL_INVALID; /* the keyval belonged to one life of MPI only */
    pw_layout_engine_destroy(registry.engine);
    registry.engine = NULL;
    pthread_mutex_unlock(&registry.learning);
}

void pw_registry_each(void (*fn)(void *arg, const pw_entry *entry), void *arg)
{
    pthread_mutex_lock(&registry.lock);
    for (const pw_entry *entry = registry.entries.next; entry != &registry.entries; entry = entry->next)
        fn(arg, entry);
    pthread_mutex_unlock(&registry.lock);
}
