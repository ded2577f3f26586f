/* The GPUs of this machine, as the kernel's driver has them, without loading a library. */
#ifndef PW_BASE_CARD_H
#define PW_BASE_CARD_H

#include <stdbool.h>
#include <stddef.h>

/* The name of the first GPU; "" without one. */
void pw_card_name(char *out, size_t size);
/* The number of GPUs, whatever CUDA_VISIBLE_DEVICES says. */
int pw_card_count(void);

#endif
