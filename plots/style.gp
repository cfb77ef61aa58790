# style.gp - what all charts share. Colours: Okabe and Ito's palette, safe for colour-blind readers.
set encoding utf8
set decimalsign '.'
set datafile separator comma
set datafile columnheaders
# compact: in a page that has title, legend tables and numbers of its own
if (!exists("compact")) compact = 0
if (!exists("canvas_x")) canvas_x = compact ? 800 : 1600
if (!exists("canvas_y")) canvas_y = compact ? 600 : 1000
if (format eq 'svg') {
    set terminal svg size canvas_x, canvas_y noenhanced font 'DejaVu Sans,Helvetica,Arial,sans-serif' fontscale 1.17 background rgb 'white'
} else {
    if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {
        set terminal pngcairo size canvas_x, canvas_y noenhanced font 'DejaVu Sans,13' background rgb 'white'
    } else {
        set terminal png size canvas_x, canvas_y noenhanced font 'DejaVu Sans,13'
    }
}
set output output_file
dot = format eq 'svg' ? 0.72 : 1   # a point size of 1 is larger in SVG
orange = 0xe69f00; sky = 0x56b4e9; green = 0x009e73; yellow = 0xf0e442
blue = 0x0072b2; vermilion = 0xd55e00; purple = 0xcc79a7; grey = 0x999999; dark = 0x333333
set border lc rgb dark lw 1.2
set tics textcolor rgb dark
set grid xtics ytics lc rgb 0xdddddd lw 1 lt 1
set key noenhanced textcolor rgb dark samplen 2.5 spacing 1.25
set style fill solid 1 noborder

# Title and what it was measured on, at the upper left.
head = compact ? 36.0 : 100.0
if (!compact) {
    set label 1001 title_text at screen 0.02, screen 1 - 30.0 / canvas_y left font ',19' textcolor rgb 0x000000
    set label 1002 subtitle_text at screen 0.02, screen 1 - 64.0 / canvas_y left font ',12' textcolor rgb 0x555555
}
