/*
 * Writing: texts of layouts never change or go, so others read them without a lock. Reading: the engine keeps the
 * layouts that were read, and finds them by their hash, which means the same layout in all processes.
 */
#include "runtime/exchange/board.h"

#include "base/lock.h"
#include "base/log.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The singleton: the texts of this process, which are added under the lock and read without it. */
static struct {
    pthread_mutex_t lock;
    _Atomic int n;
    pw_segment_text texts[PW_BOARD_TEXTS];
} board = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const pw_segment_text *find(pw_hash hash)
{
    for (int i = atomic_load_explicit(&board.n, memory_order_acquire); i-- > 0;)
        if (pw_hash_equal(board.texts[i].hash, hash))
            return &board.texts[i];
    return NULL;
}

static char *take(size_t bytes)
{
    return bytes > 0 && bytes <= PW_SEGMENT_TEXT_BYTES ? pw_segment_take(bytes) : NULL;
}

/* Adds the text of a layout, without an address if it is too long or there is no room. Of an entry without an address
 * the text, which takes long to make, is only made again once there is room. Returns the layout's entry. */
static const pw_segment_text *add(const pw_layout *layout)
{
    PW_HOLD(&board.lock);
    int n = atomic_load_explicit(&board.n, memory_order_relaxed);
    const pw_segment_text *found = find(layout->hash);
    bool is_there = found && found->address;
    char *block = found && !is_there && n < PW_BOARD_TEXTS ? take(found->bytes) : NULL, *text;
    size_t bytes;

    if (is_there || n == PW_BOARD_TEXTS || (found && !block))
        return found;
    text = pw_layout_text(layout);
    if (found && !text) {
        pw_segment_give(block);
        return found;
    }
    bytes = text ? strlen(text) : 0;
    block = block ? block : take(bytes);
    if (block)
        memcpy(block, text, bytes);
    board.texts[n] = (pw_segment_text){(uintptr_t)block, bytes, layout->hash};
    atomic_store_explicit(&board.n, n + 1, memory_order_release);
    free(text);
    return &board.texts[n];
}

bool pw_board_put(const pw_layout *layout, pw_segment_text *out)
{
    const pw_segment_text *found;

    if (!pw_segment_own_header())
        return false;
    found = find(layout->hash);
    if (!found || !found->address)
        found = add(layout);
    if (found)
        *out = *found;
    return found && found->address;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The text is copied before it is parsed, since its owner could change it meanwhile. */
static pw_layout *read_text(pid_t pid, const pw_segment_text *t, pw_layout_engine *engine)
{
    pw_peer_block block;
    bool is_sound = t->bytes > 0 && t->bytes <= PW_SEGMENT_TEXT_BYTES;
    const char *there = is_sound ? pw_peer_memory(pid, (const void *)(uintptr_t)t->address, t->bytes, &block) : NULL;
    char *text = there && !block.lazy ? strndup(there, t->bytes) : NULL;
    pw_layout *layout = text ? pw_layout_of_text(engine, text) : NULL;

    free(text);
    if (layout && pw_hash_equal(t->hash, layout->hash) && layout->size > 0)
        return layout;
    pw_layout_unref(layout);
    pw_log(PW_LOG_DEBUG, "cannot read a layout of process %d", (int)pid);
    return NULL;
}

pw_layout *pw_board_get(pid_t pid, const pw_segment_text *text, pw_layout_engine *engine)
{
    pw_layout *layout = pw_layout_known(engine, text->hash);

    return layout ? layout : read_text(pid, text, engine);
}
