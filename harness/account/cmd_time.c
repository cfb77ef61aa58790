/* cmd_time.c - roofline account time: FLOPs, days, GPU-hours, MFU, and what fits into so many days. */
#include "calculators.h"
#include "count.h"
#include "flags.h"
#include "gpu.h"
#include "training_time.h"

#include "../commands.h"

#include <math.h>

static const char help[] =
    "Usage: roofline account time [options]\n"
    "\n"
    "How long a training run takes: FLOPs = 6 N D for N parameters and D tokens (2 forward, 4 "
    "backward), time = FLOPs /\n"
    "(count x peak x MFU). What is left out is found: the time; with --days N or D; with N, D and "
    "--days, or with\n"
    "--tokens-per-second, the MFU that was reached; with --days alone the FLOPs.\n"
    "\n"
    "  --params N             parameters: 70e9, 70B\n"
    "  --tokens D             tokens: 15e12, 15T\n"
    "  --flops F              the FLOPs themselves, instead of N and D\n"
    "  --days T               wall time\n"
    "  --tokens-per-second R  rate of a measured run, over all devices\n"
    "  --gpu NAME             its published dense peak: h100, a100-pcie-80gb, b200 "
    "(plots/specs/gpus.csv)\n"
    "  --peak F               FLOP/s of a device, instead of --gpu\n"
    "  --dtype TYPE           which peak (default bf16)\n"
    "  --count C              devices (default 1)\n"
    "  --mfu F                model FLOPs utilisation (default 0.5, where it is not what is "
    "asked)\n"
    "  --factor X             FLOPs a parameter and token: 6 (default), 8 with full recomputation, "
    "2 inference\n"
    "  --json, --csv          for scripts\n"
    "\n"
    "Example: 70e9 parameters, 15e12 tokens, 1024 H100 at half their dense peak take 143.9 days:\n"
    "  roofline account time --params 70e9 --tokens 15e12 --gpu h100 --count 1024 --mfu 0.5\n";

static const double DAY = 86400;

static int check(const struct training_run *run, struct complaint *why) {
    const bool work = run->flops > 0 || (run->parameters > 0 && run->tokens > 0);
    if (run->flops > 0 && run->parameters > 0 && run->tokens > 0)
        return complain(why, "time: --flops, or --params and --tokens, not all three");
    if (run->tokens_s > 0) {
        if (run->parameters == 0) return complain(why, "time: --tokens-per-second needs --params");
        if (run->seconds > 0 || run->mfu > 0 || run->flops > 0)
            return complain(why,
                            "time: --tokens-per-second leaves no room for --days, --mfu, --flops");
    } else if (!work && run->seconds == 0) {
        return complain(why, "time: say --params and --tokens, or --flops, or --days");
    }
    if (work && run->seconds > 0 && run->mfu > 0)
        return complain(why, "time: of --days and --mfu one follows from the other");
    if (run->peak == 0 && (run->seconds > 0 || run->tokens_s > 0))
        return complain(why, "time: say --gpu or --peak");
    return 0;
}

static void say_work(struct answer *a, const struct training_run *run, bool from_rate) {
    const struct text factor = figure(run->factor), n = figure(run->parameters),
                      d = figure(run->tokens);
    if (run->parameters > 0 && run->tokens > 0)
        answer_real(a, "training_flops", run->flops, "FLOP", "%s N D = %s x %s x %s", factor.text,
                    factor.text, n.text, d.text);
    else if (from_rate)
        answer_real(a, "training_flops", run->flops, "FLOP", "count x peak x MFU x time");
    else if (run->flops > 0)
        answer_real(a, "training_flops", run->flops, "FLOP", NULL);
    if (run->flops > 0)
        answer_real(a, "share_of_gpt3", 100 * run->flops / GPT3_FLOPS, "%", "%s / %s",
                    figure(run->flops).text, figure(GPT3_FLOPS).text);
}

static void say_unknown(struct answer *a, const struct training_run *given,
                        const struct training_run *run) {
    const struct text flops = figure(run->flops), factor = figure(run->factor);
    if (given->tokens == 0 && run->tokens > 0)
        answer_real(a, "tokens", run->tokens, "", "FLOPs / (%s N) = %s / (%s x %s)", factor.text,
                    flops.text, factor.text, figure(run->parameters).text);
    if (given->parameters == 0 && run->parameters > 0)
        answer_real(a, "parameters", run->parameters, "", "FLOPs / (%s D) = %s / (%s x %s)",
                    factor.text, flops.text, factor.text, figure(run->tokens).text);
    if (run->parameters == 0 && run->tokens == 0) {
        /* Hoffmann et al. 2022: about 20 tokens a parameter spend a budget best */
        const double n = sqrt(run->flops / (20 * run->factor));
        answer_real(a, "compute_optimal_parameters", n, "",
                    "sqrt(FLOPs / (%s x 20)), with 20 tokens a parameter (Chinchilla)",
                    factor.text);
        answer_real(a, "compute_optimal_tokens", 20 * n, "", "20 N = 20 x %s", figure(n).text);
    }
}

static void say_time(struct answer *a, const struct training_run *given,
                     const struct training_run *run) {
    const struct text count = figure(run->count), peak = figure(run->peak), mfu = figure(run->mfu);
    const double rate = run->count * run->peak * run->mfu;
    if (given->tokens_s > 0)
        answer_real(a, "mfu", run->mfu, "", "%s N R / (count x peak) = %s x %s x %s / (%s x %s)",
                    figure(run->factor).text, figure(run->factor).text,
                    figure(run->parameters).text, figure(run->tokens_s).text, count.text,
                    peak.text);
    else if (given->mfu == 0)
        answer_real(a, "mfu", run->mfu, "", "FLOPs / (count x peak x time) = %s / (%s x %s x %s s)",
                    figure(run->flops).text, count.text, peak.text, figure(run->seconds).text);
    answer_real(a, "rate", rate, "FLOP/s", "count x peak x MFU = %s x %s x %s", count.text,
                peak.text, mfu.text);
    if (given->seconds == 0 && run->seconds > 0) {
        answer_real(a, "seconds", run->seconds, "s", "%s / %s",
                    given->tokens_s > 0 ? figure(run->tokens).text : figure(run->flops).text,
                    given->tokens_s > 0 ? figure(run->tokens_s).text : figure(rate).text);
        answer_real(a, "days", run->seconds / DAY, "days", "%s / 86400", figure(run->seconds).text);
    }
    if (run->seconds > 0)
        answer_real(a, "gpu_hours", run->count * run->seconds / 3600, "h",
                    "count x hours = %s x %s", count.text, figure(run->seconds / 3600).text);
}

int account_time(int argc, char **argv) {
    static struct answer a;
    struct training_run given = {.factor = 6, .count = 1};
    struct complaint why;
    const char *gpu_name = NULL;
    double days = 0;
    int dtype = DT_bf16, operands;
    const struct flag flags[] = {{"params", FLAG_QUANTITY, &given.parameters, NULL},
                                 {"tokens", FLAG_QUANTITY, &given.tokens, NULL},
                                 {"flops", FLAG_QUANTITY, &given.flops, NULL},
                                 {"days", FLAG_QUANTITY, &days, NULL},
                                 {"tokens-per-second", FLAG_QUANTITY, &given.tokens_s, NULL},
                                 {"gpu", FLAG_TEXT, &gpu_name, NULL},
                                 {"peak", FLAG_QUANTITY, &given.peak, NULL},
                                 {"dtype", FLAG_DTYPE, &dtype, NULL},
                                 {"count", FLAG_QUANTITY, &given.count, NULL},
                                 {"mfu", FLAG_FRACTION, &given.mfu, NULL},
                                 {"factor", FLAG_QUANTITY, &given.factor, NULL},
                                 {.name = NULL}};
    const enum flags_result result = flags_read(argc, argv, flags, &a, help, &operands);
    if (result != FLAGS_OK) return result == FLAGS_HELP ? STATUS_OK : STATUS_ERROR;
    if (account_no_operands(argv, operands)) return STATUS_ERROR;
    given.seconds = DAY * days;
    if (gpu_name && given.peak > 0) {
        complain(&why, "time: --gpu or --peak, not both");
        return account_refuse(&why);
    }
    if (gpu_name) {
        const struct gpu_spec *gpu = gpu_named(gpu_name, &why);
        if (!gpu || isnan(given.peak = gpu_peak(gpu, (enum dtype)dtype, &why)))
            return account_refuse(&why);
        answer_text(&a, "gpu", "%s", gpu->name);
        answer_real(&a, "peak", given.peak, "FLOP/s", "published, %s, dense", dtypes[dtype].name);
    }
    if (check(&given, &why)) return account_refuse(&why);
    const bool work = given.flops > 0 || (given.parameters > 0 && given.tokens > 0);
    struct training_run run = given;
    if (given.mfu == 0 && given.tokens_s == 0 && !(work && given.seconds > 0)) run.mfu = 0.5;
    given.mfu = run.mfu;
    training_time(&run);
    if (!(run.flops < INFINITY) || !(run.seconds < INFINITY) || !(run.tokens < INFINITY)) {
        complain(&why, "time: the figures are too large");
        return account_refuse(&why);
    }
    const bool unknown_work = !work && given.tokens_s == 0;
    if (!unknown_work) say_work(&a, &run, false);
    if (run.peak > 0) say_time(&a, &given, &run);
    if (unknown_work) {
        answer_real(&a, "training_flops", run.flops, "FLOP", "rate x time = %s x %s s",
                    figure(run.count * run.peak * run.mfu).text, figure(run.seconds).text);
        answer_real(&a, "share_of_gpt3", 100 * run.flops / GPT3_FLOPS, "%", "%s / %s",
                    figure(run.flops).text, figure(GPT3_FLOPS).text);
        say_unknown(&a, &given, &run);
    }
    return account_print(&a);
}
