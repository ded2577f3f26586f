/* Plots the curves of a model through gnuplot: one panel for all tables by size alone, and one for each table by size
 * and block. */
#include "tools/measure/report.h"

#include "base/replace.h"
#include "tools/command.h"
#include "tools/run/program.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COLUMNS = 3, PANEL_WIDTH = 600, PANEL_HEIGHT = 360 };

/* ---- the script -------------------------------------------------------------------------------------------------- */

static bool is_drawn(const pw_model *m, int id, int axes)
{
    return pw_model_table_describe((pw_model_table_id)id)->axes == axes && m->tables[id].nx > 1;
}

static int count(const pw_model *m, int axes)
{
    int n = 0;

    for (int id = 0; id < PW_TABLE_COUNT; id++)
        n += is_drawn(m, id, axes);
    return n;
}

/* Writes text in single quotes, inside which gnuplot has no escapes, but takes two quotes for one. */
static void put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++)
        fputs(*text == '\'' ? "''" : (char[]){*text, '\0'}, out);
    fputc('\'', out);
}

/* Writes a table as a named data block, which several curves can use: bytes, then microseconds for each block length.
 */
static void put_data(FILE *out, int id, const pw_model_table *t)
{
    fprintf(out, "$t%d << EOD\n", id);
    for (int i = 0; i < t->nx; i++) {
        fprintf(out, "%.15g", t->x[i]);
        for (int k = 0; k < t->ny; k++)
            fprintf(out, " %.6g", t->t[(size_t)i * (size_t)t->ny + (size_t)k] * 1e-3);
        fputc('\n', out);
    }
    fputs("EOD\n", out);
}

static void put_lines_panel(FILE *out, const pw_model *m)
{
    const char *separator = "plot ";

    fputs("set title 'by size' noenhanced\n", out);
    for (int id = 0; id < PW_TABLE_COUNT; id++) {
        if (!is_drawn(m, id, 1))
            continue;
        fprintf(out, "%s$t%d using 1:2 with linespoints title '%s' noenhanced", separator, id,
                pw_model_table_describe((pw_model_table_id)id)->name);
        separator = ", ";
    }
    fputc('\n', out);
}

static void put_surface_panel(FILE *out, int id, const pw_model_table *t)
{
    fprintf(out, "set title '%s' noenhanced\nplot ", pw_model_table_describe((pw_model_table_id)id)->name);
    for (int k = 0; k < t->ny; k++)
        fprintf(out, "%s$t%d using 1:%d with linespoints title 'blocks of %.15g B' noenhanced", k ? ", " : "", id,
                k + 2, t->y[k]);
    fputc('\n', out);
}

/* Is there a panel of native against packed messages? It is about the kinds of calls of which both were measured. */
static bool is_compared(const pw_model *m, int kind)
{
    return pw_model_has(m, PW_TABLE_NATIVE_HOST + (unsigned)kind) &&
           pw_model_has(m, PW_TABLE_PACKED_HOST + (unsigned)kind);
}

static int compared(const pw_model *m)
{
    int n = 0;

    for (int kind = 0; kind < PW_MODEL_KINDS; kind++)
        n += is_compared(m, kind);
    return n;
}

static void put_compared_data(FILE *out, const pw_model *m, int kind)
{
    const pw_model_table *native = &m->tables[PW_TABLE_NATIVE_HOST + kind];
    const pw_model_table *packed = &m->tables[PW_TABLE_PACKED_HOST + kind];

    fprintf(out, "$c%d << EOD\n", kind);
    for (int i = 0; i < native->nx; i++) {
        fprintf(out, "%.15g", native->x[i]);
        for (int k = 0; k < native->ny; k++)
            fprintf(out, " %.6g",
                    pw_model_table_at(packed, native->x[i], native->y[k]) /
                        native->t[(size_t)i * (size_t)native->ny + (size_t)k]);
        fputc('\n', out);
    }
    fputs("EOD\n", out);
}

/* Draws packed over native time, for each block length of the native table: packing gains where a curve is below 1. */
static void put_compared_panel(FILE *out, const pw_model *m, int kind)
{
    const pw_model_table *native = &m->tables[PW_TABLE_NATIVE_HOST + kind];

    fprintf(out,
            "set title '%s over native' noenhanced\nset ylabel 'packed / native time'\nset logscale y 2\n"
            "plot 1 with lines linewidth 2 linecolor 'black' title 'as long as native'",
            pw_model_table_describe((pw_model_table_id)(PW_TABLE_PACKED_HOST + kind))->name);
    for (int k = 0; k < native->ny; k++)
        fprintf(out, ", $c%d using 1:%d with linespoints linetype %d title 'blocks of %.15g B' noenhanced", kind, k + 2,
                k + 1, native->y[k]);
    /* From half to twice the native time at least, so that the line between gain and loss stands within the panel. */
    fputs(", 0.5 with dots linecolor 'white' notitle, 2 with dots linecolor 'white' notitle", out);
    fputs("\nset ylabel 'microseconds'\nset logscale y 10\n", out);
}

static void put_script(FILE *out, const pw_model *m, const char *file, bool png)
{
    bool lines = count(m, 1) > 0;
    int panels = count(m, 2) + compared(m) + lines, columns = panels < COLUMNS ? panels : COLUMNS;
    int rows = (panels + columns - 1) / columns;

    fprintf(out, "set terminal %s size %d, %d background '#ffffff'\nset output ", png ? "pngcairo" : "svg",
            columns * PANEL_WIDTH, rows * PANEL_HEIGHT);
    put_quoted(out, file);
    fputs("\nset logscale x 2\nset logscale y\nset xtics 1, 16\nset format x '%.0b%B'\nset key outside right top Left "
          "reverse font ',9' samplen 2 spacing 0.8\nset grid\nset "
          "xlabel 'bytes'\n"
          "set ylabel 'microseconds'\n",
          out);
    for (int id = 0; id < PW_TABLE_COUNT; id++)
        if (is_drawn(m, id, 1) || is_drawn(m, id, 2))
            put_data(out, id, &m->tables[id]);
    for (int kind = 0; kind < PW_MODEL_KINDS; kind++)
        if (is_compared(m, kind))
            put_compared_data(out, m, kind);
    fprintf(out, "set multiplot layout %d, %d\n", rows, columns);
    for (int kind = 0; kind < PW_MODEL_KINDS; kind++)
        if (is_compared(m, kind))
            put_compared_panel(out, m, kind);
    if (lines)
        put_lines_panel(out, m);
    for (int id = 0; id < PW_TABLE_COUNT; id++)
        if (is_drawn(m, id, 2))
            put_surface_panel(out, id, &m->tables[id]);
    fputs("unset multiplot\n", out);
}

/* ---- gnuplot ----------------------------------------------------------------------------------------------------- */

/* Starts a program with a pipe to its standard input. -1: it failed, and errno says why. */
static pid_t start(const char *program, int *to)
{
    int ends[2];
    pid_t pid;

    if (pipe(ends))
        return -1;
    pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "-", (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    if (pid < 0)
        close(ends[1]);
    *to = ends[1];
    return pid;
}

static bool run(const char *program, const char *script, size_t size)
{
    int to, status = 0;
    pid_t pid;
    FILE *out;

    signal(SIGPIPE, SIG_IGN); /* if the program ends early, its exit status shows it */
    pid = start(program, &to);
    if (pid < 0)
        return pw_command_error("measure", "%s", strerror(errno));
    out = fdopen(to, "w");
    if (out) {
        fwrite(script, 1, size, out);
        fclose(out);
    } else {
        close(to);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? true
               : pw_command_error("measure", "gnuplot failed; its message is above");
}

static bool draw(const char *program, const pw_model *m, const char *file, bool png)
{
    char *script = NULL;
    size_t size;
    FILE *out = open_memstream(&script, &size);
    bool ok;

    if (!out)
        return pw_command_error("measure", "out of memory");
    put_script(out, m, file, png);
    ok = fclose(out) == 0 ? run(program, script, size) : pw_command_error("measure", "out of memory");
    free(script);
    return ok;
}

bool pw_measure_plot(const pw_model *m, const char *file)
{
    bool png = !strcmp(file + strlen(file) - 4, ".png");
    char program[4096];
    pw_replacement replacement;
    pw_diag diag;

    if (count(m, 1) + count(m, 2) == 0)
        return pw_command_error("measure", "the model has no tables to draw");
    if (!pw_program_find("gnuplot", program, sizeof program))
        return pw_command_error("measure", "gnuplot is not on the PATH (Debian and Ubuntu: gnuplot-nox)");
    if (pw_replace_prepare(&replacement, file, "", 0, &diag) != PW_OK)
        return pw_command_error("measure", "%s", diag.text);
    if (!draw(program, m, replacement.temp, png)) {
        pw_replace_discard(&replacement);
        return false;
    }
    if (pw_replace_commit(&replacement, &diag) != PW_OK)
        return pw_command_error("measure", "%s", diag.text);
    printf("%s\n", file);
    return true;
}
