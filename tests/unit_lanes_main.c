/* unit_lanes_main.c - asks whether this CPU has what unit_lanes.c is compiled for, in a file that is not compiled for it. */
#include "../kernels/cpu/isa.h"

#include <stdio.h>

enum { SKIPPED = 77 };

int lanes_test(void); /* exit status */

int main(void) {
    if (isa_level() < LANES_ISA) {
        printf("this CPU has no %s\n", isa_names[LANES_ISA]);
        return SKIPPED;
    }
    return lanes_test();
}
