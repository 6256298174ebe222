# One labelled point per row, with its spread, and the front of rows that no other row beats on both axes. Needs
# $points (x, y, x low, x high, y low, y high, group), $front (x, y), $labels (x, y, text, -1 / 0 / 1: its left end,
# middle or right end is at x), $leaders (x, y, dx, dy) from points to labels that stand apart, $published (x, y, group;
# `published`: how many), `groups`, array `names`, `right` (where the plot ends, the legend beside it), `frontier` (1:
# draw it), `front_name_x` and `front_name_y` (where its name begins).
entries = groups
load "legend.gp"
if (frontier) { set label "Pareto front" at front_name_x, front_name_y left font small textcolor rgb "#66727f" }
plot $front using 1:(frontier ? $2 : NaN) with steps linecolor rgb "#b4bec8" linewidth 3 notitle, \
     $leaders using 1:2:3:4 with vectors nohead linecolor rgb "#9aa5b1" linewidth 1 notitle, \
     for [i = 1:groups] $points using (int($7) == i && $4 > $3 ? $1 : NaN):2:3:4 with xerrorbars linetype i \
         pointtype 0 linewidth 1.2 notitle, \
     for [i = 1:groups] $points using (int($7) == i && $6 > $5 ? $1 : NaN):2:5:6 with yerrorbars linetype i \
         pointtype 0 linewidth 1.2 notitle, \
     for [i = 1:groups] $points using (int($7) == i ? $1 : NaN):2 with points linetype i pointtype 7 \
         pointsize mark_size * 1.2 title (groups > 1 ? names[i] : ""), \
     for [i = 1:(published ? groups : 0)] $published using (int($3) == i ? $1 : NaN):2 with points linetype i pointtype 6 \
         pointsize 2 * mark_size notitle, \
     $labels using (int($4) == -1 ? $1 : NaN):2:3 with labels left font small textcolor rgb "#1d2733" notitle, \
     $labels using (int($4) == 0 ? $1 : NaN):2:3 with labels center font small textcolor rgb "#1d2733" notitle, \
     $labels using (int($4) == 1 ? $1 : NaN):2:3 with labels right font small textcolor rgb "#1d2733" notitle
