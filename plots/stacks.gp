# stacks.gp - two stacked bars a model: what was predicted above what was measured.
set lmargin at screen compact ? 0.46 : 0.27
set rmargin at screen compact ? 0.76 : 0.85
set bmargin at screen (compact ? 160.0 : 130.0) / canvas_y
set tmargin at screen 1 - (compact ? 16.0 : head) / canvas_y
set xrange [0:most * 1.02]
set yrange [3 * models - 1.2:-0.8]
unset grid
set grid xtics lc rgb 0xdddddd lw 1 lt 1
set tics nomirror
unset ytics
set xlabel axis_text
set datafile missing NaN
array hue[6] = [blue, vermilion, green, orange, sky, purple]
set key at screen 0.5, screen (compact ? 30.0 : 10.0) / canvas_y center bottom Left reverse horizontal maxcols (compact ? 3 : 6) font ',12' width 1
of(p, name) = column("part") == p ? column(name) : NaN
only(p, which) = column("part") == p && column("which") == which
plot for [p = 0:parts - 1] stacks_data using (only(p, 0) ? column("from") : NaN):(column("position")):(column("from")):(column("to")):(column("position") - 0.4):(column("position") + 0.4) \
         with boxxyerror lc rgb hue[p + 1] fillstyle solid 0.45 notitle, \
     for [p = 0:parts - 1] stacks_data using (only(p, 1) ? column("from") : NaN):(column("position")):(column("from")):(column("to")):(column("position") - 0.4):(column("position") + 0.4) \
         with boxxyerror lc rgb hue[p + 1] fillstyle solid 1 title value(sprintf('part_%d', p)), \
     stacks_data using (0):(only(0, 0) ? column("position") + 0.5 : NaN):(strcol("model")) with labels right offset -1, 0 font ',12' textcolor rgb dark notitle, \
     stacks_data using (most * 1.02):(of(0, "position")):(strcol("text")) with labels left offset 1, 0 font ',11' textcolor rgb dark notitle
