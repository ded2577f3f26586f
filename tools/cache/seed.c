#include "tools/cache/seed.h"

#include "base/json.h"
#include "jit-cache/cache.h"
#include "runtime/engine/model/file.h"
#include "tools/command.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Copies a model, which is read as a run reads it: what a run would refuse is not copied. A newer measurement replaces
 * an older one. */
static pw_status copy_model(const char *path, const char *to, pw_diag *diag)
{
    char target[PW_MODEL_PATH];
    pw_model m;
    pw_status status = pw_model_read(path, &m, diag);

    if (status)
        return status;
    if (snprintf(target, sizeof target, "%s/%s", to, strrchr(path, '/') + 1) >= (int)sizeof target)
        status = pw_diag_set(diag, PW_ERR_IO, "the path is too long");
    else
        status = pw_model_write(target, &m, diag);
    if (!status && chmod(target, 0644))
        status = pw_diag_set(diag, PW_ERR_IO, "cannot make it readable: %s", strerror(errno));
    return status;
}

static bool copy_models(const char *from, const char *to, int64_t *copied)
{
    char pattern[PW_MODEL_PATH];
    bool ok = true;
    glob_t found;

    *copied = 0;
    snprintf(pattern, sizeof pattern, "%s/model-*.json", from);
    if (glob(pattern, GLOB_NOESCAPE, NULL, &found))
        return true;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pw_diag diag = {0};

        if (copy_model(found.gl_pathv[i], to, &diag)) {
            pw_command_error("cache", "the model %s is not copied: %s", found.gl_pathv[i], diag.text);
            ok = false;
        } else {
            ++*copied;
        }
    }
    globfree(&found);
    return ok;
}

int pw_seed(const char *from, const char *to, bool json)
{
    pw_diag diag = {0};
    int64_t entries = 0, models = 0;
    pw_json out;
    bool ok;

    if (pw_cache_seed(from, to, &entries, &diag)) {
        pw_command_error("cache", "%s", diag.text);
        return PW_EXIT_FAILURE;
    }
    ok = copy_models(from, to, &models);
    if (json) {
        pw_json_begin(&out, stdout);
        pw_json_open(&out, NULL, '{');
        pw_json_string(&out, "directory", to);
        pw_json_int(&out, "entries", entries);
        pw_json_int(&out, "models", models);
        pw_json_close(&out, '}');
    } else {
        printf("%" PRId64 " entr%s and %" PRId64 " model%s copied to %s\n", entries, entries == 1 ? "y" : "ies", models,
               models == 1 ? "" : "s", to);
    }
    return ok ? PW_EXIT_OK : PW_EXIT_FAILURE;
}
