#include "tests/mpi/io/files.h"

#include "tests/mpi/support/harness.h"

#include <fcntl.h>
#include <unistd.h>

char *test_file_path(const char *name)
{
    const char *dir = getenv("TMPDIR");
    char *path = malloc(4096);
    int pid = (int)getpid();

    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, 4096, "%s/pw_io_%d_%s", dir ? dir : "/tmp", pid, name);
    return path;
}

static unsigned char *bytes_of(const char *path, ssize_t *length)
{
    enum { MOST = 16 << 20 };
    unsigned char *bytes = malloc(MOST);
    int fd = open(path, O_RDONLY);

    *length = fd < 0 ? -1 : pread(fd, bytes, MOST, 0);
    if (fd >= 0)
        close(fd);
    return bytes;
}

void test_files_compare(const char *a, const char *b, const char *what)
{
    ssize_t m, n;
    unsigned char *p = bytes_of(a, &m), *q = bytes_of(b, &n);

    CHECK(m == n && m >= 0 && !memcmp(p, q, (size_t)m), "%s: files of %zd and %zd bytes", what, m, n);
    free(p);
    free(q);
}
