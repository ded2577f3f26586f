#ifndef PW_TESTS_INTERPOSER_COUNT_CALLS_H
#define PW_TESTS_INTERPOSER_COUNT_CALLS_H

#include <mpi.h>

extern _Atomic long count_pack, count_unpack, count_send, count_recv, count_commit;

#endif
