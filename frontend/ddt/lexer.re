/* Generated from lexer.re by re2c: edit that file. */
#include "frontend/ddt/lexer.h"

#include <limits.h>

void pw_lexer_init(pw_lexer *lexer, const char *text, size_t size)
{
    *lexer = (pw_lexer){.cursor = text, .limit = text + size, .line_start = text, .line = 1, .at_line_start = true};
}

static bool is_blank(const pw_lexer *lexer, const char *p)
{
    return p >= lexer->limit || *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r';
}

static pw_token make(pw_lexer *lexer, pw_token_kind kind, const char *start, bool spaced)
{
    ptrdiff_t size = lexer->cursor - start, col = start - lexer->line_start + 1;
    pw_token t = {.kind = kind,
                  .text = start,
                  .size = size > INT_MAX ? INT_MAX : (int)size,
                  .line = lexer->line,
                  .col = col > INT_MAX ? INT_MAX : (int)col,
                  .space_before = spaced,
                  .space_after = is_blank(lexer, lexer->cursor),
                  .first_on_line = lexer->at_line_start};

    lexer->at_line_start = false;
    return t;
}

static pw_token make_number(pw_lexer *lexer, const char *start, bool spaced)
{
    pw_token t = make(lexer, PW_TOK_NUMBER, start, spaced);

    for (const char *p = start; p < lexer->cursor; p++)
        if (__builtin_mul_overflow(t.value, 10, &t.value) || __builtin_add_overflow(t.value, *p - '0', &t.value))
            t.kind = PW_TOK_HUGE;
    return t;
}

static void new_line(pw_lexer *lexer)
{
    lexer->line++;
    lexer->line_start = lexer->cursor;
    lexer->at_line_start = true;
}

pw_token pw_lexer_next(pw_lexer *lexer)
{
    bool spaced = lexer->at_line_start;

    for (;;) {
        const char *start = lexer->cursor;

        /*!re2c
        re2c:define:YYCTYPE = "unsigned char";
        re2c:define:YYCURSOR = "lexer->cursor";
        re2c:yyfill:enable = 0;

        end     = "\x00";
        blank   = [ \t\r]+;
        comment = ("#" | "//") [^\n\x00]*;
        number  = [0-9]+;
        name    = [A-Za-z_] [A-Za-z0-9_]*;
        punct   = [()[\]{},;:|*+\-/%=&];

        end     {
                    if (start < lexer->limit) {
                        return make(lexer, PW_TOK_STRANGE, start, spaced);
                    }
                    lexer->cursor = start;
                    return make(lexer, PW_TOK_END, start, true);
                }
        blank   { spaced = true; continue; }
        "\n"    { new_line(lexer); spaced = true; continue; }
        comment { spaced = true; continue; }
        number  { return make_number(lexer, start, spaced); }
        name    { return make(lexer, PW_TOK_NAME, start, spaced); }
        punct   {
                    pw_token t = make(lexer, PW_TOK_PUNCT, start, spaced);

                    t.punct = *start;
                    return t;
                }
        *       { return make(lexer, PW_TOK_STRANGE, start, spaced); }
        */
    }
}
