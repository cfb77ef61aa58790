# loss.gp - the loss over steps, a curve a model.
set lmargin at screen 0.075
set rmargin at screen 0.975
set bmargin at screen compact ? 0.12 : 0.085
set tmargin at screen 1 - head / canvas_y
span = high > low ? high - low : 1
set xrange [0:last]
set yrange [low > 0 && low - 0.1 * span < 0 ? 0 : low - 0.1 * span:high + 0.08 * span]
set xlabel 'step'
set ylabel 'loss' offset 1
set key top right font ',12'
set datafile missing NaN
array hue[6] = [blue, vermilion, green, orange, purple, sky]
plot for [i = 0:curves - 1] loss_data using (column("step")):(column("curve") == i ? column("loss") : NaN) \
         with lines lw 2.5 dt 1 + i / 6 lc rgb hue[1 + i % 6] title value(sprintf('curve_%d', i))
