# One labelled point per row, with its spread, and the front of rows that no other row beats on both
# axes. Needs $points (x, y, x low, x high, y low, y high, group), $front (x, y), $labels (x, y,
# text, left / center / right as -1 / 0 / 1), `groups`, array `names`, `frontier` (1: draw it).
set lmargin at screen 0.09
set rmargin at screen 0.97
set tmargin at screen 0.87
set bmargin at screen 0.12
set key at screen 0.97, 0.905 right center horizontal reverse Left samplen 1.5
set title offset 0, 1.1
# the names of the groups stand where other charts have their source
unset x2label
set label chart_source at screen 0.97, 0.014 right font ",10" textcolor rgb "#66727f" noenhanced
plot $front using 1:(frontier ? $2 : NaN) with steps linecolor rgb "#9aa5b1" linewidth 4 \
         title (frontier ? "Pareto front" : ""), \
     for [i = 1:groups] $points using (int($7) == i ? $1 : NaN):2:3:4:5:6 with xyerrorbars linetype i \
         pointtype 7 pointsize 1.2 linewidth 1.2 title (groups > 1 ? names[i] : ""), \
     $labels using 1:2:(stringcolumn(3)) with labels noenhanced left font ",11" textcolor rgb "#1d2733" notitle
