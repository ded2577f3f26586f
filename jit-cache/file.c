#include "jit-cache/file.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

pw_status pw_file_make_dirs(const char *dir, mode_t mode, pw_diag *diag)
{
    char path[PATH_MAX];
    int error;

    if (snprintf(path, sizeof path, "%s", dir) >= (int)sizeof path)
        return pw_diag_set(diag, PW_ERR_IO, "cannot create %.200s: %s", dir, strerror(ENAMETOOLONG));
    for (char *at = path + 1;; at++) {
        char c = *at;

        if (c != '/' && c != '\0')
            continue;
        *at = '\0';
        error = mkdir(path, mode) ? errno : 0;
        if (!error && mode & (S_IRWXG | S_IRWXO) && chmod(path, mode))
            return pw_diag_set(diag, PW_ERR_IO, "cannot change %s: %s", path, strerror(errno));
        /* What exists may answer otherwise than EEXIST: read-only and automounted file systems. */
        if (error && access(path, F_OK))
            return pw_diag_set(diag, PW_ERR_IO, "cannot create %s: %s", path, strerror(error));
        *at = c;
        if (c == '\0')
            return PW_OK;
    }
}

bool pw_file_read(int fd, void *data, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(fd, (char *)data + done, size - done, (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n ? errno : 0;
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

static void name_with(pw_hash key, const char *suffix, char out[PW_NAME_TEXT])
{
    char hex[PW_HASH_TEXT];

    pw_hash_text(key, hex);
    snprintf(out, PW_NAME_TEXT, "%s%s", hex, suffix);
}

void pw_name_entry(pw_hash key, char out[PW_NAME_TEXT])
{
    name_with(key, ".so", out);
}

void pw_name_lock(pw_hash key, char out[PW_NAME_TEXT])
{
    name_with(key, ".lock", out);
}

void pw_name_temp(pw_hash key, char out[PW_NAME_TEXT])
{
    static _Atomic unsigned serial;
    char host[64], suffix[96];

    pw_host_name(host);
    snprintf(suffix, sizeof suffix, ".tmp-%.40s-%ld-%u", host, (long)getpid(),
             atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed));
    name_with(key, suffix, out);
}

static bool parse_hex(const char *text, uint64_t *out)
{
    uint64_t v = 0;

    for (int i = 0; i < 16; i++) {
        char c = text[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *out = v;
    return true;
}

pw_name_kind pw_name_parse(const char *name, pw_hash *key)
{
    const char *suffix = name + 32;

    if (!parse_hex(name, &key->hi) || !parse_hex(name + 16, &key->lo))
        return PW_NAME_OTHER;
    if (!strcmp(suffix, ".so"))
        return PW_NAME_ENTRY;
    if (!strcmp(suffix, ".lock"))
        return PW_NAME_LOCK;
    return strncmp(suffix, ".tmp-", 5) ? PW_NAME_OTHER : PW_NAME_TEMP;
}

void pw_host_name(char out[64])
{
    if (gethostname(out, 64))
        strcpy(out, "unknown");
    out[63] = '\0';
    for (char *c = out; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-')
            *c = '_';
}
