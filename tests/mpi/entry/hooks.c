/*
 * Checks that the hooks are live and do what they should. A tool below counts the calls that reach it: with Packwright,
 * no pack of a type that it knows, and every other call; with "inert" as argument, every call.
 */
#include "tests/mpi/support/count_calls.h"
#include "tests/mpi/support/harness.h"

#include <dlfcn.h>

static bool inert;

static void check_binding(void)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_DEFAULT, "MPI_Type_commit");

    CHECK(symbol && dladdr(symbol, &info) && strstr(info.dli_fname, "libpackwright"), "bound to %s",
          symbol ? info.dli_fname : "nothing");
    CHECK(dlsym(RTLD_DEFAULT, "pw_registry_find") == NULL, "internal symbols are visible");
}

/* Processes that pack have staging memory in a file of its own (runtime/exchange/segment.h). */
static void check_segment(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    bool found = false;
    char line[512];

    while (maps && fgets(line, sizeof line, maps))
        found = found || strstr(line, "memfd:packwright-outbound");
    if (maps)
        fclose(maps);
    CHECK(!(found && inert), "a segment is there");
    CHECK(found || inert, "there is no segment");
}

static void check_unpack(MPI_Datatype type, bool ours, const char *what)
{
    char memory[4096] = {0}, packed[4096] = {0};
    int position = 0;
    long unpacks = count_unpack;

    MPI_Unpack(packed, sizeof packed, &position, memory, 2, type, MPI_COMM_WORLD);
    CHECK((count_unpack == unpacks) == (ours && !inert), "%s: unpack reached the tool: %d", what,
          count_unpack != unpacks);
}

/* The first pack may be the one that learns the type (`first` false). Later packs are carried out by Packwright if
 * `ours` is set. */
static void check_pack(MPI_Datatype type, bool first, bool ours, const char *what)
{
    char memory[4096] = {0}, packed[4096];
    int position = 0;
    long packs = count_pack;

    MPI_Pack(memory, 2, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    CHECK((count_pack == packs) == (first && !inert), "%s: pack reached the tool: %d", what, count_pack != packs);
    check_unpack(type, ours, what);
}

static void check_packs(void)
{
    MPI_Datatype strided, dense, dup, hidden;
    long commits = count_commit;

    MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &strided);
    MPI_Type_contiguous(16, MPI_DOUBLE, &dense);
    MPI_Type_commit(&strided);
    MPI_Type_commit(&dense);
    CHECK(count_commit == commits + 2, "commits that reached the tool: %ld", count_commit - commits);
    MPI_Type_dup(strided, &dup);
    check_pack(strided, true, true, "strided");
    check_pack(dense, true, true, "contiguous");
    check_pack(MPI_INT, false, true, "predefined");
    check_pack(MPI_INT, true, true, "predefined, later");
    check_pack(MPI_DOUBLE_INT, false, false, "pair");
    check_pack(dup, true, true, "dup");
    /* The library knows nothing of a handle that was committed by PMPI_. */
    MPI_Type_vector(8, 1, 4, MPI_DOUBLE, &hidden);
    PMPI_Type_commit(&hidden);
    check_pack(hidden, false, false, "committed past the library");
    check_pack(hidden, false, false, "committed past the library, later");
    MPI_Type_free(&strided);
    check_pack(dup, true, true, "dup of a freed type");
    MPI_Type_free(&dup);
    MPI_Type_free(&dense);
    MPI_Type_free(&hidden);
}

int main(int argc, char **argv)
{
    int rc, flag, major, minor;

    inert = argc > 1 && !strcmp(argv[1], "inert");
    /* These calls are legal before MPI_Init. */
    MPI_Initialized(&flag);
    MPI_Get_version(&major, &minor);
    MPI_Init(&argc, &argv);
    check_binding();
    check_packs();
    check_segment();
    rc = test_result();
    MPI_Finalize();
    MPI_Finalized(&flag);
    return rc || !flag;
}
