/* Stands in for libcuda.so.1: everything in one range is device memory. */
#include <stdint.h>

int cuPointerGetAttribute(void *data, int attribute, unsigned long long address);
void fake_device_range(const void *first, unsigned long long bytes);

static unsigned long long device_first, device_bytes;

void fake_device_range(const void *first, unsigned long long bytes)
{
    device_first = (unsigned long long)(uintptr_t)first;
    device_bytes = bytes;
}

int cuPointerGetAttribute(void *data, int attribute, unsigned long long address)
{
    if (attribute != 2 || address - device_first >= device_bytes)
        return 1; /* CUDA_ERROR_INVALID_VALUE: not an address of CUDA's */
    *(unsigned *)data = 2;
    return 0;
}
