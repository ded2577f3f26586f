/* What the tests of MPI-IO share: where their files are, and what is in them. */
#ifndef PW_TESTS_INTERPOSER_FILES_H
#define PW_TESTS_INTERPOSER_FILES_H

/* In $TMPDIR, the same on all ranks: collective over MPI_COMM_WORLD. To be freed. */
char *test_file_path(const char *name);

/* All bytes, as they are on disk, must be the same. */
void test_files_compare(const char *a, const char *b, const char *what);

#endif
