#include "base/json.h"

#include <inttypes.h>
#include <math.h>

void pw_json_begin(pw_json *json, FILE *out)
{
    *json = (pw_json){.out = out, .first = true};
}

/* Returns the length of the UTF-8 sequence at p (RFC 3629). 0: there is none. */
static int utf8_length(const unsigned char *p)
{
    int n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;

    for (int i = 1; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
        (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return n;
}

static void put_quoted(FILE *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    fputc('"', out);
    while (*p) {
        int n = utf8_length(p);

        if (*p == '\n')
            fputs("\\n", out);
        else if (*p == '\t')
            fputs("\\t", out);
        else if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < ' ')
            fprintf(out, "\\u%04x", *p);
        else if (n == 0)
            fputs("\\ufffd", out);
        else
            fwrite(p, 1, (size_t)n, out);
        p += n ? n : 1;
    }
    fputc('"', out);
}

/* Writes what goes before a value: comma, line end, name. */
static void put_name(pw_json *json, const char *name)
{
    if (json->depth > 0)
        fprintf(json->out, "%s\n%*s", json->first ? "" : ",", 2 * json->depth, "");
    json->first = false;
    if (name) {
        put_quoted(json->out, name);
        fputs(": ", json->out);
    }
}

void pw_json_open(pw_json *json, const char *name, char bracket)
{
    put_name(json, name);
    fputc(bracket, json->out);
    json->depth++;
    json->first = true;
}

void pw_json_close(pw_json *json, char bracket)
{
    json->depth--;
    if (!json->first)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->out);
    json->first = false;
    if (json->depth == 0)
        fputc('\n', json->out);
}

void pw_json_string(pw_json *json, const char *name, const char *text)
{
    put_name(json, name);
    put_quoted(json->out, text);
}

void pw_json_int(pw_json *json, const char *name, int64_t value)
{
    put_name(json, name);
    fprintf(json->out, "%" PRId64, value);
}

void pw_json_double(pw_json *json, const char *name, double value)
{
    if (!isfinite(value)) {
        pw_json_null(json, name);
        return;
    }
    put_name(json, name);
    fprintf(json->out, "%.6g", value);
}

void pw_json_bool(pw_json *json, const char *name, bool value)
{
    put_name(json, name);
    fputs(value ? "true" : "false", json->out);
}

void pw_json_null(pw_json *json, const char *name)
{
    put_name(json, name);
    fputs("null", json->out);
}

void pw_json_hash(pw_json *json, const char *name, pw_hash hash)
{
    char text[PW_HASH_TEXT];

    pw_hash_text(hash, text);
    pw_json_string(json, name, text);
}
