/* Purpose: what the driver of the system's kernel says of GPUs, in /proc. */
#include "base/card.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static const char cards[] = "/proc/driver/nvidia/gpus";

/* Reads the name from a card's information: "Model: \t NVIDIA H100 80GB HBM3". */
static bool read_card(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");
    char line[256];
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f)) {
        const char *name = line + strlen("Model:");

        if (strncmp(line, "Model:", strlen("Model:")))
            continue;
        name += strspn(name, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(name, "\n"), name);
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

void pw_card_name(char *out, size_t size)
{
    DIR *dir = opendir(cards);
    char path[sizeof cards + 256 + 16], first[256] = "";

    *out = '\0';
    if (!dir)
        return;
    /* Takes the first card by name, since directories have no order. */
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.' && (!*first || strcmp(e->d_name, first) < 0))
            snprintf(first, sizeof first, "%s", e->d_name);
    closedir(dir);
    snprintf(path, sizeof path, "%s/%s/information", cards, first);
    if (!read_card(path, out, size))
        *out = '\0';
}

int pw_card_count(void)
{
    DIR *dir = opendir(cards);
    int n = 0;

    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}
