# ratio.gp - rates of equal problems, one over the other: bars from 1, as far for twice as for half.
set lmargin at screen compact ? 0.3 : 0.2
set rmargin at screen compact ? 0.68 : 0.74
set bmargin at screen 80.0 / canvas_y
set tmargin at screen 1 - head / canvas_y
set logscale x 2
set xrange [1 / reach:reach]
set yrange [bars - 0.4:-0.6]
set format x '%g'
step = reach < 1.6 ? 1.1 : (reach < 3 ? 1.25 : (reach < 20 ? 2 : 10))
unset xtics
set xtics nomirror ('' 1e-9)
do for [i = -8:8] { set xtics add (sprintf('%.3g', step ** i) step ** i) }
unset grid
set grid xtics lc rgb 0xdddddd lw 1 lt 1
set ytics scale 0 nomirror
set xlabel axis_text
unset key
set arrow 1 from first 1, graph 0 to first 1, graph 1 nohead lw 2 lc rgb 0x000000 front
hue(r) = r >= 1 ? blue : orange
least(r) = r < 1 ? r : 1
most(r) = r < 1 ? 1 : r
plot ratio_data using (column("ratio")):(column("bar")):(least(column("ratio"))):(most(column("ratio"))):(column("bar") - 0.36):(column("bar") + 0.36):(hue(column("ratio"))):ytic(strcol("label")) \
         with boxxyerror lc rgb variable, \
     ratio_data using (column("ratio")):(column("bar")):(column("low")):(column("high")) with xerrorbars pt 0 lw 1.5 lc rgb dark, \
     ratio_data using (reach):(column("bar")):(strcol("value")) with labels left offset 1, 0 font ',11' textcolor rgb dark
