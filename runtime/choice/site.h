/*
 * Sites: which way messages of one kind take. A site is a kind of call, a direction, a shape (length and distance of
 * blocks), a class of sizes, and a place. All types of one shape share it, also those that were freed.
 *
 * A site begins with a *guess*, the way that is expected to cost least, and lets a trial confirm it (trial.h). Ways are
 * numbers here, so tests use ways of their own. Costs and times are nanoseconds; a clock is never read.
 *
 * Thread safe. A look at a known site outside of its windows takes no lock.
 */
#ifndef PW_RUNTIME_CHOICE_SITE_H
#define PW_RUNTIME_CHOICE_SITE_H

#include "base/attributes.h"
#include "base/hash.h"
#include "runtime/choice/trial.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    PW_SITE_WAYS = 12,      /* the most ways */
    PW_SITE_RECORDS = 4096, /* the most sites that are recorded; others are guessed anew each time */
    PW_ROUND_SITES = 16     /* the most sites of a round that take part in a trial */
};

/* Plain data without padding, since keys are compared as bytes. */
typedef struct pw_site_key {
    uint64_t shape; /* any value that tells two shapes apart */
    uint16_t size;  /* from pw_site_size */
    uint8_t kind;   /* of call: any number */
    uint8_t role;   /* an end of a message: any number; ends that differ in nothing else are judged together */
    int32_t place;  /* any number */
} pw_site_key;

/* Size classes: quarters of octaves, so that sizes of one class differ by a quarter at most. A power of two is the
 * largest size of its class. `bytes` > 0. */
static inline uint16_t pw_site_size(int64_t bytes)
{
    uint64_t n = (uint64_t)bytes - 1;
    int top;

    if (n < 4)
        return (uint16_t)n;
    top = 63 - __builtin_clzll(n);
    return (uint16_t)(4 * (top - 1) + (int)(n >> (top - 2) & 3));
}

/* The largest number of bytes in a class. */
int64_t pw_site_most(uint16_t size);

/* Returns what a way costs, from the sender's buffer to the receiver's. Below 0: it cannot carry the message. */
typedef double pw_site_cost(void *arg, int way);

/* What pw_site_take needs to make a choice. */
typedef struct pw_site_question {
    int ways;   /* numbered from 0; the first one can carry every message */
    int forced; /* is chosen if it can carry the message; any other number: the cheapest is, the first on ties */
    int rivals; /* ways that a trial compares: at most PW_TRIAL_SLOTS - 1; 0: there is no trial */
    const uint8_t *rival; /* in an order that all sites share that may meet in a round. The first one is safe: it wins
                             unless another one is clearly better */
    bool ignored;         /* the use takes the safe way, whatever is answered */
    pw_hash example;      /* of the layout that asks, for reports */
    pw_site_cost *cost;
    pw_site_cost *first; /* what its first use costs once more, such as memory to stage in; NULL: nothing */
    void *arg;
} pw_site_question;

typedef struct pw_site_cell {
    _Atomic int64_t uses; /* threads may lose some */
    _Atomic float total;  /* the cost when it was last asked for; below 0: the way cannot carry the message */
    _Atomic float tried;  /* the shortest round by the way, shared as adopt() says, in the last such window; 0: none */
} pw_site_cell;

typedef struct pw_site {
    _Alignas(64) pw_site_key key;
    int64_t least, most;    /* the bytes that key.size stands for */
    _Atomic int chosen;     /* the way outside of windows */
    _Atomic int64_t rounds; /* so far; outside of windows each use counts as one, until the next window begins */
    _Atomic int64_t until;  /* the count from which on the long way must be taken: a window begins, or costs are asked
                               again */
    int ways;
    bool has_trial;
    uint8_t way[PW_TRIAL_SLOTS];          /* of each slot; if it cannot carry the message, that of slot 0 */
    float first[PW_TRIAL_SLOTS];          /* what the first use of each slot costs once more */
    pw_trial trial;                       /* under the lock of all sites in windows */
    struct pw_site *with[PW_ROUND_SITES]; /* the other sites of its rounds in the window that is under way */
    int nwith;
    int own_uses;               /* of this site in the last round of a window */
    int shares[PW_TRIAL_SLOTS]; /* uses in the slot's last round, in other ways than the safe one; if none, all */
    pw_hash example;
    pw_site_cell cells[];
} pw_site;

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/*
 * What a thread begins and completes together, while one of its sites is in a window. That site leads: its trial says
 * which slot all take, and its verdict holds for all. So the sites of an exchange need one trial, and are judged by the
 * time of all of it. Plain data of one thread; zeroes are a round without a leader, of which nothing is recorded.
 */
typedef struct pw_round {
    pw_site *lead; /* NULL: none */
    pw_trial_turn turn;
    bool varies; /* some use takes the way that was answered; the time of a round of other uses says nothing */
    int count;   /* uses of all sites, of which several may be one site's; other ways may ask for other uses */
    int carried; /* of them, those in other ways than the safe one */
    int n;
    pw_site *sites[PW_ROUND_SITES]; /* that have taken the slot, and count the round as one */
} pw_round;

/* Records the time of a round; it is empty then. */
void pw_round_end(pw_round *r, double ns);
/* Empties a round whose time is not known. */
void pw_round_drop(pw_round *r);
/* Goes on with the round of `from` in `to`, unless a round is under way there; `from` is empty then. */
void pw_round_join(pw_round *to, pw_round *from);
/* A use in this round has been carried out in another way than that of its turn. */
void pw_round_spoil(pw_round *r);

/* ---- sites ------------------------------------------------------------------------------------------------------- */

/*
 * Returns the way to take. *record is the site, which lives as long as the process, or NULL if there is no room for it.
 * If `flight` or else `now` has a leader, the use takes part in that round; otherwise it leads `now` if it is in a
 * window. `now` NULL: the use takes part in no trial.
 */
int pw_site_take(const pw_site_key *key, const pw_site_question *q, pw_round *now, pw_round *flight, pw_site **record);

/* Whether a site is asked by pw_site_take in its next use, whatever way it takes. */
static inline bool pw_site_is_due(const pw_site *s)
{
    return atomic_load_explicit(&s->rounds, memory_order_relaxed) >=
           atomic_load_explicit(&s->until, memory_order_relaxed);
}

/* For callers that have remembered a site and count no uses of its ways. Counts so many uses, and returns true, if the
 * site takes `way` in all of them without being asked by pw_site_take. Several threads may lose uses. A negative number
 * takes uses back, unless the site has changed its way since. */
PW_INLINE bool pw_site_again(pw_site *s, int way, int64_t uses)
{
    int64_t rounds = atomic_load_explicit(&s->rounds, memory_order_relaxed);

    if (PW_UNLIKELY(atomic_load_explicit(&s->until, memory_order_relaxed) - rounds < uses ||
                    atomic_load_explicit(&s->chosen, memory_order_relaxed) != way))
        return false;
    atomic_store_explicit(&s->rounds, rounds + uses, memory_order_relaxed);
    return true;
}

/* Uses of a site; NULL: there are none to count. `uses` 0: nothing is known of them. */
typedef struct pw_site_use {
    pw_site *site;
    int64_t uses;
} pw_site_use;

/* Does what pw_site_again does for the uses 0 to `n` - 1 that `use` returns, or for none of them if one of their sites
 * must be asked, or if nothing is known of a use. */
PW_INLINE bool pw_sites_again(int n, int way, pw_site_use (*use)(const void *arg, int i), const void *arg)
{
    pw_site_use u;
    int i = 0;

    while (i < n && (u = use(arg, i)).uses && (!u.site || pw_site_again(u.site, way, u.uses)))
        i++;
    if (PW_LIKELY(i >= n))
        return true;
    while (i-- > 0)
        if ((u = use(arg, i)).site)
            pw_site_again(u.site, way, -u.uses);
    return false;
}

/* Lets every site ask for its costs in its next use, since another way is forced from now on. */
void pw_site_ask_all(void);

/* Calls fn for every site, in the order in which they were made. */
void pw_site_each(void (*fn)(void *arg, const pw_site *s), void *arg);

/* The records of windows, found by a tag that all ranks make alike. Records are added and never removed. */
enum { PW_BOARD_RECORDS = 4096 };
typedef struct pw_board {
    pw_trial_record records[PW_BOARD_RECORDS];
} pw_board;

/* From now on windows have their records on this board, which other processes may use as well, zeroes at first, and
 * which stays as long as this process. NULL, and before the first call: on one of this process. */
void pw_site_share(pw_board *board);

/* Forgets all sites, for tests. No other thread may be asking, and no round may be open. */
void pw_site_reset(void);

#endif
