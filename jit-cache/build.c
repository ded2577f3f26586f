/*
 * How a kernel is had: from disk; else compiled, by one of the processes that share the directory.
 *
 *     (load: from memory in common, else from the directory for all users, else from this user's)
 *
 *     load --> take the lock --> load again --> load the compiler --> compile --> store --> load what was stored
 *                  |                                                               (no disk: load from memory)
 *                  +-- held: ask again later
 */
#include "jit-cache/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "jit-cache/exit_guard.h"
#include "jit-cache/fork_guard.h"

#include <string.h>
#include <sys/mman.h>

/* Room that must be left: LLVM and its libraries take 190 MiB of addresses, and a compile a few MiB of memory. */
#define LOAD_BYTES ((size_t)256 << 20)
#define COMPILE_BYTES ((size_t)64 << 20)

static void publish(pw_slot *slot, pw_hash key, const pw_image *image, pw_kernel_fn *pack, pw_kernel_fn *unpack,
                    pw_kernel_origin origin, int64_t started)
{
    pw_kernel *k = &slot->kernel;

    slot->image = *image;
    k->code_key = key;
    atomic_store_explicit(&k->origin, origin, memory_order_relaxed);
    atomic_store_explicit(&k->ready_ns, pw_clock_ns() - started, memory_order_relaxed);
    if (slot->image.code.data)
        atomic_store_explicit(&k->code, &slot->image.code, memory_order_release);
    atomic_store_explicit(&k->unpack, unpack, memory_order_release);
    atomic_store_explicit(&k->pack, pack, memory_order_release);
    atomic_store_explicit(&k->state, PW_KERNEL_READY, memory_order_release);
}

static pw_build_result settle(pw_slot *slot, pw_kernel_state state)
{
    atomic_store_explicit(&slot->kernel.state, state, memory_order_release);
    return PW_BUILD_DONE;
}

/* Opens code in memory, which the blob gives up when it is foreign. */
static pw_status open_blob(const pw_cache *cache, pw_hash key, pw_blob *blob, pw_image *image, pw_kernel_fn **pack,
                           pw_kernel_fn **unpack, pw_diag *diag)
{
    pw_status status;

    if (cache->disk.foreign) {
        *image = (pw_image){.code = *blob};
        *pack = *unpack = NULL;
        *blob = (pw_blob){0};
        return PW_OK;
    }
    status = pw_image_open_bytes(blob->data, blob->size, image, diag);
    if (status)
        return status;
    status = pw_image_symbols(image, key, pack, unpack, diag);
    if (status)
        pw_image_close(image);
    return status;
}

/* Takes an entry that another process of the node has read or compiled. */
static bool load_common(pw_cache *cache, pw_slot *slot, pw_hash key, int64_t started)
{
    pw_common *common = cache->common ? cache->common() : NULL;
    pw_kernel_fn *pack, *unpack;
    pw_blob entry = {0};
    pw_image image;
    pw_diag diag;
    bool opened;

    if (common)
        entry.data = pw_common_get(common, key, &entry.size);
    opened = entry.data && open_blob(cache, key, &entry, &image, &pack, &unpack, &diag) == PW_OK;
    if (opened)
        publish(slot, key, &image, pack, unpack, PW_ORIGIN_DISK, started);
    pw_blob_free(&entry);
    return opened;
}

static bool load_disk(pw_cache *cache, pw_slot *slot, pw_hash key, int64_t started)
{
    pw_image image;
    pw_kernel_fn *pack, *unpack;

    if (pw_disk_load(&cache->system, key, &image, &pack, &unpack) &&
        pw_disk_load(&cache->disk, key, &image, &pack, &unpack))
        return false;
    publish(slot, key, &image, pack, unpack, PW_ORIGIN_DISK, started);
    return true;
}

typedef bool load_fn(pw_cache *cache, pw_slot *slot, pw_hash key, int64_t started);

static bool same_target(const pw_target *a, const pw_target *b)
{
    return !strcmp(a->arch, b->arch) && !strcmp(a->cpu, b->cpu);
}

/* What was seeded for a lower level of the instruction set will do, unless a CPU was chosen by name. */
static bool load_lower(pw_cache *cache, pw_slot *slot, load_fn *load, int64_t started)
{
    pw_target target;

    if (!same_target(&cache->target, pw_target_host()))
        return false;
    for (int i = 0; pw_target_compatible(i, &target); i++)
        if (!same_target(&target, &cache->target) &&
            load(cache, slot, pw_cache_key(slot->shape, &target, cache->backend_name), started))
            return true;
    return false;
}

static bool load_shipped_key(pw_cache *cache, pw_slot *slot, const pw_target *target, int64_t started)
{
    pw_hash key = pw_cache_key(slot->shape, target, cache->backend_name);
    pw_image image;

    if (!pw_disk_load_shipped(&cache->disk, key, &image))
        return false;
    publish(slot, key, &image, NULL, NULL, PW_ORIGIN_DISK, started);
    return true;
}

/* What came with the library: for the GPU itself, or for an older one of its generation. */
static bool load_shipped(pw_cache *cache, pw_slot *slot, int64_t started)
{
    pw_target older;
    bool found = cache->disk.shipped && load_shipped_key(cache, slot, &cache->target, started);

    for (int i = 0; cache->disk.shipped && !found && pw_target_older_gpu(&cache->target, i, &older); i++)
        found = load_shipped_key(cache, slot, &older, started);
    return found;
}

static bool load_by(pw_cache *cache, pw_slot *slot, bool waited, load_fn *load, int64_t started)
{
    return load(cache, slot, slot->kernel.key, started) || (!waited && load_lower(cache, slot, load, started));
}

/* While this process looks for the entry, other processes of the node wait for what it finds. `waited`: it was not
 * there a moment ago, so only another process may have made it. */
static bool load(pw_cache *cache, pw_slot *slot, bool waited, int64_t started)
{
    pw_common *common = cache->common ? cache->common() : NULL;
    bool held = common && pw_common_hold(common, slot->kernel.key);
    bool loaded = load_by(cache, slot, waited, load_common, started) ||
                  load_by(cache, slot, waited, load_disk, started) || (!waited && load_shipped(cache, slot, started));

    if (held)
        pw_common_let_go(common, slot->kernel.key);
    return loaded;
}

/*
 * NULL, said once, when there is no compiler. It is loaded only where a compile follows: it takes tens of megabytes,
 * and of the ranks that ask for a kernel at the same time all but one find it on disk in the end.
 */
static const pw_backend *find_backend(pw_cache *cache)
{
    pw_diag diag = {0};
    const pw_backend *backend;

    if (atomic_load(&cache->no_backend))
        return NULL;
    backend = cache->load_backend(cache->backend_name, &diag);
    if (backend && !atomic_exchange(&cache->has_backend, true))
        pw_exit_guard_first();
    if (!backend && !atomic_exchange(&cache->no_backend, true))
        pw_log_for_node("no %s compiler: %s; types without a cached kernel are packed by %s", cache->backend_name,
                        diag.text, cache->slow_path);
    return backend;
}

static bool has_room(size_t bytes, int protection)
{
    void *room = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (room == MAP_FAILED)
        return false;
    munmap(room, bytes);
    return true;
}

/* A compiler that gets no memory ends the process. */
static pw_status check_room(const pw_cache *cache, pw_diag *diag)
{
    if (has_room(COMPILE_BYTES, PROT_READ | PROT_WRITE) &&
        (atomic_load(&cache->has_backend) || has_room(LOAD_BYTES, PROT_NONE)))
        return PW_OK;
    return pw_diag_set(diag, PW_ERR_NOMEM, "the process has no memory left for a compiler");
}

static pw_status compile(pw_cache *cache, const pw_slot *slot, const pw_backend *backend, pw_blob *out, pw_diag *diag)
{
    char names[2][PW_SYMBOL_TEXT];
    pw_compile_job job = {.shape = slot->shape,
                          .target = &cache->target,
                          .emit = PW_EMIT_SHARED,
                          .pack_name = names[0],
                          .unpack_name = names[1]};
    pw_status status;

    pw_kernel_symbols(slot->kernel.key, names[0], names[1]);
    status = backend->compile(&job, out, diag);
    if (!status && !atomic_fetch_add_explicit(&cache->compiles, 1, memory_order_relaxed))
        pw_exit_guard_first();
    return status;
}

/* From the file just stored, so that debuggers find it and a bad write is noticed; else from memory. */
static pw_status open_compiled(pw_cache *cache, pw_slot *slot, pw_blob *blob, int64_t started, pw_diag *diag)
{
    pw_hash key = slot->kernel.key;
    pw_image image;
    pw_kernel_fn *pack, *unpack;
    pw_status status;

    if (!pw_disk_keep(&cache->disk, key, blob) || pw_disk_load(&cache->disk, key, &image, &pack, &unpack)) {
        status = open_blob(cache, key, blob, &image, &pack, &unpack, diag);
        if (status)
            return status;
    }
    publish(slot, key, &image, pack, unpack, PW_ORIGIN_COMPILED, started);
    return PW_OK;
}

static pw_build_result compile_and_open(pw_cache *cache, pw_slot *slot, int64_t started)
{
    const pw_backend *backend = NULL;
    pw_blob blob = {0};
    pw_diag diag = {0};
    pw_status status;

    pw_fork_guard_enter();
    status = check_room(cache, &diag);
    if (!status)
        backend = find_backend(cache);
    if (backend)
        status = compile(cache, slot, backend, &blob, &diag);
    pw_fork_guard_leave();
    if (!status && !backend)
        return settle(slot, PW_KERNEL_FAILED);
    if (!status) {
        status = open_compiled(cache, slot, &blob, started, &diag);
        pw_blob_free(&blob);
    }
    if (!status)
        return PW_BUILD_DONE;
    pw_log(atomic_exchange(&cache->compile_failed, true) ? PW_LOG_INFO : PW_LOG_WARN,
           "no kernel: %s; the type is packed by %s", diag.text, cache->slow_path);
    return settle(slot, PW_KERNEL_FAILED);
}

/*
 * A lock that is gone with no entry in its place, after we waited for it, means that the entry could not be
 * stored; then nobody holds a lock while compiling, or all ranks would compile one after another.
 */
static pw_build_result compile_alone(pw_cache *cache, pw_slot *slot, bool patient, bool waited, int64_t started)
{
    pw_disk_lock lock;
    pw_build_result result = PW_BUILD_DONE;
    pw_lock_result taken = pw_disk_lock_take(&cache->disk, slot->kernel.key, &lock);

    if (taken == PW_LOCK_HELD && patient)
        return PW_BUILD_LOCKED;
    if (taken != PW_LOCK_TAKEN)
        return compile_and_open(cache, slot, started);
    if (load_disk(cache, slot, slot->kernel.key, started)) {
        pw_disk_lock_release(&cache->disk, slot->kernel.key, &lock);
    } else if (waited && !lock.stolen) {
        pw_disk_lock_release(&cache->disk, slot->kernel.key, &lock);
        result = compile_and_open(cache, slot, started);
    } else {
        result = compile_and_open(cache, slot, started);
        pw_disk_lock_release(&cache->disk, slot->kernel.key, &lock);
    }
    return result;
}

pw_build_result pw_build(pw_cache *cache, pw_slot *slot, pw_cache_want want, bool patient, bool waited)
{
    int64_t started = pw_clock_ns();
    pw_build_result result;

    if (!pw_target_runs_here(&cache->target)) {
        pw_warn_once("code for %s does not run on this machine; types are packed by %s", cache->target.cpu,
                     cache->slow_path);
        return settle(slot, PW_KERNEL_FAILED);
    }
    if (!pw_backend_takes(slot->shape)) {
        pw_log(PW_LOG_INFO, "no kernel: the shape is too irregular to compile; the type is packed by %s",
               cache->slow_path);
        return settle(slot, PW_KERNEL_FAILED);
    }
    if (load(cache, slot, waited, started))
        return PW_BUILD_DONE;
    if (want == PW_WANT_LOAD)
        return settle(slot, PW_KERNEL_ABSENT);
    if (atomic_load(&cache->no_backend) || !pw_exit_guard_enter())
        return settle(slot, PW_KERNEL_FAILED);
    result = compile_alone(cache, slot, patient, waited, started);
    pw_exit_guard_leave();
    return result;
}
