#include "tools/measure/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double most_seconds = 3600, most_spread = 1000;

static int take_seconds(const pw_command *command, pw_measure_options *o, const char *text)
{
    char *end;

    o->seconds = strtod(text, &end);
    if (*end || end == text || !(o->seconds > 0) || o->seconds > most_seconds)
        return pw_usage_error(command, "--seconds takes a number above 0 and up to %.0f, got '%s'", most_seconds, text);
    return -1;
}

static int take_spread(const pw_command *command, pw_measure_options *o, const char *text)
{
    char *end;

    o->spread = strtod(text, &end) / 100;
    if (*end || end == text || !(o->spread > 0) || o->spread * 100 > most_spread)
        return pw_usage_error(command, "--spread takes a percentage above 0 and up to %.0f, got '%s'", most_spread,
                              text);
    return -1;
}

static int take_parts(const pw_command *command, pw_measure_options *o, const char *text)
{
    o->gpu = o->network = false;
    for (const char *word = text; word; word = strchr(word, ',')) {
        size_t n;

        word += *word == ',' && word != text;
        n = strcspn(word, ",");
        if (n == 3 && !strncmp(word, "gpu", n))
            o->gpu = true;
        else if (n == 7 && !strncmp(word, "network", n))
            o->network = true;
        else
            return pw_usage_error(command, "--only=%s: expected gpu, network or both", text);
    }
    return -1;
}

/* Takes the output file, and refuses one that cannot be written before the measurement rather than after it. */
static int take_output(const pw_command *command, pw_measure_options *o, const char *path)
{
    struct stat there;

    o->output = path;
    if (!*path || (stat(path, &there) == 0 && !S_ISREG(there.st_mode)))
        return pw_usage_error(command, "--output=%s: that is no file", path);
    return -1;
}

static int take(const pw_command *command, pw_measure_options *o, int c, char *const *argv)
{
    switch (c) {
    case 's': return take_seconds(command, o, optarg);
    case 'd': return take_spread(command, o, optarg);
    case 'p': return take_parts(command, o, optarg);
    case 'o': return take_output(command, o, optarg);
    case 'q': o->quiet = true; return -1;
    case 'n': o->dry_run = true; return -1;
    case 'w': o->show = true; return -1;
    case 'm':
        o->mpi = optarg;
        return strcmp(o->mpi, "mpich") && strcmp(o->mpi, "openmpi")
                   ? pw_usage_error(command, "--mpi=%s: expected mpich or openmpi", o->mpi)
                   : -1;
    default: return pw_wrong_argument(command, argv[optind - 1]);
    }
}

int pw_measure_options_parse(const pw_command *command, int argc, char **argv, pw_measure_options *o)
{
    static const struct option known[] = {{"seconds", required_argument, NULL, 's'},
                                          {"only", required_argument, NULL, 'p'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"mpi", required_argument, NULL, 'm'},
                                          {"spread", required_argument, NULL, 'd'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"dry-run", no_argument, NULL, 'n'},
                                          {"show", no_argument, NULL, 'w'},
                                          {0}};
    int c;

    *o = (pw_measure_options){.seconds = 30, .spread = 0.1, .gpu = true, .network = true};
    optind = 0;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "o:qn", known, NULL)) != -1) {
        int status = take(command, o, c, argv);

        if (status >= 0)
            return status;
    }
    if (optind < argc && o->show)
        o->file = argv[optind++];
    if (optind < argc)
        return pw_wrong_argument(command, argv[optind]);
    return -1;
}
