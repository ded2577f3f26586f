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
        status = pw_disk_read(disk->fd, s->key, &file, &diag);
    free(file.data);
    if (status == PW_OK)
        return PW_CACHED_YES;
    if (status == PW_ERR_NOT_FOUND)
        return PW_CACHED_NO;
    snprintf(out->cache_note, sizeof out->cache_note, "%s", diag.text);
    return PW_CACHED_REFUSED;
}

/* Looks, and changes nothing. */
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

/* ---- llvm-mca ----------------------------------------------------------------------------------- */

/* Types of a trace share kernels; one answer each will do. */
static void find_mca(const pw_subject *s, pw_mca *out)
{
    pw_mca_memo *memo = s->memo;

    for (int i = 0; i < memo->n && i < PW_MCA_MEMO; i++) {
        if (pw_hash_equal(memo->items[i].key, s->key)) {
            *out = memo->items[i].mca;
            return;
        }
    }
    pw_mca_ask(s, out);
    memo->items[memo->n % PW_MCA_MEMO].key = s->key;
    memo->items[memo->n++ % PW_MCA_MEMO].mca = *out;
}

void pw_facts_find(const pw_subject *s, pw_facts *out)
{
    *out = (pw_facts){.contiguous = pw_nest_is_contiguous(s->nest),
                      .touch = pw_cost_touch(s->canonical.root),
                      .model_cycles = pw_cost_model(s->nest, &s->options->target)};
    if (out->contiguous)
        snprintf(out->mca.note, sizeof out->mca.note, "a contiguous type needs no kernel");
    else
        find_mca(s, &out->mca);
    find_cached(s, out);
}
