/* Reads what an ELF file says of the libraries that it needs. Nothing in the file is trusted. */
#include "tools/run/internal.h"

#include "base/env.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#define OWN_TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#define OWN_TRIPLET "aarch64-linux-gnu"
#else
#error "a machine that Packwright does not know"
#endif

/* ---- the file --------------------------------------------------------------------------------------------------- */

static bool map_file(const char *path, pw_elf *elf)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *data = MAP_FAILED;

    if (fd < 0)
        return false;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
        data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data == MAP_FAILED)
        return false;
    elf->data = data;
    elf->size = (size_t)st.st_size;
    snprintf(elf->path, sizeof elf->path, "%s", path);
    return true;
}

/* Copies `n` bytes from a place in the file, which need not be aligned. */
static bool read_at(const pw_elf *elf, uint64_t at, void *out, size_t n)
{
    if (at > elf->size || n > elf->size - at)
        return false;
    memcpy(out, elf->data + at, n);
    return true;
}

static bool read_segment(const pw_elf *elf, const Elf64_Ehdr *header, int i, Elf64_Phdr *out)
{
    return read_at(elf, header->e_phoff + (uint64_t)i * sizeof *out, out, sizeof *out);
}

/* Returns the place in the file of what is loaded at an address. 0: nothing is. */
static uint64_t place_of_address(const pw_elf *elf, const Elf64_Ehdr *header, uint64_t address)
{
    Elf64_Phdr segment;

    for (int i = 0; i < header->e_phnum && read_segment(elf, header, i, &segment); i++)
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
            return address - segment.p_vaddr + segment.p_offset;
    return 0;
}

/* ---- the dynamic section ----------------------------------------------------------------------------------------- */

/* Reads the i-th entry. False at DT_NULL and at the section's end. */
static bool read_entry(const pw_elf *elf, uint64_t i, Elf64_Dyn *out)
{
    return elf->dynamic && i < elf->dynamic_len / sizeof *out &&
           read_at(elf, elf->dynamic_at + i * sizeof *out, out, sizeof *out) && out->d_tag != DT_NULL;
}

/* Returns a string of the dynamic section. NULL: it does not end inside. */
static const char *string_at(const pw_elf *elf, uint64_t offset)
{
    const unsigned char *s;

    if (offset >= elf->strings_len)
        return NULL;
    s = elf->data + elf->strings_at + offset;
    return memchr(s, 0, elf->strings_len - offset) ? (const char *)s : NULL;
}

static void locate_strings(pw_elf *elf, const Elf64_Ehdr *header)
{
    uint64_t address = 0, length = 0, at;
    Elf64_Dyn entry;

    for (uint64_t i = 0; read_entry(elf, i, &entry); i++) {
        if (entry.d_tag == DT_STRTAB)
            address = entry.d_un.d_ptr;
        if (entry.d_tag == DT_STRSZ)
            length = entry.d_un.d_val;
    }
    at = place_of_address(elf, header, address);
    if (at && at < elf->size && length <= elf->size - at) {
        elf->strings_at = at;
        elf->strings_len = length;
    }
}

static void locate_dynamic(pw_elf *elf, const Elf64_Ehdr *header)
{
    Elf64_Phdr segment;
    bool interpreter = false;

    for (int i = 0; i < header->e_phnum && read_segment(elf, header, i, &segment); i++) {
        interpreter = interpreter || segment.p_type == PT_INTERP;
        if (segment.p_type == PT_DYNAMIC) {
            elf->dynamic = true;
            elf->dynamic_at = segment.p_offset;
            elf->dynamic_len = segment.p_filesz;
        }
    }
    locate_strings(elf, header);
    /* A static position-independent executable has a dynamic section, but no interpreter and no needs. */
    if (!interpreter && elf->strings_len) {
        Elf64_Dyn entry;
        bool needs = false;

        for (uint64_t i = 0; read_entry(elf, i, &entry); i++)
            needs = needs || entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME;
        elf->dynamic = needs;
    }
}

static pw_elf_status check_header(const pw_elf *elf, Elf64_Ehdr *header)
{
    unsigned char ident[EI_NIDENT];

    if (!read_at(elf, 0, ident, sizeof ident) || memcmp(ident, ELFMAG, SELFMAG))
        return PW_ELF_NOT;
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
        return PW_ELF_FOREIGN;
    if (!read_at(elf, 0, header, sizeof *header))
        return PW_ELF_NOT;
    if (header->e_machine != OWN_MACHINE)
        return PW_ELF_FOREIGN;
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > elf->size ||
        header->e_phnum > (elf->size - header->e_phoff) / sizeof(Elf64_Phdr))
        return PW_ELF_NOT;
    return PW_ELF_OK;
}

pw_elf_status pw_elf_open(const char *path, pw_elf *out)
{
    Elf64_Ehdr header;
    pw_elf_status status;

    *out = (pw_elf){0};
    if (!map_file(path, out))
        return PW_ELF_NOT;
    status = check_header(out, &header);
    if (status == PW_ELF_OK)
        locate_dynamic(out, &header);
    else
        pw_elf_close(out);
    return status;
}

void pw_elf_close(pw_elf *elf)
{
    munmap((void *)elf->data, elf->size);
    elf->data = NULL;
}

void pw_elf_each_needed(const pw_elf *elf, pw_elf_needed_fn *fn, void *arg)
{
    Elf64_Dyn entry;

    for (uint64_t i = 0; read_entry(elf, i, &entry); i++) {
        const char *name = entry.d_tag == DT_NEEDED ? string_at(elf, entry.d_un.d_val) : NULL;

        if (name)
            fn(arg, elf, name);
    }
}

/* ---- where libraries are ----------------------------------------------------------------------------------------- */

static bool try_directory(const char *dir, size_t n, const char *origin, const char *name, char *path, size_t size)
{
    static const char *const spellings[] = {"$ORIGIN", "${ORIGIN}"};

    for (size_t i = 0; i < 2; i++) {
        size_t k = strlen(spellings[i]);

        if (n >= k && !strncmp(dir, spellings[i], k)) {
            snprintf(path, size, "%s%.*s/%s", origin, (int)(n - k), dir + k, name);
            return !access(path, R_OK);
        }
    }
    snprintf(path, size, "%.*s/%s", (int)n, dir, name);
    return n && !access(path, R_OK);
}

static bool try_list(const char *list, const char *origin, const char *name, char *path, size_t size)
{
    while (list) {
        size_t n = strcspn(list, ":;");

        if (try_directory(list, n, origin, name, path, size))
            return true;
        list = list[n] ? list + n + 1 : NULL;
    }
    return false;
}

static bool try_conf_file(const char *file, const char *name, char *path, size_t size)
{
    FILE *f = fopen(file, "r");
    char line[1024];
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f))
        if (line[0] == '/')
            found = try_directory(line, strcspn(line, " \t\n#"), "", name, path, size);
    if (f)
        fclose(f);
    return found;
}

static bool try_conf_files(const char *name, char *path, size_t size)
{
    glob_t files;
    bool found = false;

    if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &files))
        return false;
    for (size_t i = 0; i < files.gl_pathc && !found; i++)
        found = try_conf_file(files.gl_pathv[i], name, path, size);
    globfree(&files);
    return found;
}

bool pw_elf_find_library(const pw_elf *needed_by, const char *name, char *path, size_t size)
{
    static const char system_dirs[] =
        "/lib/" OWN_TRIPLET ":/usr/lib/" OWN_TRIPLET ":/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
    char origin[4096];
    const char *slash = strrchr(needed_by->path, '/');
    Elf64_Dyn entry;

    if (strchr(name, '/')) {
        snprintf(path, size, "%s", name);
        return !access(path, R_OK);
    }
    snprintf(origin, sizeof origin, "%.*s", slash ? (int)(slash - needed_by->path) : 1, slash ? needed_by->path : ".");
    for (uint64_t i = 0; read_entry(needed_by, i, &entry); i++)
        if ((entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH) &&
            try_list(string_at(needed_by, entry.d_un.d_val), origin, name, path, size))
            return true;
    return try_list(pw_env_foreign("LD_LIBRARY_PATH"), origin, name, path, size) || try_conf_files(name, path, size) ||
           try_list(system_dirs, origin, name, path, size);
}
