# bugs.sh PROGRAM - each mistake of bugs.cu is reported by the layer that claims it, with the kernel's name where it is
# the runtime; SANITIZER says what PROGRAM was built with. What only another build can see is not asked of this one.
# shellcheck shell=bash
set -u
program=$1
failed=0
checked=0

# expect BUG PATTERN: it ends badly and says so.
expect() {
    local out status=0
    out=$("$program" "$1" 2>&1) || status=$?
    checked=$((checked + 1))
    if [ "$status" -eq 0 ] || ! grep -qE -- "$2" <<<"$out"; then
        failed=$((failed + 1))
        echo "FAILED: bug $1: status $status, no '$2' in:" >&2
        head -n 5 <<<"$out" >&2
    fi
}

for right in 0 23 48 50; do
    checked=$((checked + 1))
    if ! "$program" "$right"; then
        echo "FAILED: $right, without a bug" >&2
        failed=$((failed + 1))
    fi
done
expect 4 'bug_kernel.*misaligned access|alignment'
expect 5 'bug_kernel.*lane 0 reads lane 20'
expect 6 'bug_kernel.*not in its own mask'
expect 7 'bug_kernel.*deadlock'
expect 8 'bug_kernel.*executes __(any|shfl_xor)_sync.* wait in __(any|shfl_xor)_sync'
expect 9 'bug_kernel.*deadlock'
expect 10 'bug_kernel.*misaligned'
expect 12 'bug_kernel.*never waited for'
expect 13 'bug_kernel.*deadlock'
expect 14 'bug_kernel.*never initialised'
expect 15 'bug_kernel.*was overwritten'
expect 16 'bug_kernel.*not shared memory'
expect 22 'bug_kernel.*needs sm_90'
expect 24 'tensor_bug_kernel.*power of two'
expect 25 'tensor_bug_kernel.*after tcgen05.relinquish'
expect 26 'tensor_bug_kernel.*without tcgen05.fence::after_thread_sync'
expect 27 'tensor_bug_kernel.*not allocated'
expect 28 'tensor_bug_kernel.*M is 64'
expect 29 'tensor_bug_kernel.*another version'
expect 30 'tensor_bug_kernel.*cta_group'
expect 31 'tensor_bug_kernel.*being written|a wrong sum: -?nan'
expect 32 'tensor_bug_kernel.*lane 0 of tensor memory, not 32'
expect 33 'a wrong sum: -?nan'
expect 34 'tensor_bug_kernel.*without fence::before_thread_sync'
expect 35 'tensor_bug_kernel.*never freed'
expect 36 'tensor_bug_kernel.*were not allocated'
expect 37 'tensor_bug_kernel.*initialised and not fenced'
SIMT_ORDER=ahead expect 51 'a wrong sum: -?nan'
expect 52 'wgmma_bug_kernel.*no wgmma.fence'
expect 53 'wgmma_bug_kernel.*another warp of the warpgroup gives'
expect 54 'wgmma_bug_kernel.*another warp of the warpgroup gives'
expect 55 'a wrong sum: 0'
expect 56 'wgmma_bug_kernel.*never waited for'
case ${SANITIZER:-} in
*address*)
    expect 1 'AddressSanitizer|runtime error: index'
    expect 2 'AddressSanitizer'
    expect 3 'AddressSanitizer: heap-buffer-overflow'
    expect 11 'AddressSanitizer: heap-buffer-overflow'
    expect 17 'AddressSanitizer'
    expect 18 'runtime error: shift'
    expect 21 'runtime error: index|AddressSanitizer: stack-buffer-overflow'
    ;;
*thread*)
    expect 19 'ThreadSanitizer: data race'
    expect 20 'ThreadSanitizer: data race'
    for bug in 43 44 45 46 47; do # between blocks
        expect $bug 'ThreadSanitizer: data race'
    done
    ;;
esac
echo "$checked bugs, $failed not reported"
[ "$failed" -eq 0 ]
