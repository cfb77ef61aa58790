# published.gp - rooflines from data sheets alone, and operations at the rate they allow.
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
set ylabel 'TFLOP/s' offset compact ? 0 : 1
unset key
array hue[4] = [orange, blue, sky, 0x000000]
array shape[4] = [5, 7, 9, 13]
ink(i) = int(i) == 0 ? orange : (int(i) == 1 ? blue : (int(i) == 2 ? sky : 0x000000))
names = 'a100_tflop_s h100_tflop_s h200_tflop_s b200_tflop_s'
slope(i) = column("tflop_s") / column("ai_kink")
plot points_data using (column("ai")):(y_min):(0):(column("b200_tflop_s") - y_min) with vectors nohead lw 1 dt 3 lc rgb 0x999999, \
     roofs_data using (x_min):(slope(0) * x_min):(column("ai_kink") - x_min):(column("tflop_s") - slope(0) * x_min):(ink(column("gpu_index"))) with vectors nohead lw 3 lc rgb variable, \
     roofs_data using (column("ai_kink")):(column("tflop_s")):(x_max - column("ai_kink")):(0):(ink(column("gpu_index"))) with vectors nohead lw 3 lc rgb variable, \
     for [i = 1:4] points_data using (column("ai")):(column(word(names, i))) with points pt shape[i] ps 1.2 * dot lc rgb hue[i], \
     points_data using (column("ai")):(y_min):(column("mark_ai") - column("ai")):(column("mark_tflop_s") - y_min) with vectors nohead lw 1 lc rgb 0x777777, \
     points_data using (column("mark_ai")):(column("mark_tflop_s")) with points pt 7 ps 2.9 * dot lc rgb 0x555555, \
     points_data using (column("mark_ai")):(column("mark_tflop_s")):(strcol("number")) with labels font ',10' textcolor rgb 0xffffff

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
    rows = gpus + lines + 5
    pitch = rows <= 38 ? 1.0 / 40 : 1.0 / (rows + 1)
    size = rows <= 38 ? ',12' : (rows <= 50 ? ',10' : ',8')
    at(line) = 1 - (line + 2) * pitch
    below(line) = at(line + gpus + 2)
    set label 1 'data sheet' at 0.06, at(-1) left font size textcolor rgb 0x555555
    set label 2 'TFLOP/s' at 0.6, at(-1) right font size textcolor rgb 0x555555
    set label 3 'TB/s' at 0.73, at(-1) right font size textcolor rgb 0x555555
    set label 4 'kink, FLOP/byte' at 1, at(-1) right font size textcolor rgb 0x555555
    set label 5 'operation' at 0.06, below(-1) left font size textcolor rgb 0x555555
    set label 6 'FLOP/byte' at 0.76, below(-1) right font size textcolor rgb 0x555555
    set label 7 'H100 MFU <=' at 1, below(-1) right font size textcolor rgb 0x555555
    plot for [i = 1:4] roofs_data using (0.025):(int(column("gpu_index")) == i - 1 ? at(column("gpu_index")) : NaN) with points pt shape[i] ps 1.6 * dot lc rgb hue[i], \
         roofs_data using (0.06):(at(column("gpu_index"))):(strcol("gpu")) with labels left font size textcolor rgb dark, \
         roofs_data using (0.6):(at(column("gpu_index"))):(strcol("peak")) with labels right font size textcolor rgb dark, \
         roofs_data using (0.73):(at(column("gpu_index"))):(strcol("bandwidth")) with labels right font size textcolor rgb dark, \
         roofs_data using (1):(at(column("gpu_index"))):(strcol("intensity")) with labels right font size textcolor rgb dark, \
         key_data using (0.04):(below(column("line"))):(strcol("number")) with labels right font size textcolor rgb dark, \
         key_data using (0.06):(below(column("line"))):(strcol("operations")) with labels left font size textcolor rgb dark, \
         key_data using (0.76):(below(column("line"))):(strcol("intensity")) with labels right font size textcolor rgb dark, \
         key_data using (1):(below(column("line"))):(strcol("mfu")) with labels right font size textcolor rgb dark
}
unset multiplot
