/* Buffers on a GPU are left to MPI, also when the GPU runtime is loaded after the types were made. Argument: a stand-in
 * for the CUDA driver. */
#include "count_calls.h"
#include "harness.h"

#include <dlfcn.h>
#include <sys/mman.h>

static bool reached_tool(void *memory, MPI_Datatype type, void *packed)
{
    long before = count_pack;
    int position = 0;

    MPI_Pack(memory, 1, type, packed, 64, &position, MPI_COMM_SELF);
    return count_pack != before;
}

int main(int argc, char **argv)
{
    enum { REGION = 8 << 20 };
    MPI_Datatype type, absolute;
    MPI_Aint place;
    char *host = malloc(4096), *device = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char packed[64];
    void *cuda;
    void (*set_range)(const void *, unsigned long long);
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Get_address(device, &place);
    MPI_Type_create_hindexed_block(1, 1, &place, type, &absolute);
    MPI_Type_commit(&absolute);
    memset(host, 0, 4096);
    CHECK(!reached_tool(MPI_BOTTOM, absolute, packed), "absolute addresses, no GPU");
    CHECK(!reached_tool(host, type, packed), "host memory, no GPU");
    cuda = dlopen(argc > 1 ? argv[1] : "", RTLD_LAZY);
    CHECK(cuda != NULL, "%s", dlerror());
    if (cuda) {
        set_range = (void (*)(const void *, unsigned long long))dlsym(cuda, "fake_device_range");
        set_range(device, REGION);
        CHECK(reached_tool(device, type, packed), "device memory");
        CHECK(reached_tool(device + REGION / 2, type, packed), "device memory, middle");
        CHECK(reached_tool(host, type, device), "packed into device memory");
        CHECK(!reached_tool(host, type, packed), "host memory beside a GPU");
        /* There are MPIs whose MPI_Pack takes no MPI_BOTTOM; that is then theirs to say. */
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        CHECK(reached_tool(MPI_BOTTOM, absolute, packed), "device memory by absolute addresses");
    }
    MPI_Type_free(&type);
    MPI_Type_free(&absolute);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
