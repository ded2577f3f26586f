#include "tools/input/source.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool grow(pw_source *s, size_t *cap)
{
    size_t bigger = *cap ? 2 * *cap : 1 << 16;
    char *text = realloc(s->text, bigger);

    if (text) {
        s->text = text;
        *cap = bigger;
    }
    return text != NULL;
}

/* Returns 0 or an errno. Keeps room for the NUL at the end. */
static int read_all(FILE *in, size_t limit, pw_source *s)
{
    size_t cap = 0;

    do {
        if (cap - s->size < 2 && !grow(s, &cap))
            return ENOMEM;
        errno = 0;
        s->size += fread(s->text + s->size, 1, cap - s->size - 1, in);
    } while (!feof(in) && !ferror(in) && s->size <= limit);
    s->text[s->size] = '\0';
    if (ferror(in))
        return errno ? errno : EIO;
    return s->size > limit ? EFBIG : 0;
}

static int check_size(FILE *in, size_t limit)
{
    struct stat st;

    if (fstat(fileno(in), &st))
        return errno;
    return S_ISREG(st.st_mode) && st.st_size > 0 && (uint64_t)st.st_size > limit ? EFBIG : 0;
}

/* Refuses a file with a NUL byte, which the parsers would take for the end of the text. */
static bool reject_nul(const pw_source *s)
{
    pw_diag diag = {.status = PW_ERR_INVALID, .line = 1, .col = 1, .text = "the file holds a NUL byte, it is not text"};
    size_t length = strlen(s->text);

    if (length == s->size)
        return false;
    pw_source_error(s, s->text + length, &diag);
    return true;
}

static void report_failure(const pw_source *s, int error, size_t limit)
{
    if (error == EFBIG)
        fprintf(stderr, "packwright: cannot read %s: it is longer than %zu MiB\n", s->name, limit >> 20);
    else
        fprintf(stderr, "packwright: cannot read %s: %s\n", s->name, strerror(error));
}

bool pw_source_read(const char *path, size_t limit, pw_source *out)
{
    bool is_stdin = !strcmp(path, "-");
    FILE *in = is_stdin ? stdin : fopen(path, "rb");
    int error;

    *out = (pw_source){.name = is_stdin ? "<stdin>" : *path ? path : "''"};
    error = in ? check_size(in, limit) : errno;
    if (!error)
        error = read_all(in, limit, out);
    if (in && !is_stdin)
        fclose(in);
    if (error)
        report_failure(out, error, limit);
    if (error || reject_nul(out)) {
        pw_source_free(out);
        return false;
    }
    return true;
}

bool pw_source_from_text(const char *name, const char *text, pw_source *out)
{
    *out = (pw_source){.name = name, .text = strdup(text), .size = strlen(text)};
    if (!out->text)
        report_failure(out, ENOMEM, 0);
    return out->text != NULL;
}

void pw_source_free(pw_source *source)
{
    free(source->text);
    source->text = NULL;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* A line longer than WHOLE is shown from BEFORE bytes before the error to AFTER bytes behind it. */
enum { WHOLE = 160, BEFORE = 80, AFTER = 40 };

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static void print_line(const char *begin, const char *at, const char *end)
{
    bool whole = end - begin <= WHOLE;
    const char *from = whole || at - begin <= BEFORE ? begin : at - BEFORE;
    const char *to = whole || end - at <= AFTER ? end : at + AFTER;

    while (from > begin && continues_character(*from))
        from--;
    while (to < end && continues_character(*to))
        to++;
    fputs(from > begin ? "..." : "", stderr);
    for (const char *p = from; p < to; p++)
        fputc((unsigned char)*p < ' ' && *p != '\t' ? '?' : *p, stderr);
    fputs(to < end ? "...\n" : "\n", stderr);
    fputs(from > begin ? "   " : "", stderr);
    /* Tabs stay tabs, so that the caret stands below its character. */
    for (const char *p = from; p < at; p++)
        if (!continues_character(*p))
            fputc(*p == '\t' ? '\t' : ' ', stderr);
    fputs("^\n", stderr);
}

/* Returns the place at `line` and `col` behind `from`, or the end of the text if they lie beyond it. */
static const char *locate(const char *from, int line, int col)
{
    for (; line > 1; line--) {
        const char *next = strchr(from, '\n');

        if (!next)
            return from + strlen(from);
        from = next + 1;
    }
    for (; col > 1 && *from && *from != '\n'; col--)
        from++;
    return from;
}

void pw_source_error(const pw_source *source, const char *from, const pw_diag *diag)
{
    const char *at, *begin = source->text, *end;
    int line = 1;

    if (diag->line == 0) {
        fprintf(stderr, "%s: error: %s\n", source->name, diag->text);
        return;
    }
    at = locate(from, diag->line, diag->col);
    for (const char *p = begin; (p = memchr(p, '\n', (size_t)(at - p))) != NULL; begin = ++p)
        line++;
    end = at + strcspn(at, "\r\n");
    fprintf(stderr, "%s:%d:%d: error: %s\n", source->name, line, (int)(at - begin) + 1, diag->text);
    print_line(begin, at, end);
}
