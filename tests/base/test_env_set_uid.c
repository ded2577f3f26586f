/*
 * A set-uid program takes nothing from the environment. This program makes a set-uid copy of itself and runs that as
 * another user, with variables set that would have it load a library and write files. Skipped (77) where it may not.
 */
#include "base/env.h"
#include "jit-cache/cache.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWNER = 65533, CALLER = 65534, NOT_SECURE = 76, SKIPPED = 77 };

static int skip(const char *why)
{
    printf("SKIPPED: %s\n", why);
    return SKIPPED;
}

/* ---- the copy ---------------------------------------------------------------------------------------------------- */

static int failures;

static void expect(bool right, const char *what)
{
    if (right)
        return;
    printf("with the rights of another user: %s\n", what);
    failures++;
}

static int look(void)
{
    char dir[PATH_MAX];

    if (!getauxval(AT_SECURE))
        return NOT_SECURE;
    expect(!*pw_env_path(PW_ENV_LLVM_MODULE), "PACKWRIGHT_LLVM_MODULE is obeyed");
    expect(!*pw_env_path(PW_ENV_TRACE), "PACKWRIGHT_TRACE is obeyed");
    expect(pw_env_choice(PW_ENV_STATS) == 0, "PACKWRIGHT_STATS is obeyed");
    expect(!pw_env_foreign("HOME"), "HOME is obeyed");
    expect(!pw_cache_default_dir(dir, sizeof dir), "there is a cache directory");
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- making and running it --------------------------------------------------------------------------------------- */

/* Makes a copy that is owned by another user than the one that runs it. */
static bool copy_self(const char *path)
{
    int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    struct stat self;
    bool copied = in >= 0 && out >= 0 && fstat(in, &self) == 0;

    for (off_t left = copied ? self.st_size : 0; copied && left > 0;) {
        ssize_t n = sendfile(out, in, NULL, (size_t)left);

        copied = n > 0;
        left -= n;
    }
    copied = copied && fchown(out, OWNER, (gid_t)-1) == 0 && fchmod(out, 04755) == 0;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return copied;
}

static void run_as_caller(const char *path)
{
    setenv("PACKWRIGHT_LLVM_MODULE", "/tmp/module.so", 1);
    setenv("PACKWRIGHT_TRACE", "/tmp/types.ddt", 1);
    setenv("PACKWRIGHT_STATS", "1", 1);
    setenv("PACKWRIGHT_CACHE_DIR", "/tmp/cache", 1);
    setenv("XDG_CACHE_HOME", "/tmp/xdg", 1);
    setenv("HOME", "/tmp", 1);
    if (setresuid(CALLER, CALLER, CALLER) == 0)
        execl(path, path, "look", (char *)NULL);
    _exit(NOT_SECURE);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/pw-set-uid-XXXXXX", path[sizeof dir + 8];
    int status = -1;
    pid_t child;

    if (argc > 1) {
        int rc = look();

        fflush(stdout);
        _exit(rc); /* sanitizers would look for leaks at exit, which such a process may not */
    }
    if (argc < 1 || !argv[0] || geteuid() != 0)
        return skip("only root makes programs of other users");
    if (!mkdtemp(dir) || chmod(dir, 0755) != 0)
        return skip("no directory in /tmp");
    snprintf(path, sizeof path, "%s/copy", dir);
    if (!copy_self(path))
        return skip("the program cannot be copied and given away");
    child = fork();
    if (child == 0)
        run_as_caller(path);
    if (child > 0)
        waitpid(child, &status, 0);
    unlink(path);
    rmdir(dir);
    if (!WIFEXITED(status))
        return EXIT_FAILURE;
    return WEXITSTATUS(status) == NOT_SECURE ? skip("/tmp does not heed set-uid bits") : WEXITSTATUS(status);
}
