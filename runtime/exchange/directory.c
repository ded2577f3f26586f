/*
 * Purpose: finds blocks by the header of another process's segment. Data: none; the header is the other process's,
 * which may write anything into it at any time. Invariant: numbers are copied before they are looked at, and only
 * copies that are sound are given out, so no caller reads outside of the file, whatever the header says.
 */
#include "runtime/exchange/directory.h"

#include <string.h>

enum { LEAST_PAGE = 4096 };

bool pw_segment_is_titled(const pw_segment_title *title, pid_t pid)
{
    return strncmp(title->name, PW_SEGMENT_NAME, sizeof title->name) == 0 && title->version == PW_SEGMENT_VERSION &&
           title->pid == pid;
}

bool pw_segment_piece_is_sound(const pw_segment_piece *p, uint64_t file_bytes)
{
    if (p->shift < PW_SEGMENT_FIRST_SHIFT || p->shift > PW_SEGMENT_LAST_SHIFT || p->count == 0 ||
        p->count > PW_SEGMENT_PIECE_BLOCKS || p->address == 0 || p->address % LEAST_PAGE != 0 || p->at == 0 ||
        p->at % PW_SEGMENT_GRAIN != 0)
        return false;
    return p->at <= file_bytes && pw_segment_file_bytes(p) <= file_bytes - p->at &&
           p->address <= UINT64_MAX - pw_segment_mapped_bytes(p);
}

bool pw_segment_piece_holds(const pw_segment_piece *p, uint64_t address, uint64_t bytes)
{
    uint64_t block = (uint64_t)1 << p->shift, at = address - p->address;

    return at < pw_segment_piece_bytes(p) && bytes <= block - at % block;
}

bool pw_segment_find(const pw_segment_header *h, uint64_t file_bytes, uint64_t address, uint64_t bytes,
                     pw_segment_piece *out)
{
    uint32_t n = atomic_load_explicit(&h->npieces, memory_order_acquire);

    for (uint32_t i = 0; i < n && i < PW_SEGMENT_PIECES; i++) {
        *out = h->pieces[i];
        atomic_signal_fence(memory_order_acquire); /* only the copy is looked at: its owner may change the other one */
        if (pw_segment_piece_is_sound(out, file_bytes) && pw_segment_piece_holds(out, address, bytes))
            return true;
    }
    return false;
}
