/*
 * What messages that other processes' GPUs read need of the driver: a number for each allocation that never comes back,
 * its range, and a handle that another process opens and reads. Without it nothing goes by replicas or directly, so
 * tests/gpu/goals.py asks a GPU's driver first. A child process opens the memory, on every GPU.
 *
 * usage: test_runtime_gpu_exported <driver, or ->. Exits 77, for "skipped", without a GPU.
 */
#include "runtime/engine/gpu/memory.h"
#include "runtime/engine/gpu/place.h"
#include "runtime/exchange/gpu/exported.h"
#include "tests/mpi/gpu/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, BYTES = 1 << 20, INSIDE = 4097 * 8, HEX = 2 * sizeof(pw_cu_ipc) };

static int failures;

static void expect(bool holds, const char *what)
{
    printf("%s: %s\n", holds ? "holds " : "FAILED", what);
    fflush(stdout);
    failures += !holds;
}

static void fill(unsigned char *bytes)
{
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
}

/* ---- the other process ------------------------------------------------------------------------------------------- */

/* Opens the memory of a handle in the primary context of each GPU, and compares what it holds. */
static int read_as_child(const char *driver, const char *hex)
{
    static unsigned char want[BYTES], got[BYTES];
    pw_cu_ipc handle;
    pw_cu_ptr at;
    int wrong = 0;

    for (size_t i = 0; i < sizeof handle; i++)
        sscanf(hex + 2 * i, "%2hhx", (unsigned char *)&handle + i);
    if (!gpu_start(driver) || !pw_cu_find())
        return 1;
    fill(want);
    for (int d = 0; d < gpu_devices(); d++) {
        gpu_set_current(gpu_primary(d));
        if (pw_cu.ipc_open(&at, handle, PW_CU_IPC_PEER_ACCESS) != PW_CU_OK) {
            printf("        GPU %d of the other process cannot open the memory\n", d);
            wrong++;
            continue;
        }
        memset(got, 0, BYTES);
        gpu_read(&(gpu_memory){.kind = GPU_DEVICE, .at = (unsigned char *)(uintptr_t)at, .bytes = BYTES}, 0, got,
                 BYTES);
        wrong += memcmp(got, want, BYTES) != 0;
        pw_cu.ipc_close(at);
    }
    return wrong > 0;
}

static bool is_read_by_child(const char *self, const char *driver, const pw_segment_exported *e)
{
    char hex[HEX + 1], command[4096];
    int rc;

    for (size_t i = 0; i < sizeof e->handle; i++)
        snprintf(hex + 2 * i, 3, "%02x", e->handle[i]);
    snprintf(command, sizeof command, "'%s' '%s' %s", self, driver ? driver : "-", hex);
    fflush(stdout);
    rc = system(command);
    return WIFEXITED(rc) && WEXITSTATUS(rc) == 0;
}

/* ---- this process ------------------------------------------------------------------------------------------------ */

static pw_status export(const gpu_memory *m, size_t at, pw_segment_exported *out)
{
    pw_memory_place place = pw_gpu_place_of(m->at);

    return place.kind == PW_PLACE_DEVICE ? pw_gpu_export(place.gpu, pw_cu_address(m->at + at), out)
                                         : PW_ERR_UNSUPPORTED;
}

static void allocations_have_numbers(void)
{
    gpu_memory a = gpu_memory_make(GPU_DEVICE, BYTES), b = gpu_memory_make(GPU_DEVICE, BYTES);
    pw_segment_exported of_a, inside, of_b, again;
    unsigned char *before = a.at;

    expect(export(&a, 0, &of_a) == PW_OK && export(&b, 0, &of_b) == PW_OK,
           "an allocation has a number, range and handle");
    expect(of_a.number != 0 && of_a.number != of_b.number, "two allocations have two numbers");
    expect(export(&a, INSIDE, &inside) == PW_OK && inside.number == of_a.number,
           "an inner address has the same number");
    expect(of_a.address == pw_cu_address(a.at) && of_a.bytes >= BYTES, "the range is that of the allocation");
    gpu_memory_free(&a);
    a = gpu_memory_make(GPU_DEVICE, BYTES);
    expect(export(&a, 0, &again) == PW_OK && again.number != of_a.number && again.number != of_b.number,
           a.at == before ? "the same address has a new number when it is allocated anew"
                          : "new memory has a new number (at another address)");
    gpu_memory_free(&a);
    gpu_memory_free(&b);
}

static void held_memory_keeps_its_number(void)
{
    gpu_memory a = gpu_memory_make(GPU_DEVICE, BYTES);
    pw_segment_exported first, inside, again;
    pw_buffer b = {.place = pw_gpu_place_of(a.at), .base = a.at, .count = 1, .bytes = BYTES};

    expect(pw_memory_hold(&b) && export(&a, 0, &first) == PW_OK && export(&a, INSIDE, &inside) == PW_OK &&
               inside.number == first.number,
           "memory of operations under way has one number");
    pw_memory_release();
    gpu_memory_free(&a);
    a = gpu_memory_make(GPU_DEVICE, BYTES);
    b.base = a.at;
    expect(pw_memory_hold(&b) && export(&a, 0, &again) == PW_OK && again.number != first.number,
           "the next one has another number");
    pw_memory_release();
    gpu_memory_free(&a);
}

static void others_read(const char *self, const char *driver)
{
    gpu_memory m = gpu_memory_make(GPU_DEVICE, BYTES);
    unsigned char *bytes = malloc(BYTES);
    pw_segment_exported e;

    fill(bytes);
    gpu_write(&m, 0, bytes, BYTES);
    expect(export(&m, INSIDE, &e) == PW_OK && is_read_by_child(self, driver, &e),
           "another process opens it, and reads what is there");
    gpu_memory_free(&m);
    free(bytes);
}

static void say_links(void)
{
    int there, atomics;

    for (int d = 1; d < gpu_devices() && pw_cu.device_get(&there, d) == PW_CU_OK; d++)
        printf("        GPU 0 and GPU %d: %s\n", d,
               pw_cu.p2p_attribute(&atomics, PW_CU_P2P_ATOMICS, 0, there) == PW_CU_OK && atomics
                   ? "linked"
                   : "by the bus, so their messages go by host memory");
}

int main(int argc, char **argv)
{
    const char *driver = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL;

    if (argc > 2)
        return read_as_child(driver, argv[2]);
    if (!gpu_start(driver))
        return SKIPPED;
    expect(pw_cu_find() && pw_gpu_can_export() && pw_cu.ipc_open && pw_cu.ipc_close && pw_cu.p2p_attribute,
           "the driver has the calls");
    if (failures > 0)
        return 1;
    allocations_have_numbers();
    held_memory_keeps_its_number();
    others_read(argv[0], driver);
    say_links();
    return failures > 0;
}
