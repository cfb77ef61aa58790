# quick_forms.sh PROGRAM - each instruction that the interpreter has twice, on edges of its types: both forms give the
# same bits. Writes the PTX, which PROGRAM (quick_forms.cu) runs once with the quick forms and once without.
# shellcheck shell=bash
set -eu
program=$1
count=0
code=''

# form BITS INSTRUCTION...: operands %a1 to %a3 of 64 bits, %b1 to %b3 of 32, %h1 and %h2 of 16, %p; the result of
# BITS in %a4, %b4, %h4.
form() {
    local register
    case $1 in 64) register=%a4 ;; 32) register=%b4 ;; *) register=%h4 ;; esac
    code+="$2
    st.global.u$1 [%out+$((8 * count))], $register;
"
    count=$((count + 1))
}

for t in u32 s32 u64 s64 f32 f64; do
    bits=${t#?}
    r=%b
    [ "$bits" = 32 ] || r=%a
    three="${r}4, ${r}1, ${r}2"
    case $t in
    f*) # which NaN is a choice
        one="setp.nan.$t %q, ${r}4, ${r}4; selp.b$bits ${r}4, -1, ${r}4, %q;"
        for op in add sub mul add.rn mul.rn; do form "$bits" "$op.$t $three; $one"; done
        form "$bits" "fma.rn.$t $three, ${r}3; $one"
        ;;
    *)
        for op in add sub mul.lo; do form "$bits" "$op.$t $three;"; done
        form "$bits" "mad.lo.$t $three, ${r}3;"
        form "$bits" "add.$t ${r}4, ${r}1, -5;"
        form "$bits" "shr.$t ${r}4, ${r}1, %b2;"
        form "$bits" "shr.$t ${r}4, ${r}1, 7;"
        ;;
    esac
    comparisons='eq ne lt le gt ge'
    case $t in u*) comparisons+=' lo ls hi hs' ;; f*) comparisons+=' equ neu ltu leu gtu geu num nan' ;; esac
    for compare in $comparisons; do
        form 32 "setp.$compare.$t %q, ${r}1, ${r}2; selp.b32 %b4, 1, 0, %q;"
    done
    form "$bits" "selp.$t $three, %p;"
    form "$bits" "mov.$t ${r}4, ${r}1;"
    form "$bits" "mov.$t ${r}4, ${r}1; @%p mov.$t ${r}4, ${r}2; @!%p mov.$t ${r}4, ${r}3;"
done
for bits in 32 64; do
    r=%b
    [ $bits = 32 ] || r=%a
    for op in and or xor; do form $bits "$op.b$bits ${r}4, ${r}1, ${r}2;"; done
    form $bits "shl.b$bits ${r}4, ${r}1, %b2;"
    form $bits "shl.b$bits ${r}4, ${r}1, 9;"
done
for t in u32 s32; do
    form 64 "mul.wide.$t %a4, %b1, %b2;"
    form 64 "mul.wide.$t %a4, %b1, -3;"
    form 64 "mad.wide.$t %a4, %b1, %b2, %a3;"
done
for from in u8 s8 u16 s16 u32 s32 u64 s64; do
    case $from in ?64) source=%a1 ;; ?32) source=%b1 ;; *) source=%h1 ;; esac
    for to in u16 s16 u32 s32 u64 s64; do
        case $to in ?64) register=%a4 ;; ?32) register=%b4 ;; *) register=%h4 ;; esac
        form "${to#?}" "cvt.$to.$from $register, $source;"
        # what a signed result of fewer bits is to its readers
        [ "${to#?}" = 64 ] || form 64 "cvt.$to.$from $register, $source; cvt.s64.s${to#?} %a4, $register;"
    done
    case $from in ?64) register=%a4 ;; ?32) register=%b4 ;; *) register=%h4 ;; esac
    width=${from#?}
    form "$((width > 8 ? width : 16))" "ld.global.$from $register, [%in+8];"
    [ "$width" = 64 ] || form 64 "ld.global.$from $register, [%in+8]; cvt.s64.$from %a4, $register;"
    form "$((width > 8 ? width : 16))" "st.shared.$from [tile], ${source/1/2}; ld.shared.$from $register, [tile];"
done
form 64 'ld.global.v2.b32 {%b4, %b5}, [%in]; st.shared.v2.b32 [tile], {%b5, %b4}; ld.shared.b64 %a4, [tile];'

folder=$(mktemp -d "${TMPDIR:-/tmp}/roofline-quick-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cat >"$folder/quick.ptx" <<END
.version 8.0
.target sm_80
.address_size 64
.visible .entry quick_forms(.param .u64 quick_forms_param_0, .param .u64 quick_forms_param_1)
{
    .reg .pred %p, %q;
    .reg .b16 %h<6>;
    .reg .b32 %b<9>;
    .reg .b64 %a<6>;
    .reg .b64 %in, %out;
    .shared .align 16 .b8 tile[16];
    ld.param.u64 %in, [quick_forms_param_0];
    ld.param.u64 %out, [quick_forms_param_1];
    mov.u32 %b6, %ctaid.x;
    mov.u32 %b7, %ntid.x;
    mov.u32 %b8, %tid.x;
    mad.lo.u32 %b6, %b6, %b7, %b8;
    mad.wide.u32 %in, %b6, 24, %in;
    mad.wide.u32 %out, %b6, $((8 * count)), %out;
    ld.global.u64 %a1, [%in];
    ld.global.u64 %a2, [%in+8];
    ld.global.u64 %a3, [%in+16];
    cvt.u32.u64 %b1, %a1;
    cvt.u32.u64 %b2, %a2;
    cvt.u32.u64 %b3, %a3;
    cvt.u16.u64 %h1, %a1;
    cvt.u16.u64 %h2, %a2;
    setp.lt.u64 %p, %a1, %a2;
$code    ret;
}
END
export ROOFLINE_EMULATE_PTX=$folder/quick.ptx
ROOFLINE_EMULATE_SLOW=0 "$program" "$count" >"$folder/quick"
ROOFLINE_EMULATE_SLOW=1 "$program" "$count" >"$folder/slow"
lines=$(wc -l <"$folder/quick")
if ! cmp -s "$folder/quick" "$folder/slow"; then
    echo "quick_forms: the two forms differ; the first ten places, quick and slow:" >&2
    paste -d' ' <(tr ' ' '\n' <"$folder/quick") <(tr ' ' '\n' <"$folder/slow") |
        awk -v count="$count" '$1 != $2 && n++ < 10 { print "thread " int((NR - 1) / count) ", result " (NR - 1) % count ": " $0 }' >&2
    exit 1
fi
echo "$count results of $lines threads: both forms agree"
[ "$count" -gt 100 ] && [ "$lines" -gt 1000 ]
