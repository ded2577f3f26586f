/* Memory of another process, mapped here: its pages are in this process only once they have been entered into its page
 * table, which the first read does 64 KiB at a time. */
#ifndef PW_RUNTIME_PAGES_H
#define PW_RUNTIME_PAGES_H

#include <stddef.h>

/* Enters up to `most` bytes of the pages of a range, which begins with a page and is mapped to the end of its last one,
 * as far as the owner has written them. The others are left alone, since the
 * system would make them. Returns how many bytes it has entered. */
size_t pw_pages_enter(const void *base, size_t bytes, size_t most);

#endif
