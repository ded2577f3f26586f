/*
 * One page about a type: its picture, what the compiler knows of it, every stage, and the code. A stage that cannot be
 * made, for want of LLVM or of a CUDA tool, says so, and the rest of the page stands.
 */
#include "tools/inspect/html.h"

#include "base/markup.h"
#include "tools/draw/draw.h"
#include "tools/input/filter.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_SHOWN = 16 };

static void heading(FILE *out, const char *id, const char *text)
{
    fprintf(out, "<h2 id='%s'>%s</h2>\n", id, text);
}

static void put_missing(FILE *out, const char *what, const char *cause)
{
    fprintf(out, "<p class='missing'>%s is not shown: ", what);
    pw_markup_put(out, cause, strlen(cause));
    fputs(".</p>\n", out);
}

static void put_text(FILE *out, const char *text)
{
    fputs("<pre>", out);
    pw_markup_put(out, text, strlen(text));
    fputs("</pre>\n", out);
}

/* ---- the layout ------------------------------------------------------------------------------------------------- */

static void put_picture(FILE *out, const pw_subject *s)
{
    pw_status status;

    heading(out, "picture", "Picture");
    fputs("<div class='picture'>\n", out);
    status = pw_draw_picture(out, s->input, s->item, &s->canonical, 1);
    fputs("</div>\n", out);
    if (status != PW_OK)
        put_missing(out, "The picture", pw_status_text(status));
}

/* The sentences of --why, one paragraph each; those about parts of a region are indented. */
static void put_why(FILE *out, const pw_subject *s, const pw_facts *facts)
{
    char *text = NULL;
    size_t size;
    FILE *sentences = open_memstream(&text, &size);

    heading(out, "why", "What the compiler made of it");
    if (!sentences)
        return;
    pw_why(sentences, s, facts);
    fclose(sentences);
    fputs("<div class='why'>\n", out);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        size_t indent = strspn(line, " ");

        fputs(indent ? "<p class='inner'>" : "<p>", out);
        pw_markup_put(out, line + indent, strlen(line + indent));
        fputs("</p>\n", out);
    }
    fputs("</div>\n", out);
    free(text);
}

static void put_stage(FILE *out, const pw_subject *s, pw_stage stage)
{
    pw_diag diag = {0};
    char *text = NULL;

    if (pw_subject_text(s, stage, &text, &diag) == PW_OK)
        put_text(out, text);
    else
        put_missing(out, pw_stage_name(stage), diag.text);
    free(text);
}

static void put_tree(FILE *out, const pw_subject *s)
{
    heading(out, "tree", "Tree, as written");
    put_stage(out, s, PW_STAGE_TREE);
}

/* ---- passes ----------------------------------------------------------------------------------------------------- */

static bool is_nest(const char *text)
{
    return !strncmp(text, "nest", 4);
}

/* The dumps are texts behind lines "# after NAME (N rewrites)". The first one of the nest is shown whole: before it
 * there was a tree. */
static bool put_passes(FILE *out, const pw_subject *s, char *dumps)
{
    static const char mark[] = "# after ";
    char *before = pw_print(&s->raw, LIST_SHOWN), *end;
    bool good = before != NULL;

    heading(out, "passes", "Passes, as differences");
    for (char *at = dumps; good && at && *at; at = end ? end + 1 : NULL) {
        char *text = strchr(at, '\n') + 1, *now;

        end = strstr(text, "\n# after ");
        now = strndup(text, end ? (size_t)(end + 1 - text) : strlen(text));
        fputs("<h3>", out);
        pw_markup_put(out, at + sizeof mark - 1, (size_t)(text - 1 - at) - (sizeof mark - 1));
        fputs("</h3>\n", out);
        if (!now)
            good = false;
        else if (is_nest(now) && !is_nest(before))
            put_text(out, now);
        else {
            fputs("<pre>", out);
            good = pw_html_diff(out, before, now);
            fputs("</pre>\n", out);
        }
        free(before);
        before = now;
    }
    if (!*dumps)
        fputs("<p>No pass found anything to do.</p>\n", out);
    free(before);
    return good;
}

static void put_loops(FILE *out, const pw_subject *s)
{
    char *text = NULL;
    size_t size;
    FILE *loops = open_memstream(&text, &size);

    heading(out, "loops", "Loops, as C");
    fputs("<p>Packing, as the kernel does it; unpacking has source and destination exchanged. Offsets are in "
          "bytes.</p>\n",
          out);
    if (!loops)
        return;
    pw_loops_print(loops, s->nest, &s->options->target);
    fclose(loops);
    put_text(out, text);
    free(text);
}

/* ---- code ------------------------------------------------------------------------------------------------------- */

static const char link_help[] = "<p>Point at a line to see what belongs to it; click to scroll there.</p>\n";

static void put_cpu_code(FILE *out, pw_subject *s)
{
    pw_diag diag = {0};
    char *ir = NULL, *assembly = NULL;

    fprintf(out, "<h2 id='code'>Code for %s (%s)</h2>\n", s->options->target.cpu, s->options->target.arch);
    s->backend = pw_backend_load("llvm", &diag);
    if (s->backend && pw_subject_text(s, PW_STAGE_LLVM_OPT, &ir, &diag) == PW_OK &&
        pw_subject_lines(s, &assembly, &diag) == PW_OK) {
        fputs(link_help, out);
        pw_html_code(out, ir, assembly);
    } else {
        put_missing(out, "Code", diag.text);
    }
    free(ir);
    free(assembly);
}

static pw_status disassemble(const pw_subject *s, char **out, pw_diag *diag)
{
    static const char *const nvdisasm[] = {"nvdisasm", "--print-code", "--print-line-info-inline", "/dev/stdin", NULL};
    pw_blob cubin = {0};
    size_t size;
    pw_status status = pw_subject_cubin(s, &cubin, diag);

    if (status == PW_OK)
        status = pw_filter_run(nvdisasm, cubin.data, cubin.size, out, &size, diag);
    pw_blob_free(&cubin);
    return status;
}

static void put_gpu_code(FILE *out, pw_subject *s)
{
    pw_diag diag = {0}, no_ptx = {0}, no_sass = {0};
    char *cuda = NULL, *ptx = NULL, *sass = NULL;
    int64_t skipped;

    fprintf(out, "<h2 id='code'>Code for %s</h2>\n", s->options->gpu.cpu);
    s->gpu_backend = pw_backend_load("nvrtc", &diag);
    if (!s->gpu_backend || pw_subject_cuda(s, &cuda, &skipped, &diag) != PW_OK) {
        put_missing(out, "Code", diag.text);
        return;
    }
    if (pw_subject_ptx_lines(s, &ptx, &no_ptx) != PW_OK)
        put_missing(out, "PTX", no_ptx.text);
    if (disassemble(s, &sass, &no_sass) != PW_OK)
        put_missing(out, "SASS", no_sass.text);
    if (ptx || sass)
        fputs(link_help, out);
    pw_html_gpu_code(out, cuda, (unsigned)skipped + 1, ptx, sass);
    free(cuda);
    free(ptx);
    free(sass);
}

/* ---- the page --------------------------------------------------------------------------------------------------- */

/* The user's text on one line, behind the name. */
static char *make_title(const pw_subject *s)
{
    pw_input_item item = pw_input_get(s->input, s->item);
    char label[PW_INPUT_LABEL], *title = NULL;
    size_t size;
    FILE *out = open_memstream(&title, &size);

    if (!out)
        return NULL;
    pw_input_label(s->input, s->item, label);
    if (*item.name)
        fputs(label, out);
    else
        fprintf(out, "%.*s", item.text ? (int)(item.size < 100 ? item.size : 100) : 15,
                item.text ? item.text : "A type of IR text");
    if (!*item.name && item.text && item.size > 100)
        fputs(" …", out);
    if (fclose(out)) {
        free(title);
        return NULL;
    }
    return title;
}

static pw_status put_page(FILE *out, pw_subject *s, char *dumps, pw_diag *diag)
{
    pw_facts *facts = calloc(1, sizeof *facts);
    char *title = make_title(s);
    bool good = facts && title;

    if (good) {
        pw_facts_find(s, facts);
        pw_html_begin(out, title);
        fputs("<nav><a href='#picture'>picture</a><a href='#why'>why</a><a href='#tree'>tree</a>"
              "<a href='#passes'>passes</a><a href='#loops'>loops</a><a href='#code'>code</a></nav>\n",
              out);
        put_picture(out, s);
        put_why(out, s, facts);
        put_tree(out, s);
        good = put_passes(out, s, dumps);
        put_loops(out, s);
        if (s->options->gpu_given)
            put_gpu_code(out, s);
        else
            put_cpu_code(out, s);
        pw_html_end(out);
    }
    free(title);
    free(facts);
    return good ? PW_OK : pw_diag_status(diag, PW_ERR_NOMEM);
}

pw_status pw_inspect_html(FILE *out, pw_subject *s, pw_diag *diag)
{
    char *dumps = NULL;
    size_t size;
    pw_status status;

    s->dump = open_memstream(&dumps, &size);
    if (!s->dump)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    status = pw_subject_prepare(s, PW_STAGE_SHAPE, diag);
    fclose(s->dump);
    if (status == PW_OK)
        status = put_page(out, s, dumps, diag);
    free(dumps);
    return status;
}
