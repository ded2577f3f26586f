/* Which segments (runtime/exchange/segment.h) this process has mapped, its own and those of others, as the system
 * reports it. */
#ifndef PW_TESTS_OUTBOUND_MAPS_H
#define PW_TESTS_OUTBOUND_MAPS_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct outbound_maps {
    int maps, dumped;     /* `dumped`: those that core dumps would contain */
    size_t bytes, locked; /* the addresses that they take; the locked memory of the process */
} outbound_maps;

static inline outbound_maps outbound_maps_now(void)
{
    FILE *smaps = fopen("/proc/self/smaps", "r");
    outbound_maps sum = {0};
    int is_outbound = 0;
    char line[512];
    size_t kib;

    while (smaps && fgets(line, sizeof line, smaps)) {
        unsigned long first, last;

        if (sscanf(line, "%lx-%lx ", &first, &last) == 2) {
            is_outbound = strstr(line, "memfd:packwright-outbound") != NULL;
            sum.maps += is_outbound;
            sum.bytes += is_outbound ? last - first : 0;
        } else if (is_outbound && sscanf(line, "Locked: %zu", &kib) == 1) {
            sum.locked += kib * 1024;
        } else if (is_outbound && !strncmp(line, "VmFlags:", 8)) {
            sum.dumped += strstr(line, " dd") == NULL;
        }
    }
    if (smaps)
        fclose(smaps);
    return sum;
}

#endif
