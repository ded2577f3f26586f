/* Attributes of functions and variables that every call uses. */
#ifndef PW_BASE_ATTRIBUTES_H
#define PW_BASE_ATTRIBUTES_H

/* A function that is inlined also where code is compiled to be short. */
#define PW_INLINE static inline __attribute__((always_inline))

/* A variable that is addressed directly, and not through the global offset table. */
#define PW_HIDDEN __attribute__((visibility("hidden")))

#endif
