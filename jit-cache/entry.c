#include "jit-cache/entry.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(pw_entry_footer) == 56, "the footer is part of the file format");

#if UINTPTR_MAX > 0xffffffffu
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
enum { NATIVE_CLASS = ELFCLASS64 };
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
enum { NATIVE_CLASS = ELFCLASS32 };
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { NATIVE_DATA = ELFDATA2LSB };
#else
enum { NATIVE_DATA = ELFDATA2MSB };
#endif

#if defined __x86_64__
enum { NATIVE_MACHINE = EM_X86_64 };
#elif defined __aarch64__
enum { NATIVE_MACHINE = EM_AARCH64 };
#elif defined __powerpc64__
enum { NATIVE_MACHINE = EM_PPC64 };
#elif defined __riscv
enum { NATIVE_MACHINE = EM_RISCV };
#else
#error "no ELF machine number known for this architecture"
#endif

/* NVIDIA's, which elf.h need not know. */
enum { MACHINE_CUDA = 190 };

enum { MAX_SEGMENTS = 64 };

static pw_hash checksum(const void *data, size_t size)
{
    return pw_hash_bytes(data, size - 2 * sizeof(uint64_t));
}

static pw_status check_footer(const unsigned char *data, size_t size, pw_hash key, pw_diag *diag)
{
    pw_entry_footer f;
    pw_hash sum;

    if (size < sizeof(elf_header) + sizeof f)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "only %zu bytes", size);
    memcpy(&f, data + size - sizeof f, sizeof f);
    if (memcmp(f.magic, PW_ENTRY_MAGIC, sizeof f.magic))
        return pw_diag_set(diag, PW_ERR_CORRUPT, "no footer: damaged or truncated");
    if (f.version != PW_ENTRY_VERSION)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "format version %" PRIu32 ", expected %d", f.version,
                           PW_ENTRY_VERSION);
    if (f.footer_bytes != sizeof f || f.elf_bytes != size - sizeof f)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "%" PRIu64 " bytes of code announced, %zu found", f.elf_bytes,
                           size - sizeof f);
    sum = checksum(data, size);
    if (sum.lo != f.sum_lo || sum.hi != f.sum_hi)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "checksum does not match");
    if (f.key_lo != key.lo || f.key_hi != key.hi)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "holds the kernel of another key");
    return PW_OK;
}

static pw_status check_header(const elf_header *h, pw_diag *diag)
{
    if (memcmp(h->e_ident, ELFMAG, SELFMAG))
        return pw_diag_set(diag, PW_ERR_CORRUPT, "not an ELF file");
    if (h->e_ident[EI_CLASS] != NATIVE_CLASS || h->e_ident[EI_DATA] != NATIVE_DATA || h->e_machine != NATIVE_MACHINE)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "code for another machine (ELF machine %u, class %u)",
                           h->e_machine, h->e_ident[EI_CLASS]);
    if (h->e_type != ET_DYN)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "not a shared object");
    if (h->e_phentsize != sizeof(elf_segment) || h->e_phnum < 1 || h->e_phnum > MAX_SEGMENTS)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "malformed ELF program headers");
    return PW_OK;
}

/* dlopen maps what the program headers say; a segment beyond the file would be a SIGBUS. */
static pw_status check_segments(const unsigned char *data, size_t elf_bytes, const elf_header *h, pw_diag *diag)
{
    bool dynamic = false;

    if (h->e_phoff > elf_bytes || h->e_phnum * sizeof(elf_segment) > elf_bytes - h->e_phoff)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "ELF program headers lie beyond the end");
    for (unsigned i = 0; i < h->e_phnum; i++) {
        elf_segment s;

        memcpy(&s, data + h->e_phoff + i * sizeof s, sizeof s);
        if (s.p_type != PT_LOAD && s.p_type != PT_DYNAMIC)
            continue;
        if (s.p_offset > elf_bytes || s.p_filesz > elf_bytes - s.p_offset)
            return pw_diag_set(diag, PW_ERR_CORRUPT, "an ELF segment lies beyond the end");
        dynamic |= s.p_type == PT_DYNAMIC;
    }
    if (!dynamic)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "no ELF dynamic section");
    return PW_OK;
}

/* The driver that loads a cubin reads its section table. */
static pw_status check_cubin(size_t elf_bytes, const Elf64_Ehdr *h, pw_diag *diag)
{
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
        h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff > elf_bytes ||
        h->e_shnum * sizeof(Elf64_Shdr) > elf_bytes - h->e_shoff)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "malformed ELF section headers of a cubin");
    return PW_OK;
}

bool pw_entry_is_foreign(const void *data)
{
    elf_header header;

    memcpy(&header, data, sizeof header);
    return !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_machine == MACHINE_CUDA;
}

pw_status pw_entry_check(const void *data, size_t size, pw_hash key, pw_diag *diag)
{
    elf_header header;
    pw_status status = check_footer(data, size, key, diag);

    if (status)
        return status;
    memcpy(&header, data, sizeof header);
    if (pw_entry_is_foreign(data) && size - sizeof(pw_entry_footer) >= sizeof(Elf64_Ehdr)) {
        Elf64_Ehdr cubin;

        memcpy(&cubin, data, sizeof cubin);
        return check_cubin(size - sizeof(pw_entry_footer), &cubin, diag);
    }
    status = check_header(&header, diag);
    if (status)
        return status;
    return check_segments(data, size - sizeof(pw_entry_footer), &header, diag);
}

pw_status pw_entry_seal(const void *elf, size_t elf_bytes, pw_hash key, void **out, size_t *out_size)
{
    pw_entry_footer f = {.magic = PW_ENTRY_MAGIC,
                         .version = PW_ENTRY_VERSION,
                         .footer_bytes = sizeof f,
                         .elf_bytes = elf_bytes,
                         .key_lo = key.lo,
                         .key_hi = key.hi};
    size_t size = elf_bytes + sizeof f;
    unsigned char *image;
    pw_hash sum;

    if (elf_bytes > PW_ENTRY_MAX_BYTES - sizeof f)
        return PW_ERR_OVERFLOW;
    image = malloc(size);
    if (!image)
        return PW_ERR_NOMEM;
    memcpy(image, elf, elf_bytes);
    memcpy(image + elf_bytes, &f, sizeof f);
    sum = checksum(image, size);
    f.sum_lo = sum.lo;
    f.sum_hi = sum.hi;
    memcpy(image + elf_bytes, &f, sizeof f);
    *out = image;
    *out_size = size;
    return PW_OK;
}
