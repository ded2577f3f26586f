/* Hashes a sequence of words of which nobody knows the length beforehand: a buffer at a time. Zero-initialise. */
#ifndef PW_BASE_HASH_WORDS_H
#define PW_BASE_HASH_WORDS_H

#include "base/hash.h"

typedef struct pw_hash_words {
    int64_t words[64];
    int n;
    pw_hash hash;
} pw_hash_words;

static inline void pw_hash_words_flush(pw_hash_words *h)
{
    h->hash = pw_hash_mix(h->hash, pw_hash_bytes(h->words, (size_t)h->n * sizeof h->words[0]));
    h->n = 0;
}

static inline void pw_hash_word(pw_hash_words *h, int64_t word)
{
    if (h->n == (int)(sizeof h->words / sizeof h->words[0]))
        pw_hash_words_flush(h);
    h->words[h->n++] = word;
}

/* After the last word. */
static inline pw_hash pw_hash_words_end(pw_hash_words *h)
{
    pw_hash_words_flush(h);
    return h->hash;
}

#endif
