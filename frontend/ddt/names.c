/*
 * MPI's predefined datatypes (MPI 4.0 tables 3.1-3.4, pair types of section 6.9.4) with sizes and alignments of
 * the x86-64 and aarch64 Linux ABIs, the names of C types that are one word, and `byte`. Those of several words are in
 * c_types.c.
 */
#include "frontend/ddt/ast.h"

#include "base/gcd.h"

#include <complex.h>
#include <stddef.h>
#include <string.h>
#include <wchar.h>

typedef struct basic {
    const char *name;
    int size, align;
    int second, second_align; /* of a pair type; 0 when it is none */
} basic;

#define T(name, type) {name, sizeof(type), _Alignof(type), 0, 0}
#define PAIR(name, a, b) {name, sizeof(a), _Alignof(a), sizeof(b), _Alignof(b)}

static const basic table[] = {
    T("byte", char),
    T("char", char),
    T("short", short),
    T("int", int),
    T("long", long),
    T("float", float),
    T("double", double),
    T("signed", int),
    T("unsigned", unsigned),
    T("bool", _Bool),
    T("int8_t", int8_t),
    T("int16_t", int16_t),
    T("int32_t", int32_t),
    T("int64_t", int64_t),
    T("uint8_t", uint8_t),
    T("uint16_t", uint16_t),
    T("uint32_t", uint32_t),
    T("uint64_t", uint64_t),
    T("size_t", size_t),
    T("ptrdiff_t", ptrdiff_t),
    T("intptr_t", intptr_t),
    T("uintptr_t", uintptr_t),
    T("wchar_t", wchar_t),
    T("MPI_BYTE", char),
    T("MPI_PACKED", char),
    T("MPI_CHAR", char),
    T("MPI_SIGNED_CHAR", char),
    T("MPI_UNSIGNED_CHAR", char),
    T("MPI_WCHAR", wchar_t),
    T("MPI_SHORT", short),
    T("MPI_UNSIGNED_SHORT", short),
    T("MPI_INT", int),
    T("MPI_UNSIGNED", int),
    T("MPI_LONG", long),
    T("MPI_UNSIGNED_LONG", long),
    T("MPI_LONG_LONG", long long),
    T("MPI_LONG_LONG_INT", long long),
    T("MPI_UNSIGNED_LONG_LONG", long long),
    T("MPI_FLOAT", float),
    T("MPI_DOUBLE", double),
    T("MPI_LONG_DOUBLE", long double),
    T("MPI_C_BOOL", _Bool),
    T("MPI_INT8_T", int8_t),
    T("MPI_INT16_T", int16_t),
    T("MPI_INT32_T", int32_t),
    T("MPI_INT64_T", int64_t),
    T("MPI_UINT8_T", uint8_t),
    T("MPI_UINT16_T", uint16_t),
    T("MPI_UINT32_T", uint32_t),
    T("MPI_UINT64_T", uint64_t),
    T("MPI_C_COMPLEX", float _Complex),
    T("MPI_C_FLOAT_COMPLEX", float _Complex),
    T("MPI_C_DOUBLE_COMPLEX", double _Complex),
    T("MPI_C_LONG_DOUBLE_COMPLEX", long double _Complex),
    T("MPI_CXX_BOOL", _Bool),
    T("MPI_CXX_FLOAT_COMPLEX", float _Complex),
    T("MPI_CXX_DOUBLE_COMPLEX", double _Complex),
    T("MPI_CXX_LONG_DOUBLE_COMPLEX", long double _Complex),
    T("MPI_AINT", ptrdiff_t),
    T("MPI_OFFSET", int64_t),
    T("MPI_COUNT", int64_t),
    T("MPI_CHARACTER", char),
    T("MPI_LOGICAL", int),
    T("MPI_INTEGER", int),
    T("MPI_REAL", float),
    T("MPI_DOUBLE_PRECISION", double),
    T("MPI_COMPLEX", float _Complex),
    T("MPI_DOUBLE_COMPLEX", double _Complex),
    T("MPI_INTEGER1", int8_t),
    T("MPI_INTEGER2", int16_t),
    T("MPI_INTEGER4", int32_t),
    T("MPI_INTEGER8", int64_t),
    T("MPI_LOGICAL1", int8_t),
    T("MPI_LOGICAL2", int16_t),
    T("MPI_LOGICAL4", int32_t),
    T("MPI_LOGICAL8", int64_t),
    T("MPI_REAL2", int16_t),
    T("MPI_REAL4", float),
    T("MPI_REAL8", double),
    {"MPI_REAL16", 16, 16, 0, 0},
    T("MPI_COMPLEX8", float _Complex),
    T("MPI_COMPLEX16", double _Complex),
    {"MPI_COMPLEX32", 32, 16, 0, 0},
    {"MPI_INTEGER16", 16, 16, 0, 0},
    PAIR("MPI_FLOAT_INT", float, int),
    PAIR("MPI_DOUBLE_INT", double, int),
    PAIR("MPI_LONG_INT", long, int),
    PAIR("MPI_2INT", int, int),
    PAIR("MPI_SHORT_INT", short, int),
    PAIR("MPI_LONG_DOUBLE_INT", long double, int),
    PAIR("MPI_2REAL", float, float),
    PAIR("MPI_2DOUBLE_PRECISION", double, double),
    PAIR("MPI_2INTEGER", int, int),
};

int pw_basic_find(const char *text, int size)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if ((int)strlen(table[i].name) == size && !memcmp(table[i].name, text, (size_t)size))
            return (int)i;
    return -1;
}

const char *pw_basic_name(int index)
{
    return (size_t)index < sizeof table / sizeof *table ? table[index].name : NULL;
}

int64_t pw_basic_element(int index)
{
    return (int64_t)pw_gcd((uint64_t)table[index].size, (uint64_t)table[index].second);
}

pw_dt pw_basic_build(pw_builder *b, int index)
{
    const basic *t = &table[index];

    if (t->second)
        return pw_dt_pair(b, t->size, t->align, t->second, t->second_align);
    return pw_dt_basic(b, t->size, t->align);
}

void pw_basic_sizes(int index, int *first, int *second)
{
    *first = table[index].size;
    *second = table[index].second;
}
