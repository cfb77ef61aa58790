/* fuzz_replay.c FOLDER - a fuzzer's corpus as an ordinary test: every file of the folder and its folders, and every one cut
 * short and with single bytes changed. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST = 65536 };

static long files;

/* The input, prefixes of it, and it with bytes changed, one at a time. */
static void replay(uint8_t *data, size_t length) {
    static const uint8_t bytes[] = {0, '"', '{', '}', '-', '9', '(', '.', 0xff};
    fuzz_one(data, length);
    for (size_t cut = 1; cut < length; cut += 1 + length / 64) fuzz_one(data, cut);
    for (size_t i = 1; i < length; i += 1 + length / 64) {
        const uint8_t was = data[i];
        for (size_t k = 0; k < sizeof bytes; k++) {
            data[i] = bytes[k];
            fuzz_one(data, length);
        }
        data[i] = was;
    }
}

static int replay_file(const char *path) {
    static uint8_t data[MOST];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    const size_t length = fread(data, 1, sizeof data, f);
    const int bad = ferror(f);
    fclose(f);
    if (!bad) replay(data, length);
    files += !bad;
    return bad;
}

static int walk(const char *folder) {
    DIR *directory = opendir(folder);
    int bad = 0;
    if (!directory) {
        perror(folder);
        return 1;
    }
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        char path[1024];
        struct stat facts;
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &facts))
            bad = 1;
        else
            bad |= S_ISDIR(facts.st_mode) ? walk(path) : replay_file(path);
    }
    closedir(directory);
    return bad;
}

int main(int argc, char **argv) {
    const int bad = argc == 2 ? walk(argv[1]) : 2;
    printf("%ld files\n", files);
    return bad || files < 10;
}
