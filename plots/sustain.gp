# sustain.gp - a kernel that runs for long: rate, clock, power and temperature over time, a panel each, a curve a trial.
array hue[8] = [blue, vermilion, green, orange, purple, sky, dark, yellow]
array low[4] = [rate_low, clock_low, power_low, heat_low]
array high[4] = [rate_high, clock_high, power_high, heat_high]
array axis[4] = [rate_axis, clock_axis, power_axis, heat_axis]
array from[4] = ['rate', 'clock_ghz', 'power_w', 'temperature_c']
key_y = series > 1 ? 11.0 + 23.0 * key_rows : 4.0
top = 1 - (head + key_y) / canvas_y
bottom = 62.0 / canvas_y
gap = 18.0 / canvas_y
tall = (top - bottom - gap * (panels - 1)) / panels
set lmargin at screen compact ? 0.12 : 0.085
set rmargin at screen 0.975
set xrange [0:last]
set tics nomirror
set datafile missing NaN
set ytics autofreq
set multiplot
row = 0
do for [p = 1:4] {
    if (high[p] == high[p]) {
        set tmargin at screen top - row * (tall + gap)
        set bmargin at screen top - row * (tall + gap) - tall
        set yrange [low[p]:high[p]]
        set label 1003 axis[p] at screen (compact ? 0.022 : 0.014), screen top - row * (tall + gap) - tall / 2 center rotate font ',12' textcolor rgb dark
        if (row == panels - 1) { set format x '%g'; set xlabel 'seconds' } else { set format x ''; unset xlabel }
        if (row == 0 && series > 1) { set key at screen 0.975, screen 1 - (head + 2.0) / canvas_y right top horizontal maxcols key_columns maxrows key_rows font ',12' } else { unset key }
        plot for [i = 0:series - 1] sustain_data using (column("at_s")):(column("series") == i ? column(from[p]) * (p == 1 ? scale : 1) : NaN) \
             with lines lw 1.6 lc rgb hue[1 + i % 8] title value(sprintf('series_%d', i))
        unset label 1001
        unset label 1002
        row = row + 1
    }
}
unset multiplot
