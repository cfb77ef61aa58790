/* unit_tune.c - launch forms on a device that is made up: its kernel takes the wishes that it can, and a known time for each. */
#include "../harness/tune.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the made-up kernel does with a wish, and its seconds a call. */
struct model {
    struct launch_form own;
    int most_threads, most_blocks; /* above: launches fail; blocks: taken as that */
    double (*time_s)(struct launch_form f, int sample);
    bool is_lost;
    int calls, samples;
};
static struct model model;

static int kernel(const struct args *a) {
    struct launch_form f = a->launch.threads ? a->launch : model.own;
    if (f.threads > model.most_threads) return 1;
    if (f.blocks_per_sm > model.most_blocks) f.blocks_per_sm = model.most_blocks;
    if (a->launched) *a->launched = f;
    model.calls++;
    return 0;
}

static int made_up_time(struct device *d, kernel_fn *run, const struct args *a, int sets,
                        int64_t first, int64_t reps, double *seconds, bool *disturbed) {
    struct args last = a[(first + reps - 1) % sets];
    struct launch_form took = {0, 0};
    last.launched = &took;
    (void)d;
    *disturbed = false;
    const int error = run(&a[first % sets]) || run(&last);
    *seconds = error ? 0 : (double)reps * model.time_s(took, model.samples++);
    return error;
}
static bool alive(struct device *d) {
    (void)d;
    return !model.is_lost;
}

static double most_threads_win(struct launch_form f, int sample) {
    (void)sample;
    return 1e-3 / f.threads;
}
static double persistent_wins(struct launch_form f, int sample) {
    return (f.blocks_per_sm == 4 ? 8e-6 : 10e-6) *
           (sample % 3 ? 1.5 : 1); /* two of three disturbed */
}
static double nearly_the_same(struct launch_form f, int sample) {
    (void)sample;
    return f.threads == 512 ? 9.97e-6 : 10e-6;
}

static const struct impl impl = {OP_copy, "made_up", DT_fp32, kernel, NULL, NULL};
enum { SETS = 3 };

/* The form that is asked for afterwards; threads 0: an error, or nothing asked. */
static struct launch_form tuned(struct model m, bool emulated, int *error) {
    struct device d = {.time = made_up_time, .alive = alive, .emulated = emulated};
    struct args a[SETS] = {{.alpha = 1}, {.alpha = 2}, {.alpha = 3}};
    const struct operands o = {.device = &d, .args = a, .sets = SETS};
    const struct trial t = {.impl = &impl, .copies = 1};
    struct launch_form took = {0, 0};
    model = m;
    operands_launch(a, SETS, took, &took);
    *error = tune(&d, &t, &o, &took);
    for (int s = 0; s < SETS && !*error; s++)
        CHECK(a[s].launch.threads == took.threads &&
                  a[s].launch.blocks_per_sm == took.blocks_per_sm && a[s].launched == &took &&
                  a[s].alpha == s + 1,
              "set %d: %dx%d of %dx%d", s, a[s].launch.threads, a[s].launch.blocks_per_sm,
              took.threads, took.blocks_per_sm);
    return took;
}

static void choices(void) {
    const struct launch_form own = {256, 0};
    int error;
    struct launch_form f =
        tuned((struct model){own, 512, 8, most_threads_win, false, 0, 0}, false, &error);
    CHECK(!error && f.threads == 512 && f.blocks_per_sm == 0, "%d: %dx%d", error, f.threads,
          f.blocks_per_sm);
    f = tuned((struct model){own, 512, 8, persistent_wins, false, 0, 0}, false, &error);
    CHECK(!error && f.threads == 256 && f.blocks_per_sm == 4, "%d: %dx%d", error, f.threads,
          f.blocks_per_sm);
    f = tuned((struct model){own, 512, 8, nearly_the_same, false, 0, 0}, false, &error);
    CHECK(!error && f.threads == 256 && f.blocks_per_sm == 0, "not clearly faster: %d: %dx%d",
          error, f.threads, f.blocks_per_sm);
    f = tuned((struct model){own, 256, 8, most_threads_win, false, 0, 0}, false, &error);
    CHECK(!error && f.threads == 256, "512 are refused: %d: %d", error, f.threads);
    f = tuned((struct model){own, 512, 0, most_threads_win, false, 0, 0}, false, &error);
    CHECK(!error && f.threads == 512 && f.blocks_per_sm == 0, "no persistent grid: %d: %dx%d",
          error, f.threads, f.blocks_per_sm);
    const int calls = model.samples;
    tuned((struct model){own, 512, 8, most_threads_win, false, 0, 0}, false, &error);
    CHECK(calls < model.samples, "what is launched alike is timed once: %d, %d", calls,
          model.samples);
    f = tuned((struct model){own, 512, 8, persistent_wins, false, 0, 0}, true, &error);
    CHECK(!error && f.threads == 256 && f.blocks_per_sm == 8 && model.calls == 2 * 8,
          "emulated: the last, each run once: %d: %dx%d, %d calls", error, f.threads,
          f.blocks_per_sm, model.calls);
    tuned((struct model){own, 128, 8, most_threads_win, true, 0, 0}, false, &error);
    CHECK(error, "a lost device");
    tuned((struct model){own, 0, 8, most_threads_win, false, 0, 0}, false, &error);
    CHECK(error, "no form that runs");
}

static void texts(void) {
    static const struct {
        const char *text;
        int threads, blocks;
    } right[] = {
        {"256", 256, 0}, {"32", 32, 0}, {"1024", 1024, 0}, {"64x1", 64, 1}, {"512x32", 512, 32}};
    static const char *const wrong[] = {
        "",       "x",    "0",    "100",  "1056", "256x",   "256x0", "256x33",
        "256x-1", "-256", "256 ", " 256", "x4",   "256x4x", "256X4", "99999999999999999999"};
    struct launch_form f;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        char text[ROW_TEXT];
        CHECK(launch_parse(right[i].text, &f) == 0 && f.threads == right[i].threads &&
                  f.blocks_per_sm == right[i].blocks,
              "%s", right[i].text);
        launch_print(f, text);
        CHECK(strcmp(text, right[i].text) == 0, "%s: %s", right[i].text, text);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(launch_parse(wrong[i], &f) != 0 && f.threads == 0 && f.blocks_per_sm == 0, "'%s'",
              wrong[i]);
}

/* The latest row of the same trial in any round that came to something. */
static void known(void) {
    struct device d = {.slug = "made-up"};
    struct trial t = {.impl = &impl, .copies = 1, .round = 2, .problem = {.s = {1, 1, 100, 1}}};
    struct rows rows = {0};
    struct tuning tuning = {.known = &rows};
    struct row r;
    row_init(&r);
    trial_key(&t, &d, &r);
    r.round = 1;
    row_set_text(r.status, "ok");
    tuning_keep(&tuning, &r);
    CHECK(rows.count == 0, "a row without a form is not kept");
    row_set_text(r.launch, "128x8");
    tuning_keep(&tuning, &r);
    row_set_text(r.launch, "512");
    tuning_keep(&tuning, &r);
    row_set_text(r.launch, "64x2");
    row_set_text(r.status, "wrong");
    tuning_keep(&tuning, &r);
    struct launch_form f = tuning_wish(&tuning, &t, &d);
    CHECK(f.threads == 512 && f.blocks_per_sm == 0, "%dx%d", f.threads, f.blocks_per_sm);
    t.cold = true;
    CHECK(tuning_wish(&tuning, &t, &d).threads == 0, "another trial");
    t.cold = false;
    tuning.form = (struct launch_form){64, 1};
    CHECK(tuning_wish(&tuning, &t, &d).threads == 64, "what is asked for comes first");
    tuning.off = true;
    CHECK(tuning_wish(&tuning, &t, &d).threads == 0, "off");
    free(rows.row);
}

int main(void) {
    choices();
    texts();
    known();
    return test_result();
}
