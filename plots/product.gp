# product.gp - rate of a matrix product over its size, every implementation; the kink where its intensity meets the roof's.
set lmargin at screen 0.068
set rmargin at screen 0.985
set bmargin at screen 0.085
set tmargin at screen 0.895
set logscale x 2
set xrange [n_min / 1.15 : n_max * 1.15]
set yrange [0:rate_max * 1.12]
set xlabel 'm = n = k'
set ylabel 'GFLOP/s' offset 1
set key top left Left reverse font ',12'
set datafile missing NaN
array hue[8] = [blue, vermilion, green, orange, purple, sky, 0x000000, grey]
array shape[8] = [7, 5, 9, 13, 11, 6, 4, 8]
if (roof == roof) {
    set arrow 1 from graph 0, first roof to graph 1, first roof nohead lw 3 lc rgb 0x000000
    set label 1 roof_text at graph 0.99, first roof right offset 0, 0.7 font ',12' textcolor rgb 0x000000
}
if (kink == kink && kink > n_min / 1.15 && kink < n_max * 1.15) {
    set arrow 2 from first kink, graph 0 to first kink, graph 1 nohead dt 2 lw 2 lc rgb 0x777777
    set label 2 kink_text at first kink, graph 0.03 left offset 0.8, 0 font ',12' textcolor rgb 0x555555
} else {
    if (kink == kink && kink <= n_min / 1.15) {
        set label 2 sprintf('%s, left of this chart', kink_text) at graph 0.01, graph 0.03 left font ',12' textcolor rgb 0x555555
    }
}
pick(s) = column("series") == s ? column("n") : NaN
plot for [s = 0:series_count - 1] product_data using (pick(s)):(column("gflop_s")):(column("low")):(column("high")) \
         with yerrorbars pt 0 lw 1.5 lc rgb hue[int(s) % 8 + 1] notitle, \
     for [s = 0:series_count - 1] product_data using (pick(s)):(column("gflop_s")) \
         with linespoints lw 2.5 pt shape[int(s) % 8 + 1] ps 1.3 lc rgb hue[int(s) % 8 + 1] title value(sprintf('series_%d', s))
