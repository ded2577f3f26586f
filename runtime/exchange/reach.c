/*
 * Purpose: keeps memory of other processes open. Data: one table of ranges of all rows, and what became of attempts to
 * open more, by row and owner. Invariant: a range with users stays open, unless its context is closed. The lock is also
 * held while a row opens or closes a range, which happens once.
 */
#include "runtime/exchange/reach.h"

#include "base/lock.h"
#include "runtime/exchange/evidence.h"

enum { PLACES = 256, OWNERS = 1024 };

/* The singleton, guarded by the lock. */
static struct {
    pthread_mutex_t lock;
    pw_reached places[PLACES];
    pw_reached *last; /* the one that was found last, which the next message mostly wants, too; NULL: none yet */
    int high;         /* places from here on were never used */
    uint64_t uses;
    pw_evidence owners[OWNERS]; /* one that falls on another's place takes it */
} reach = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pw_evidence_rule rule_of(const pw_reach *row)
{
    return (pw_evidence_rule){.proven = 1,
                              .patience = row->patience ? row->patience : INT_MAX,
                              .least = PW_EVIDENCE_NO_END,
                              .most = PW_EVIDENCE_NO_END};
}

static pw_evidence *evidence_of(const pw_reach *row, const void *owner)
{
    uint64_t key = (uintptr_t)owner * 31 ^ (uintptr_t)row;
    pw_evidence *e = &reach.owners[(key ^ key >> 12 ^ key >> 24) % OWNERS];

    pw_evidence_of(e, key);
    return e;
}

/* ---- what is open ------------------------------------------------------------------------------------------------ */

static bool lives(const pw_reached *r)
{
    return !r->row->lives || r->row->lives(r->context);
}

static bool is_of(const pw_reached *r, const pw_reached *wanted)
{
    return r->row == wanted->row && r->owner == wanted->owner;
}

static bool serves(const pw_reached *r, const pw_reached *wanted)
{
    return is_of(r, wanted) && r->version == wanted->version && wanted->begin >= r->begin &&
           wanted->bytes <= r->bytes && wanted->begin - r->begin <= r->bytes - wanted->bytes &&
           (r->row->anywhere || r->context == wanted->context) && lives(r);
}

static pw_reached *find(const pw_reached *wanted)
{
    if (reach.last && serves(reach.last, wanted))
        return reach.last;
    for (pw_reached *r = reach.places; r < reach.places + reach.high; r++)
        if (serves(r, wanted))
            return reach.last = r;
    return NULL;
}

static void drop(pw_reached *r, bool ended)
{
    if (!ended && lives(r))
        r->row->close(r);
    *r = (pw_reached){.row = NULL};
}

static bool is_stale(const pw_reached *r, const pw_reached *wanted)
{
    if (!is_of(r, wanted) || (r->version == wanted->version && lives(r)))
        return false;
    return r->row->all_at_once || (r->begin < wanted->begin + wanted->bytes && wanted->begin < r->begin + r->bytes);
}

/* Closes what its owner has freed since: drivers may refuse to open two ranges at one address. False: one is in use. */
static bool drop_stale(const pw_reached *wanted)
{
    for (pw_reached *r = reach.places; r < reach.places + reach.high; r++) {
        if (!is_stale(r, wanted))
            continue;
        if (r->lru.users == 0)
            drop(r, false);
        else if (!r->row->all_at_once)
            return false;
    }
    return true;
}

static uint64_t bytes_of(const pw_reach *row)
{
    uint64_t bytes = 0;

    for (int i = 0; i < reach.high; i++)
        bytes += reach.places[i].row == row ? reach.places[i].bytes : 0;
    return bytes;
}

/* The range of a row that was used least lately. NULL: none, or all are in use. */
static pw_reached *oldest_of(const pw_reach *row)
{
    pw_reached *oldest = NULL;

    for (pw_reached *r = reach.places; r < reach.places + reach.high; r++)
        if (r->row == row && r->lru.users == 0 && (!oldest || r->lru.used < oldest->lru.used))
            oldest = r;
    return oldest;
}

/* Returns a free place, after closing what has to give way. NULL: it is in use. */
static pw_reached *make_room(const pw_reached *wanted)
{
    pw_reached *r;

    while (wanted->row->most && bytes_of(wanted->row) + wanted->bytes > wanted->row->most) {
        r = oldest_of(wanted->row);
        if (!r)
            return NULL;
        drop(r, false);
    }
    r = pw_lru_find(reach.places, PLACES, sizeof *r, false);
    if (r && r->row)
        drop(r, false);
    if (r && r - reach.places >= reach.high)
        reach.high = (int)(r - reach.places) + 1;
    return r;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static pw_reached *add(const pw_reached *wanted, const void *arg)
{
    const pw_evidence_rule rule = rule_of(wanted->row);
    pw_evidence *e = evidence_of(wanted->row, wanted->owner);
    pw_reached *r = pw_evidence_may(e) && drop_stale(wanted) ? make_room(wanted) : NULL;

    if (!r)
        return NULL;
    *r = *wanted;
    r->at = r->row->open(r, arg);
    if (r->at) {
        pw_evidence_worked(e, &rule);
        return r;
    }
    pw_evidence_failed(e, &rule);
    *r = (pw_reached){.row = NULL};
    return NULL;
}

pw_reached *pw_reach_take(const pw_reached *wanted, const void *arg)
{
    PW_HOLD(&reach.lock);
    pw_reached *r;

    if (wanted->row->all_at_once)
        drop_stale(wanted);
    r = find(wanted);
    if (!r)
        r = add(wanted, arg);
    if (r)
        pw_lru_take(&r->lru, &reach.uses);
    return r;
}

void pw_reach_give(pw_reached *reached)
{
    if (!reached)
        return;
    PW_HOLD(&reach.lock);
    reached->lru.users -= reached->lru.users > 0;
}

bool pw_reach_may(const pw_reach *row, const void *owner)
{
    PW_HOLD(&reach.lock);

    return pw_evidence_may(evidence_of(row, owner));
}

void pw_reach_close(const pw_reach *row, const void *context, bool ended)
{
    pthread_mutex_lock(&reach.lock);
    for (pw_reached *r = reach.places; r < reach.places + reach.high; r++)
        if (r->row == row && r->context == context)
            drop(r, ended);
    pthread_mutex_unlock(&reach.lock);
}
