/* Counts the reads of other processes' memory that the system carries out. Included by one file of a program, in which
 * it takes the place of the C library's syscall: Packwright passes reads on to the system by that. */
#ifndef PW_TESTS_SYSTEM_READS_H
#define PW_TESTS_SYSTEM_READS_H

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Volatile, because compilers assume that process_vm_readv calls no function of the including file. */
static volatile _Atomic int system_reads;

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    static long (*_Atomic known)(long, ...);
    long (*next)(long, ...) = known, a[6];
    va_list list;

    if (!next)
        known = next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    system_reads += number == SYS_process_vm_readv;
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#endif
