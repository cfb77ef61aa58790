# devices.gp - compute ceilings of several runs: a group a number format, a bar a run.
set lmargin at screen compact ? 0.16 : 0.1
set rmargin at screen compact ? 0.74 : 0.82
set bmargin at screen 80.0 / canvas_y
set tmargin at screen 1 - (head + 24.0 * runs) / canvas_y
right_edge = rate_max * 1.06
set xrange [0:right_edge]
set yrange [last + 0.8:-0.8]
unset grid
set grid xtics lc rgb 0xdddddd lw 1 lt 1
set tics nomirror
set ytics scale 0
set xlabel 'GFLOP/s'
set datafile missing NaN
set key at graph 0, screen 1 - (head - 14.0) / canvas_y left top Left reverse maxcols 1 font ',12'
of(i, name) = column("run_index") == i ? column(name) : NaN
plot for [i = 0:runs - 1] devices_data using (of(i, "gflop_s") / 2):(column("position")):(0):(column("gflop_s")):(column("position") - 0.4):(column("position") + 0.4) \
         with boxxyerror lc rgb value(sprintf('colour_%d', i)) fillstyle solid (value(sprintf('dash_%d', i)) == 1 ? 1.0 : 0.4) title value(sprintf('label_%d', i)), \
     devices_data using (NaN):(column("middle")):ytic(strcol("dtype")) with points notitle, \
     devices_data using (right_edge):(column("position")):(strcol("value")) with labels left offset 1, 0 font ',11' textcolor rgb dark notitle
