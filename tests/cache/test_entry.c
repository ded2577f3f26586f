/* pw_entry_check on images in memory: anything but the intact image of the right kernel is refused. */
#include "jit-cache/entry.h"
#include "tests/cache/scene.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static const pw_hash key = {0x1234, 0x5678};

/* A sealed image; `patch` may change the object first. Checks read unaligned, so it lies at an odd address. */
static unsigned char *make_image(void (*patch)(pw_blob *), size_t *size)
{
    pw_blob object = fake_object(key, false);
    void *sealed;
    unsigned char *image;

    if (patch)
        patch(&object);
    assert_int_equal(pw_entry_seal(object.data, object.size, key, &sealed, size), PW_OK);
    pw_blob_free(&object);
    image = malloc(*size + 1);
    assert_non_null(image);
    memcpy(image + 1, sealed, *size);
    free(sealed);
    return image + 1;
}

static void free_image(unsigned char *image)
{
    free(image - 1);
}

static void accepts_intact(void **state)
{
    size_t size;
    unsigned char *image = make_image(NULL, &size);
    pw_diag diag;

    (void)state;
    assert_int_equal(pw_entry_check(image, size, key, &diag), PW_OK);
    free_image(image);
}

static void refuses_every_length(void **state)
{
    size_t size;
    unsigned char *image = make_image(NULL, &size);

    (void)state;
    for (size_t n = 0; n < size; n++) {
        unsigned char *part = malloc(n ? n : 1); /* exact, so that ASan sees a read beyond */

        memcpy(part, image, n);
        if (pw_entry_check(part, n, key, NULL) != PW_ERR_CORRUPT)
            fail_msg("the first %zu of %zu bytes were accepted", n, size);
        free(part);
    }
    free_image(image);
}

static void refuses_every_flip(void **state)
{
    size_t size;
    unsigned char *image = make_image(NULL, &size);

    (void)state;
    for (size_t i = 0; i < size; i++) {
        image[i] ^= (unsigned char)(1u << i % 8);
        if (pw_entry_check(image, size, key, NULL) != PW_ERR_CORRUPT)
            fail_msg("accepted with a bit of byte %zu of %zu flipped", i, size);
        image[i] ^= (unsigned char)(1u << i % 8);
    }
    free_image(image);
}

static void refuses_another_key(void **state)
{
    size_t size;
    unsigned char *image = make_image(NULL, &size);
    pw_hash other = {key.lo, key.hi + 1};

    (void)state;
    assert_int_equal(pw_entry_check(image, size, other, NULL), PW_ERR_CORRUPT);
    free_image(image);
}

static void set_machine(pw_blob *b)
{
    ((Elf64_Ehdr *)b->data)->e_machine = EM_S390;
}

static void set_class(pw_blob *b)
{
    ((Elf64_Ehdr *)b->data)->e_ident[EI_CLASS] = ELFCLASS32;
}

static void set_type(pw_blob *b)
{
    ((Elf64_Ehdr *)b->data)->e_type = ET_REL;
}

static void set_magic(pw_blob *b)
{
    memcpy(b->data, "#!/bin", 6);
}

static void set_headers_beyond(pw_blob *b)
{
    ((Elf64_Ehdr *)b->data)->e_phoff = UINT64_MAX - 8;
}

static void set_many_headers(pw_blob *b)
{
    ((Elf64_Ehdr *)b->data)->e_phnum = 65535;
}

static Elf64_Phdr *segment(pw_blob *b, unsigned type)
{
    Elf64_Ehdr *h = b->data;
    Elf64_Phdr *p = (Elf64_Phdr *)((char *)b->data + h->e_phoff);

    while (p->p_type != type)
        p++;
    return p;
}

static void set_segment_beyond(pw_blob *b)
{
    segment(b, PT_LOAD)->p_filesz = b->size + 4096;
}

static void set_segment_wraps(pw_blob *b)
{
    segment(b, PT_LOAD)->p_offset = UINT64_MAX - 4096;
}

static void set_not_dynamic(pw_blob *b)
{
    segment(b, PT_DYNAMIC)->p_type = PT_NOTE;
}

/* With a correct checksum, since these are about what is inside. */
static void refuses_foreign_objects(void **state)
{
    static const struct {
        const char *what;
        void (*patch)(pw_blob *);
        pw_status status;
    } rows[] = {
        {"machine", set_machine, PW_ERR_UNSUPPORTED},
        {"class", set_class, PW_ERR_UNSUPPORTED},
        {"type", set_type, PW_ERR_CORRUPT},
        {"magic", set_magic, PW_ERR_CORRUPT},
        {"headers beyond", set_headers_beyond, PW_ERR_CORRUPT},
        {"many headers", set_many_headers, PW_ERR_CORRUPT},
        {"segment beyond", set_segment_beyond, PW_ERR_CORRUPT},
        {"segment wraps", set_segment_wraps, PW_ERR_CORRUPT},
        {"not dynamic", set_not_dynamic, PW_ERR_CORRUPT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size;
        unsigned char *image = make_image(rows[i].patch, &size);
        pw_diag diag = {0};

        if (pw_entry_check(image, size, key, &diag) != rows[i].status)
            fail_msg("%s: status %d: %s", rows[i].what, diag.status, diag.text);
        free_image(image);
    }
}

/* Random bytes before a valid footer, and random footers: what a fuzzer would start from. */
static void survives_noise(void **state)
{
    unsigned char object[256];
    uint64_t seed = 20240601;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        void *image;
        size_t size;

        for (size_t i = 0; i < sizeof object; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            object[i] = (unsigned char)(seed >> 56);
        }
        if (round % 2)
            memcpy(object, ELFMAG "\2\1\1", 7);
        assert_int_equal(pw_entry_seal(object, sizeof object, key, &image, &size), PW_OK);
        assert_int_not_equal(pw_entry_check(image, size, key, NULL), PW_OK);
        free(image);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_intact),          cmocka_unit_test(refuses_every_length),
        cmocka_unit_test(refuses_every_flip),      cmocka_unit_test(refuses_another_key),
        cmocka_unit_test(refuses_foreign_objects), cmocka_unit_test(survives_noise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
