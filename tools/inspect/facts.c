/* Finds what --why and --json say of a type beyond its stages. */
#include "base/env.h"
#include "jit-cache/disk.h"
#include "tools/inspect/inspect.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the disk cache ----------------------------------------------------------------------------- */

static pw_cached look_up(const pw_subject *s, pw_disk *disk, pw_facts *out)
{
    pw_diag diag = {0};
    pw_entry_file file = {0};
    pw_status status = pw_disk_open(disk, false, &diag);

    if (status == PW_OK)
        status = pw_disk_read(disk, s->key, &file, &diag);
    free(file.data);
    if (status == PW_OK)
        return PW_CACHED_YES;
    if (status == PW_ERR_NOT_FOUND)
        return PW_CACHED_NO;
    snprintf(out->cache_note, sizeof out->cache_note, "%s", diag.text);
    return PW_CACHED_REFUSED;
}

/* Looks for the kernel in the cache, without changing the cache. */
static void find_cached(const pw_subject *s, pw_facts *out)
{
    pw_disk disk;

    out->cached = PW_CACHED_UNKNOWN;
    if (!pw_env_bool(PW_ENV_CACHE))
        snprintf(out->cache_note, sizeof out->cache_note, "PACKWRIGHT_CACHE turns it off");
    else if (!pw_cache_default_dir(out->cache_dir, sizeof out->cache_dir))
        snprintf(out->cache_note, sizeof out->cache_note, "no directory is set");
    else if (pw_disk_init(&disk, out->cache_dir, 0) == PW_OK) {
        out->cached = look_up(s, &disk, out);
        pw_disk_fini(&disk);
    }
}

void pw_facts_find(const pw_subject *s, pw_facts *out)
{
    *out = (pw_facts){.contiguous = pw_nest_is_contiguous(s->nest),
                      .touch = pw_cost_touch(s->canonical.root),
                      .model_cycles = pw_cost_model(s->nest, &s->options->target)};
    find_cached(s, out);
}
