/* Entries of the disk cache: any bytes as they are, and as the code inside an intact footer. */
#include "jit-cache/entry.h"
#include "tests/fuzz/check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks an entry. A check that refuses must give a reason. */
static pw_status check(const void *data, size_t size, pw_hash key)
{
    pw_diag diag = {0};
    pw_status status = pw_entry_check(data, size, key, &diag);

    if (status != PW_OK && (!*diag.text || (status != PW_ERR_CORRUPT && status != PW_ERR_UNSUPPORTED)))
        fuzz_fail("refused", "without a reason");
    return status;
}

static void check_as_is(const uint8_t *data, size_t size)
{
    pw_hash key = {0};
    pw_entry_footer footer;

    if (size >= sizeof footer) {
        memcpy(&footer, data + size - sizeof footer, sizeof footer);
        key = (pw_hash){footer.key_lo, footer.key_hi};
    }
    check(data, size, key);
}

/* Seals the input, so that the checks behind the checksum are reached. An entry that passes must fail if any byte is
 * changed, and under another key. */
static void check_sealed(const uint8_t *data, size_t size)
{
    pw_hash key = {size, 42}, other = {size, 43};
    unsigned char *image;
    size_t bytes;

    if (pw_entry_seal(data, size, key, (void **)&image, &bytes) != PW_OK)
        return;
    if (check(image, bytes, key) == PW_OK) {
        size_t at = (data[0] * (size_t)65537 + data[size / 2] * (size_t)257 + data[size - 1]) % bytes;

        if (check(image, bytes, other) == PW_OK)
            fuzz_fail("accepted", "under another key");
        image[at] ^= 0x40;
        if (check(image, bytes, key) == PW_OK)
            fuzz_fail("accepted", "with a damaged byte");
    }
    free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_as_is(data, size);
    check_sealed(data, size);
    return 0;
}
