/* cubin.c - what ptxas made of each kernel: cubin FILE... prints one line a function, key=value, for cubins alone and for those
 * in the .nv_fatbin section of objects and programs, where they must not be compressed (nvcc --no-compress).
 *
 * Exit status: 0; 1: no function was found, or a compressed cubin; 2: a file that can't be read. Of the code only
 * instructions are counted that tell how a kernel computes and copies, and none that are 0. */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACHINE_CUDA = 190,
    ABI_READ =
        8, /* of the ELF header, from CUDA 13 on: the architecture is in bits 8 to 15 of its flags */
    INSTRUCTION_BYTES = 16,       /* from sm_70 on */
    RESERVED_SHARED_BYTES = 1024, /* the system's, counted in a kernel's section from sm_90 on */
    SYMBOL_ENTRY = 0x10,          /* st_other of a kernel, unlike other functions */
    INFO_VALUE = 4, /* format of an attribute of .nv.info with a size and that many bytes */
    INFO_FRAME_BYTES = 0x11,
    INFO_REGISTERS = 0x2f,
};

/* The header of a group of images, and of each image in it. */
enum { FATBIN_MAGIC = (int)0xba55ed50, FATBIN_HEADER_BYTES = 16, IMAGE_CUBIN = 2 };

struct bytes {
    unsigned char *at;
    size_t count;
};

struct section {
    const char *name;
    struct bytes data; /* none of SHT_NOBITS */
    uint64_t bytes;
    unsigned index;
};

struct elf {
    struct bytes file;
    Elf64_Ehdr header;
    Elf64_Shdr names;
};

struct function {
    char name[1024];
    bool kernel;
    long registers, frame_bytes, shared_bytes; /* -1: not said */
    uint64_t instructions;
};

/* The low 9 bits of an instruction say what it does, the next 3 where its operands are. Found by assembling each (CUDA
 * 13.0; sm_80, sm_90a, sm_100a), QMMA and OMMA for sm_120a. */
static const struct {
    unsigned code;
    const char *name;
} opcodes[] = {
    {0x023, "FFMA"},    {0x049, "FFMA2"},
    {0x02b, "DFMA"},    {0x03c, "HMMA"},
    {0x037, "IMMA"},    {0x03f, "DMMA"},
    {0x07a, "QMMA"},    {0x07f, "OMMA"},
    {0x1f0, "HGMMA"},   {0x1f1, "IGMMA"},
    {0x1f3, "QGMMA"},   {0x1ea, "UTCMMA"}, /* tcgen05.mma of every kind */
    {0x1e7, "UTCCP"},   {0x1e9, "UTCBAR"},
    {0x1ee, "LDTM"},    {0x1ed, "STTM"},
    {0x1ae, "LDGSTS"},  {0x03b, "LDSM"},
    {0x044, "STSM"},    {0x1b4, "UTMALDG"},
    {0x1b5, "UTMASTG"}, {0x1ba, "UBLKCP"},
    {0x187, "STL"},     {0x183, "LDL"},       /* spills, and arrays that are no registers */
    {0x11d, "BAR"},     {0x1c5, "WARPGROUP"}, /* fences and waits of wgmma */
};
enum { OPCODES = sizeof opcodes / sizeof opcodes[0], CODE_MASK = 0x1ff, NOP = 0x118 };

static struct { long functions, compressed; } seen;

/* ---- files ---- */

/* The part of b from offset on, count bytes of it; false when it has no such part. */
static bool part(struct bytes b, uint64_t offset, uint64_t count, struct bytes *out) {
    if (offset > b.count || count > b.count - offset) return false;
    *out = (struct bytes){b.at + offset, (size_t)count};
    return true;
}

/* Copies, for what lies in a file may lie anywhere. */
static bool get(struct bytes b, uint64_t offset, void *out, size_t count) {
    struct bytes p;
    if (!part(b, offset, count, &p)) return false;
    memcpy(out, p.at, count);
    return true;
}

/* The string at offset; NULL when it does not end. */
static const char *string_at(struct bytes b, uint64_t offset) {
    if (offset >= b.count || !memchr(b.at + offset, '\0', b.count - (size_t)offset)) return NULL;
    return (const char *)b.at + offset;
}

static bool read_file(const char *path, struct bytes *out) {
    unsigned char *data = NULL;
    long size;
    FILE *f = fopen(path, "rb");
    bool ok =
        f && fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0;
    if (ok)
        ok = (data = malloc((size_t)size + 1)) && fread(data, 1, (size_t)size, f) == (size_t)size;
    if (f) fclose(f);
    if (!ok) {
        perror(path);
        free(data);
        return false;
    }
    *out = (struct bytes){data, (size_t)size};
    return true;
}

/* ---- ELF ---- */

static bool elf_open(struct bytes file, struct elf *e) {
    e->file = file;
    return get(file, 0, &e->header, sizeof e->header) &&
           memcmp(e->header.e_ident, ELFMAG, SELFMAG) == 0 &&
           e->header.e_ident[EI_CLASS] == ELFCLASS64 && e->header.e_ident[EI_DATA] == ELFDATA2LSB &&
           e->header.e_shentsize == sizeof(Elf64_Shdr) &&
           get(file, e->header.e_shoff + (uint64_t)e->header.e_shstrndx * sizeof(Elf64_Shdr),
               &e->names, sizeof e->names);
}

static bool elf_section(const struct elf *e, unsigned index, struct section *s) {
    Elf64_Shdr header;
    struct bytes names;
    *s = (struct section){.index = index};
    if (!get(e->file, e->header.e_shoff + (uint64_t)index * sizeof header, &header,
             sizeof header) ||
        !part(e->file, e->names.sh_offset, e->names.sh_size, &names) ||
        !(s->name = string_at(names, header.sh_name)))
        return false;
    s->bytes = header.sh_size;
    return header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL ||
           part(e->file, header.sh_offset, header.sh_size, &s->data);
}

/* The section called prefix and name. */
static bool elf_find(const struct elf *e, const char *prefix, const char *name, struct section *s) {
    const size_t length = strlen(prefix);
    for (unsigned i = 0; i < e->header.e_shnum; i++)
        if (elf_section(e, i, s) && strncmp(s->name, prefix, length) == 0 &&
            strcmp(s->name + length, name) == 0)
            return true;
    return false;
}

/* ---- one cubin ---- */

/* The symbol of the function whose code is in a section; 0: none. */
static uint32_t function_symbol(const struct elf *e, unsigned text, const char *name,
                                bool *kernel) {
    struct section symbols, strings;
    Elf64_Sym symbol;
    if (!elf_find(e, ".symtab", "", &symbols) || !elf_find(e, ".strtab", "", &strings)) return 0;
    for (uint32_t i = 1; get(symbols.data, (uint64_t)i * sizeof symbol, &symbol, sizeof symbol);
         i++) {
        const char *symbol_name = string_at(strings.data, symbol.st_name);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx != text || !symbol_name ||
            strcmp(symbol_name, name) != 0)
            continue;
        *kernel = symbol.st_other & SYMBOL_ENTRY;
        return i;
    }
    return 0;
}

/* An attribute that .nv.info has for a symbol; -1: none. */
static long attribute(struct bytes info, unsigned wanted, uint32_t symbol) {
    struct {
        uint8_t format, attribute;
        uint16_t size;
    } head;
    uint32_t value[2];
    for (uint64_t at = 0; get(info, at, &head, sizeof head);
         at += head.format == INFO_VALUE ? head.size : 0) {
        at += sizeof head;
        if (head.format == INFO_VALUE && head.attribute == wanted && head.size >= sizeof value &&
            get(info, at, value, sizeof value) && value[0] == symbol)
            return (long)value[1];
    }
    return -1;
}

static void print_function(const char *file, unsigned arch, const struct function *f,
                           struct bytes code) {
    uint64_t count[OPCODES] = {0}, instructions = 0, word;
    for (uint64_t at = 0; get(code, at, &word, sizeof word); at += INSTRUCTION_BYTES) {
        instructions += (word & CODE_MASK) != NOP; /* the section is filled up with them */
        for (int i = 0; i < OPCODES; i++) count[i] += (word & CODE_MASK) == opcodes[i].code;
    }
    printf("%s: sm_%u %s=%s registers=%ld shared_bytes=%ld frame_bytes=%ld instructions=%llu", file,
           arch, f->kernel ? "kernel" : "function", f->name, f->registers, f->shared_bytes,
           f->frame_bytes, (unsigned long long)instructions);
    for (int i = 0; i < OPCODES; i++)
        if (count[i]) printf(" %s=%llu", opcodes[i].name, (unsigned long long)count[i]);
    putchar('\n');
    seen.functions++;
}

/* 0, or 2 after a line on stderr. */
static int print_cubin(const char *file, const struct elf *e) {
    static const char prefix[] = ".text.";
    const unsigned arch = e->header.e_flags >> 8 & 0xff;
    struct section info, text, shared;
    if (e->header.e_ident[EI_ABIVERSION] != ABI_READ) {
        fprintf(stderr, "cubin: %s: ABI %d; only %d, of CUDA 13, is known\n", file,
                e->header.e_ident[EI_ABIVERSION], ABI_READ);
        return 2;
    }
    if (!elf_find(e, ".nv.info", "", &info)) info.data = (struct bytes){NULL, 0};
    for (unsigned i = 0; i < e->header.e_shnum; i++) {
        struct function f = {0};
        if (!elf_section(e, i, &text)) {
            fprintf(stderr, "cubin: %s: section %u is cut off\n", file, i);
            return 2;
        }
        if (strncmp(text.name, prefix, sizeof prefix - 1) != 0) continue;
        snprintf(f.name, sizeof f.name, "%s", text.name + sizeof prefix - 1);
        const uint32_t symbol = function_symbol(e, i, f.name, &f.kernel);
        f.registers = attribute(info.data, INFO_REGISTERS, symbol);
        f.frame_bytes = attribute(info.data, INFO_FRAME_BYTES, symbol);
        if (elf_find(e, ".nv.shared.", f.name, &shared))
            f.shared_bytes = (long)shared.bytes - (arch >= 90 ? RESERVED_SHARED_BYTES : 0);
        print_function(file, arch, &f, text.data);
    }
    return 0;
}

/* ---- many cubins ---- */

/* Cubins of a fat binary; where several were linked together, one after the other. */
static int print_fatbins(const char *file, struct bytes all) {
    struct {
        uint32_t magic;
        uint16_t version, header_bytes;
        uint64_t bytes;
    } group;
    struct {
        uint16_t kind, version;
        uint32_t header_bytes;
        uint64_t bytes;
    } image;
    int status = 0;
    for (uint64_t at = 0; get(all, at, &group, sizeof group);) {
        if (group.magic != (uint32_t)FATBIN_MAGIC || group.header_bytes < FATBIN_HEADER_BYTES) {
            at += 8; /* between two of them */
            continue;
        }
        struct bytes images;
        if (!part(all, at + group.header_bytes, group.bytes, &images)) {
            fprintf(stderr, "cubin: %s: a fat binary is cut off\n", file);
            return 2;
        }
        for (uint64_t i = 0; get(images, i, &image, sizeof image);) {
            struct bytes data;
            struct elf e;
            if (image.header_bytes < sizeof image ||
                !part(images, i + image.header_bytes, image.bytes, &data)) {
                fprintf(stderr, "cubin: %s: an image of a fat binary is cut off\n", file);
                return 2;
            }
            if (image.kind == IMAGE_CUBIN && elf_open(data, &e)) {
                const int code = print_cubin(file, &e);
                if (code) status = code;
            } else if (image.kind == IMAGE_CUBIN) {
                seen.compressed++;
            }
            i += image.header_bytes + image.bytes;
        }
        at += group.header_bytes + group.bytes;
    }
    return status;
}

static int print_file(const char *file) {
    struct bytes b;
    struct elf e;
    struct section s;
    uint32_t magic = 0;
    int status;
    if (!read_file(file, &b)) return 2;
    if (elf_open(b, &e) && e.header.e_machine == MACHINE_CUDA) {
        status = print_cubin(file, &e);
    } else if (elf_open(b, &e)) {
        status = elf_find(&e, ".nv_fatbin", "", &s) ? print_fatbins(file, s.data) : 0;
    } else if (get(b, 0, &magic, sizeof magic) && magic == (uint32_t)FATBIN_MAGIC) {
        status = print_fatbins(file, b);
    } else {
        fprintf(stderr, "cubin: %s: neither a cubin nor a fat binary, an object or a program\n",
                file);
        status = 2;
    }
    free(b.at);
    return status;
}

int main(int argc, char **argv) {
    int status = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: cubin FILE...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        const int code = print_file(argv[i]);
        if (code) status = code;
    }
    if (seen.compressed)
        fprintf(stderr, "cubin: %ld compressed cubins were left out: nvcc --no-compress\n",
                seen.compressed);
    else if (!status && !seen.functions)
        fprintf(stderr, "cubin: no device code\n");
    if (status) return status;
    return seen.compressed || !seen.functions;
}
