/* Checks of what the system's kernel permits, and of limits. */
#include "tools/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY /* Linux 5.11 */
#define UFFD_USER_MODE_ONLY 1
#endif

void pw_doctor_memfd(pw_finding *f)
{
    int fd = memfd_create("packwright-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, 1 << 20) != 0)
        pw_doctor_off(f, PW_DOCTOR_OFF, "allow memfd_create in the container's seccomp profile; see ulimit -f",
                      "messages within a node are copied twice: memfd_create: %s", strerror(errno));
    else
        pw_doctor_ok(f, "memory files (memfd_create) can be made");
    if (fd >= 0)
        close(fd);
}

/* ---- reading another process ------------------------------------------------------------------------------------ */

static char secret = 'p'; /* what one child reads of another */

/* In a child: reads memory of its sibling, and looks at its open files. Returns 0 or an errno. */
static int read_sibling(pid_t sibling)
{
    char byte = 0, path[64];
    struct iovec here = {&byte, 1}, there = {&secret, 1};
    int fd;

    if (process_vm_readv(sibling, &here, 1, &there, 1, 0) != 1 || byte != 'p')
        return errno ? errno : EIO;
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)sibling);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    return fd < 0 ? errno : 0;
}

/* Ranks of a node are siblings, of which none has started another. Returns 0 or an errno. */
static int try_siblings(void)
{
    pid_t sleeper = fork(), reader;
    int state = 0;

    if (sleeper == 0) {
        pause();
        _exit(0);
    }
    if (sleeper < 0)
        return errno;
    reader = fork();
    if (reader == 0)
        _exit(read_sibling(sleeper));
    if (reader > 0)
        waitpid(reader, &state, 0);
    kill(sleeper, SIGKILL);
    waitpid(sleeper, NULL, 0);
    return reader < 0 || !WIFEXITED(state) ? EIO : WEXITSTATUS(state);
}

/* Returns the number in a file of /proc; -1: there is none. */
static int number_in(const char *path)
{
    FILE *file = fopen(path, "r");
    int n = -1;

    if (file && fscanf(file, "%d", &n) != 1)
        n = -1;
    if (file)
        fclose(file);
    return n;
}

void pw_doctor_peers(pw_finding *f)
{
    int scope = number_in("/proc/sys/kernel/yama/ptrace_scope"), error;

    fflush(NULL);
    error = try_siblings();
    if (error == 0)
        pw_doctor_ok(f, "processes may read each other (process_vm_readv, /proc/PID/fd)");
    else if (scope > 0)
        pw_doctor_off(f, PW_DOCTOR_OFF, "as root: sysctl -w kernel.yama.ptrace_scope=0",
                      "receivers cannot unpack from the sender's memory: kernel.yama.ptrace_scope is %d", scope);
    else
        pw_doctor_off(f, PW_DOCTOR_OFF,
                      "start the container with --cap-add=SYS_PTRACE, or allow process_vm_readv in its "
                      "seccomp profile",
                      "receivers cannot unpack from the sender's memory: process_vm_readv: %s", strerror(error));
}

static bool has_userfaultfd(int flags)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | flags);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Without it nothing is off that most systems let a user turn on, and only GPUs of a node gain by it. */
void pw_doctor_userfaultfd(pw_finding *f)
{
    const char *way = "go through host memory, too";

    if (has_userfaultfd(0) || access("/dev/userfaultfd", R_OK | W_OK) == 0)
        way = "may stay in their memory";
    else if (has_userfaultfd(UFFD_USER_MODE_ONLY))
        way = "may go from buffer to buffer";
    pw_doctor_ok(f, "messages between GPUs of a node %s (userfaultfd)", way);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static bool is_below(int resource, rlim_t least)
{
    struct rlimit limit;

    return getrlimit((__rlimit_resource_t)resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           limit.rlim_cur < least;
}

void pw_doctor_limits(pw_finding *f)
{
    if (is_below(RLIMIT_FSIZE, 1 << 30))
        pw_doctor_off(f, PW_DOCTOR_OFF, "ulimit -f unlimited",
                      "the size of files is limited, and staging memory of a node with it");
    else if (is_below(RLIMIT_NOFILE, 256))
        pw_doctor_off(f, PW_DOCTOR_OFF, "ulimit -n 1024", "fewer than 256 files can be open");
    else if (is_below(RLIMIT_AS, (rlim_t)4 << 30))
        pw_doctor_off(f, PW_DOCTOR_OFF, "ulimit -v unlimited", "address space is limited to less than 4 GiB");
    else
        pw_doctor_ok(f, "files, open files and address space suffice");
}
