# overlay.gp - measured rooflines of several runs, and what operations reach under them.
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
set datafile missing NaN
if (compact) {
    set key top left Left reverse font ',11'
} else {
    unset key
}
array shape[8] = [7, 5, 9, 13, 11, 6, 4, 8]
hue(i) = value(sprintf('colour_%d', i))
dash(i) = value(sprintf('dash_%d', i))
of(i, name) = column("run_index") == i ? column(name) : NaN
slope(i) = of(i, "gflop_s") / column("ai_kink")
plot for [i = 0:runs - 1] roofs_data using (x_min):(slope(i) * x_min):(column("ai_kink") - x_min):(column("gflop_s") - slope(i) * x_min) with vectors nohead lw 3 lc rgb hue(i) dt dash(i) notitle, \
     for [i = 0:runs - 1] roofs_data using (column("ai_kink")):(of(i, "gflop_s")):(x_max - column("ai_kink")):(0) with vectors nohead lw 3 lc rgb hue(i) dt dash(i) notitle, \
     marks_data using (column("ai")):(y_min):(0):(y_max - y_min) with vectors nohead lw 0.7 dt 3 lc rgb 0xbbbbbb notitle, \
     for [i = 0:runs - 1] points_data using (of(i, "ai")):(column("gflop_s")) with points pt shape[i % 8 + 1] ps 1.5 * dot lc rgb hue(i) title value(sprintf('label_%d', i)), \
     marks_data using (column("ai")):(y_min):(column("mark_ai") - column("ai")):(column("mark_gflop_s") - y_min) with vectors nohead lw 1 lc rgb 0x777777 notitle, \
     marks_data using (column("mark_ai")):(column("mark_gflop_s")) with points pt 7 ps 2.9 * dot lc rgb 0x555555 notitle, \
     marks_data using (column("mark_ai")):(column("mark_gflop_s")):(strcol("number")) with labels font ',10' textcolor rgb 0xffffff notitle, \
     points_data using (compact ? column("ai") : NaN):(column("gflop_s")):(strcol("hover")) with labels hypertext point pt 7 ps 1.8 * dot lc rgb 0xff0072b2 notitle

# The runs, and what the numbers stand for.
if (!compact) {
    unset label 1001
    unset label 1002
    unset logscale
    unset border
    unset tics
    unset grid
    unset xlabel
    unset ylabel
    set lmargin at screen 0.655
    set rmargin at screen 0.99
    set tmargin at screen 0.965
    set bmargin at screen 0.03
    set xrange [0:1]
    set yrange [0:1]
    rows = runs + lines + 5
    pitch = rows <= 38 ? 1.0 / 40 : 1.0 / (rows + 1)
    size = rows <= 38 ? ',12' : (rows <= 50 ? ',10' : ',8')
    at(line) = 1 - (line + 2) * pitch
    below(line) = at(line + runs + 2)
    set label 1 'run' at 0.11, at(-1) left font size textcolor rgb 0x555555
    set label 2 'GFLOP/s' at 0.7, at(-1) right font size textcolor rgb 0x555555
    set label 3 'GB/s' at 0.85, at(-1) right font size textcolor rgb 0x555555
    set label 4 'kink' at 1, at(-1) right font size textcolor rgb 0x555555
    set label 5 'operation' at 0.06, below(-1) left font size textcolor rgb 0x555555
    set label 6 'FLOP/byte' at 1, below(-1) right font size textcolor rgb 0x555555
    names = longest <= 28 ? size : (longest <= 36 ? ',10' : ',8')
    plot for [i = 0:runs - 1] roofs_data using (0):(at(of(i, "run_index"))):(0.09):(0) with vectors nohead lw 3 lc rgb hue(i) dt dash(i), \
         for [i = 0:runs - 1] roofs_data using (0.045):(at(of(i, "run_index"))) with points pt shape[i % 8 + 1] ps 1.6 * dot lc rgb hue(i), \
         roofs_data using (0.11):(at(column("run_index"))):(strcol("run")) with labels left font names textcolor rgb dark, \
         roofs_data using (0.7):(at(column("run_index"))):(strcol("peak")) with labels right font size textcolor rgb dark, \
         roofs_data using (0.85):(at(column("run_index"))):(strcol("bandwidth")) with labels right font size textcolor rgb dark, \
         roofs_data using (1):(at(column("run_index"))):(strcol("intensity")) with labels right font size textcolor rgb dark, \
         key_data using (0.04):(below(column("line"))):(strcol("number")) with labels right font size textcolor rgb dark, \
         key_data using (0.06):(below(column("line"))):(strcol("operations")) with labels left font size textcolor rgb dark, \
         key_data using (1):(below(column("line"))):(strcol("intensity")) with labels right font size textcolor rgb dark
}
unset multiplot
