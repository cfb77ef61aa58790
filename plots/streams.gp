# streams.gp - GB/s of memory-bound operations at their DRAM size, against the measured DRAM ceiling.
set lmargin at screen compact ? 0.16 : 0.14
set rmargin at screen compact ? 0.72 : 0.78
set bmargin at screen 80.0 / canvas_y
set tmargin at screen 1 - (head + 20.0) / canvas_y
right_edge = rate_max * 1.08
set xrange [0:right_edge]
set yrange [bars - 0.4:-0.6]
unset grid
set grid xtics lc rgb 0xdddddd lw 1 lt 1
set tics nomirror
set ytics scale 0
set xlabel 'GB/s'
unset key
split = near_bars > 0 && far_bars > 0
if (roof_any == roof_any) {
    set arrow 1 from first roof_any, graph 0 to first roof_any, graph 1 nohead lw 3 lc rgb 0x000000 front
    set label 1 sprintf('DRAM ceiling %.4g', roof_any) at first roof_any, graph 1 center offset 0, 0.7 font ',12' textcolor rgb 0x000000
}
if (roof_far == roof_far) {
    set arrow 2 from first roof_far, graph 0 to first roof_far, graph 1 nohead lw 3 lc rgb 0x000000 front
    set label 2 sprintf('DRAM ceiling, far %.4g', roof_far) at first roof_far, graph 1 center offset 0, 0.7 font ',12' textcolor rgb 0x000000
}
if (roof_near == roof_near) {
    set arrow 3 from first roof_near, graph 0 to first roof_near, graph 1 nohead lw 3 lc rgb 0x777777 front
    set label 3 sprintf('near %.4g', roof_near) at first roof_near, graph 1 center offset 0, 0.7 font ',12' textcolor rgb 0x555555
}
hue(n) = n == 1 ? sky : blue
plot streams_data using (column("gbyte_s") / 2):(column("bar")):(0):(column("gbyte_s")):(column("bar") - 0.36):(column("bar") + 0.36):(hue(column("near"))):ytic(strcol("op")) \
         with boxxyerror lc rgb variable, \
     streams_data using (column("gbyte_s")):(column("bar")):(column("low")):(column("high")) with xerrorbars pt 0 lw 1.5 lc rgb dark, \
     streams_data using (right_edge):(column("bar")):(strcol("value")) with labels left offset 1, 0 font ',11' textcolor rgb dark
