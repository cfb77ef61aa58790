/* unit_runinfo.c - run.json: complete, with its values, and never replaced. */
#define _GNU_SOURCE
#include "../harness/runinfo.h"
#include "test.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 128, TEXT_BYTES = 1 << 16 };

static char *in_folder(const char *folder, const char *name, char path[PATH_BYTES]) {
    snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return path;
}

/* "" when there is no such file. */
static void read_text(const char *path, char text[TEXT_BYTES]) {
    FILE *f = fopen(path, "r");
    const size_t length = f ? fread(text, 1, TEXT_BYTES - 1, f) : 0;
    text[length] = '\0';
    if (f) fclose(f);
}

static int count_files(const char *folder) {
    int count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    if (dir) closedir(dir);
    return count;
}

static void check_values(const char *text, const struct device *d) {
    char want[256];
    snprintf(want, sizeof want, "\"last_cache_bytes\": %.0f,",
             device_last_cache(d, d->max_threads));
    CHECK(strstr(text, want) != NULL, "no %s in %s", want, text);
    snprintf(want, sizeof want, "\"usable_threads\": %d\n", d->max_threads);
    CHECK(strstr(text, want) != NULL, "no %s", want);
    for (int i = 0; i < d->levels; i++) {
        snprintf(want, sizeof want, "\"%s_bytes\": %lld,", d->level[i].name,
                 (long long)d->level[i].bytes);
        CHECK(strstr(text, want) != NULL, "no %s", want);
    }
    const char *clock = strstr(text, "\"clock_ghz\": ");
    CHECK(clock != NULL, "no clock");
    if (clock) CHECK(strncmp(clock + 13, "null,", 5) == 0 || atof(clock + 13) > 0, "%.40s", clock);
    CHECK(strstr(text, "nan") == NULL && strstr(text, "inf,") == NULL, "JSON has no NaN: %s", text);
}

/* The n-th command's file says `--n`, whatever comes after it; a gap is filled and nothing else is left behind. */
static void never_replaced(const char *folder, struct device *d) {
    static char text[TEXT_BYTES];
    static const char *const names[] = {"run.json", "run.2.json", "run.3.json", "run.4.json"};
    char path[PATH_BYTES], program[] = "roofline", option[] = "--0", want[16];
    char *command[] = {program, option, NULL};
    for (int i = 0; i < 4; i++) {
        option[2] = (char)('0' + i);
        CHECK(run_info_write(folder, d, 2, command) == 0, "command %d", i);
    }
    for (int i = 0; i < 4; i++) {
        read_text(in_folder(folder, names[i], path), text);
        snprintf(want, sizeof want, "\"--%d\"]", i);
        CHECK(strstr(text, want) != NULL, "%s: no %s in %s", names[i], want, text);
        CHECK(text[0] == '{' && strcmp(text + strlen(text) - 2, "}\n") == 0, "%s ends", names[i]);
        if (text[0]) check_values(text, d);
    }
    CHECK(count_files(folder) == 4, "%d files", count_files(folder));
    unlink(in_folder(folder, names[1], path));
    option[2] = '9';
    CHECK(run_info_write(folder, d, 2, command) == 0, "once more");
    read_text(path, text);
    CHECK(strstr(text, "\"--9\"]") != NULL, "the free name is taken");
    CHECK(count_files(folder) == 4, "%d files", count_files(folder));
    for (int i = 0; i < 4; i++) unlink(in_folder(folder, names[i], path));
    CHECK(run_info_write("/nonexistent/folder", d, 2, command) != 0, "no folder");
}

int main(void) {
    char folder[] = "/tmp/roofline-unit-runinfo-XXXXXX";
    struct device d;
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    device_cpu_init(&d);
    never_replaced(folder, &d);
    d.close(&d);
    rmdir(folder);
    return test_result();
}
