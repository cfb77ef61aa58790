# roofline_all.gp - every dtype in one: a colour a dtype, its compute ceiling and its points.
set multiplot
set lmargin at screen compact ? 0.09 : 0.068
set rmargin at screen compact ? 0.965 : 0.638
set bmargin at screen compact ? 0.1 : 0.085
set tmargin at screen compact ? 0.97 : 0.895
set logscale xy 10
set xrange [x_min:x_max]
set yrange [y_min:y_max]
set format xy '%g'
set mxtics 10
set mytics 10
set xlabel 'arithmetic intensity, FLOP/byte'
set ylabel 'GFLOP/s' offset compact ? 0 : 1
unset key
is(name, value) = column(name) == value
across(part) = x_min * (x_max / x_min) ** part
up(part) = y_min * (y_max / y_min) ** part
plot roofs_data using (column("ai_0")):(column("gflop_0")):(column("ai_1") - column("ai_0")):(column("gflop_1") - column("gflop_0")):(column("colour")) \
         with vectors nohead lw 2.5 lc rgb variable, \
     points_data using (column("ai")):(is("above", 0) ? column("gflop_s") : NaN):(column("colour")) with points pt 7 ps 1.3 * dot lc rgb variable, \
     points_data using (column("ai")):(is("above", 1) ? column("gflop_s") : NaN):(column("colour")) with points pt 6 ps 1.5 * dot lw 2 lc rgb variable, \
     points_data using (compact ? column("ai") : NaN):(column("gflop_s")):(strcol("hover")) with labels hypertext point pt 7 ps 1.6 * dot lc rgb 0xff0072b2, \
     key_data using (compact ? across(0.87) : NaN):(up(0.05 + 0.05 * column("line"))):(column("colour")) with points pt 7 ps 1.5 * dot lc rgb variable, \
     key_data using (compact ? across(0.885) : NaN):(up(0.05 + 0.05 * column("line"))):(strcol("dtype")) with labels left font ',11' textcolor rgb dark

if (!compact) {
    unset label 1001
    unset label 1002
    unset logscale
    unset border
    unset tics
    unset grid
    unset xlabel
    unset ylabel
    set lmargin at screen 0.66
    set rmargin at screen 0.99
    set tmargin at screen 0.9
    set bmargin at screen 0.03
    set xrange [0:1]
    set yrange [0:1]
    at(line) = 1 - (line + 2) * 0.036
    size = ',12'
    set label 1 'number format' at 0.05, at(-1) left font size textcolor rgb 0x555555
    set label 2 'ceiling' at 0.45, at(-1) right font size textcolor rgb 0x555555
    set label 3 'kink' at 0.6, at(-1) right font size textcolor rgb 0x555555
    set label 4 'best' at 0.77, at(-1) right font size textcolor rgb 0x555555
    set label 5 'by' at 0.8, at(-1) left font size textcolor rgb 0x555555
    set label 6 'Ceiling and best in GFLOP/s, kink in FLOP/byte at the DRAM bandwidth.' at 0, at(formats + 9) left font ',11' textcolor rgb 0x555555
    set label 7 'A point is an operation at its largest shape; products at up to four.' at 0, at(formats + 9.8) left font ',11' textcolor rgb 0x555555
    set label 8 'Hollow points lie above their measured roof.' at 0, at(formats + 10.6) left font ',11' textcolor rgb 0x555555
    roof(c) = column("memory") == 1 ? column(c) : NaN
    set label 9 'measured bandwidth' at 0.14, at(formats + 1) left font size textcolor rgb 0x555555
    plot roofs_data using (0.01):(at(formats + 2 + roof("line"))):(0.1):(0):(column("colour")) with vectors nohead lw 3 lc rgb variable, \
         roofs_data using (0.14):(at(formats + 2 + roof("line"))):(strcol("label")) with labels left font size textcolor rgb dark, \
         key_data using (0.02):(at(column("line"))):(column("colour")) with points pt 7 ps 1.8 * dot lc rgb variable, \
         key_data using (0.05):(at(column("line"))):(strcol("dtype")) with labels left font size textcolor rgb dark, \
         key_data using (0.45):(at(column("line"))):(strcol("roof")) with labels right font size textcolor rgb dark, \
         key_data using (0.6):(at(column("line"))):(strcol("kink")) with labels right font size textcolor rgb dark, \
         key_data using (0.77):(at(column("line"))):(strcol("best")) with labels right font size textcolor rgb dark, \
         key_data using (0.8):(at(column("line"))):(strcol("best_op")) with labels left font size textcolor rgb dark
}
unset multiplot
