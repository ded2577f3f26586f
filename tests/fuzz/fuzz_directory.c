/* The header of another process's segment: a title, the length of the file and what is asked for, then pieces. */
#include "runtime/exchange/directory.h"
#include "tests/fuzz/check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct question {
    uint64_t file_bytes, address, bytes;
    uint32_t npieces;
    int32_t pid;
} question;

/* Takes bytes of the input; missing bytes are zero. */
static void take(const uint8_t **data, size_t *size, void *to, size_t bytes)
{
    size_t n = bytes < *size ? bytes : *size;

    memset(to, 0, bytes);
    memcpy(to, *data, n);
    *data += n;
    *size -= n;
}

static void check_title(const pw_segment_title *title, pid_t pid)
{
    if (!pw_segment_is_titled(title, pid))
        return;
    if (memcmp(title->name, PW_SEGMENT_NAME, sizeof PW_SEGMENT_NAME) != 0 || title->version != PW_SEGMENT_VERSION ||
        title->pid != pid || pw_segment_is_titled(title, pid ^ 1))
        fuzz_fail("title", "of something else");
}

/* The records lie in the file, and so do the blocks unless the piece is lazy; the bytes lie in one block. */
static void check_found(const pw_segment_piece *p, const question *q)
{
    uint64_t at = q->address - p->address, block = (uint64_t)1 << p->shift;
    uint64_t each = sizeof(pw_segment_offer) + (p->lazy ? 0 : block); /* bytes in the file */

    if (!pw_segment_piece_is_sound(p, q->file_bytes))
        fuzz_fail("found", "a piece that is not sound");
    if (p->at > q->file_bytes || p->count * each > q->file_bytes - p->at)
        fuzz_fail("found", "a piece outside the file");
    if (q->address < p->address || at >= p->count * block || q->bytes > block || at % block > block - q->bytes)
        fuzz_fail("found", "a piece without the bytes");
}

/* One piece alone is found if and only if it is sound and holds the bytes. */
static bool is_answer(const pw_segment_piece *p, const question *q)
{
    return pw_segment_piece_is_sound(p, q->file_bytes) && pw_segment_piece_holds(p, q->address, q->bytes);
}

static void check_find(const pw_segment_header *h, const question *q)
{
    bool expected = false;
    pw_segment_piece p;

    for (uint32_t i = 0; i < h->npieces && i < PW_SEGMENT_PIECES; i++)
        expected |= is_answer(&h->pieces[i], q);
    if (pw_segment_find(h, q->file_bytes, q->address, q->bytes, &p) != expected)
        fuzz_fail("find", expected ? "a piece is not found" : "a piece that is none");
    if (expected)
        check_found(&p, q);
}

/* The header is in memory of its own, so that reads behind its end are found. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pw_segment_header *h = aligned_alloc(_Alignof(pw_segment_header), sizeof *h);
    question q;

    if (!h)
        fuzz_fail("header", "out of memory");
    memset(h, 0, sizeof *h);
    take(&data, &size, &h->title, sizeof h->title);
    take(&data, &size, &q, sizeof q);
    take(&data, &size, h->pieces, sizeof h->pieces);
    h->npieces = q.npieces;
    check_title(&h->title, q.pid);
    check_find(h, &q);
    free(h);
    return 0;
}
