# vendor.gp - our rate over the vendor's for equal problems.
set lmargin at screen compact ? 0.3 : 0.2
set rmargin at screen compact ? 0.68 : 0.78
set bmargin at screen 80.0 / canvas_y
set tmargin at screen 1 - head / canvas_y
right_edge = ratio_max * 1.08
set xrange [0:right_edge]
set yrange [bars - 0.4:-0.6]
unset grid
set grid xtics lc rgb 0xdddddd lw 1 lt 1
set tics nomirror
set ytics scale 0
set xlabel 'ours / vendor'
unset key
set arrow 1 from first 1, graph 0 to first 1, graph 1 nohead lw 2 lc rgb 0x000000 front
hue(r) = r >= 1 ? blue : orange
plot vendor_data using (column("ratio") / 2):(column("bar")):(0):(column("ratio")):(column("bar") - 0.36):(column("bar") + 0.36):(hue(column("ratio"))):ytic(strcol("label")) \
         with boxxyerror lc rgb variable, \
     vendor_data using (column("ratio")):(column("bar")):(column("low")):(column("high")) with xerrorbars pt 0 lw 1.5 lc rgb dark, \
     vendor_data using (right_edge):(column("bar")):(strcol("value")) with labels left offset 1, 0 font ',11' textcolor rgb dark
