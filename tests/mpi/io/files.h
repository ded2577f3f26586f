/* What the tests of MPI-IO share: where their files are, and what is in them. */
#ifndef PW_TESTS_INTERPOSER_FILES_H
#define PW_TESTS_INTERPOSER_FILES_H

/* Returns a path in $TMPDIR, the same on all ranks. Collective over MPI_COMM_WORLD. The caller frees it. */
char *test_file_path(const char *name);

/* Compares all bytes of two files, as they are on disk. */
void test_files_compare(const char *a, const char *b, const char *what);

#endif
