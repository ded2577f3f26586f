/*
 * Writes the stages of layouts and kernels below PACKWRIGHT_DUMP. For kernels, a backend stands between the cache and
 * the real one and compiles once more for each stage. Each file is written under another name and renamed, so ranks
 * that write the same one do not disturb each other.
 */
#include "runtime/engine/layout/dump.h"

#include "base/env.h"
#include "base/log.h"
#include "base/replace.h"
#include "frontend/ddt/ddt.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool pw_layout_dump_is_on(void)
{
    return *pw_env_string(PW_ENV_DUMP) != '\0';
}

/* ---- files -------------------------------------------------------------------------------------------- */

/* Writes DIR/<name>.<stage>, whole or not at all: several ranks may be writing the same file. */
static void write_stage(const char *name, const char *stage, const void *data, size_t size)
{
    const char *dir = pw_env_path(PW_ENV_DUMP);
    char path[4096 + 256];
    pw_diag diag;

    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        pw_warn_once("PACKWRIGHT_DUMP: cannot make %s: %s", dir, strerror(errno));
        return;
    }
    snprintf(path, sizeof path, "%s/%s.%s", dir, name, stage);
    if (pw_replace_file(path, data, size, &diag) != PW_OK)
        pw_warn_once("PACKWRIGHT_DUMP: %s", diag.text);
}

/* Writes the text and frees it. NULL: there was no memory for the text. */
static void write_text(const char *name, const char *stage, char *text)
{
    if (text)
        write_stage(name, stage, text, strlen(text));
    else
        pw_warn_once("PACKWRIGHT_DUMP: out of memory");
    free(text);
}

/* ---- layouts ------------------------------------------------------------------------------------------ */

void pw_layout_dump(const pw_layout *layout, const pw_type *raw, const pw_type *canonical)
{
    char key[PW_HASH_TEXT], own[PW_HASH_TEXT], name[2 * PW_HASH_TEXT];

    if (!layout->kernel || !pw_layout_dump_is_on())
        return;
    pw_hash_text(layout->kernel->key, key);
    pw_hash_text(layout->hash, own);
    snprintf(name, sizeof name, "%s-%s", key, own);
    write_text(name, "tree", pw_print(raw, 0));
    write_text(name, "canonical", pw_print(canonical, 0));
    write_text(name, "ddt", pw_ddt_print(canonical));
    write_text(name, "nest", pw_nest_print(layout->nest, 0));
    write_text(key, "shape", pw_shape_print(layout->shape));
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

/* A backend in front of the real one: compiles as the real one does, and then once more for each stage that is dumped.
 */
static struct {
    pthread_mutex_t lock;
    const pw_backend *real;
    pw_backend between;
} dump = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *key_of(const pw_compile_job *job)
{
    static const char prefix[] = "pw_pack_";

    return strncmp(job->pack_name, prefix, sizeof prefix - 1) ? job->pack_name : job->pack_name + sizeof prefix - 1;
}

static pw_status compile(const pw_compile_job *job, pw_blob *out, pw_diag *diag)
{
    static const struct {
        pw_emit emit;
        const char *stage;
    } stages[] = {{PW_EMIT_IR_RAW, "raw.ll"}, {PW_EMIT_IR, "ll"}, {PW_EMIT_ASM, "s"}};
    pw_status status = dump.real->compile(job, out, diag);

    if (status != PW_OK)
        return status;
    write_stage(key_of(job), "so", out->data, out->size);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        pw_compile_job again = *job;
        pw_blob text = {0};
        pw_diag why = {0};

        again.emit = stages[i].emit;
        if (dump.real->compile(&again, &text, &why) == PW_OK)
            write_stage(key_of(job), stages[i].stage, text.data, text.size);
        else
            pw_warn_once("PACKWRIGHT_DUMP: %s", why.text);
        pw_blob_free(&text);
    }
    return PW_OK;
}

const pw_backend *pw_layout_dump_backend(const char *name, pw_diag *diag)
{
    const pw_backend *real = pw_backend_load(name, diag);

    if (!real)
        return NULL;
    pthread_mutex_lock(&dump.lock);
    if (!dump.real) {
        dump.real = real;
        dump.between = (pw_backend){.name = real->name, .version = real->version, .compile = compile};
    }
    pthread_mutex_unlock(&dump.lock);
    return &dump.between;
}
