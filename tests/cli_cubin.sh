# cli_cubin.sh - tests/cubin.c against ptxas's own account (-Xptxas -v), and on kernels whose instructions are known.
# shellcheck shell=bash source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
nvcc=$(command -v nvcc || command -v "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc") || {
    echo "no nvcc"
    exit 77
}

cat >plain.cu <<'CU'
extern "C" __global__ void empty(float *y) { y[threadIdx.x] = 1; }
extern "C" __global__ void six_ffma(float *y, float a, float b) {
    float r = y[threadIdx.x], s = y[threadIdx.x + 32];
    r = fmaf(r, a, b), r = fmaf(r, s, 2.5f), r = fmaf(r, 3, s); /* registers, constants, immediates */
    r = fmaf(s, r, r), r = fmaf(r, s, b), r = fmaf(r, b, s);
    y[threadIdx.x] = r;
}
extern "C" __global__ void four_dmma(double *c, const double *a) {
    double d0 = 0, d1 = 0;
    for (int i = 0; i < 4; i++)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                     : "+d"(d0), "+d"(d1) : "d"(a[i]), "d"(a[i + 4]));
    c[2 * threadIdx.x] = d0, c[2 * threadIdx.x + 1] = d1;
}
extern "C" __global__ void copy_and_mma(float *c, const unsigned *a) {
    __shared__ __align__(1024) unsigned s[384];
    float d[4] = {};
    unsigned r[4], at = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * 4);
    asm volatile("cp.async.ca.shared.global [%0],[%1],16;" ::"r"(at), "l"(a));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    for (int i = 0; i < 3; i++)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0,%1,%2,%3},{%4,%5,%6,%7},{%4,%5},{%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
    for (int i = 0; i < 4; i++) c[threadIdx.x * 4 + i] = d[i];
}
extern __shared__ float given[];
extern "C" __global__ void dynamic_shared(float *y) {
    given[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = given[threadIdx.x ^ 1];
}
/* 64 values a thread are alive at once. */
extern "C" __global__ void hungry(const float *x, float *y) {
    float r[64];
#pragma unroll
    for (int i = 0; i < 64; i++) r[i] = x[i * 256 + threadIdx.x];
    for (int k = 0; k < 100; k++)
#pragma unroll
        for (int i = 0; i < 64; i++) r[i] = r[i] * x[k] + r[(i + 1) % 64];
#pragma unroll
    for (int i = 0; i < 64; i++) y[i * 256 + threadIdx.x] = r[i];
}
CU
cat >sm_90a.cu <<'CU'
#include <cstdint>
extern "C" __global__ void __launch_bounds__(128) three_wgmma(uint64_t a, uint64_t b, float *c) {
    float d[4] = {};
    asm volatile("wgmma.fence.sync.aligned;");
    for (int i = 0; i < 3; i++)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3},%4,%5,1,1,1,0,0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a + i), "l"(b + i));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
    for (int i = 0; i < 4; i++) c[threadIdx.x * 4 + i] = d[i];
}
extern "C" __global__ void __launch_bounds__(128) serialized_wgmma(uint64_t a, uint64_t b, float *c) {
    float d[4] = {};
    for (int i = 0; i < 3; i++) { /* sums are read before their multiply is over */
        asm volatile("wgmma.fence.sync.aligned;");
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3},%4,%5,1,1,1,0,0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a + i), "l"(b + i));
        asm volatile("wgmma.commit_group.sync.aligned;");
        d[0] += 1;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    for (int i = 0; i < 4; i++) c[threadIdx.x * 4 + i] = d[i];
}
CU
cat >sm_100a.cu <<'CU'
#include <cstdint>
#define ONE(i)                                                                                      \
    asm volatile("{.reg .pred p; setp.ne.u32 p,%4,0;"                                               \
                 "tcgen05.mma.cta_group::1.kind::f16 [%0],%1,%2,%3,p;}"                             \
                 ::"r"(d + 32 * i), "l"(a + i), "l"(b), "r"(shape), "r"(add))
extern "C" __global__ void three_tcgen05(uint32_t d, uint64_t a, uint64_t b, uint32_t shape, int add) {
    ONE(0);
    ONE(1);
    ONE(2);
}
CU

# compile ARCH SOURCE OUTPUT OPTION...: ptxas's words to ./ptxas; 1 when this nvcc does not know the architecture.
compile() {
    if "$nvcc" -std=c++17 -gencode "arch=compute_${1#sm_},code=$1" "${@:4}" -o "$3" "$2" >ptxas 2>&1; then return 0; fi
    pass_if "nvcc: $(head -n 1 ptxas)" grep -qE 'Unsupported gpu|not defined for option' ptxas
    return 1
}

# ptxas_says: name registers shared frame, a line a kernel, from ./ptxas.
ptxas_says() {
    awk '/Function properties for/ { name = $NF }
         /bytes stack frame/ { frame = $1 }
         /Used [0-9]+ registers/ {
             shared = 0
             for (i = 2; i <= NF; i++) if ($i ~ /^smem/) shared = $(i - 2)
             for (i = 1; i <= NF; i++) if ($i == "Used") registers = $(i + 1)
             print name, registers, shared, frame
         }' ptxas | sort
}

# cubin_says FILE: the same from the tool.
cubin_says() {
    "$CUBIN" "$1" | sed -nE 's/.* kernel=([^ ]+) registers=([^ ]+) shared_bytes=([^ ]+) frame_bytes=([^ ]+) .*/\1 \2 \3 \4/p' | sort
}

# has FILE KERNEL TEXT: the kernel's line has the text as words of its own.
# shellcheck disable=SC2317,SC2329  # called through pass_if
has() { "$CUBIN" "$1" | grep " kernel=$2 " | grep -qE -- "(^| )$3( |\$)"; }
# shellcheck disable=SC2317,SC2329
lacks() { ! has "$@"; }

for arch in sm_80 sm_90a sm_100a; do
    compile $arch plain.cu plain.cubin -cubin -Xptxas -v || continue
    ptxas_says >theirs
    cubin_says plain.cubin >ours
    pass_if "$arch: $(wc -l <theirs) kernels of ptxas, 6 were written" [ "$(wc -l <theirs)" -eq 6 ]
    pass_if "$arch: ptxas says otherwise: $(diff theirs ours)" cmp -s theirs ours
    pass_if "$arch: architecture" grep -q "^plain.cubin: ${arch%a} " <("$CUBIN" plain.cubin)
    pass_if "$arch: 6 FFMA" has plain.cubin six_ffma FFMA=6
    pass_if "$arch: 4 DMMA" has plain.cubin four_dmma DMMA=4
    for text in HMMA=3 LDGSTS=1 LDSM=1 BAR=1 shared_bytes=1536; do
        pass_if "$arch: $text" has plain.cubin copy_and_mma $text
    done
    pass_if "$arch: dynamic shared memory is not static" has plain.cubin dynamic_shared shared_bytes=0
    pass_if "$arch: something in the empty kernel" has plain.cubin empty 'instructions=[0-9]+$'
    pass_if "$arch: spills without need" lacks plain.cubin hungry '(STL|LDL)=[0-9]+'

    compile $arch plain.cu spill.cubin -cubin -Xptxas -v -maxrregcount=32 || continue
    ptxas_says >theirs
    cubin_says spill.cubin >ours
    pass_if "$arch, 32 registers: ptxas says otherwise: $(diff theirs ours)" cmp -s theirs ours
    pass_if "$arch: no frame" has spill.cubin hungry 'frame_bytes=[1-9][0-9]*'
    pass_if "$arch: no spill stores" has spill.cubin hungry 'STL=[1-9][0-9]*'
    pass_if "$arch: no spill loads" has spill.cubin hungry 'LDL=[1-9][0-9]*'
done
if compile sm_90a sm_90a.cu wgmma.cubin -cubin; then
    pass_if "3 HGMMA" has wgmma.cubin three_wgmma HGMMA=3
    pass_if "wgmma counted as mma.sync" lacks wgmma.cubin three_wgmma 'HMMA=[0-9]+'
    pass_if "a fence and a wait" has wgmma.cubin three_wgmma WARPGROUP=2
    pass_if "those that ptxas adds around each" has wgmma.cubin serialized_wgmma 'WARPGROUP=([6-9]|1[0-9])'
fi
if compile sm_100a sm_100a.cu tcgen05.cubin -cubin; then
    pass_if "3 UTCMMA" has tcgen05.cubin three_tcgen05 UTCMMA=3
fi

# In an object: the same, unless it is compressed.
if compile sm_80 plain.cu plain.cubin -cubin && compile sm_80 plain.cu plain.o -c --no-compress; then
    "$CUBIN" plain.cubin | sed 's/^[^:]*//' >alone
    "$CUBIN" plain.o | sed 's/^[^:]*//' >inside
    pass_if "an object's kernels" cmp -s alone inside
    if compile sm_80 plain.cu small.o -c --compress-mode=size; then
        run "$CUBIN" small.o
        pass_if "exit status $status of compressed cubins" [ "$status" -eq 1 ]
        pass_if "a hint" grep -q -- '1 compressed .*--no-compress' err
    fi
    head -c 3000 plain.cubin >cut.cubin
    refused 'cut.cubin' "$CUBIN" cut.cubin
fi
refused 'neither' "$CUBIN" plain.cu
refused 'nowhere' "$CUBIN" nowhere
refused 'usage' "$CUBIN"
run "$CUBIN" "$CUBIN"
pass_if "a program without device code" [ "$status" -eq 1 ]
finish
