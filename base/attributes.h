/* Attributes of functions and variables that every call uses, and which of its branches are straight code. */
#ifndef PW_BASE_ATTRIBUTES_H
#define PW_BASE_ATTRIBUTES_H

/* A function that is inlined also where code is compiled to be short. */
#define PW_INLINE static inline __attribute__((always_inline))

/* Conditions of branches of which the compiler shall keep one out of the way. */
#define PW_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define PW_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* A variable that is addressed directly, and not through the global offset table. */
#define PW_HIDDEN __attribute__((visibility("hidden")))

#endif
