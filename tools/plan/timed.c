/* Has the messages of an exchange timed by the program of this rank's MPI (tools/measure/exchange.h). */
#include "tools/plan/plan.h"

#include "tools/command.h"
#include "tools/measure/rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void describe_message(FILE *in, const pw_plan_exchange *x, int k)
{
    bool halo = x->o->pattern == PW_PLAN_HALO;
    const pw_plan_type *sent = &x->types[halo ? x->directions[k].type : 0];
    const pw_plan_type *received = &x->types[halo ? x->directions[k].received : x->ntypes - 1];

    fprintf(in, "%d %lld %lld %lld %lld\n", halo && pw_plan_route(x, 0, k) == 0, (long long)sent->entry,
            (long long)sent->variant, (long long)received->entry, (long long)received->variant);
}

/* Writes what the program reads. NULL: there is no room for it. */
static FILE *describe(const pw_plan_exchange *x)
{
    FILE *in = tmpfile();
    bool halo = x->o->pattern == PW_PLAN_HALO;
    int n = halo ? x->ndirections : 1;

    if (!in)
        return NULL;
    fprintf(in, "%s %d %lld %d\n", halo ? "halo" : "transpose", n, (long long)x->o->count, x->in_place);
    for (int i = 0; i < n; i++)
        describe_message(in, x, i);
    fputs(x->text, in);
    if (fflush(in) == 0 && !ferror(in) && fseek(in, 0, SEEK_SET) == 0)
        return in;
    fclose(in);
    return NULL;
}

/* In the child: becomes the program. */
static void become(const char *program, FILE *in, FILE *out)
{
    dup2(fileno(in), STDIN_FILENO);
    dup2(fileno(out), STDOUT_FILENO);
    execl(program, program, PW_EXCHANGE_WORD, (char *)NULL);
    fprintf(stderr, "packwright plan: cannot run %s: %s\n", program, strerror(errno));
    _exit(PW_EXIT_FAILURE);
}

static bool run(const char *program, FILE *in, FILE *out)
{
    int state = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0)
        become(program, in, out);
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

/* Reads what rank 0 prints; the other ranks print nothing. */
static bool read_times(FILE *in, const pw_plan_exchange *x, pw_plan_timed *out, bool *first)
{
    int n = x->ndirections ? x->ndirections : 1, lines = 0, way, k, peer = PW_EXCHANGE_ALONE;
    pw_exchange_times t;

    rewind(in);
    *first = fscanf(in, "%lf %lf %lf %d", &out->link.latency, &out->link.bandwidth, &out->link.overhead, &peer) == 4;
    if (peer < PW_EXCHANGE_ALONE || peer > PW_EXCHANGE_CHANGED)
        return false;
    while (fscanf(in, "%d %d %lf %lf %lf %lf", &way, &k, &t.pack, &t.unpack, &t.self, &t.peer) == 6) {
        if (way < 0 || way >= PW_PLAN_WAYS || k < 0 || k >= n)
            return false;
        out->at[way][k] = t;
        lines++;
    }
    out->peer = (pw_exchange_peer)peer;
    return lines == (*first ? PW_PLAN_WAYS * n : 0);
}

static bool check(const pw_plan_exchange *x, const pw_plan_timed *t)
{
    if (t->peer && sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return pw_command_error(
            "plan", "two ranks share the one core of this machine, so messages between them cannot be timed");
    if (t->peer || x->o->ranks_per_node == 1)
        return true;
    return pw_command_error("plan",
                            "messages between ranks of a node are timed by two ranks of %s that are on one: mpiexec "
                            "-n 2",
                            x->o->launcher);
}

/* Keeps the times in the file of --save. */
static bool save(FILE *times, const char *path)
{
    char text[4096];
    FILE *out = fopen(path, "we");
    bool ok = out;

    rewind(times);
    for (size_t n; ok && (n = fread(text, 1, sizeof text, times)) > 0;)
        ok = fwrite(text, 1, n, out) == n;
    if (out)
        ok &= fclose(out) == 0;
    return ok || pw_command_error("plan", "cannot write %s: %s", path, strerror(errno));
}

/* Takes the times that --save has kept. */
static bool read_file(const pw_plan_exchange *x, pw_plan_timed *out)
{
    FILE *in = fopen(x->o->times, "re");
    bool first = false, ok;

    if (!in)
        return pw_command_error("plan", "cannot read %s: %s", x->o->times, strerror(errno));
    ok = read_times(in, x, out, &first) && first;
    fclose(in);
    return ok || pw_command_error("plan", "%s has no times of these %d messages; --save=FILE keeps them", x->o->times,
                                  x->ndirections ? x->ndirections : 1);
}

static bool time_here(const pw_plan_exchange *x, pw_plan_timed *out, bool *first)
{
    char program[4096];
    FILE *in, *times;
    bool ok;

    if (!pw_measure_program(x->o->launcher, program, sizeof program))
        return pw_command_error("plan", "this is a rank of an MPI whose program is not there: %s", program);
    in = describe(x);
    times = tmpfile();
    if (!in || !times)
        ok = pw_command_error("plan", "no temporary file: %s", strerror(errno));
    else
        ok = run(program, in, times) &&
             (read_times(times, x, out, first) || pw_command_error("plan", "there are no times")) &&
             (!*first || !x->o->save || save(times, x->o->save));
    if (in)
        fclose(in);
    if (times)
        fclose(times);
    return ok && (!*first || check(x, out));
}

bool pw_plan_time(const pw_plan_exchange *x, pw_plan_timed *out, bool *first)
{
    *first = true;
    return x->o->times ? read_file(x, out) : time_here(x, out, first);
}
