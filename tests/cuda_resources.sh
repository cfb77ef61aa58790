#!/usr/bin/env bash
# cuda_resources.sh CUBIN OUTPUT OBJECT... - what ptxas made of every kernel: the table goes to OUTPUT; spills, products
# without the instruction that they are named for, and a kernel that an architecture lacks are failures. CUBIN:
# tests/cubin.c's program.
set -u
cubin=$1 output=$2
shift 2
"$cubin" "$@" | sed 's|^[^ ]*/\([^ /]*\)\.cu\.o: |\1 |' >"$output" || exit 1

awk '
function value(name,   i, part) {
    for (i = 1; i <= NF; i++) if (split($i, part, "=") == 2 && part[1] == name) return part[2] + 0
    return 0
}
function fail(text) { printf "FAILED: %s %s %s: %s\n", file, arch, kernel, text; failures++ }
function needs(instruction, least) {
    checks++
    if (value(instruction) < least) fail(instruction " " value(instruction) ", not " least " or more")
}
{
    file = $1; arch = $2; kernel = $3; kernels++
    archs[arch]++; of_kernel[file " " kernel] = of_kernel[file " " kernel] " " arch
    stored = value("STL"); loaded = value("LDL")
    # losses in fp64 where that runs at 1/64 of fp32: ptxas 13.0 keeps three numbers aside
    spared = file == "losses" && arch == "sm_120" && kernel ~ /5dtype0E/ ? 6 : 0
    if (stored + loaded > spared) fail("spills: " stored " stores, " loaded " loads of local memory")
    if (value("registers") > 255) fail(value("registers") " registers")

    if (file ~ /^matmul_mma_(bf16|fp16|tf32)$/ && kernel ~ /matmul_mma/) { needs("HMMA", 16); needs("LDGSTS", 8) }
    if (file == "matmul_mma_fp64" && arch ~ (kernel ~ /fp64ILb1/ ? "^sm_90$" : "^sm_(80|90|100)$")) { needs("DMMA", 8); needs("LDGSTS", 8) }
    if (file == "matmul_mma_fp8" && kernel ~ /matmul_mma/ && arch ~ /^sm_(89|120)$/) { needs("QMMA", 16); needs("LDGSTS", 8) }
    if (file ~ /^matmul_wgmma_/ && kernel ~ /12matmul_wgmmaI/ && arch == "sm_90") {
        needs(file ~ /fp8/ ? "QGMMA" : "HGMMA", 4); needs("UTMALDG", 3); needs("UTMASTG", 2)
        if (file !~ /tf32/) needs("STSM", 8)
    }
    # of what it cannot overlap ptxas says so (C7510 to C7514), and puts a fence and a wait around each
    if (file ~ /wgmma/ && arch == "sm_90" && value("WARPGROUP") > 0 && value("WARPGROUP") >= 2 * (value("HGMMA") + value("QGMMA")))
        fail("multiplies one after the other: " value("WARPGROUP") " fences and waits")
    if (file ~ /^matmul_tcgen05_/ && kernel ~ /14matmul_tcgen05I/ && arch == "sm_100") {
        needs("UTCMMA", 4); needs("LDTM", file ~ /tf32/ ? 3 : 4); needs("UTMALDG", 2); needs("UTMASTG", 1); needs("UTCBAR", 2)
        if (file ~ /nvfp4/) needs("UTCCP", 8)
        if (value("registers") > 128) fail(value("registers") " registers")
    }
    if (file == "fma_tcgen05" && arch == "sm_100") { needs("UTCMMA", 4); if (kernel ~ /5dtype7E/) needs("UTCCP", 2) }
    if (file ~ /^(matmul_mma_fp8|fma)$/ && kernel ~ /operand_e|5dtype(5|6)E/ && value("HMMA") > 0)
        fail("fp8 by converts and HMMA") # what ptxas does where mma.sync has no fp8
    if (file == "matmul_mma_nvfp4" && kernel ~ /matmul_mma/ && arch == "sm_120") { needs("OMMA", 16); needs("LDGSTS", 8) }
    if (file == "fma" && kernel ~ /nvfp4_tile/ && arch == "sm_120") needs("OMMA", 8)
    if (file == "fma_wgmma" && arch == "sm_90") needs(kernel ~ /5dtype(5|6)E/ ? "QGMMA" : "HGMMA", 4)
    if (kernel ~ /bulk_(copy|fill|read|sum)/ && arch ~ /^sm_(90|1..)$/) needs("UBLKCP", 1)
    if (file == "fma" && kernel ~ /fma_chain_kernelIf/) needs("FFMA", 64)
    if (file == "fma" && kernel ~ /fma_chain_kernelId/) needs("DFMA", 32)
    if (file == "fma" && kernel ~ /sync_kernel.*5dtype(2|3|4)E/) needs("HMMA", 32)
    if (file == "fma" && kernel ~ /sync_kernel.*5dtype(5|6)E/ && arch ~ /^sm_(89|120)$/) needs("QMMA", 8)
    if (file == "matmul_simt" && kernel ~ /simt/ && kernel ~ /If/) needs("FFMA", 512)
}
END {
    for (name in of_kernel) if (name !~ /^cub /) { # the library chooses its own
        split(name, part)
        file = part[1]; kernel = part[2]
        for (arch in archs) if (index(of_kernel[name] " ", " " arch " ") == 0) fail("is missing")
    }
    printf "%d kernels, %d checks of instructions, %d failures\n", kernels, checks, failures
    exit failures > 0 || kernels == 0 || checks == 0
}' "$output"
