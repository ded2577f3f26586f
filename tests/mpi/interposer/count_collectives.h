/* What the tool below Packwright sees of collectives: calls, and those among them with a type that has gaps. */
#ifndef PW_TESTS_INTERPOSER_COUNT_COLLECTIVES_H
#define PW_TESTS_INTERPOSER_COUNT_COLLECTIVES_H

extern _Atomic long count_collectives, count_gapped;

#endif
