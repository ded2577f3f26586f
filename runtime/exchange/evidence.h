/*
 * What became of attempts of one kind: whether the next one is worth making. An attempt that fails too often in a row
 * is followed by a rest, in which no more are made; each rest is twice as long as the one before. One that has worked
 * often enough is proven, and then fails into the shortest rest again.
 *
 * Whoever holds an evidence guards it. It is kept by a key, and knows nothing of another key.
 */
#ifndef PW_RUNTIME_EVIDENCE_H
#define PW_RUNTIME_EVIDENCE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { PW_EVIDENCE_NO_END = INT_MAX /* a rest that is never over */ };

/* Constant, for all evidence of a kind. */
typedef struct pw_evidence_rule {
    int proven;      /* attempts that work until it is proven */
    int patience;    /* failures in a row until a rest */
    int least, most; /* attempts that the shortest rest and the longest one take; even numbers stay even */
} pw_evidence_rule;

/* Begins as zeros. */
typedef struct pw_evidence {
    uint64_t key;
    int worked, failed; /* in a row, up to the rule's numbers */
    int rest, next;     /* attempts that are not made before the next one; those of the next rest */
} pw_evidence;

/* The evidence for a key, in place of what is known of another one. Returns whether it is new. */
static inline bool pw_evidence_of(pw_evidence *e, uint64_t key)
{
    if (e->key == key)
        return false;
    *e = (pw_evidence){.key = key};
    return true;
}

/* Whether the next attempt is to be made. A rest gets shorter by each question. */
static inline bool pw_evidence_may(pw_evidence *e)
{
    bool may = e->rest == 0;

    e->rest -= !may && e->rest != PW_EVIDENCE_NO_END;
    return may;
}

static inline bool pw_evidence_is_proven(const pw_evidence *e, const pw_evidence_rule *rule)
{
    return e->worked >= rule->proven;
}

static inline void pw_evidence_worked(pw_evidence *e, const pw_evidence_rule *rule)
{
    if (pw_evidence_is_proven(e, rule))
        e->next = 0;
    e->worked += e->worked < rule->proven;
    e->failed = 0;
}

static inline void pw_evidence_failed(pw_evidence *e, const pw_evidence_rule *rule)
{
    e->worked = 0;
    if (++e->failed < rule->patience)
        return;
    e->failed = 0;
    e->rest = e->next > rule->least ? e->next : rule->least;
    e->next = e->rest < rule->most / 2 ? e->rest * 2 : rule->most;
}

#endif
