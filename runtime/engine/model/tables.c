#include "runtime/engine/model/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ABSURD_RATIO = 8 };

static const pw_model_table_info infos[PW_TABLE_COUNT] = {
#define X(symbol, name, axes, meaning) {name, meaning, axes},
    PW_MODEL_TABLES(X)
#undef X
};

const pw_model_table_info *pw_model_table_describe(pw_model_table_id id)
{
    return &infos[id];
}

pw_model_table_id pw_model_table_named(const char *name)
{
    int id = 0;

    while (id < PW_TABLE_COUNT && strcmp(infos[id].name, name))
        id++;
    return (pw_model_table_id)id;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

pw_model *pw_model_create(void)
{
    return calloc(1, sizeof(pw_model));
}

void pw_model_destroy(pw_model *m)
{
    if (!m)
        return;
    for (int id = 0; id < PW_TABLE_COUNT; id++)
        free((void *)m->tables[id].x);
    free(m);
}

static bool is_axis(const double *at, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(at[i]) || at[i] < 1 || (i > 0 && at[i] <= at[i - 1]))
            return false;
    return true;
}

/* Returns whether all are times, or NaN for times that were not measured. The first row must have a measured time,
 * since shorter messages take it. */
static bool are_times(const double *t, int nx, int ny)
{
    bool begins = false;

    for (int i = 0; i < nx * ny; i++)
        if (isinf(t[i]) || t[i] <= 0)
            return false;
    for (int k = 0; k < ny; k++)
        begins |= !isnan(t[k]);
    return begins;
}

/*
 * Refuses times that no quiet machine shows: a short message that takes milliseconds, or one that takes many times as
 * long as a longer one in the same blocks. They come from measuring beside other work, and the rest of their table is
 * as wrong.
 */
static pw_status check_plausible(pw_model_table_id id, const double *x, int nx, int ny, const double *t, pw_diag *diag)
{
    for (int k = 0; k < ny; k++) {
        int longer = -1;

        for (int i = nx - 1; i >= 0; i--) {
            double here = t[i * ny + k];

            if (x[i] <= PW_MODEL_SHORT && here > PW_MODEL_SHORT_MOST_NS)
                return pw_diag_set(diag, PW_ERR_INVALID, "%s: %g bytes take %g us, which is absurd", infos[id].name,
                                   x[i], here * 1e-3);
            if (longer >= 0 && here > ABSURD_RATIO * t[longer * ny + k])
                return pw_diag_set(diag, PW_ERR_INVALID, "%s: %g bytes take %g us, but %g bytes %g us, which is absurd",
                                   infos[id].name, x[i], here * 1e-3, x[longer], t[longer * ny + k] * 1e-3);
            longer = isnan(here) ? longer : i;
        }
    }
    return PW_OK;
}

static pw_status check(pw_model_table_id id, const double *x, int nx, const double *y, int ny, const double *t,
                       pw_diag *diag)
{
    const pw_model_table_info *info = &infos[id];

    if (nx < 1 || nx > PW_MODEL_MAX_POINTS || ny < 1 || ny > PW_MODEL_MAX_POINTS || (info->axes < 1 && nx != 1) ||
        (info->axes < 2 && ny != 1))
        return pw_diag_set(diag, PW_ERR_INVALID, "%s: %d times %d points", info->name, nx, ny);
    if ((info->axes > 0 && !is_axis(x, nx)) || (info->axes > 1 && !is_axis(y, ny)))
        return pw_diag_set(diag, PW_ERR_INVALID, "%s: sizes do not ascend from 1", info->name);
    if (!are_times(t, nx, ny))
        return pw_diag_set(diag, PW_ERR_INVALID, "%s: a time is not positive, or the first ones are missing",
                           info->name);
    return info->axes > 0 ? check_plausible(id, x, nx, ny, t, diag) : PW_OK;
}

static void copy_axis(double *to, const double *from, int n, bool there)
{
    for (int i = 0; i < n; i++)
        to[i] = there ? from[i] : 1;
}

pw_status pw_model_set(pw_model *m, pw_model_table_id id, const double *x, int nx, const double *y, int ny,
                       const double *t, pw_diag *diag)
{
    pw_status status = check(id, x, nx, y, ny, t, diag);
    size_t n = (size_t)nx + (size_t)ny + (size_t)nx * (size_t)ny;
    double *at;

    if (status)
        return status;
    at = malloc(2 * n * sizeof *at);
    if (!at)
        return pw_diag_set(diag, PW_ERR_NOMEM, "%s: out of memory", infos[id].name);
    copy_axis(at, x, nx, infos[id].axes > 0);
    copy_axis(at + nx, y, ny, infos[id].axes > 1);
    memcpy(at + nx + ny, t, (size_t)nx * (size_t)ny * sizeof *t);
    for (size_t i = 0; i < n; i++)
        at[n + i] = log2(at[i]);
    free((void *)m->tables[id].x);
    m->tables[id] = (pw_model_table){nx, ny, at, at + nx, at + nx + ny, at + n};
    return PW_OK;
}

void pw_model_drop(pw_model *m, pw_model_table_id id)
{
    free((void *)m->tables[id].x);
    m->tables[id] = (pw_model_table){.nx = 0};
}

void pw_model_drop_messages(pw_model *m)
{
    for (int id = PW_TABLE_SEND_HOST; id <= PW_TABLE_NATIVE_DEVICE_NEIGHBOUR; id++)
        pw_model_drop(m, (pw_model_table_id)id);
}

pw_status pw_model_take(pw_model *m, const pw_model *from, pw_diag *diag)
{
    pw_status status = PW_OK;

    for (int id = 0; id < PW_TABLE_COUNT && !status; id++) {
        const pw_model_table *t = &from->tables[id];

        if (t->nx > 0)
            status = pw_model_set(m, (pw_model_table_id)id, t->x, t->nx, t->y, t->ny, t->t, diag);
    }
    if (pw_model_has(from, PW_TABLE_REMOTE_READ))
        memcpy(m->origin.network, from->origin.network, sizeof m->origin.network);
    return status;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* A place on an axis: between points i and i + 1, `part` of the way from one to the other. `part` is below 0 before the
 * first point, and above 1 beyond the last. */
typedef struct place {
    int i;
    double part;
} place;

static place find(const double *at, int n, double v)
{
    int i = 0;

    if (n == 1)
        return (place){0, 0};
    while (i < n - 2 && v > at[i + 1])
        i++;
    return (place){i, (v - at[i]) / (at[i + 1] - at[i])};
}

/* At a point only that point counts, since its neighbour may not have been measured. */
static double between(double a, double b, double part)
{
    return part <= 0 ? a : part >= 1 ? b : a + (b - a) * part;
}

/* Interpolates along y. `t` are the logarithms of one row. */
static double along_blocks(const double *t, int n, place p)
{
    return n == 1 ? t[0] : between(t[p.i], t[p.i + 1], p.part);
}

double pw_model_table_at(const pw_model_table *t, double x, double y)
{
    const double *lx = t->logs, *ly = lx + t->nx, *lt = ly + t->ny, last = lx[t->nx - 1];
    place px = find(lx, t->nx, t->nx > 1 ? log2(x) : 0), py = find(ly, t->ny, t->ny > 1 ? log2(y) : 0);
    double low = along_blocks(lt + (size_t)px.i * (size_t)t->ny, t->ny, py), high;

    if (t->nx == 1 || px.part <= 0)
        return exp2(low);
    high = along_blocks(lt + (size_t)(px.i + 1) * (size_t)t->ny, t->ny, py);
    return exp2(between(low, high, px.part) + (px.part > 1 ? log2(x) - last : 0));
}
