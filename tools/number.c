/* Numbers as values of options. */
#include "tools/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int pw_take_number(const pw_command *command, const char *option, const char *word, int64_t least, int64_t most,
                   int64_t *out)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(word, &end, 10);
    if (!errno && end != word && !*end && n >= least && n <= most) {
        *out = n;
        return PW_EXIT_OK;
    }
    if (most == INT64_MAX)
        return pw_usage_error(command, "--%s takes a number from %" PRId64 ", got '%s'", option, least, word);
    return pw_usage_error(command, "--%s takes a number from %" PRId64 " to %" PRId64 ", got '%s'", option, least, most,
                          word);
}
