# bandwidth.gp - GB/s over the working set; the levels as the rows are labelled.
set lmargin at screen compact ? 0.09 : 0.068
set rmargin at screen compact ? 0.965 : 0.985
set bmargin at screen compact ? 0.18 : 0.085
set tmargin at screen compact ? 0.97 : 0.895
set logscale x 2
set logscale y 10
set datafile missing NaN
set xrange [bytes_min / 1.3 : bytes_max * 1.3]
top = 10 ** ceil(log10(rate_max * 1.4))
set yrange [10 ** floor(log10(rate_min / 1.1)):top]
unset xtics
set xtics nomirror ('' 1e-9)
do for [power = 8:44:(compact ? 4 : 2)] {
    unit = power < 20 ? 'KiB' : (power < 30 ? 'MiB' : 'GiB')
    base = power < 20 ? 10 : (power < 30 ? 20 : 30)
    set xtics add (sprintf('%.4g %s', 2.0 ** (power - base), unit) 2.0 ** power)
}
set grid xtics ytics mytics lc rgb 0xdddddd lw 1 lt 1, lc rgb 0xeeeeee lw 0.5 lt 1
set format y '%g'
set mytics 10
set xlabel 'working set, all operands together'
set ylabel 'GB/s' offset compact ? 0 : 1
if (compact) {
    set key at screen 0.5, screen 0.01 center bottom horizontal maxrows 2 width -2 samplen 1.2 Left reverse font ',10'
} else {
    set key bottom left Left reverse font ',12'
}
pick(p, t) = strcol("pattern") eq p && column("threads") == t ? column("gbyte_s") : NaN
array hue[5] = [blue, vermilion, green, purple, orange]
array shape[5] = [7, 5, 9, 13, 11]
patterns = 'read write copy triad update'
all = sprintf('%d threads', all_threads)
plot levels_data using (column("first_bytes")):(top / 1.12):(column("last_bytes") - column("first_bytes")):(0) with vectors heads size graph 0.006, 90 lw 1.5 lc rgb 0x777777 notitle, \
     levels_data using (column("middle_bytes")):(top / 1.3):(strcol("level")) with labels center font ',13' textcolor rgb 0x555555 notitle, \
     for [i = 1:(all_threads > 0 ? 5 : 0)] bandwidth_data using (column("footprint_bytes")):(pick(word(patterns, i), all_threads)) \
         with linespoints lw 2.5 pt shape[i] ps 1.1 * dot lc rgb hue[i] title sprintf('%s, %s', word(patterns, i), all), \
     for [i = 1:(one_thread ? 5 : 0)] bandwidth_data using (column("footprint_bytes")):(pick(word(patterns, i), 1)) \
         with linespoints lw 1.8 dt 2 pt shape[i] ps 0.8 * dot lc rgb hue[i] title sprintf('%s, 1 thread', word(patterns, i))
