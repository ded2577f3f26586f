/*
 * Purpose: the table of sites, and the way of each use. Data: pw_site, found by key. Invariant: a site is made once and
 * stays; its trial changes under the lock, all that is read without it is atomic.
 */
#include "runtime/choice/site.h"

#include "base/lock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 2 * PW_SITE_RECORDS,
    NONE = UINT8_MAX,  /* in place of a way that cannot carry the message */
    ASKED_AGAIN = 1024 /* uses after which a site without a trial asks for costs again; before that after 8, 64, 512 */
};

/* The singleton. Records are added under the lock, found without it, and stay until pw_site_reset. */
static struct {
    pthread_mutex_t lock;
    _Atomic uint16_t buckets[BUCKETS]; /* by a key's hash, or behind: one more than the place in `all`; 0: free */
    pw_site *all[PW_SITE_RECORDS];
    int n;
    pw_board *board; /* shared with other processes; NULL: `alone` serves */
    pw_board alone;
} sites = {.lock = PTHREAD_MUTEX_INITIALIZER};

int64_t pw_site_most(uint16_t size)
{
    int top = size / 4 + 1;

    return size < 4 ? size + 1 : (int64_t)(((uint64_t)(4 + size % 4) + 1) << (top - 2));
}

/* The same for all ends of a message. */
static uint64_t hash_of_ends(const pw_site_key *k)
{
    uint64_t rest = (uint64_t)k->size << 48 ^ (uint64_t)k->kind << 40 ^ (uint32_t)k->place;

    return (k->shape ^ rest * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
}

static uint64_t hash_of(const pw_site_key *k)
{
    return hash_of_ends(k) + k->role * UINT64_C(0x94d049bb133111eb);
}

/* ---- guessing ---------------------------------------------------------------------------------------------------- */

/* Asks for all costs, and returns the cheapest way. `costs` has room for all ways. */
static int guess(const pw_site_question *q, double *costs)
{
    int best = 0;

    for (int way = 0; way < q->ways; way++) {
        costs[way] = q->cost(q->arg, way);
        if (way > 0 && costs[way] >= 0 &&
            (way == q->forced || (best != q->forced && (costs[best] < 0 || costs[way] < costs[best]))))
            best = way;
    }
    return best;
}

/* Returns when a site without a trial asks for costs again. */
static int64_t next_question(int64_t rounds)
{
    return rounds < 8 ? 8 : rounds < 64 ? 64 : rounds < 512 ? 512 : (rounds / ASKED_AGAIN + 1) * ASKED_AGAIN;
}

/* Asks for the costs of a site, which takes the cheapest way from now on, and returns that. */
static int ask(pw_site *s, const pw_site_question *q, int64_t rounds, double *costs)
{
    int best = guess(q, costs);

    for (int way = 0; way < s->ways; way++)
        atomic_store_explicit(&s->cells[way].total, (float)costs[way], memory_order_relaxed);
    atomic_store_explicit(&s->chosen, best, memory_order_relaxed);
    atomic_store_explicit(&s->until, next_question(rounds), memory_order_relaxed);
    return best;
}

static float ratio_of(const double *costs, int way, int best)
{
    return costs[way] < 0 ? -1 : costs[best] > 0 ? (float)(costs[way] / costs[best]) : 1;
}

/* Begins the trial of a site whose guess is `best`. */
static void begin_trial(pw_site *s, const pw_site_question *q, const double *costs, int best)
{
    float ratios[PW_TRIAL_SLOTS] = {1};
    int own = PW_TRIAL_USUAL, possible = 0;

    s->way[PW_TRIAL_USUAL] = (uint8_t)best;
    for (int i = 0; i < q->rivals; i++) {
        ratios[i + 1] = ratio_of(costs, q->rival[i], best);
        s->way[i + 1] = ratios[i + 1] < 0 ? NONE : q->rival[i];
        s->first[i + 1] = ratios[i + 1] >= 0 && q->first ? (float)q->first(q->arg, q->rival[i]) : 0;
        own = q->rival[i] == best ? i + 1 : own;
        possible += ratios[i + 1] >= 0;
    }
    s->has_trial = possible > 1 || (possible == 1 && own == PW_TRIAL_USUAL);
    pw_trial_init(&s->trial, q->rivals + 1, own, 1, ratios);
    if (s->has_trial)
        s->until = s->trial.begin;
}

static pw_site *create(const pw_site_key *key, const pw_site_question *q)
{
    size_t align = _Alignof(pw_site), bytes = sizeof(pw_site) + (size_t)q->ways * sizeof(pw_site_cell);
    pw_site *s = aligned_alloc(align, (bytes + align - 1) / align * align);
    double costs[PW_SITE_WAYS];
    int best;

    if (!s)
        return NULL;
    memset(s, 0, bytes);
    s->key = *key;
    s->least = key->size > 0 ? pw_site_most((uint16_t)(key->size - 1)) + 1 : 1;
    s->most = pw_site_most(key->size);
    s->ways = q->ways;
    s->example = q->example;
    best = ask(s, q, 0, costs);
    if (q->rivals > 0)
        begin_trial(s, q, costs, best);
    return s;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static int way_of(const pw_site *s, int slot)
{
    return s->way[slot] == NONE ? s->way[PW_TRIAL_USUAL] : s->way[slot];
}

/* Tells the leading trial what a round is guessed to take: in slot 0, more in the first round of each slot, and in a
 * slot that was never tried, as a ratio. Each is a sum over all sites: they differ in what a slot costs them, so the
 * one that leads does not know the ratio of the round. */
static void tell_guesses(const pw_round *r)
{
    pw_trial *t = &r->lead->trial;
    float guesses[PW_TRIAL_SLOTS] = {0};

    for (int slot = 0; slot < t->n; slot++)
        t->slots[slot].first = 0;
    for (int i = 0; i < r->n; i++) {
        const pw_site *s = r->sites[i];

        for (int slot = 0; slot < t->n && slot < s->trial.n; slot++) {
            guesses[slot] += (float)s->own_uses * fmaxf(s->cells[way_of(s, slot)].total, 0);
            t->slots[slot].first += s->way[slot] == s->way[PW_TRIAL_USUAL] ? 0 : (float)s->own_uses * s->first[slot];
        }
    }
    t->guessed = guesses[PW_TRIAL_USUAL];
    for (int slot = 1; slot < t->n && t->guessed > 0; slot++)
        if (t->slots[slot].result == 0)
            t->slots[slot].ratio = guesses[slot] / t->guessed;
}

void pw_round_end(pw_round *r, double ns)
{
    if (r->lead && r->varies) {
        PW_HOLD(&sites.lock);
        if (r->turn.step >= 0)
            r->lead->shares[r->turn.slot] = r->carried > 0 ? r->carried : r->count;
        tell_guesses(r);
        pw_trial_add(&r->lead->trial, r->turn, ns);
    }
    pw_round_drop(r);
}

void pw_round_drop(pw_round *r)
{
    r->lead = NULL;
    r->n = r->count = r->carried = r->varies = 0;
}

void pw_round_join(pw_round *to, pw_round *from)
{
    if (!to->lead)
        *to = *from;
    pw_round_drop(from);
}

void pw_round_spoil(pw_round *r)
{
    r->turn.step = -1;
}

/* ---- windows: all of this under the lock ------------------------------------------------------------------------- */

/* `round` 0: no round of that slot was timed; `shares` 0: none was here, but other ranks have found it best. */
static void set_tried(pw_site *s, int way, float round, int shares)
{
    if (way != NONE && round > 0 && shares > 0)
        atomic_store_explicit(&s->cells[way].tried, round / (float)shares, memory_order_relaxed);
}

/* Lets a site take what a window has found that ended before the leading site's `round`. From now on the site counts
 * its uses, of which each round of its has several. Where slots share a way, its time is that of the slot that has won;
 * but the safe way's is that of the safe slot, whose rounds take no other. */
static void adopt(pw_site *s, const pw_site *lead, int won, int64_t round)
{
    int64_t more = s->own_uses > 1 ? s->own_uses - 1 : 0;
    const pw_trial *found = &lead->trial;
    int usual = way_of(s, won), own = PW_TRIAL_USUAL, shares = lead->shares[won];

    if (s->way[PW_TRIAL_USUAL] != s->way[found->safe])
        set_tried(s, s->way[PW_TRIAL_USUAL], found->slots[PW_TRIAL_USUAL].result, shares);
    for (int i = s->trial.n - 1; i > 0; i--) {
        own = s->way[i] == usual ? i : own;
        set_tried(s, s->way[i], found->slots[i].result, shares);
    }
    if (usual != s->way[found->safe])
        set_tried(s, usual, found->slots[won].result, shares);
    s->way[PW_TRIAL_USUAL] = (uint8_t)usual;
    if (s != lead)
        pw_trial_follow(&s->trial, found, own);
    atomic_store_explicit(&s->chosen, usual, memory_order_relaxed);
    atomic_store_explicit(&s->rounds, round, memory_order_relaxed);
    atomic_store_explicit(&s->until, s->trial.begin + (s->trial.begin - round) * more, memory_order_relaxed);
}

/* A site that has begun a window of its own before it met these rounds ends that one, too. */
static void close_window(pw_site *s, int64_t round)
{
    int won = pw_trial_close(&s->trial, round);

    adopt(s, s, won, round);
    for (int i = 0; i < s->nwith; i++)
        if (s->with[i]->trial.n == s->trial.n)
            adopt(s->with[i], s, won, round);
}

/* Returns the record with a tag, and takes a free one if there is none. NULL: there is no room. */
static pw_trial_record *record_of(pw_board *b, uint64_t tag)
{
    enum { PROBES = 64 };

    tag = tag ? tag : 1;
    for (uint64_t i = 0; i < PROBES; i++) {
        pw_trial_record *r = &b->records[((tag >> 32) + i) % PW_BOARD_RECORDS];
        uint64_t found = 0;

        if (atomic_compare_exchange_strong(&r->tag, &found, tag) || found == tag)
            return r;
    }
    return NULL;
}

/* Returns whether a round of a site lies in a window, and begins or ends the window if it does so here. */
static bool find_window(pw_site *s, int64_t round)
{
    pw_board *board = sites.board ? sites.board : &sites.alone;

    if (!s->trial.record) {
        uint64_t window = (uint64_t)s->trial.windows * UINT64_C(0xd6e8feb86659fd93);
        pw_trial_record *record = record_of(board, hash_of_ends(&s->key) ^ window);

        s->nwith = 0;
        if (pw_trial_open(&s->trial, record))
            return true;
    } else if (!pw_trial_is_over(&s->trial, round)) {
        return true;
    }
    close_window(s, round);
    return false;
}

static bool is_among(pw_site *const *list, int n, const pw_site *s)
{
    for (int i = 0; i < n; i++)
        if (list[i] == s)
            return true;
    return false;
}

/* Lets the site that leads know one that takes part in its rounds, and what that one can. */
static void meet(pw_site *lead, pw_site *s)
{
    if (lead == s || lead->nwith == PW_ROUND_SITES || is_among(lead->with, lead->nwith, s))
        return;
    lead->with[lead->nwith++] = s;
    lead->trial.differs |= way_of(s, lead->trial.own) != s->way[PW_TRIAL_USUAL];
    for (int i = 1; i < s->trial.n && i < lead->trial.n; i++)
        lead->trial.slots[i].possible |= s->way[i] != NONE && s->trial.slots[i].possible;
}

static int take_part(pw_site *s, pw_round *r)
{
    r->count++;
    s->own_uses++;
    if (!is_among(r->sites, r->n, s)) {
        if (r->n == PW_ROUND_SITES)
            return atomic_load_explicit(&s->chosen, memory_order_relaxed);
        r->sites[r->n++] = s;
        s->own_uses = 1;
        atomic_store_explicit(&s->rounds, atomic_load_explicit(&s->rounds, memory_order_relaxed) + 1,
                              memory_order_relaxed);
        meet(r->lead, s);
    }
    return r->turn.slot < s->trial.n ? way_of(s, r->turn.slot) : s->way[PW_TRIAL_USUAL];
}

/* The next window of the site is due, or under way, unless pw_site_ask_all only has its way looked at again. */
static int lead(pw_site *s, pw_round *now)
{
    int64_t rounds = atomic_load_explicit(&s->rounds, memory_order_relaxed), begin = s->trial.begin;
    int64_t round = s->trial.record || rounds < begin ? rounds : begin;

    atomic_store_explicit(&s->rounds, round, memory_order_relaxed);
    atomic_store_explicit(&s->until, begin, memory_order_relaxed);
    if (rounds >= begin && find_window(s, round)) {
        now->lead = s;
        now->turn = pw_trial_take(&s->trial, round);
        return take_part(s, now);
    }
    atomic_store_explicit(&s->rounds, round + 1, memory_order_relaxed);
    return s->way[PW_TRIAL_USUAL];
}

static int in_window(pw_site *s, const pw_site_question *q, pw_round *r)
{
    PW_HOLD(&sites.lock);
    int way = r->lead ? take_part(s, r) : lead(s, r);

    r->carried += r->lead && way != s->way[r->lead->trial.safe];
    r->varies = r->lead && (r->varies || !q->ignored);
    return way;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* Returns the site of a key, or NULL and the bucket in which it would be found. */
static pw_site *look_up(const pw_site_key *key, _Atomic uint16_t **bucket)
{
    for (uint64_t i = hash_of(key) >> 40;; i++) {
        int number;

        *bucket = &sites.buckets[i % BUCKETS];
        number = atomic_load_explicit(*bucket, memory_order_acquire);
        if (number == 0)
            return NULL;
        if (!memcmp(&sites.all[number - 1]->key, key, sizeof *key))
            return sites.all[number - 1];
    }
}

/* Returns the record, and makes it if there is none; costs are asked for without the lock, and another thread may have
 * been faster. NULL: there is no room. */
static pw_site *find(const pw_site_key *key, const pw_site_question *q)
{
    _Atomic uint16_t *bucket;
    pw_site *s = look_up(key, &bucket), *mine;

    if (s || !(mine = create(key, q)))
        return s;
    pthread_mutex_lock(&sites.lock);
    s = look_up(key, &bucket);
    if (!s && sites.n < PW_SITE_RECORDS) {
        sites.all[sites.n++] = s = mine;
        atomic_store_explicit(bucket, (uint16_t)sites.n, memory_order_release);
        mine = NULL;
    }
    pthread_mutex_unlock(&sites.lock);
    free(mine);
    return s;
}

static int use(pw_site *s, const pw_site_question *q, pw_round *now, pw_round *flight)
{
    int64_t rounds = atomic_load_explicit(&s->rounds, memory_order_relaxed);
    pw_round *r = flight && flight->lead ? flight : now;
    bool due = pw_site_is_due(s);
    double costs[PW_SITE_WAYS];

    if (s->has_trial && q->rivals > 0 && (due || (r && r->lead)))
        return r ? in_window(s, q, r) : atomic_load_explicit(&s->chosen, memory_order_relaxed);
    if (due)
        return ask(s, q, rounds, costs);
    atomic_store_explicit(&s->rounds, rounds + 1, memory_order_relaxed);
    return atomic_load_explicit(&s->chosen, memory_order_relaxed);
}

int pw_site_take(const pw_site_key *key, const pw_site_question *q, pw_round *now, pw_round *flight, pw_site **record)
{
    pw_site *s = find(key, q);
    double costs[PW_SITE_WAYS];
    int way;

    *record = s;
    if (!s)
        return guess(q, costs);
    way = use(s, q, now, flight);
    /* An addition that loses no use of another thread would take longer than all the rest. */
    atomic_store_explicit(&s->cells[way].uses, atomic_load_explicit(&s->cells[way].uses, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    return way;
}

/* ---- all of them ---------------------------------------------------------------------------------------------- */

void pw_site_each(void (*fn)(void *arg, const pw_site *s), void *arg)
{
    int n;

    pthread_mutex_lock(&sites.lock);
    n = sites.n;
    pthread_mutex_unlock(&sites.lock);
    for (int i = 0; i < n; i++)
        fn(arg, sites.all[i]);
}

void pw_site_ask_all(void)
{
    PW_HOLD(&sites.lock);
    for (int i = 0; i < sites.n; i++)
        atomic_store_explicit(&sites.all[i]->until, 0, memory_order_relaxed);
}

void pw_site_share(pw_board *board)
{
    PW_HOLD(&sites.lock);
    sites.board = board;
}

void pw_site_reset(void)
{
    PW_HOLD(&sites.lock);
    for (int i = 0; i < sites.n; i++)
        free(sites.all[i]);
    memset(sites.buckets, 0, sizeof sites.buckets);
    memset(&sites.alone, 0, sizeof sites.alone);
    sites.n = 0;
}
