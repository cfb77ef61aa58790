/* training_time.c - one equation, solved for whatever is missing. */
#include "training_time.h"

void training_time(struct training_run *run) {
    const double fleet = run->peak * run->count; /* FLOP/s at MFU 1 */
    if (run->flops == 0) run->flops = run->factor * run->parameters * run->tokens;
    if (run->tokens_s > 0) {
        /* a rate: FLOPs a second over what is promised */
        if (run->mfu == 0 && fleet > 0)
            run->mfu = run->factor * run->parameters * run->tokens_s / fleet;
        if (run->seconds == 0) run->seconds = run->tokens / run->tokens_s;
        return;
    }
    if (run->mfu == 0 && run->flops > 0 && run->seconds > 0 && fleet > 0)
        run->mfu = run->flops / (fleet * run->seconds);
    const double rate = fleet * run->mfu;
    if (run->seconds == 0 && rate > 0) run->seconds = run->flops / rate;
    if (run->flops == 0) run->flops = rate * run->seconds;
    if (run->tokens == 0 && run->parameters > 0)
        run->tokens = run->flops / (run->factor * run->parameters);
    if (run->parameters == 0 && run->tokens > 0)
        run->parameters = run->flops / (run->factor * run->tokens);
}
