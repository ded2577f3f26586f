/*
 * The interposers that this build has, and which of them is for the MPI that a program runs on. There may be several of
 * one kind, each built for another installation of MPICH or Open MPI.
 */
#ifndef PW_TOOLS_BUILT_H
#define PW_TOOLS_BUILT_H

typedef struct pw_built {
    const char *kind;    /* "mpich" or "openmpi" */
    const char *folder;  /* of the interposer, below the library directory; "" for the first of its kind */
    const char *mpi;     /* what it was built for: "MPICH 4.0.2" */
    const char *library; /* the real file of that MPI's library; "" if it was not found */
    const char *bin;     /* the directory of that MPI's compiler wrapper, without symbolic links */
} pw_built;

/* Returns the i-th interposer of this build. NULL: there are fewer. */
const pw_built *pw_built_at(int i);

/*
 * Chooses one of `n` interposers for an MPI of this kind: first the one built for this very library, then one whose
 * library has the same file name, which contains the version (libmpi.so.12.1.12), then the one whose MPI has its
 * programs in `bin`, else the first of this kind. `library` is a real path, `bin` a directory without symbolic links;
 * "" stands for an unknown one. NULL: none is of this kind.
 */
const pw_built *pw_built_choose(const pw_built *rows, int n, const char *kind, const char *library, const char *bin);

#endif
