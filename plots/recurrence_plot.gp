# A recurrence plot: a dot where two positions hold the same symbol. Needs $points (blocks of x, y).
set lmargin at screen 0.2
set label 1 y_title at graph -0.1, graph 0.5 center rotate by 90
set rmargin at screen 0.8
set size ratio -1
unset key
plot $points using 1:2 with points pointtype 5 pointsize 0.2 linecolor rgb "#0072B2" notitle
