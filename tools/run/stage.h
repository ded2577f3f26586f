/*
 * `packwright run --stage`: the libraries and the kernels of the cache become one file that unpacks itself to memory of
 * the node that runs it, so that of all ranks of a node one reads from a file system that all nodes share.
 */
#ifndef PW_TOOLS_STAGE_H
#define PW_TOOLS_STAGE_H

#include <stdbool.h>

typedef struct pw_stage {
    const char *parent;               /* of the directories on nodes; NULL: nothing is staged */
    char cache[4096];                 /* whose kernels are taken, and where the file is written */
    char file[4096], directory[4096]; /* "": not packed yet */
    char setting[4200];               /* the cache of a node, as "NAME=value" */
} pw_stage;

/* Packs what lies beside an interposer, once. False, after saying why, if it cannot. */
bool pw_stage_pack(pw_stage *stage, const char *interposer);

/* Returns the part of an interposer's path that names it within the directory of all libraries. */
const char *pw_staged_name(const char *interposer);

/* Returns whether Slurm copies the file to all nodes of the job before the program starts. Otherwise the first rank of
 * each node unpacks it. */
bool pw_stage_by_slurm(const char *launcher);
/* Has it copied and unpacked. False, after saying why, if it cannot be. */
bool pw_stage_broadcast(const pw_stage *stage, const char *launcher);

/* For /bin/sh -c: unpacks the file, $1, unless its directory, $0, is there, and becomes the command that follows. */
extern const char pw_stage_first[];

#endif
