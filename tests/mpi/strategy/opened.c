/*
 * A message whose site keeps its way is one use of it, by whatever way: this program has the opening of messages
 * (runtime/mpi/strategy/staging.c) alone, with stand-ins for all that it calls, which count the uses.
 */
#include "runtime/mpi/errors.h"
#include "runtime/mpi/strategy/conditions.h"
#include "runtime/mpi/strategy/judge.h"
#include "runtime/mpi/strategy/staging.h"
#include "runtime/mpi/types/registry.h"

#include <stdio.h>

static int uses, left;
static pw_site *remembered; /* NULL: the site must be asked */
static pw_site a_site;
static bool takes;

static pw_status take(pw_staging *s)
{
    (void)s;
    return PW_OK;
}

static void leave(const pw_message *m)
{
    (void)m;
    left++;
}

static const pw_strategy packs = {.take = take}, lets_mpi_move = {.leave = leave};

const pw_strategy *pw_strategy_of(pw_strategy_id id)
{
    (void)id;
    return takes ? &packs : &lets_mpi_move;
}

pw_site *pw_strategy_again(const pw_message *m, int *way)
{
    (void)m;
    *way = 1;
    uses += remembered != NULL;
    return remembered;
}

pw_strategy_id pw_strategy_choose(pw_asked *a, unsigned refused, pw_site **record)
{
    (void)a;
    (void)refused;
    uses++;
    *record = &a_site;
    return (pw_strategy_id)1;
}

/* ---- what is not looked at --------------------------------------------------------------------------------------- */

const pw_way pw_ways[PW_STRATEGY_COUNT];

void pw_ask(pw_asked *a, const pw_message *m)
{
    (void)a;
    (void)m;
}

void pw_message_count(const pw_message *m, pw_strategy_id id)
{
    (void)m;
    (void)id;
}

bool pw_judge_is_timing(void)
{
    return false;
}

int pw_mpi_error(pw_status status)
{
    return status == PW_OK ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int PMPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    (void)status;
    (void)type;
    *count = 0;
    return MPI_SUCCESS;
}

int main(void)
{
    static const pw_entry entry;
    const pw_message m = {.entry = &entry};
    int failures = 0;

    for (int i = 0; i < 4; i++) {
        pw_staging s;
        bool is_open;

        takes = i & 1;
        remembered = i & 2 ? &a_site : NULL;
        uses = left = 0;
        is_open = pw_staging_open(&s, &m);
        if (is_open == takes && uses == 1 && left == !takes && s.site == (takes ? &a_site : NULL))
            continue;
        fprintf(stderr, "case %d: %d uses, %d left to MPI, open %d\n", i, uses, left, is_open);
        failures++;
    }
    return failures > 0;
}
