#include "runtime/strategy.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/registry.h"

static const pw_strategy *const table[PW_STRATEGY_COUNT] = {
#define X(symbol, name) &pw_strategy_##name,
    PW_STRATEGIES(X)
#undef X
};

/* Set once at start: PACKWRIGHT_STRATEGY, or PW_STRATEGY_COUNT for the cost model. */
static pw_strategy_id forced = PW_STRATEGY_COUNT;

void pw_strategy_start(void)
{
    const char *name = pw_env_string(PW_ENV_STRATEGY);

    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        if (!strcmp(name, table[id]->name))
            forced = (pw_strategy_id)id;
    if (*name && forced == PW_STRATEGY_COUNT)
        pw_log(PW_LOG_WARN, "PACKWRIGHT_STRATEGY: there is no strategy '%s'", name);
}

pw_strategy_id pw_strategy_choose(const pw_transfer *t)
{
    pw_strategy_id best = PW_STRATEGY_NATIVE;
    double best_cost;

    if (forced != PW_STRATEGY_COUNT)
        return table[forced]->can(t) ? forced : PW_STRATEGY_NATIVE;
    best_cost = table[best]->cost(t);
    for (int id = PW_STRATEGY_NATIVE + 1; id < PW_STRATEGY_COUNT; id++) {
        double cost = table[id]->can(t) ? table[id]->cost(t) : best_cost;

        if (cost < best_cost) {
            best = (pw_strategy_id)id;
            best_cost = cost;
        }
    }
    return best;
}

/* Before the start: once a message is under way, another thread may free the type, and with it the entry. */
static void count_use(const pw_transfer *t, pw_strategy_id id, int64_t uses)
{
    /* Entries are shared and constant but for their counters. */
    pw_entry *entry = (pw_entry *)t->entry;

    atomic_fetch_add_explicit(&entry->used[id][t->direction], uses, memory_order_relaxed);
}

int pw_transfer_run(pw_transfer *t)
{
    pw_strategy_id id = pw_strategy_choose(t);
    int rc = MPI_SUCCESS;

    count_use(t, id, 1);
    if (!table[id]->start(t, &rc)) {
        count_use(t, id, -1);
        id = PW_STRATEGY_NATIVE;
        count_use(t, id, 1);
        table[id]->start(t, &rc);
    }
    while (table[id]->progress && !table[id]->progress(t, &rc))
        ;
    if (table[id]->finish)
        table[id]->finish(t, &rc);
    return rc;
}
