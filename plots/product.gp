# product.gp - rate of a matrix product over its size, every implementation; what DRAM and the ceiling allow, and its kink.
set lmargin at screen compact ? 0.09 : 0.068
set rmargin at screen compact ? 0.965 : 0.8
set bmargin at screen compact ? 0.1 : 0.085
set tmargin at screen compact ? 0.95 : 0.895
set logscale x 2
set xrange [n_min:n_max]
set yrange [0:rate_max * 1.1]
set xlabel 'm = n = k'
set ylabel 'GFLOP/s' offset compact ? 0 : 1
if (compact) {
    set key bottom right Left reverse font ',11'
} else {
    set key at screen 0.812, screen 0.895 left top Left reverse font ',12'
}
set datafile missing NaN
array hue[8] = [blue, vermilion, green, orange, purple, sky, 0x555555, yellow]
array shape[8] = [7, 5, 9, 13, 11, 6, 4, 8]
if (roof == roof) {
    set arrow 1 from graph 0, first roof to graph 1, first roof nohead lw 3 lc rgb 0x000000
    set label 1 roof_text at graph 0.99, first roof right offset 0, 0.7 font ',12' textcolor rgb 0x000000
}
if (kink == kink) {
    set arrow 2 from first kink, graph 0 to first kink, graph 1 nohead dt 3 lw 2 lc rgb 0x777777
    set label 2 kink_text at first kink, graph 0.5 center rotate by 90 offset compact ? 1.3 : 0.9, 0 font ',12' textcolor rgb 0x555555
}
pick(s) = column("series") == s ? column("n") : NaN
plot for [s = 0:series_count - 1] product_data using (pick(s)):(column("gflop_s")):(column("low")):(column("high")) \
         with yerrorbars pt 0 lw 1.5 lc rgb hue[int(s) % 8 + 1] notitle, \
     for [s = 0:series_count - 1] product_data using (pick(s)):(column("gflop_s")) \
         with linespoints lw 2.5 pt shape[int(s) % 8 + 1] ps 1.3 * dot lc rgb hue[int(s) % 8 + 1] title value(sprintf('series_%d', s)), \
     roof_data using (column("n")):(column("gflop_s")) with lines lw 2 dt 2 lc rgb 0x000000 title (kink == kink ? 'roof, operands in DRAM' : '')
