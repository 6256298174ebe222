# One bar per row from zero, with its spread and its value. Needs $bars (place, value, low, high,
# text, group), `rows`, array `labels`, `limit` (the end of the axis).
set lmargin at screen 0.22
set rmargin at screen 0.96
set yrange [rows + 0.6 : 0.4]
set xrange [0 : limit]
unset ylabel
unset key
set grid noytics
set ytics () noenhanced
do for [i = 1:rows] { set ytics add (labels[i] i) }
set style fill solid 0.85 noborder
plot $bars using ($2 / 2):1:($2 / 2):(0.34) with boxxyerror linecolor rgb "#0072B2" notitle, \
     $bars using ($4 > $3 ? $2 : NaN):1:3:4 with xerrorbars linecolor rgb "#1d2733" pointtype 0 linewidth 1.2 notitle, \
     $bars using 4:1:(stringcolumn(5)) with labels left offset 0.7,0 font ",11" noenhanced notitle
