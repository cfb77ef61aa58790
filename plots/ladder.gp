# ladder.gp - compute ceilings as bars, from fp64 down; the diamond is one thread.
set lmargin at screen compact ? 0.23 : 0.2
set rmargin at screen (unproven > 0 && !compact ? 0.66 : 0.9)
set bmargin at screen 80.0 / canvas_y
set tmargin at screen 1 - (compact ? 44.0 : 100.0) / canvas_y
right_edge = rate_max * 1.06
set xrange [0:right_edge]
set yrange [last + 0.8:-0.8]
unset grid
set grid xtics lc rgb 0xdddddd lw 1 lt 1
set tics nomirror
set ytics scale 0
set xlabel 'GFLOP/s'
set key at graph 1, screen 1 - (compact ? 20.0 : 64.0) / canvas_y right center horizontal font ',12'
hue(p) = p == 1 ? blue : 0xcccccc
plot ladder_data using (column("gflop_s") / 2):(column("position")):(0):(column("gflop_s")):(column("position") - 0.36):(column("position") + 0.36):(hue(column("proven"))):ytic(strcol("label")) \
         with boxxyerror lc rgb variable title sprintf('%d thread%s', threads, threads == 1 ? '' : 's'), \
     ladder_data using (column("one_thread_gflop_s")):(column("position")) with points pt 13 ps 1.8 * dot lc rgb orange title (threads > 1 ? '1 thread' : ''), \
     ladder_data using (right_edge):(column("position")):(strcol(compact ? "short" : "value")) with labels left offset 1, 0 font ',11' textcolor rgb dark notitle
