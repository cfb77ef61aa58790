/* unit_layout.c - whole decades, and marks that never cover each other. */
#include "../harness/chart_layout.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static int failures;

static void check(bool ok, const char *what) {
    if (ok) return;
    printf("FAILED: %s\n", what);
    failures++;
}

static bool same(double a, double b) { return fabs(a / b - 1) < 1e-9; }

static void decades(void) {
    check(same(chart_decade_below(0.25), 0.1) && same(chart_decade_above(0.25), 1),
          "0.25 lies in 0.1 ... 1");
    check(same(chart_decade_below(1000), 1000) && same(chart_decade_above(1000), 1000),
          "1000 is a decade");
    check(same(chart_decade_below(999), 100) && same(chart_decade_above(1001), 1e4),
          "its neighbours");
}

static void pixels(void) {
    const struct chart_axes a = {0.01, 1000, 1, 1000, 500, 300};
    check(same(chart_x_pixels(&a, 1), 200) && same(chart_y_pixels(&a, 10), 100),
          "100 pixels a decade");
    check(same(chart_x_at(&a, 200), 1) && same(chart_y_at(&a, 100), 10), "and back");
}

static void marks(void) {
    enum { COUNT = 60 };
    const struct chart_axes a = {0.01, 1000, 1, 1000, 900, 800};
    const double size = 23;
    struct chart_mark mark[COUNT];
    mark[0] = (struct chart_mark){100, 500, 0, 0};
    for (int i = 1; i < COUNT; i++)
        mark[i] = (struct chart_mark){0.011, 1.01, 0, 0}; /* all in one corner */
    chart_place_marks(&a, mark, COUNT, size);
    check(same(mark[0].mark_x, 100) && same(mark[0].mark_y, 500),
          "a lonely mark stays where its point is");
    for (int i = 0; i < COUNT; i++) {
        const double x = chart_x_pixels(&a, mark[i].mark_x), y = chart_y_pixels(&a, mark[i].mark_y);
        check(x > size / 2 - 1e-6 && y > size / 2 - 1e-6 && x < a.width && y < a.height,
              "a mark is cut by the edge");
        for (int j = 0; j < i; j++)
            check(hypot(chart_x_pixels(&a, mark[j].mark_x) - x,
                        chart_y_pixels(&a, mark[j].mark_y) - y) > size - 1e-6,
                  "two marks overlap");
    }
}

int main(void) {
    decades();
    pixels();
    marks();
    if (!failures) printf("layout: ok\n");
    return failures != 0;
}
