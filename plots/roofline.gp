# roofline.gp - one dtype: ceilings, numbered points, and the table that explains them.
set multiplot
set lmargin at screen compact ? 0.09 : 0.068
set rmargin at screen compact ? 0.965 : 0.638
set bmargin at screen compact ? 0.1 : 0.085
set tmargin at screen compact ? 0.97 : 0.8955
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
line(measured, best) = is("measured", measured) && (best < 0 || is("best", best)) ? column("ai_0") : NaN
legend(measured) = is("measured", measured) ? column("legend_ai_0") : NaN
plot roofs_data using (line(1, 0)):(column("gflop_0")):(column("ai_1") - column("ai_0")):(column("gflop_1") - column("gflop_0")):(column("colour")) \
         with vectors nohead lw 2 lc rgb variable, \
     roofs_data using (line(1, 1)):(column("gflop_0")):(column("ai_1") - column("ai_0")):(column("gflop_1") - column("gflop_0")):(column("colour")) \
         with vectors nohead lw 3.5 lc rgb variable, \
     roofs_data using (line(0, -1)):(column("gflop_0")):(column("ai_1") - column("ai_0")):(column("gflop_1") - column("gflop_0")):(column("colour")) \
         with vectors nohead lw 2.5 dt 2 lc rgb variable, \
     roofs_data using (legend(1)):(column("legend_gflop")):(column("legend_ai_1") - column("legend_ai_0")):(0):(column("colour")) \
         with vectors nohead lw 3 lc rgb variable, \
     roofs_data using (legend(0)):(column("legend_gflop")):(column("legend_ai_1") - column("legend_ai_0")):(0):(column("colour")) \
         with vectors nohead lw 3 dt 2 lc rgb variable, \
     roofs_data using (column("legend_text_ai")):(column("legend_gflop")):(strcol("label")) with labels left font ',11' textcolor rgb dark, \
     points_data using (column("ai")):(column("gflop_s")):(column("mark_ai") - column("ai")):(column("mark_gflop_s") - column("gflop_s")) with vectors nohead lw 1 lc rgb 0x777777, \
     points_data using (column("ai")):(column("gflop_s")) with points pt 7 ps 0.6 * dot lc rgb dark, \
     points_data using (column("mark_ai")):(is("above", 0) ? column("mark_gflop_s") : NaN) with points pt 7 ps 2.7 * dot lc rgb blue, \
     points_data using (column("mark_ai")):(is("above", 0) ? column("mark_gflop_s") : NaN):(strcol("number")) with labels font ',9' textcolor rgb 0xffffff, \
     points_data using (column("mark_ai")):(is("above", 1) ? column("mark_gflop_s") : NaN) with points pt 7 ps 2.7 * dot lc rgb 0xffffff, \
     points_data using (column("mark_ai")):(is("above", 1) ? column("mark_gflop_s") : NaN) with points pt 6 ps 2.7 * dot lw 2 lc rgb vermilion, \
     points_data using (column("mark_ai")):(is("above", 1) ? column("mark_gflop_s") : NaN):(strcol("number")) with labels font ',9' textcolor rgb vermilion, \
     points_data using (compact ? column("mark_ai") : NaN):(column("mark_gflop_s")):(strcol("hover")) with labels hypertext point pt 7 ps 2.7 * dot lc rgb 0xff0072b2

# The table.
if (!compact) {
    unset label 1001
    unset label 1002
    unset logscale
    unset border
    unset tics
    unset grid
    unset xlabel
    unset ylabel
    set lmargin at screen 0.652
    set rmargin at screen 0.995
    set tmargin at screen 0.965
    set bmargin at screen 0.03
    rows = points + (without_flops > 0 ? without_flops + 2 : 0) + 2
    pitch = rows <= 40 ? 1.0 / 41 : 1.0 / (rows + 1)
    size = rows <= 40 ? ',11' : (rows <= 52 ? ',9' : ',7')
    set xrange [0:1]
    set yrange [0:1]
    at(line) = 1 - (line + 2) * pitch
    set label 1 '#' at 0.035, at(-1) right font size textcolor rgb 0x555555
    set label 2 'operation' at 0.05, at(-1) left font size textcolor rgb 0x555555
    set label 3 'implementation' at impl_at, at(-1) left font size textcolor rgb 0x555555
    set label 4 'shape' at shape_at, at(-1) left font size textcolor rgb 0x555555
    set label 5 'GFLOP/s' at 0.895, at(-1) right font size textcolor rgb 0x555555
    set label 6 'of roof' at 1, at(-1) right font size textcolor rgb 0x555555
    if (without_flops > 0) {
        set label 7 'no FLOPs, bandwidth only' at 0.05, at(points + 1) left font size textcolor rgb 0x555555
        set label 8 'GB/s' at 0.895, at(points + 1) right font size textcolor rgb 0x555555
        set label 9 'of roof' at 1, at(points + 1) right font size textcolor rgb 0x555555
    }
    if (above > 0) {
        set label 10 sprintf('%d above the roof: cached data, a kinder mix of reads and writes, or a roof too low', above) \
            at 0.05, at(rows - 1) left font size textcolor rgb vermilion
    }
    ink(a) = a == 1 ? vermilion : dark
    plot points_data using (0.035):(column("number") > 0 ? at(column("line")) : NaN):(strcol("number")):(ink(column("above"))) with labels right font size textcolor rgb variable, \
         points_data using (0.05):(at(column("line"))):(strcol("op")):(ink(column("above"))) with labels left font size textcolor rgb variable, \
         points_data using (impl_at):(at(column("line"))):(strcol("impl")):(ink(column("above"))) with labels left font size textcolor rgb variable, \
         points_data using (shape_at):(at(column("line"))):(strcol("shape")):(ink(column("above"))) with labels left font size textcolor rgb variable, \
         points_data using (0.895):(at(column("line"))):(strcol("rate")):(ink(column("above"))) with labels right font size textcolor rgb variable, \
         points_data using (1):(at(column("line"))):(strcol("share")):(ink(column("above"))) with labels right font size textcolor rgb variable
}
unset multiplot
