#include "runtime/engine/model/internal.h"

#include <math.h>

/* Measured on an H100 with PCIe 5. Nanoseconds: of a kernel, launched and waited for; in addition, of one that reads
 * mapped memory; of a copy to or from the host; of a copy within the GPU. Bytes per nanosecond: of GPU memory (reads
 * and writes together); to and from the host; of kernels on mapped memory. */
static const double launch_ns = 6700, mapped_read_ns = 900, host_copy_ns = 6300, device_copy_ns = 9000;
static const double gpu_memory = 2986, link_to_host = 55, mapped = 52;

/* Measured on two H200s with NVLink, where one reads the other's memory (bench/gpu/joined.c). Nanoseconds of a kernel,
 * launched and waited for; bytes per nanosecond of whole granules, and of what is read of them.
 */
static const double linked_launch_ns = 8500, link_granules = 480, link_bytes = 330;

/* DRAM of the GPU moves granules of this many bytes. */
enum { GRANULE = 64 };

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

double pw_model_default_launch(void)
{
    return launch_ns;
}

/* The bytes of all granules that hold a part of a block, at most those from the first block to the last. */
static double touched(pw_model_shape s)
{
    double bytes = (double)s.bytes;
    double alone = bytes / (double)s.block * (double)((s.block + GRANULE - 1) / GRANULE * GRANULE);

    return smaller(alone, s.spread * bytes);
}

static double gpu_move(pw_direction direction, pw_model_shape s)
{
    double granules = touched(s), traffic = granules + (double)s.bytes;

    /* Granules that are written in part are read first. */
    if (direction == PW_UNPACK && s.block % GRANULE)
        traffic += granules;
    return traffic / gpu_memory;
}

static double mapped_move(pw_direction direction, pw_model_shape s)
{
    return launch_ns + (direction == PW_PACK ? 0 : mapped_read_ns) +
           larger(gpu_move(direction, s), (double)s.bytes / mapped);
}

/* Pages of the GPU memory of two processes that lie out of the reach of its TLB are waited for. On an H200, columns of
 * doubles in 512 MiB took 140 us more than packed ones, and in 128 MiB as long. */
static double wait_for_pages(pw_model_shape s)
{
    enum { PAGE = 2 << 20, REACH = 128 };
    double blocks = (double)s.bytes / (double)s.block;
    double pages = smaller(blocks * (double)((s.block + PAGE - 1) / PAGE), ceil(s.spread * (double)s.bytes / PAGE));

    return pages > REACH ? 550 * pages : 0;
}

/* Whole granules cross the link, whatever is read of them. */
double pw_model_default_across(pw_model_shape s)
{
    return linked_launch_ns + larger((double)s.bytes / link_bytes, touched(s) / link_granules) + wait_for_pages(s);
}

double pw_model_default_move(pw_model_memory packed, pw_direction direction, pw_model_shape s)
{
    switch (packed) {
    case PW_MODEL_HOST: return 60 + 0.6 * (double)s.bytes / (double)s.block + 0.08 * (double)s.bytes;
    case PW_MODEL_DEVICE: return launch_ns + gpu_move(direction, s);
    default: return mapped_move(direction, s);
    }
}

/*
 * An MPI that takes GPU memory opens the sender's memory and copies once: between two H200s Open MPI needs 10 us and
 * 380 bytes a nanosecond. The bandwidth here is that of PCI Express 5, since not all GPUs of a node are linked by
 * NVLink.
 */
double pw_model_default_send(bool device, int64_t bytes)
{
    return device ? 10e3 + (double)bytes / 50 : 1000 + (double)bytes / 16;
}

/* Most MPIs move such a message block by block. */
double pw_model_default_native_device(int64_t bytes, int64_t blocks)
{
    return 20e3 + 1500 * (double)blocks + (double)bytes / 12;
}

double pw_model_default_copy(pw_model_copy_way way, int64_t bytes)
{
    return way == PW_MODEL_D2D ? device_copy_ns + (double)bytes / (gpu_memory / 2)
                               : host_copy_ns + (double)bytes / link_to_host;
}
