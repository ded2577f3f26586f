/* packwright draw: a picture of a layout. */
#include "tools/draw/draw.h"
#include "tools/command.h"
#include "tools/input/input.h"

#include "passes/passes.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: packwright draw [--name=NAME] [--variant=K] [--count=N] [-o FILE] TYPE|FILE|-\n"
    "\n"
    "Draws one layout: memory as rows, packed order as colour, gaps in grey. The row is a stride of the layout\n"
    "where one suits, so arrays look like arrays; what repeats is shown at its beginning and end only, so the picture\n"
    "stays readable for any size. A cell is an element. Numbers are packed positions in cells.\n"
    "\n"
    "  -o, --output=FILE  write there (default: standard output); FILE.png is PNG, by rsvg-convert\n"
    "      --name=NAME    the type to draw, where the input has several\n"
    "      --variant=K    the K-th of the types that an entry with ranges stands for, from 0\n"
    "      --count=N      draw N objects (default 1)\n";

enum { MOST_OBJECTS = 1000000 };

typedef struct options {
    const char *input, *output;
    pw_input_choice choice;
    int64_t count;
} options;

/* Returns -1 to go on, else an exit status. */
static int parse_options(int argc, char **argv, options *o)
{
    static const struct option known[] = {{"output", required_argument, NULL, 'o'},
                                          {"name", required_argument, NULL, 'n'},
                                          {"variant", required_argument, NULL, 'v'},
                                          {"count", required_argument, NULL, 'c'},
                                          {0}};
    int c;

    *o = (options){.count = 1};
    optind = 0;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "o:", known, NULL)) != -1) {
        switch (c) {
        case 'o': o->output = optarg; break;
        case 'n': o->choice.name = optarg; break;
        case 'v':
            o->choice.only_variant = true;
            if (pw_take_number(&pw_command_draw, "variant", optarg, 0, INT64_MAX, &o->choice.variant))
                return PW_EXIT_USAGE;
            break;
        case 'c':
            if (pw_take_number(&pw_command_draw, "count", optarg, 1, MOST_OBJECTS, &o->count))
                return PW_EXIT_USAGE;
            break;
        default: return pw_wrong_argument(&pw_command_draw, argv[optind - 1]);
        }
    }
    if (o->output && !*o->output)
        return pw_usage_error(&pw_command_draw, "--output needs a value");
    if (o->output && !pw_draw_is_picture(o->output))
        return pw_usage_error(&pw_command_draw, "--output takes a name that ends in .svg or .png, got '%s'", o->output);
    if (argc - optind != 1)
        return pw_usage_error(&pw_command_draw, "one TYPE or FILE at a time, got %d ('-' is standard input)",
                              argc - optind);
    o->input = argv[optind];
    return -1;
}

static int draw_type(const options *o, const pw_input *input, pw_arena *arena)
{
    pw_type type, canonical;
    pw_diag diag = {0};
    pw_status status = pw_input_build(input, 0, arena, &type);
    char *data = NULL;
    size_t size;
    FILE *out;
    int result = PW_EXIT_FAILURE;

    if (status != PW_OK)
        return PW_EXIT_FAILURE;
    status = pw_canonicalise(&type, arena, &canonical, NULL, &diag);
    if (status != PW_OK) {
        pw_input_error(input, 0, &diag);
        return PW_EXIT_FAILURE;
    }
    out = open_memstream(&data, &size);
    status = out ? pw_draw_picture(out, input, 0, &canonical, o->count) : PW_ERR_NOMEM;
    if (out && fclose(out))
        status = PW_ERR_NOMEM;
    if (status == PW_OK)
        result = pw_draw_write(pw_command_draw.name, o->output, data, size) ? PW_EXIT_OK : PW_EXIT_FAILURE;
    else
        pw_command_error("draw", "%s", pw_status_text(status));
    free(data);
    return result;
}

static int run_draw(int argc, char **argv)
{
    options o;
    pw_input *input;
    pw_arena *arena;
    int result = parse_options(argc, argv, &o);

    if (result >= 0)
        return result;
    if (pw_input_load(o.input, &o.choice, &input) != PW_OK)
        return PW_EXIT_FAILURE;
    arena = pw_arena_create();
    if (pw_input_count(input) > 1) {
        result = pw_usage_error(&pw_command_draw, "the input has %lld types: choose one with --name or --variant",
                                (long long)pw_input_count(input));
    } else if (arena) {
        result = draw_type(&o, input, arena);
    } else {
        result = PW_EXIT_FAILURE;
    }
    pw_arena_destroy(arena);
    pw_input_free(input);
    return result;
}

const pw_command pw_command_draw = {"draw", "draw a layout as SVG or PNG", help, run_draw};
