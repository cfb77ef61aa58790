# sweep.gp - one rate over one size, a line a run: reads over the working set, or a product over n.
set lmargin at screen compact ? 0.09 : 0.068
set rmargin at screen compact ? 0.965 : 0.98
set bmargin at screen compact ? 0.1 : 0.085
set tmargin at screen compact ? 0.97 : 0.895
set logscale x 2
set datafile missing NaN
set xrange [x_min / 1.3:x_max * 1.3]
if (in_bytes) {
    set logscale y 10
    set yrange [10 ** floor(log10(rate_min / 1.1)):10 ** ceil(log10(rate_max * 1.3 * 1.2 ** runs))]
    set mytics 10
    unset xtics
    set xtics nomirror ('' 1e-9)
    do for [power = 8:44:(compact ? 4 : 2)] {
        unit = power < 20 ? 'KiB' : (power < 30 ? 'MiB' : 'GiB')
        base = power < 20 ? 10 : (power < 30 ? 20 : 30)
        set xtics add (sprintf('%.4g %s', 2.0 ** (power - base), unit) 2.0 ** power)
    }
    set grid xtics ytics mytics lc rgb 0xdddddd lw 1 lt 1, lc rgb 0xeeeeee lw 0.5 lt 1
    set key top right font ',12'
} else {
    set yrange [0:rate_max * (1.05 + 0.08 * runs)]
    set key top left Left reverse font ',12'
}
set format y '%g'
set xlabel x_text
set ylabel y_text offset compact ? 0 : 1
array shape[8] = [7, 5, 9, 13, 11, 6, 4, 8]
plot for [i = 0:runs - 1] sweep_data using (column("run_index") == i ? column("x") : NaN):(column("rate")) \
         with linespoints lw 2.5 pt shape[i % 8 + 1] ps 1.3 * dot lc rgb value(sprintf('colour_%d', i)) dt value(sprintf('dash_%d', i)) title value(sprintf('label_%d', i))
