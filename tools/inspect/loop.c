#include "tools/inspect/loop.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One line: the mnemonic and what follows it. */
typedef struct line {
    const char *begin, *end;
    const char *op, *args;
    size_t op_size, args_size;
} line;

static line read_line(const char *at)
{
    line l = {.begin = at, .end = at + strcspn(at, "\n")};

    l.op = at + strspn(at, " \t");
    l.op_size = strcspn(l.op, " \t\n");
    l.args = l.op + l.op_size;
    l.args += strspn(l.args, " \t");
    l.args_size = l.args < l.end ? (size_t)(l.end - l.args) : 0;
    return l;
}

static bool starts(const line *l, const char *prefix)
{
    return l->op_size >= strlen(prefix) && !strncmp(l->op, prefix, strlen(prefix));
}

static bool has(const char *text, size_t size, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= size; i++)
        if (!memcmp(text + i, part, n))
            return true;
    return false;
}

/* ---- x86-64 ------------------------------------------------------------------------------------- */

/* Bytes of the register that a move stores, by its name, else by the mnemonic's suffix. */
static int x86_width(const line *l)
{
    if (has(l->args, l->args_size, "%zmm"))
        return 64;
    if (has(l->args, l->args_size, "%ymm"))
        return 32;
    if (has(l->args, l->args_size, "%xmm"))
        return starts(l, "movq") || starts(l, "vmovq") || starts(l, "movlp") || starts(l, "movhp") ||
                       starts(l, "vmovlp") || starts(l, "vmovhp")
                   ? 8
               : starts(l, "movd") || starts(l, "vmovd") || starts(l, "movss") || starts(l, "vmovss") ? 4
                                                                                                      : 16;
    switch (l->op[l->op_size - 1]) {
    case 'q': return 8;
    case 'l': return 4;
    case 'w': return 2;
    case 'b': return 1;
    default: return 0;
    }
}

/* A move whose last operand is memory, a mask behind it or not: "...)" or "...) {%k1}". */
static int x86_stores(const line *l)
{
    const char *last = l->args_size ? l->args + l->args_size - 1 : l->args;
    bool move = starts(l, "mov") || starts(l, "vmov") || starts(l, "vpextr") || starts(l, "pextr") ||
                starts(l, "vextract") || starts(l, "vpcompress") || starts(l, "vpscatter");

    if (!move || l->args_size < 2)
        return 0;
    if (*last == '}') {
        while (last > l->args && *last != '{')
            last--;
        last--;
        while (last > l->args && *last == ' ')
            last--;
    }
    if (*last != ')')
        return 0;
    return starts(l, "vpextr") || starts(l, "pextr") ? x86_width(&(line){.op = l->op, .op_size = l->op_size})
           : starts(l, "vextract") && starts(l, "vextracti64x4") ? 32
           : starts(l, "vextract")                               ? 16
                                                                 : x86_width(l);
}

/* The base register of the address stored to, "%rdi" of "64(%rdi)"; NULL when there is an index, too. */
static const char *x86_base(const line *l, size_t *size)
{
    const char *open = l->args + l->args_size;

    while (open > l->args && *open != '(')
        open--;
    *size = strcspn(open + 1, ",)");
    return *open == '(' && open[1 + *size] == ')' ? open + 1 : NULL;
}

/* By how much an "addq $105, %r8" moves the register on; 0 when it is no such instruction. */
static long x86_step(const line *l, const char *base, size_t size)
{
    const char *end = l->args + l->args_size;
    long step;

    if ((!starts(l, "addq") && !starts(l, "subq")) || l->args_size <= size || l->args[0] != '$' ||
        memcmp(end - size, base, size) != 0)
        return 0;
    step = strtol(l->args + 1, NULL, 10);
    return starts(l, "addq") ? step : -step;
}

/*
 * Vector stores overlap where a packed row is no multiple of a vector. When all of them go through one register that
 * moves on by a constant, that constant is what an iteration really stores.
 */
static int x86_packed_bytes(const pw_loop *loop)
{
    const char *base = NULL;
    size_t size = 0, n;
    long step = 0;

    for (line l = read_line(loop->begin); l.begin < loop->end; l = read_line(l.end + 1)) {
        const char *now = x86_stores(&l) ? x86_base(&l, &n) : NULL;

        if (x86_stores(&l) && (!now || (base && (n != size || memcmp(now, base, n) != 0))))
            return loop->stores;
        if (now) {
            base = now;
            size = n;
        }
    }
    for (line l = read_line(loop->begin); base && l.begin < loop->end; l = read_line(l.end + 1))
        step += x86_step(&l, base, size);
    return step > 0 && step < loop->stores ? (int)step : loop->stores;
}

static bool x86_bypasses(const line *l)
{
    return starts(l, "movnt") || starts(l, "vmovnt");
}

/* ---- aarch64 ------------------------------------------------------------------------------------ */

static int aarch64_stores(const line *l)
{
    int width;

    if (!starts(l, "st") || l->args_size < 2)
        return 0;
    if (starts(l, "st1") || starts(l, "st2"))
        return 16;
    if (l->op[l->op_size - 1] == 'b')
        return 1;
    if (l->op[l->op_size - 1] == 'h')
        return 2;
    switch (l->args[0]) {
    case 'q': width = 16; break;
    case 'd':
    case 'x': width = 8; break;
    case 's':
    case 'w': width = 4; break;
    case 'h': width = 2; break;
    default: width = 1; break;
    }
    return starts(l, "stp") || starts(l, "stnp") ? 2 * width : width;
}

/* ---- loops -------------------------------------------------------------------------------------- */

static bool is_label(const line *l)
{
    return l->op_size > 1 && l->op[l->op_size - 1] == ':';
}

static bool is_jump(const line *l, pw_loop_arch arch)
{
    if (arch == PW_LOOP_X86)
        return l->op[0] == 'j';
    return starts(l, "b.") || starts(l, "cb") || starts(l, "tb") || (l->op_size == 1 && l->op[0] == 'b');
}

static int stores(const line *l, pw_loop_arch arch)
{
    return arch == PW_LOOP_X86 ? x86_stores(l) : aarch64_stores(l);
}

static bool jumps_to(const line *l, const char *label, size_t size)
{
    return l->args_size >= size && !memcmp(l->args + l->args_size - size, label, size) &&
           (l->args_size == size || strchr(" \t,", l->args[l->args_size - size - 1]));
}

/* The block that begins at the label `l`: is it a loop by itself? */
static bool read_loop(const line *label, const char *limit, pw_loop_arch arch, pw_loop *out)
{
    bool bypasses = false;
    line l = *label;

    *out = (pw_loop){.begin = label->begin};
    if (label->op_size - 1 >= sizeof out->label)
        return false;
    memcpy(out->label, label->op, label->op_size - 1);
    while (l.end < limit && *l.end) {
        l = read_line(l.end + 1);
        if (is_label(&l) || starts(&l, "call") || starts(&l, "bl") || starts(&l, "ret"))
            return false;
        bypasses |= arch == PW_LOOP_X86 && x86_bypasses(&l);
        out->stores += stores(&l, arch);
        out->end = l.end;
        if (is_jump(&l, arch))
            return jumps_to(&l, out->label, strlen(out->label)) && !bypasses && out->stores > 0;
    }
    return false;
}

bool pw_loop_find(const char *assembly, const char *symbol, pw_loop_arch arch, pw_loop *out)
{
    char heading[80];
    const char *at, *limit;
    bool found = false;

    snprintf(heading, sizeof heading, "\n%s:", symbol);
    at = strstr(assembly, heading);
    if (!at)
        return false;
    limit = strstr(at, ".Lfunc_end");
    if (!limit)
        limit = at + strlen(at);
    for (line l = read_line(at + 1); l.end < limit && *l.end; l = read_line(l.end + 1)) {
        pw_loop loop;

        if (!is_label(&l) || !read_loop(&l, limit, arch, &loop))
            continue;
        if (!found || loop.stores > out->stores)
            *out = loop;
        found = true;
    }
    if (found && arch == PW_LOOP_X86)
        out->stores = x86_packed_bytes(out);
    return found;
}
