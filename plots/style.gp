# What all charts share: canvas, fonts, axes, colours. `gnuplot FILE.gp` draws FILE.svg beside it again,
# `gnuplot -e "output_kind='pdf'" FILE.gp` (or 'png') that format; `output_file` is another place.
if (!exists("output_kind")) output_kind = "svg"
# a chart of another scale, or a copy, has another name than the chart that was drawn: the file's own goes before it
is_file = exists("ARG0") && strlen(ARG0) > 3 && ARG0[strlen(ARG0) - 2 : *] eq ".gp"
own_name = is_file ? ARG0[1 : strlen(ARG0) - 3] : chart_name
if (!exists("output_file")) output_file = own_name . "." . output_kind
if (output_kind eq "svg") {
    set terminal svg noenhanced size 960,600 dynamic font "DejaVu Sans,14" background "white"
    small_size = 12.0
    mark_size = 0.6
    letters = 14.0
    line_height = 21.0
} else {
    if (output_kind eq "pdf") {
        set terminal pdfcairo noenhanced size 10in,6.25in fontscale 0.75 pointscale 0.8 font "DejaVu Sans,10.5" background "white"
    } else {
        set terminal pngcairo noenhanced size 960,600 font "DejaVu Sans,10.5" background "white"
    }
    small_size = 9.0
    mark_size = 0.9
    letters = 10.5
    line_height = 16.3
}
small = sprintf(",%g", small_size)
set output output_file
set encoding utf8
set datafile separator whitespace
# centred on the canvas, not by `set title` over the plot, which a legend or long ticks put aside; of more letters than
# these the title's are smaller
title_letters = 76
title_size = 15.0 * (strlen(chart_title) > title_letters ? 1.0 * title_letters / strlen(chart_title) : 1)
set label 2 chart_title at screen 0.5, screen 0.95 center font sprintf(",%.3g", title_size)
# data, scale, seeds and machine, smaller where it is long, too
if (!exists("chart_source")) chart_source = ""
source_letters = 150
source_size = small_size * (strlen(chart_source) > source_letters ? 1.0 * source_letters / strlen(chart_source) : 1)
set label 3 chart_source at screen 0.5, screen 0.9 center font sprintf(",%.3g", source_size) textcolor rgb "#66727f"
set xlabel x_title
# not `set ylabel`, which stands by what gnuplot takes the width of ticks to be, in SVG partly beyond the canvas
set label 1 y_title at screen 0.018, graph 0.5 center rotate by 90
set lmargin at screen 0.09
set rmargin at screen 0.96
set tmargin at screen 0.88
set bmargin at screen 0.13
set border 3 linewidth 1.2 linecolor "#66727f"
set tics nomirror out scale 0.6 textcolor "#1d2733"
set grid back linecolor "#e3e7eb" linewidth 1 dashtype solid
set key
set style fill transparent solid 0.18 noborder

# a spread on a bar: an error bar of gnuplot has a mark in its middle, with a white edge
whisker = 'heads size screen 0.006,90 linecolor rgb "#1d2733" linewidth 1.2'

# eight colours that the colour-blind can tell apart; each round has another dash. Five marks in turn: those of curves
# that lie on each other differ, and so do those of one colour
array colors[8] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#3D3D3D", "#8C564B"]
array mark_types[5] = [7, 9, 11, 5, 13]
mark_type(i) = mark_types[1 + (i - 1) % 5]
do for [i = 1:40] {
    set linetype i linecolor rgb colors[1 + (i - 1) % 8] linewidth 2 dashtype 1 + (i - 1) / 8 pointtype mark_type(i)
}
set linetype cycle 40
