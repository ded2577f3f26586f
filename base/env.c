#define _GNU_SOURCE /* secure_getenv */
#include "base/env.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BOOL PW_ENV_TYPE_BOOL, NULL
#define SIZE PW_ENV_TYPE_SIZE, NULL
#define STRING PW_ENV_TYPE_STRING, NULL
#define PATH PW_ENV_TYPE_PATH, NULL
#define CHOICE(words) PW_ENV_TYPE_CHOICE, words

static const pw_env_info table[PW_ENV_COUNT] = {
#define X(symbol, name, type, def, help) {name, type, def, help},
    PW_ENV_TABLE(X)
#undef X
};

typedef struct env_value {
    bool set, malformed;
    int64_t number;
    char *text;
    char *path; /* of a relative PATH, absolute; else NULL */
} env_value;

/* The singleton: every value, parsed once. */
static struct {
    pthread_once_t once;
    env_value values[PW_ENV_COUNT];
} env = {.once = PTHREAD_ONCE_INIT};

/* The only way in which the environment is read. NULL for everything in a process with rights that its caller has not
 * (set-uid, set-gid, file capabilities): a caller could have it load a library or write a file of the caller's choice.
 */
static const char *look_up(const char *name)
{
    return secure_getenv(name);
}

static bool parse_bool(const char *text, int64_t *out)
{
    static const char *const yes[] = {"1", "yes", "on", "true", "y"};
    static const char *const no[] = {"0", "no", "off", "false", "n", ""};

    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (!strcasecmp(text, yes[i]))
            return *out = 1, true;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (!strcasecmp(text, no[i]))
            return *out = 0, true;
    return false;
}

static bool parse_size(const char *text, int64_t *out)
{
    char *end;
    long long v;
    int shift = 0;

    errno = 0;
    v = strtoll(text, &end, 10);
    if (end == text || errno || v < 0)
        return false;
    if (*end) {
        const char *unit = strchr("KkMmGg", *end);

        if (!unit)
            return false;
        shift = 10 * (1 + (int)(unit - "KkMmGg") / 2);
        end++;
    }
    return !*end && !__builtin_mul_overflow(v, (int64_t)1 << shift, out);
}

static bool parse_choice(const char *words, const char *text, int64_t *out)
{
    size_t len = strlen(text);

    for (int64_t i = 0;; i++) {
        size_t n = strcspn(words, "|");

        if (n == len && !strncasecmp(words, text, n))
            return *out = i, true;
        if (!words[n])
            return false;
        words += n + 1;
    }
}

static bool parse_value(const pw_env_info *info, const char *text, int64_t *out)
{
    switch (info->type) {
    case PW_ENV_TYPE_BOOL: return parse_bool(text, out);
    case PW_ENV_TYPE_SIZE: return parse_size(text, out);
    case PW_ENV_TYPE_CHOICE: return parse_choice(info->choices, text, out);
    case PW_ENV_TYPE_STRING:
    case PW_ENV_TYPE_PATH: return true;
    }
    return false;
}

/* NULL where that is not possible, or not called for. */
static char *absolute(const pw_env_info *info, const char *text)
{
    char here[PATH_MAX], *path;
    size_t size;

    if (info->type != PW_ENV_TYPE_PATH || !*text || *text == '/' || !getcwd(here, sizeof here))
        return NULL;
    size = strlen(here) + strlen(text) + 2;
    path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", here, text);
    return path;
}

static void load_value(pw_env_id id)
{
    const char *text = look_up(table[id].name);
    env_value *v = &env.values[id];

    v->set = text != NULL;
    v->malformed = text && !parse_value(&table[id], text, &v->number);
    if (!text || v->malformed) {
        text = table[id].def;
        parse_value(&table[id], text, &v->number);
    }
    free(v->text);
    free(v->path);
    v->text = strdup(text);
    v->path = absolute(&table[id], text);
}

bool pw_env_replace(pw_env_id id, const char *text)
{
    env_value *v = &env.values[id];
    char *copy = strdup(text);
    int64_t number;

    pw_env_bool(id); /* reads the table if nobody has */
    number = v->number;
    if (!copy || !parse_value(&table[id], text, &number)) {
        free(copy);
        return false;
    }
    free(v->text);
    free(v->path);
    *v = (env_value){.set = true, .number = number, .text = copy, .path = absolute(&table[id], text)};
    return true;
}

bool pw_env_replace_choice(pw_env_id id, int choice)
{
    const char *word = table[id].choices;
    char text[64];

    for (; word && choice > 0; choice--) {
        word = strchr(word, '|');
        word += word != NULL;
    }
    snprintf(text, sizeof text, "%.*s", word ? (int)strcspn(word, "|") : 0, word ? word : "");
    return word && pw_env_replace(id, text);
}

static void load_all(void)
{
    for (int id = 0; id < PW_ENV_COUNT; id++)
        load_value((pw_env_id)id);
}

static const env_value *value(pw_env_id id)
{
    pthread_once(&env.once, load_all);
    return &env.values[id];
}

const pw_env_info *pw_env_describe(pw_env_id id)
{
    return &table[id];
}

const char *pw_env_values(const pw_env_info *info)
{
    static const char *const words[] = {
        [PW_ENV_TYPE_BOOL] = "0 or 1", [PW_ENV_TYPE_SIZE] = "bytes (K, M, G)", [PW_ENV_TYPE_STRING] = "text",
        [PW_ENV_TYPE_PATH] = "path",   [PW_ENV_TYPE_CHOICE] = "choice",
    };

    return info->choices ? info->choices : words[info->type];
}

bool pw_env_bool(pw_env_id id)
{
    return value(id)->number != 0;
}

int64_t pw_env_size(pw_env_id id)
{
    return value(id)->number;
}

int pw_env_choice(pw_env_id id)
{
    return (int)value(id)->number;
}

const char *pw_env_string(pw_env_id id)
{
    const char *text = value(id)->text;

    return text ? text : "";
}

const char *pw_env_path(pw_env_id id)
{
    const char *path = value(id)->path;

    return path ? path : pw_env_string(id);
}

bool pw_env_is_malformed(pw_env_id id)
{
    return value(id)->malformed;
}

bool pw_env_is_set(pw_env_id id)
{
    return value(id)->set;
}

const char *pw_env_foreign(const char *name)
{
    return look_up(name);
}

void pw_env_reload(void)
{
    pthread_once(&env.once, load_all);
    load_all();
}
