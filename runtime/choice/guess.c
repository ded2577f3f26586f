/* Purpose: first guesses, as sums of facts. */
#include "runtime/choice/guess.h"

const pw_facts pw_facts_default = PW_FACTS_DEFAULT;

const struct pw_fact_info pw_fact_infos[PW_FACT_COUNT] = {
#define X(name, value, unit, meaning) {#name, unit, meaning},
    PW_FACTS(X)
#undef X
};

/* One pass over the blocks of a message. */
static double pass(double block, double byte, int64_t bytes, int64_t blocks)
{
    return block * (double)blocks + byte * (double)bytes;
}

double pw_guess_contiguous(const pw_facts *f, int64_t bytes)
{
    return f->message + 2 * f->copied * (double)bytes;
}

double pw_guess_move(const pw_facts *f, int64_t bytes, int64_t blocks)
{
    return pass(f->moved, f->copied, bytes, blocks);
}

double pw_guess_native(const pw_facts *f, int64_t bytes, int64_t blocks)
{
    double walks = (double)bytes > f->pipelined ? 1 : 2;

    return f->message + walks * pass(f->walked, f->copied, bytes, blocks);
}

double pw_guess_packed(const pw_facts *f, int64_t bytes, int64_t blocks, bool shared)
{
    double copies = shared ? 0 : 2;

    return f->message + f->staged + 2 * pw_guess_move(f, bytes, blocks) + copies * f->copied * (double)bytes;
}

double pw_guess_direct(const pw_facts *f, int64_t bytes, int64_t blocks)
{
    return f->message + f->staged + pw_guess_move(f, bytes, blocks);
}

double pw_guess_passed(const pw_facts *f, int64_t bytes, int64_t blocks)
{
    return pass(f->passed, f->copied, bytes, blocks);
}

double pw_guess_passed_packed(const pw_facts *f, int64_t bytes, int64_t blocks)
{
    return f->staged + pass(f->moved, f->copied + f->stored, bytes, blocks);
}
