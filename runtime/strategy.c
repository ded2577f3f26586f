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

static bool is_possible(int id, const pw_message *m, unsigned refused)
{
    return !(refused >> id & 1) && table[id]->can(m);
}

pw_strategy_id pw_strategy_choose(const pw_message *m, unsigned refused)
{
    pw_strategy_id best = PW_STRATEGY_NATIVE;
    double best_cost = table[best]->cost(m);

    if (forced != PW_STRATEGY_COUNT && is_possible(forced, m, refused))
        return forced;
    for (int id = PW_STRATEGY_NATIVE + 1; id < PW_STRATEGY_COUNT; id++) {
        double cost = is_possible(id, m, refused) ? table[id]->cost(m) : best_cost;

        if (cost < best_cost) {
            best = (pw_strategy_id)id;
            best_cost = cost;
        }
    }
    return best;
}

bool pw_message_describe(pw_message *m)
{
    const pw_entry *entry = m->entry;

    if (m->count <= 0 || (!entry->layout && !entry->dense) ||
        __builtin_mul_overflow((int64_t)m->count, entry->size, &m->bytes) || m->bytes == 0 ||
        (m->buf == MPI_BOTTOM && entry->touches_origin))
        return false;
    m->place = pw_memory_place_of(m->buf);
    return m->place.kind == PW_PLACE_HOST ? entry->layout != NULL : m->place.kind != PW_PLACE_UNKNOWN;
}

/* Before MPI is called: once a message is under way, another thread may free the type, and with it the entry. */
static void count_use(const pw_message *m, pw_strategy_id id)
{
    /* Entries are shared and constant but for their counters. */
    pw_entry *entry = (pw_entry *)m->entry;

    if (m->direction != PW_RECV)
        atomic_fetch_add_explicit(&entry->used[id][PW_SEND], 1, memory_order_relaxed);
    if (m->direction != PW_SEND)
        atomic_fetch_add_explicit(&entry->used[id][PW_RECV], 1, memory_order_relaxed);
}

bool pw_stage_open(pw_stage *s, const pw_message *m)
{
    unsigned refused = 0;
    pw_strategy_id id;

    while ((id = pw_strategy_choose(m, refused)) != PW_STRATEGY_NATIVE) {
        *s = (pw_stage){.layout = m->entry->layout,
                        .offset = m->entry->offset,
                        .buf = m->buf,
                        .count = m->count,
                        .place = m->place,
                        .bytes = m->bytes};
        if (table[id]->take(s) == PW_OK)
            break;
        refused |= 1U << id;
    }
    count_use(m, id);
    if (id == PW_STRATEGY_NATIVE) {
        *s = (pw_stage){.strategy = NULL};
        return false;
    }
    s->strategy = table[id];
    if (s->layout)
        pw_layout_ref(s->layout);
    return true;
}

bool pw_stage_try(pw_stage *s, pw_call_sort sort, pw_direction direction, const pw_entry *entry, const void *buf,
                  MPI_Count count)
{
    pw_message m = {.sort = sort, .direction = direction, .entry = entry, .buf = (void *)buf, .count = count};

    s->strategy = NULL;
    return pw_message_describe(&m) && pw_stage_open(s, &m);
}

pw_status pw_stage_pack(pw_stage *s)
{
    return s->strategy->pack(s);
}

pw_status pw_stage_unpack(pw_stage *s, int64_t received)
{
    return received > 0 && received <= s->bytes ? s->strategy->unpack(s, received) : PW_OK;
}

void pw_stage_close(pw_stage *s)
{
    if (!s->strategy)
        return;
    s->strategy->give(s);
    s->strategy = NULL;
    pw_layout_unref(s->layout);
    s->layout = NULL;
}
